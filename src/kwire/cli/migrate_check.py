"""`kwire migrate-check`: what becomes of a program for another client, or of its settings, without running it."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from kwire.cli.output import FAILED, add_output_options, show
from kwire.cli.usage import Commands, UsageError
from kwire.errors.listing import counted

if TYPE_CHECKING:
    from kwire.cli.migrating.programs import Finding

_EPILOG = """\
examples:
  kwire migrate-check service.py client.properties
  kwire migrate-check --all src                     what stays as it is, too
  kwire migrate-check --brief src                   what there is to learn, each answer once
  kwire migrate-check --only differs,missing src    where a program has to be thought about
  kwire migrate-check --fail-on renamed,differs,missing,unseen src    in CI, until all is done
  kwire migrate-check --json src | jq 'select(.outcome == "missing")'

Reads programs for confluent-kafka, aiokafka and kafka-python, and files of settings for Java, librdkafka and these:
properties, INI and JSON. In folders, of the latter those that name brokers. Outcomes:
  same        it stays as it is
  renamed     another name for the same, and which
  not needed  to be left out, and why
  differs     done in another way, or different under the same name or by default, and how
  missing     kwire has no counterpart: why, or what to do without it
  unseen      settings that are made where reading the program does not tell
  unreadable  a file that is no Python, no properties or no JSON

A first line in a service: read what differs, then what is missing, then rename. The guides show whole programs of both
sides: docs/from-confluent-kafka.md, docs/from-aiokafka.md, docs/from-kafka-python.md.

What only the run of a program can tell is not found: clients that functions of other files make, names made of texts.
exit codes: 0, 1 if something is missing or unreadable (or what --fail-on says), 2 wrong usage
"""
Row = tuple[str, ...]
_KEYS = ("place", "found", "outcome", "text")
_SKIPPED = {"__pycache__", "node_modules", "site-packages", "venv"}


def add_parser(commands: Commands) -> None:
    """Adds the command and its options."""
    parser = commands.add_parser(
        "migrate-check",
        help="say what becomes of a program for another client",
        description="Says of each call and setting of another client what becomes of it in kwire.",
        epilog=_EPILOG,
    )
    parser.add_argument("paths", nargs="+", metavar="FILE|FOLDER", help="programs, files of settings, folders of them")
    parser.add_argument("-b", "--brief", action="store_true", help="show each answer once, with its first place")
    shown = parser.add_mutually_exclusive_group()
    shown.add_argument("-a", "--all", action="store_true", help="show what stays as it is, too")
    shown.add_argument("--only", type=_outcomes, metavar="OUTCOME,...", help="show these outcomes alone")
    parser.add_argument(
        "--fail-on",
        type=_outcomes,
        metavar="OUTCOME,...",
        default=frozenset({"missing", "unreadable"}),
        help="exit with 1 if there is one of these (default: missing,unreadable)",
    )
    add_output_options(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """1 if there is an outcome of --fail-on."""
    from kwire.cli.migrating.judging import OUTCOMES, SAME

    wanted = options.only or (set(OUTCOMES) if options.all else set(OUTCOMES) - {SAME})
    rows: list[Row] = []
    counts: Counter[str] = Counter()
    files = 0
    for path, is_named in _files(options.paths):
        findings = _findings(path, is_named=is_named)
        files += findings is not None
        for line, found, judgment in findings or ():
            counts[judgment.outcome] += 1
            if judgment.outcome in wanted:
                rows.append((f"{path}:{line}", found, judgment.outcome, judgment.text))
    show(_KEYS, _brief(rows) if options.brief else rows, options.output)
    told = ", ".join(f"{counts[outcome]} {outcome}" for outcome in OUTCOMES if counts[outcome])
    print(f"{counted(files, 'file')} read: {told or 'nothing of another client'}", file=sys.stderr)
    return FAILED if any(counts[outcome] for outcome in options.fail_on) else 0


def _brief(rows: list[Row]) -> list[Row]:
    """Each answer once, at its first place, with the number of all."""
    places: dict[tuple[str, ...], list[str]] = {}
    for place, *answer in rows:
        places.setdefault(tuple(answer), []).append(place)
    return [
        (found[0] if len(found) == 1 else f"{found[0]} and {len(found) - 1} more", *answer)
        for answer, found in places.items()
    ]


def _outcomes(text: str) -> frozenset[str]:
    from kwire.cli.migrating.judging import OUTCOMES

    chosen = frozenset(part.strip().replace("-", " ") for part in text.split(","))
    if not chosen <= set(OUTCOMES):
        raise argparse.ArgumentTypeError(f"one or several of {', '.join(OUTCOMES)} are needed")
    return chosen


def _files(paths: list[str]) -> Iterator[tuple[Path, bool]]:
    """Each file, and whether it was named itself."""
    from kwire.cli.migrating.config_files import SUFFIXES

    suffixes = (".py", *SUFFIXES)
    for path in map(Path, paths):
        if path.is_dir():
            inside = (each for each in path.rglob("*") if each.suffix in suffixes and each.is_file())
            yield from ((each, False) for each in sorted(inside) if not _is_skipped(each.relative_to(path)))
        elif path.suffix in suffixes and (path.is_file() or not path.exists()):
            yield path, True
        else:
            raise UsageError(f"{path}: a folder, or a file that ends in one of {' '.join(suffixes)}, is needed")


def _is_skipped(path: Path) -> bool:
    return any(part in _SKIPPED or part.startswith(".") for part in path.parts[:-1])


def _findings(path: Path, *, is_named: bool) -> list[Finding] | None:
    """None of a file that was come across and has no settings of clients."""
    from kwire.cli.migrating import config_files, programs
    from kwire.cli.migrating.judging import UNREADABLE, Judgment
    from kwire.errors import ConfigError

    try:
        text = path.read_text(encoding="utf-8-sig", errors="strict" if path.suffix == ".py" else "replace")
        if path.suffix == ".py":
            return programs.findings(text, str(path))
        return config_files.findings(text, path) if is_named or config_files.is_of_clients(text) else None
    except OSError as error:
        reason = error.strerror or "it cannot be read"
    except ConfigError as error:
        reason = str(error)
    except (SyntaxError, ValueError, RecursionError) as error:
        reason = f"no Python program that can be read: {error}"
    return [programs.Finding(1, path.name, Judgment(UNREADABLE, reason))]
