"""Worker: a handler for the records of a group, on threads.

Layer 6: runs the loop of `work.py` on the caller's thread, and handlers on threads of its own.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from queue import SimpleQueue

from kwire._typing import Any, override
from kwire.consumer import Consumer
from kwire.producer import Producer
from kwire.worker.desk import Job
from kwire.worker.work import Steps, Work

__all__ = ["Worker"]

STOPPED_BY = (signal.SIGTERM, signal.SIGINT)


class Worker(Work):
    """Calls `handler(record)` for each record of `topics`, on `concurrency` threads, and commits what is done.

        Worker("host:9092", "orders", group_id="billing", handler=bill, dead_letter_topic="orders.dead").run()

    `order` is what stays in order: each "partition", or each "key". With `batch` the handler gets lists of so many
    at most. A handler that raises one of `retry_on` is called again `retries` times, after `backoff` seconds, twice as
    long each time, `backoff_max` at most; then its record goes to the next of `retry_topics` (names, and seconds until
    it is due), and at last to `dead_letter_topic`; without one, `run()` raises the handler's error.
    A partition with `max_in_hand` unfinished records is paused. Other keywords are those of Consumer;
    `auto_offset_reset` is "earliest" unless it is given.
    """

    def run(self) -> None:
        """Works until `stop()`, SIGTERM or SIGINT (where `signals` is True and this is the main thread; a second signal
        does not wait for handlers), or until an error that no repetition mends, which it raises. Call it once."""
        threads = [threading.Thread(target=self._serve, daemon=True) for _ in range(self._concurrency)]
        with self._stopped_by_signals():
            self._producer = Producer(self._servers, **self._producer_options)
            self._consumer = Consumer(self._servers, **self._consumer_options)
            for thread in threads:
                thread.start()
            try:
                self._run(self._working())
            finally:
                for _ in threads:
                    self._jobs.put(None)

    @contextmanager
    def _stopped_by_signals(self) -> Iterator[None]:
        if not self._signals or threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self._on_signal) for number in STOPPED_BY}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _serve(self) -> None:
        while (job := self._jobs.get()) is not None:
            fatal: BaseException | None = None
            try:
                self._run(self._handle(job))
            except BaseException as raised:
                fatal = raised
            self._end(job, fatal)

    @override
    def _open(self) -> None:
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._something = threading.Event()

    @override
    def _start(self, job: Job) -> None:
        self._jobs.put(job)

    @override
    def _tell(self) -> None:
        self._something.set()

    @override
    def _wait(self, seconds: float) -> None:
        self._something.wait(seconds)
        self._something.clear()

    @override
    def _delivered(self, delivery: Any) -> None:
        delivery.result()

    @override
    def _abandon(self) -> None:
        """A thread cannot be stopped; it is a daemon, so that the process may end."""

    @override
    def _run(self, steps: Steps) -> None:
        try:
            call = next(steps)
            while True:
                try:
                    result = call()
                except BaseException as raised:
                    call = steps.throw(raised)
                else:
                    call = steps.send(result)
        except StopIteration:
            return
