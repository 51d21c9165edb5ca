"""Runs `counting.py` under callgrind and reads what it wrote: instructions per record of each loop."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from benchmarks.compare.processes import ROOT, environment
from benchmarks.instructions.counting import TIMES

_PROBE = Path(__file__).with_name("probe.c")
_LIMIT_S = 300
_NAME = re.compile(r"^desc: Trigger: Client Request: (.+) x(\d+)$", re.MULTILINE)
_TOTAL = re.compile(r"^summary: (\d+)$", re.MULTILINE)


class CannotCountError(Exception):
    """Valgrind or a compiler is missing or failed; the text says which and what would help."""


def totals(names: Sequence[str]) -> dict[str, dict[int, int]]:
    """{loop: {calls: instructions}} of the loops of these names, or of all.

    One process counts all, without random hashes or addresses, so the same code takes the same counts.
    """
    valgrind, compiler = _needed("valgrind", "valgrind"), _needed("cc", "gcc")
    with tempfile.TemporaryDirectory(prefix="kwire-instructions-") as folder:
        probe = Path(folder, "probe.so")
        _run([compiler, "-O2", "-shared", "-fPIC", "-o", str(probe), str(_PROBE)])
        _run(
            [
                valgrind,
                "--tool=callgrind",
                "--instr-atstart=no",
                f"--callgrind-out-file={folder}/counted",
                sys.executable,
                "-m",
                "benchmarks.instructions.counting",
                str(probe),
                *names,
            ]
        )
        return read_totals(path.read_text(errors="replace") for path in Path(folder).glob("counted*"))


def read_totals(texts: Iterable[str]) -> dict[str, dict[int, int]]:
    """The same from the text of callgrind's files; counts outside the loops are left out."""
    found: dict[str, dict[int, int]] = {}
    for text in texts:
        name, total = _NAME.search(text), _TOTAL.search(text)
        if name and total:
            found.setdefault(name[1], {})[int(name[2])] = int(total[1])
    return found


def per_unit(total: dict[int, int], units: int) -> float:
    """Instructions per record: what TIMES more calls cost, so that nothing around the calls is in it."""
    return (total[2 * TIMES] - total[TIMES]) / TIMES / units


def version() -> str:
    """Valgrind's own version, without its name."""
    return _run([_needed("valgrind", "valgrind"), "--version"]).strip().removeprefix("valgrind-")


def _needed(command: str, package: str) -> str:
    path = shutil.which(command)
    if path is None:
        raise CannotCountError(f"no {command} (on Debian or Ubuntu: sudo apt-get install {package})")
    return path


def _run(command: list[str]) -> str:
    variables = {**environment(), "PYTHONHASHSEED": "0", "HOME": os.environ.get("HOME", "/")}
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, cwd=ROOT, env=variables, timeout=_LIMIT_S, check=False
        )
    except subprocess.TimeoutExpired:
        raise CannotCountError(f"{command[0]} did not end within {_LIMIT_S} s") from None
    if done.returncode:
        raise CannotCountError(f"{command[0]} failed ({done.returncode}): {done.stderr.strip()[-1500:]}")
    return done.stdout
