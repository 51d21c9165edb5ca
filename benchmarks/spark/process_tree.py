"""CPU seconds of a process and all that it started, as Linux counts them: for a JVM with its Python workers, a broker.

Spark's Python daemons ignore SIGCHLD, so Linux adds what their workers had used to nobody's time when they end, as they
do when they are idle for a minute or their query is over. So each process counts by itself, with what it had used when
it was last looked at.
"""

from __future__ import annotations

import os
import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_LOOK_S = 0.2
_PARENT, _USER, _SYSTEM, _STARTED = 1, 11, 12, 19
"""Places in /proc/PID/stat after the name."""

_Process = tuple[int, int]
"""Its id, and when it was started: ids are used again."""


class ProcessTree:
    """A process and its descendants; safe for threads."""

    def __init__(self, root: int) -> None:
        self.root = root
        self._lock = threading.Lock()
        self._ticks: dict[_Process, int] = {}

    def cpu_seconds(self) -> float:
        """User and system time of all that was seen, the ended ones included."""
        with self._lock:
            self._look()
            return sum(self._ticks.values()) / _TICKS_PER_S

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Looks several times a second, so that little is lost of a process that ends in the block."""
        ended = threading.Event()

        def watch() -> None:
            while not ended.wait(_LOOK_S):
                self.cpu_seconds()

        thread = threading.Thread(target=watch, daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()

    def _look(self) -> None:
        children: dict[int, list[int]] = defaultdict(list)
        stats = dict(_all_stats())
        for pid, fields in stats.items():
            children[int(fields[_PARENT])].append(pid)
        waiting = [self.root]
        while waiting:
            pid = waiting.pop()
            if pid in stats:
                fields = stats[pid]
                self._ticks[pid, int(fields[_STARTED])] = int(fields[_USER]) + int(fields[_SYSTEM])
            waiting += children[pid]


def _all_stats() -> Iterator[tuple[int, list[str]]]:
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            try:
                text = (folder / "stat").read_text()
            except OSError:  # it has ended since
                continue
            # The name stands in brackets and may hold blanks.
            yield int(folder.name), text.rpartition(")")[2].split()
