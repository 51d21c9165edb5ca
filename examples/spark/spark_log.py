"""What a Spark program wrote on standard error, for a person who wants to know why it ended: the reason in one line,
and the whole in a file that is kept.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from pathlib import Path

_CAUSE = "Caused by: "
_CLASS = re.compile(r"[\w.$]+(Error|Exception|Exit|Interrupt)\b")


def reason(log: str) -> str:
    """The first cause that the JVM names, else the last exception of the log, else its last line."""
    lines = log.splitlines()
    for number, line in enumerate(lines):
        if line.startswith(_CAUSE):
            return _last_of_python(lines[number:]) or line.removeprefix(_CAUSE)
    named = [line for line in lines if _CLASS.match(line)]
    return (named or [line for line in lines if line.strip()] or ["it wrote nothing"])[-1].strip()


def _last_of_python(lines: list[str]) -> str | None:
    """A Python exception that Java passes on: of its traceback the line that names it."""
    if not any("Traceback (most recent call last)" in line for line in lines[:2]):
        return None
    named = None
    for line in lines[1:]:
        if line.startswith((_CAUSE, "\tat ")):
            break
        if _CLASS.match(line):
            named = line.strip()
    return named


def keep(log: Path) -> Path:
    """A copy of the log that outlives the program."""
    with tempfile.NamedTemporaryFile(prefix="spark-", suffix=".log", delete=False) as kept:
        shutil.copyfile(log, kept.name)
    return Path(kept.name)
