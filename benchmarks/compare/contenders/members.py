"""What the members of a group share in every client: their settings, and when a group of many threads is stable."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from benchmarks.compare.contenders.meters import Meter
from benchmarks.compare.contenders.task import Task

HEARTBEAT_MS, SESSION_MS, AUTO_COMMIT_MS = 200, 6_000, 100
POLL_S = 0.1
PER_TRANSACTION = 1_000
PATTERN = "^many-.*"
_READERS = 3
_LIMIT_S, _LOOK_S = 60, 0.002


class Shares:
    """How many partitions each member has been assigned, told by its listener, which calls `set`.

    Members go on until it is `over`. Those that read pause what they get, until all have their parts: `reading`.
    """

    def __init__(self, partitions: int) -> None:
        self._partitions = partitions
        self._held: dict[int, int] = {}
        self.reading = threading.Event()
        self.over = threading.Event()

    def set(self, member: int, count: int) -> None:
        """This member has so many now."""
        self._held[member] = count

    def even(self, members: int) -> bool:
        """Whether that many members have all partitions, each its part."""
        held, least = [*self._held.values()], self._partitions // members
        return len(held) == members and sum(held) == self._partitions and min(held) >= least

    def wait_until_even(self, members: int) -> None:
        """Raises SystemExit when it takes too long."""
        end = time.monotonic() + _LIMIT_S
        while not self.even(members):
            if time.monotonic() > end:
                raise SystemExit(f"{members} members hold {self._held} after {_LIMIT_S} s")
            time.sleep(_LOOK_S)


class Found:
    """How many records the members have read together, of so many that there are."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._found = 0
        self._lock = threading.Lock()
        self._all = threading.Event()

    def add(self, count: int) -> None:
        """A member has read so many more."""
        with self._lock:
            self._found += count
            if self._found >= self._count:
                self._all.set()

    def wait_for_all(self) -> None:
        """Raises SystemExit when it takes too long."""
        if not self._all.wait(_LIMIT_S):
            raise SystemExit(f"{self._found} of {self._count} records were read in {_LIMIT_S} s")


def last_join(task: Task, member: Callable[[Task, int, Shares], None]) -> dict[str, float]:
    """From the join of the last of `count` members, each polling in a thread, until all have their parts."""
    shares = Shares(task.partitions)
    threads = [threading.Thread(target=member, args=(task, number, shares)) for number in range(task.count)]
    *others, last = threads
    with _ended(threads, shares):
        for thread in others:
            thread.start()
        shares.wait_until_even(len(others))
        with Meter() as meter:
            last.start()
            shares.wait_until_even(len(threads))
    return joined(meter)


def read_by_members(task: Task, member: Callable[[Task, int, Shares, Found], None]) -> dict[str, float]:
    """Members that have joined and have their parts read `count` records together, each in a thread."""
    shares, found = Shares(task.partitions), Found(task.count)
    threads = [threading.Thread(target=member, args=(task, number, shares, found)) for number in range(_READERS)]
    with _ended(threads, shares):
        for thread in threads:
            thread.start()
        shares.wait_until_even(len(threads))
        with Meter() as meter:
            shares.reading.set()
            found.wait_for_all()
    return meter.per_record(task.count)


def joined(meter: Meter) -> dict[str, float]:
    """Time and CPU of a group that became stable."""
    return {"cpu_ms": meter.cpu_s * 1e3, "wall_ms": meter.wall_s * 1e3}


@contextmanager
def _ended(threads: list[threading.Thread], shares: Shares) -> Iterator[None]:
    try:
        yield
    finally:
        shares.over.set()
        for thread in threads:
            if thread.ident:
                thread.join()


def per_partition(meter: Meter, found: int, expected: int) -> dict[str, float]:
    """What each partition of a large cluster costs."""
    if found != expected:
        raise SystemExit(f"{found} of {expected} partitions were assigned")
    return {"cpu_us": meter.cpu_s * 1e6 / found, "bytes": meter.added_kib * 1024 / found, "count": found}
