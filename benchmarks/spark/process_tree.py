"""CPU seconds of a process and all that it started, as Linux counts them: for a JVM with its Python workers, a broker.

A process that has ended counts on in the one that waited for it, so workers that come and go are not lost.
"""

from __future__ import annotations

import os
from collections import defaultdict
from pathlib import Path

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_PARENT, _USER, _CHILDREN_SYSTEM = 1, 11, 14
"""Places in /proc/PID/stat after the name: utime, stime, cutime and cstime are four in a row."""


def cpu_seconds(root: int) -> float:
    """User and system time of the process and its descendants, the ended ones included."""
    ticks = 0
    children: dict[int, list[int]] = defaultdict(list)
    own: dict[int, int] = {}
    for pid, fields in _all_stats():
        children[int(fields[_PARENT])].append(pid)
        own[pid] = sum(map(int, fields[_USER : _CHILDREN_SYSTEM + 1]))
    waiting = [root]
    while waiting:
        pid = waiting.pop()
        ticks += own.get(pid, 0)
        waiting += children[pid]
    return ticks / _TICKS_PER_S


def _all_stats() -> list[tuple[int, list[str]]]:
    stats = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            try:
                text = (folder / "stat").read_text()
            except OSError:  # it has ended since
                continue
            # The name stands in brackets and may hold blanks.
            stats.append((int(folder.name), text.rpartition(")")[2].split()))
    return stats
