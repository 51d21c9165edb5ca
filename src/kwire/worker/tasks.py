"""Worker for asyncio: a handler for the records of a group, in tasks.

Layer 6: runs the loop of `work.py` in the caller's task, and handlers in tasks of their own.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from inspect import isawaitable

from kwire._typing import Any, override
from kwire.aio.consumer import Consumer
from kwire.aio.producer import Producer
from kwire.worker.desk import Job
from kwire.worker.threads import STOPPED_BY
from kwire.worker.work import Steps, Work

__all__ = ["Worker"]


class Worker(Work):
    """As `kwire.Worker`, with a handler that is an `async def`, in `concurrency` tasks at once.

    await Worker("host:9092", "orders", group_id="billing", handler=bill, dead_letter_topic="orders.dead").run()
    """

    async def run(self) -> None:
        """Works until `stop()`, SIGTERM or SIGINT (where `signals` is True; a second one does not wait for handlers),
        until the task is cancelled, or until an error that no repetition mends, which it raises. Call it once."""
        async with self._stopped_by_signals():
            self._producer = Producer(self._servers, **self._producer_options)
            self._consumer = Consumer(self._servers, **self._consumer_options)
            await self._run(self._working())

    @asynccontextmanager
    async def _stopped_by_signals(self) -> AsyncIterator[None]:
        loop = asyncio.get_running_loop()
        numbers = STOPPED_BY if self._signals else ()
        try:
            for number in numbers:
                loop.add_signal_handler(number, self._on_signal)
        except (RuntimeError, ValueError):  # not the main thread
            numbers = ()
        try:
            yield
        finally:
            for number in numbers:
                loop.remove_signal_handler(number)

    async def _serve(self, job: Job) -> None:
        fatal: BaseException | None = None
        try:
            await self._run(self._handle(job))
        except BaseException as raised:
            fatal = raised
        self._end(job, fatal)

    @override
    def _open(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()
        self._something = asyncio.Event()

    @override
    def _start(self, job: Job) -> None:
        task = asyncio.create_task(self._serve(job))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    @override
    def _tell(self) -> None:
        self._something.set()

    @override
    async def _wait(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._something.wait()
        except TimeoutError:
            pass
        self._something.clear()

    @override
    async def _delivered(self, delivery: Any) -> None:
        await delivery

    @override
    async def _abandon(self) -> None:
        for task in self._tasks:
            task.cancel()

    @override
    async def _run(self, steps: Steps) -> None:
        try:
            call = next(steps)
            while True:
                try:
                    result = call()
                    if isawaitable(result):
                        result = await result
                except BaseException as raised:
                    call = steps.throw(raised)
                else:
                    call = steps.send(result)
        except StopIteration:
            return
