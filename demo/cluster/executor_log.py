"""What tasks have read, by the lines that kwire writes to the executors' log with the option `logLevel` of `info`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

_READ: Final = re.compile(
    r"INFO kwire\.spark: Task (?P<task>\S+) in stage (?P<stage>\d+) \(TID \d+\) read (?P<partition>\S+), "
    r"offsets (?P<start>\d+) to (?P<end>\d+): (?P<rows>\d+) rows, (?P<size>\d+) bytes, in (?P<seconds>[\d.]+) s"
)


class TaskRead(NamedTuple):
    """A range of offsets that one task on one worker has read."""

    host: str
    executor: str
    partition: str
    start: int
    end: int
    rows: int
    size: int
    seconds: float


def reads_of(logs: Iterable[tuple[str, Path]]) -> Iterator[TaskRead]:
    """Of each executor's log, which comes with its host."""
    for host, log in logs:
        for found in _READ.finditer(log.read_text(errors="replace")):
            start, end, rows, size = (int(found[name]) for name in ("start", "end", "rows", "size"))
            yield TaskRead(host, log.parent.name, found["partition"], start, end, rows, size, float(found["seconds"]))
