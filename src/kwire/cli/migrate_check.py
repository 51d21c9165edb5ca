"""`kwire migrate-check`: what becomes of a program for another client, or of its settings, without running it."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from kwire.cli.output import FAILED, add_output_options, show
from kwire.cli.usage import Commands, UsageError

if TYPE_CHECKING:
    from kwire.cli.migrating.programs import Finding

_EPILOG = """\
examples:
  kwire migrate-check service.py client.properties
  kwire migrate-check --all src            what stays as it is, too
  kwire migrate-check --json src | jq 'select(.outcome == "not there")'

Reads programs for confluent-kafka, aiokafka and kafka-python, and properties of Java and librdkafka. Outcomes:
  same        it stays as it is
  change      what to write instead, or what is different under the same name
  not needed  to be left out
  not there   kwire has no counterpart, and why
  unseen      reading the program does not tell: settings that are made elsewhere

What only the run of a program can tell is not found: clients that functions of other files make, names made of texts.
exit codes: 0, 1 if something has no counterpart or cannot be read, 2 wrong usage
"""
_KEYS = ("place", "found", "outcome", "text")


def add_parser(commands: Commands) -> None:
    """Adds the command and its options."""
    parser = commands.add_parser(
        "migrate-check",
        help="say what becomes of a program for another client",
        description="Says of each call and setting of another client what becomes of it in kwire.",
        epilog=_EPILOG,
    )
    parser.add_argument("paths", nargs="+", metavar="FILE.py|FILE.properties|FOLDER", help="what to read")
    parser.add_argument("-a", "--all", action="store_true", help="show what stays as it is, too")
    add_output_options(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """1 if something has no counterpart."""
    from kwire.cli.migrating.judging import NOT_THERE, SAME

    rows = []
    for path in _files(options.paths):
        for line, found, judgment in _findings(path):
            if options.all or judgment.outcome != SAME:
                rows.append((f"{path}:{line}", found, judgment.outcome, judgment.text))
    show(_KEYS, rows, options.output)
    return FAILED if any(row[2] == NOT_THERE for row in rows) else 0


def _files(paths: list[str]) -> Iterator[Path]:
    for path in map(Path, paths):
        if path.is_dir():
            yield from sorted(each for kind in ("py", "properties") for each in path.rglob(f"*.{kind}"))
        elif path.suffix in (".py", ".properties"):
            yield path
        else:
            raise UsageError(f"{path}: a folder, or a file that ends in .py or .properties, is needed")


def _findings(path: Path) -> list[Finding]:
    from kwire.cli.migrating.judging import judge_property
    from kwire.cli.migrating.programs import Finding, findings
    from kwire.cli.properties import read_properties
    from kwire.errors import ConfigError

    if path.suffix == ".properties":
        properties = read_properties(str(path)).items()
        return [Finding(each.line, name, judge_property(name, each.value)) for name, each in properties]
    try:
        return findings(path.read_text(encoding="utf-8"), str(path))
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from error
    except (SyntaxError, ValueError) as error:
        raise ConfigError(f"{path}: no Python program that can be read: {error}") from error
