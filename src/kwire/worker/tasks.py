"""Worker for asyncio: a handler for the records of a group, in tasks.

Layer 6: calls the handler in the task of its lane.
"""

from __future__ import annotations

import asyncio
from inspect import isawaitable

from kwire._typing import Any, override
from kwire.worker.work import Work

__all__ = ["Worker"]


class Worker(Work):
    """As `kwire.Worker`, with a handler that is an `async def`, in `concurrency` tasks at once.

    await Worker("host:9092", "orders", group_id="billing", handler=bill, dead_letter_topic="orders.dead").run()
    """

    async def run(self) -> None:
        """Works until `stop()`, SIGTERM or SIGINT (where `signals` is True; a second one does not wait for handlers),
        until the task is cancelled, or until an error that no repetition mends, which it raises. Call it once."""
        self._begin()
        with self._stopped_by_signals():
            await self._work()

    @override
    async def _call(self, given: Any) -> object:
        try:
            result = self._handler(given)
            return await result if isawaitable(result) else None
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            raise RuntimeError("the handler awaited what was cancelled") from error
