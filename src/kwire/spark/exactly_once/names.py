"""The transactional ids of a worker process: its own, so that no other process fences them, and not too many.

Those of a stream are used again for a later batch of the same run, when the driver has ended those before. Those of
batch writes when their last transactions have ended, which `task.py` finds out. No socket, no Spark.
"""

from __future__ import annotations

import os
import secrets
import threading
from collections import defaultdict
from collections.abc import Collection

from kwire._prepared import PreparedTransaction
from kwire.spark.exactly_once.decisions import Job


class WorkerNames:
    """The transactional ids that this process has used: of each run of a stream how many for its present batch, and of
    each scope of batch writes those that no task has now, that of longest ago first, with the transactions that were
    told to a driver under them last.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process = -1
        self._worker = ""
        self._used: dict[tuple[str, str], tuple[int, int]] = {}
        self._made: dict[str, int] = {}
        self._idle: dict[str, dict[str, PreparedTransaction | None]] = defaultdict(dict)
        self._given_up: set[str] = set()

    def idle(self, job: Job) -> dict[str, PreparedTransaction | None]:
        """The ids that no task has, in the order in which they are to be tried."""
        with self._lock:
            self._begin_in_child()
            return dict(self._idle[job.scope])

    def take(self, job: Job, free: Collection[str] = ()) -> str:
        """An id that no transaction has which may still be decided on: one of `free`, if no other task has taken it."""
        with self._lock:
            self._begin_in_child()
            if job.batch is not None:
                return self._take_of_stream(job, job.batch)
            idle = self._idle[job.scope]
            for name in free:
                if name in idle:
                    del idle[name]
                    return name
            made = self._made.get(job.scope, 0)
            self._made[job.scope] = made + 1
            return job.name_of(self._worker, made)

    def give_back(self, job: Job, name: str, prepared: PreparedTransaction | None) -> None:
        """The task that had taken an id of a batch write has ended; `prepared` is what it reported to the driver."""
        with self._lock:
            if job.batch is None and self._process == os.getpid():
                self._idle[job.scope][name] = prepared

    def give_up(self, name: str) -> None:
        """It is not known whether a request has still to arrive that takes the id for a producer: no other may."""
        with self._lock:
            self._given_up.add(name)

    def try_later(self, job: Job, names: Collection[str]) -> None:
        """These are not free yet."""
        with self._lock:
            idle = self._idle[job.scope]
            for name in names:
                if name in idle:
                    idle[name] = idle.pop(name)

    def _take_of_stream(self, job: Job, batch: int) -> str:
        present, count = self._used.get((job.scope, job.run), (-1, 0))
        if batch > present:
            present, count = batch, 0
        while (name := job.name_of(self._worker, count)) in self._given_up:
            count += 1
        self._used[job.scope, job.run] = present, count + 1
        return name

    def _begin_in_child(self) -> None:
        if self._process != os.getpid():
            self._process, self._worker = os.getpid(), secrets.token_hex(6)
            self._used.clear()
            self._made.clear()
            self._idle.clear()
            self._given_up.clear()
