"""The runner of waits for asyncio: each step is awaited.

Layer 5: knows the loop driver, no client.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import warnings
from collections.abc import Awaitable, Callable, Iterable
from contextvars import ContextVar
from functools import partial
from inspect import isawaitable

from kwire._typing import Any, TypeVar, override
from kwire.drivers.loop import LoopDriver
from kwire.engine.common.waits import Step, Tell, Turn, Unfinished, Until, Wait
from kwire.errors import ClientClosedError
from kwire.fronts.door import ClientDoor

T = TypeVar("T")

LONG_TURN_S = 0.001
"""Seconds after which a wait lets the loop turn once, though what it wants is at hand."""

_unfinished: dict[LoopDriver, tuple[str, Unfinished]] = {}
"""Of clients whose close() was cancelled, by kind: they close by themselves, if their event loop goes on for long
enough."""

_told_in: ContextVar[frozenset[object]] = ContextVar("_told_in", default=frozenset())
"""The calls of functions that a task runs in: those of the tasks that began it, too."""


class LoopDoor(ClientDoor[LoopDriver]):
    """The door of a client on an event loop. `telling` stands for the call of the function."""

    callers = "task"

    def __init__(self, driver: LoopDriver, kind: str, *, one_caller: bool) -> None:
        super().__init__(driver, kind, one_caller=one_caller)
        self._begun: asyncio.Future[None] | None = None
        self._closing: asyncio.Future[None] | None = None
        """Done when the task that closes the client has done so."""
        self._goes_on = False
        """The farewell was cut, and what it waited for closes the client."""

    async def run(self, wait: Wait[T], *, alone: bool = True, beside: Callable[[], T] | None = None) -> T:
        """The result of the wait. While another caller is inside: what `beside` does, or else an error; with
        alone=False they do not keep each other out. What was begun is waited for."""
        if not alone or not self.one_caller or self.is_told:
            return await self._drive(wait)
        if self._begun is not None and beside is None:
            await asyncio.wait([self._begun])
        if self.used:
            if beside is not None:
                return beside()
            self._check_is_told()
        try:
            self.used = True
            return await self._drive(wait)
        finally:
            self.used = False

    async def _drive(self, wait: Wait[T], step: Step | None = None) -> T:
        """Runs it from its beginning, or from that step on."""
        try:
            if step is None:
                step = next(wait)
            while True:
                step = wait.send(await self._awaitable(step))
        except StopIteration as end:
            result: T = end.value
            return result
        finally:
            wait.close()

    def _awaitable(self, step: Step) -> Awaitable[Any]:
        if isinstance(step, Until):
            return self.driver.wait(step.done, step.seconds)
        if isinstance(step, Turn):
            return self._turn(step)
        return self._tell(step)

    async def _turn(self, step: Turn) -> bool:
        """Lets the loop turn where it has not for long, and where what has come may not have been read."""
        if not step.done():
            await asyncio.sleep(0)
            await asyncio.sleep(0)  # what the first finds to be read is read before the second is over
        elif self.now() - self.driver.turned_at > LONG_TURN_S:
            await asyncio.sleep(0)
        else:
            return True
        self.driver.turned_at = self.now()
        return step.done()

    async def _tell(self, step: Tell) -> Exception | None:
        telling = object()
        outer = _told_in.set(_told_in.get() | {telling})
        try:
            self.telling = telling
            returned = step.function(step.argument)
            if isawaitable(returned):
                await returned
        except Exception as error:
            return error
        finally:
            self.telling = None
            _told_in.reset(outer)
        return None

    @property
    @override
    def is_told(self) -> bool:
        return self.telling is not None and self.telling in _told_in.get()

    @override
    def clean_up(self, work: Callable[[float], object]) -> None:
        """As the base; not where a wait is dropped after its event loop has ended."""
        if not self.driver.closed and self.driver.at_home:
            self.driver.step(work)

    # -- what is begun at once --------------------------------------------------------------------------------------

    @override
    def begin(self, wait: Wait[None]) -> asyncio.Future[None]:
        """Runs it up to its first step, and goes on in a task, which waits of this client wait for. Cancelling the task
        cuts the wait."""
        self.driver.check_loop()
        over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        inside = self.used
        if inside:
            self._check_is_told()
        try:
            self.used = True
            step = next(wait)
        except BaseException as end:
            self.used = inside
            if not isinstance(end, StopIteration):
                raise
            over.set_result(None)
            return over
        self._begun = asyncio.ensure_future(self._go_on(wait, step))
        self._begun.add_done_callback(partial(self._on_over, wait))
        return self._begun

    async def _go_on(self, wait: Wait[None], step: Step) -> None:
        try:
            await self._drive(wait, step)
        finally:
            self.used = False
            self._begun = None

    def _on_over(self, wait: Wait[None], task: asyncio.Future[None]) -> None:
        """The task was cancelled before it began; one that has ended has said so in that turn."""
        if self._begun is task:
            self.used = False
            self._begun = None
            wait.close()

    # -- the end ----------------------------------------------------------------------------------------------------

    @override
    def go_on(self, task: Unfinished) -> None:
        _close_those_of_ended_loops()
        _unfinished[self.driver] = self._kind, task
        self._goes_on = True
        self.driver.when(task.is_done, partial(_close, self.driver))

    @override
    def drop(self) -> None:
        self.driver.run_on_loop(self.driver.close)

    async def close(
        self,
        farewell: Wait[None] | None = None,
        until: float = 0.0,
        *,
        alone: bool = True,
        beside: Callable[[], None] | None = None,
    ) -> None:
        """Runs the farewell, if there is one and the client is open, then closes all connections. Idempotent: a second
        one waits for the first, until then. Inside a function that is told something there is no farewell."""
        driver = self.driver
        if farewell is None or not driver.at_home or self.is_told:
            if beside is not None and driver.at_home and not driver.closed:
                beside()
            await self._close()
            return
        await self._wait_for(self._closing, until)
        mine = None
        if self._closing is None:
            self._closing = mine = asyncio.get_running_loop().create_future()
        try:
            await self._bid(farewell, until, alone, beside)
        finally:
            if mine is not None:
                self._closing = None
                mine.set_result(None)

    async def _bid(self, farewell: Wait[None], until: float, alone: bool, beside: Callable[[], None] | None) -> None:
        self._goes_on = False
        try:
            if not self.driver.closed:
                await self._wait_for(self._begun, until)
                await self.run(farewell, alone=alone, beside=beside)
        except ClientClosedError:
            if not self.driver.closed:
                raise  # else another close() had less time, or was called by the listener
        finally:
            if not self._goes_on:
                await self._close()

    async def _wait_for(self, other: asyncio.Future[None] | None, until: float) -> None:
        if other is not None and (left := until - self.now()) > 0:
            await asyncio.wait([other], timeout=left)

    async def _close(self) -> None:
        _close(self.driver)
        await self.driver.closed_all()


def _close(driver: LoopDriver) -> None:
    _unfinished.pop(driver, None)
    driver.close()


def _close_those_of_ended_loops() -> None:
    _close_lost(driver for driver in list(_unfinished) if driver.loop is None or driver.loop.is_closed())


def _close_lost(drivers: Iterable[LoopDriver]) -> None:
    """Closes those whose event loop has ended, with a warning of what is lost by that."""
    for driver in list(drivers):
        kind, task = _unfinished.pop(driver, (None, None))
        if task is None:
            continue  # its own thread, or another, was quicker
        loss = task.loss()
        driver.close()
        if loss:
            text = f"the event loop of a {kind} ended with {loss}, as its close() was cancelled"
            warnings.warn(text, ResourceWarning, stacklevel=2)


atexit.register(_close_lost, _unfinished)
os.register_at_fork(after_in_child=_unfinished.clear)
