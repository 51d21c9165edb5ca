"""Which lines of the extensions the corpora reach: each input once, in a build by gcc whose code counts its lines.

Cython is told to write `#line` into the C code, so that gcov speaks of lines in _pxi/. A line counts as reached when
any code of it ran, its error branches or not; lines without code of their own do not count at all: nor do docstrings
and comments, to which gcov puts down what Cython writes in several lines for the line above.
"""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Final

from tests.fuzz.building import BUILD, ROOT, build_for_coverage, library
from tests.fuzz.corpus import read_corpus
from tests.fuzz.running import table
from tests.fuzz.targets import Target

_ROOMS: Final = ("codec", "values", "client")
Lines = dict[str, dict[int, bool]]


def tell(targets: Iterable[Target], *, missed: bool) -> int:
    """Prints a table of the files, and the lines that were not reached if that is asked for."""
    print("== build of the extensions with gcov's counts", flush=True)
    build_for_coverage()
    for path in (BUILD / "coverage").rglob("*.gcda"):
        path.unlink()
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "tests.fuzz.coverage", *(target.name for target in targets)],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": f"{library('coverage')}:{ROOT}"},
        check=False,
    )
    if done.returncode:
        return done.returncode
    lines = _lines()
    rows = [("file", "lines", "reached", "%")]
    for room in _ROOMS:
        files = {name: of for name, of in sorted(lines.items()) if f"/{room}/" in name}
        rows += [_row(name.partition("_pxi/")[2], [of]) for name, of in files.items()]
        rows.append(_row(f"{room}/ in all", files.values()))
    rows.append(_row("in all", lines.values()))
    print(table(rows))
    if missed:
        for name, of in sorted(lines.items()):
            _print_missed(name, [line for line, reached in sorted(of.items()) if not reached])
    return 0


def _row(name: str, files: Iterable[dict[int, bool]]) -> tuple[str, ...]:
    reached = [each for of in files for each in of.values()]
    return name, str(len(reached)), str(sum(reached)), f"{100 * sum(reached) / max(len(reached), 1):.1f}"


def _print_missed(name: str, lines: list[int]) -> None:
    text = (ROOT / name).read_text().splitlines()
    for line in lines:
        print(f"{name}:{line}: {text[line - 1].strip()}")


def _lines() -> Lines:
    """By file, whether each line that has code was reached."""
    found: Lines = defaultdict(dict)
    counts = [str(path) for path in (BUILD / "coverage").rglob("*.gcda")]
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["gcov", "--json-format", *counts], cwd=folder, check=True, capture_output=True)
        for path in Path(folder).glob("*.gcov.json.gz"):
            for file in json.loads(gzip.decompress(path.read_bytes()))["files"]:
                name = file["file"]
                if "_pxi/" not in name:
                    continue
                name = "src/kwire/_pxi/" + name.partition("_pxi/")[2]
                wordy = _without_code(name)
                for line in file["lines"]:
                    number = line["line_number"]
                    if number >= len(wordy) or wordy[number]:
                        continue  # Cython's own code, which follows the last line, or takes more lines than ours
                    found[name][number] = found[name].get(number, False) or line["count"] > 0
    return found


@cache
def _without_code(name: str) -> list[bool]:
    """Of each line of a file, from 1 on, whether it is blank or nothing but a comment or a docstring."""
    found, inside = [True], False
    for line in (ROOT / name).read_text().splitlines():
        text = line.strip()
        begins = text.startswith('"""')
        found.append(inside or begins or not text or (text.startswith("#") and name.endswith(".pxi")))
        if text.count('"""') % 2 and (inside or begins):
            inside = not inside
    return found


def _replay(names: list[str]) -> None:
    """Feeds each target its seeds and its corpus; what that finds is not of interest here."""
    from tests.fuzz.targets import all_targets

    for name in names:
        target = all_targets()[name]
        for data in [*target.seeds(), *read_corpus(name)]:
            try:
                target.check(data)
            except Exception as error:
                print(f"{name}: {error!r}", file=sys.stderr)


if __name__ == "__main__":
    _replay(sys.argv[1:])
