"""CPU seconds of a process and all that it started, as Linux counts them: for a JVM with its Python workers, a broker.

A process that has ended counts on in the one that waited for it, so workers that come and go are not lost.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_PARENT, _USER = 1, 11
"""Places in /proc/PID/stat after the name: utime, stime, cutime and cstime are four in a row."""


class Used(NamedTuple):
    """CPU seconds of a process, and of those that it has waited for."""

    own: float
    waited_for: float


def cpu_of_tree(root: int) -> dict[int, Used]:
    """What the process and each of its living descendants have used."""
    children: dict[int, list[int]] = defaultdict(list)
    used: dict[int, Used] = {}
    for pid, fields in _all_stats():
        children[int(fields[_PARENT])].append(pid)
        user, system, children_user, children_system = map(int, fields[_USER : _USER + 4])
        used[pid] = Used((user + system) / _TICKS_PER_S, (children_user + children_system) / _TICKS_PER_S)
    tree: dict[int, Used] = {}
    waiting = [root]
    while waiting:
        pid = waiting.pop()
        if pid in used:
            tree[pid] = used[pid]
        waiting += children[pid]
    return tree


def cpu_between(before: Mapping[int, Used], after: Mapping[int, Used]) -> float:
    """CPU seconds that a tree has used from one moment to the next.

    What an ended process had used before is taken from what was waited for since, but never more than that: a worker
    whose parent was killed was waited for by nobody here.
    """
    none = Used(0, 0)
    own = sum(used.own - before.get(pid, none).own for pid, used in after.items())
    waited_for = sum(used.waited_for - before.get(pid, none).waited_for for pid, used in after.items())
    ended = sum(sum(used) for pid, used in before.items() if pid not in after)
    return own + max(0.0, waited_for - ended)


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
