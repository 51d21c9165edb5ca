"""The transactional ids of a worker process: its own, so that no other process fences them, and not too many.

They are used again for a later batch of the same run, when the driver has ended those before. No socket, no Spark.
"""

from __future__ import annotations

import os
import secrets
import threading

from kwire.spark.exactly_once import Job


class WorkerNames:
    """The transactional ids that this process has used: how many for the present batch of each run."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process = -1
        self._worker = ""
        self._used: dict[tuple[str, str], tuple[int, int]] = {}

    def take(self, job: Job) -> str:
        """An id that no transaction has which may still be decided on."""
        with self._lock:
            self._begin_in_child()
            batch, count = self._used.get((job.scope, job.run), (-1, 0))
            if job.batch is not None and job.batch > batch:
                batch, count = job.batch, 0
            self._used[job.scope, job.run] = batch, count + 1
            return job.name_of(self._worker, count)

    def _begin_in_child(self) -> None:
        if self._process != os.getpid():
            self._process, self._worker = os.getpid(), secrets.token_hex(6)
            self._used.clear()
