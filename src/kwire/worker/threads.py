"""Worker: a handler for the records of a group, on threads.

Layer 6: runs the event loop on the caller's thread, and calls the handler on threads of its own.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from queue import SimpleQueue

from kwire._typing import Any, override
from kwire.worker.work import Work

__all__ = ["Worker"]


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
        self._begin()
        self._calls: SimpleQueue[_Call | None] = SimpleQueue()
        self._ended: deque[_Call] = deque()
        self._is_told = False
        with self._stopped_by_signals():
            if asyncio._get_running_loop() is None:
                asyncio.run(self._work_on_threads())
                return
            with ThreadPoolExecutor(1) as aside:  # this thread has a loop, as in a notebook
                try:
                    aside.submit(asyncio.run, self._work_on_threads()).result()
                except BaseException:  # an interrupt, which ends this thread's wait alone
                    self.stop()
                    raise

    async def _work_on_threads(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            for number in range(self._concurrency):  # as daemons: a handler that never returns keeps no process alive
                name = f"kwire-worker-{number}"
                threading.Thread(target=self._serve, args=(loop,), name=name, daemon=True).start()
            await self._work()
        finally:
            for _ in range(self._concurrency):
                self._calls.put(None)

    @override
    async def _call(self, given: Any) -> object:
        call = _Call(given)
        self._calls.put(call)
        await call.end
        if call.error is not None:
            raise call.error
        return call.result

    def _serve(self, loop: asyncio.AbstractEventLoop) -> None:
        """What each thread does."""
        while (call := self._calls.get()) is not None:
            try:
                call.result = self._handler(call.given)
            except asyncio.CancelledError as error:  # of a loop of the handler's: the task that waits was not cancelled
                call.error = RuntimeError("the handler awaited what was cancelled")
                call.error.__cause__ = error
            except BaseException as error:
                call.error = error
            self._ended.append(call)
            if not self._is_told:  # else the loop has not looked yet
                self._is_told = True
                with suppress(RuntimeError):  # run() has ended without this handler
                    loop.call_soon_threadsafe(self._end_calls)

    def _end_calls(self) -> None:
        self._is_told = False
        while self._ended:
            end = self._ended.popleft().end
            if not end.cancelled():
                end.set_result(None)


class _Call:
    """One call of the handler, and how it ended."""

    def __init__(self, given: Any) -> None:
        self.given = given
        self.result: object = None
        self.error: BaseException | None = None
        self.end: asyncio.Future[None] = asyncio.get_running_loop().create_future()
