"""The base of the clients for asyncio: opening, asking, closing, and warning of one left open.

Layer 5: knows settings, a core and its loop driver. Calls and records are the clients' own.
"""

from __future__ import annotations

import asyncio
import sys
import warnings
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from time import monotonic
from types import TracebackType

from kwire._typing import TYPE_CHECKING, Any, Self, TypeVar, override
from kwire.drivers.loop import LoopDriver
from kwire.engine.admin.calls import Conversation, Dialogue, Question
from kwire.engine.calls.calls import Call
from kwire.engine.calls.fan_out import FanOutCall
from kwire.errors import KafkaError
from kwire.fronts.front import Front, SettingsType
from kwire.schema import k00_produce, k01_fetch, k03_metadata, k22_init_producer_id

if TYPE_CHECKING:
    from kwire.engine.settings.options import Timeout

T = TypeVar("T")

PRELOADED = (k00_produce, k01_fetch, k03_metadata, k22_init_producer_id)
"""What the first requests need: imported here, because later the event loop would stand still for milliseconds."""


class Client(Front[SettingsType]):
    """The base of Producer, Consumer and Admin on an event loop: that of its first use."""

    _driver: LoopDriver

    _closing: asyncio.Future[None] | None
    """Done when the task that closes the client has done so."""

    @override
    def _open(self, settings: SettingsType) -> None:
        super()._open(settings)
        self._driver = LoopDriver(self._core, name=self.kind)
        self._closing = None

    @override
    def _is_open(self) -> bool:
        return getattr(self, "_driver", None) is not None

    @override
    def _step(self, work: Callable[[float], T]) -> T:
        found: T = self._driver.call(work)
        return found

    @property
    @override
    def _closed(self) -> bool:
        return self._driver.closed

    async def close(self) -> None:
        """Closes all connections; idempotent. Calls that wait meanwhile raise ClientClosedError."""
        self._driver.close()
        await self._driver.closed_all()

    @asynccontextmanager
    async def _turn_to_close(self, until: float) -> AsyncIterator[bool]:
        """Waits for another task that is closing the client, until then; says whether there is something to close."""
        if self._closing is not None and (left := until - monotonic()) > 0:
            await asyncio.wait([self._closing], timeout=left)
        mine = None
        if self._closing is None:
            self._closing = mine = asyncio.get_running_loop().create_future()
        try:
            yield not self._closed
        finally:
            if mine is not None:
                self._closing = None
                mine.set_result(None)

    async def __aenter__(self) -> Self:
        self._driver.check_loop()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def __del__(self) -> None:
        driver = getattr(self, "_driver", None)
        if driver is not None and driver.owned_by_process and not driver.closed and driver.has_resources:
            if not sys.is_finalizing():
                warnings.warn(f"{self!r} was not closed", ResourceWarning, source=self)
            driver.run_on_loop(driver.close)

    async def _run(self, question: Question[T], timeout: Timeout) -> T:
        """The answer to that question."""
        api = question.api
        if api is None:
            return question.finish({})
        found = await self._ask(timeout, lambda now, deadline: FanOutCall(self._core, api, deadline=deadline, now=now))
        return question.finish(found)

    async def _converse(self, dialogue: Dialogue[T], timeout: Timeout) -> T:
        """The result of a dialogue, all of whose questions together may take that long."""
        until = monotonic() + self._patience(timeout)
        talk = Conversation(dialogue)
        while (question := talk.question) is not None:
            try:
                answer = await self._run(question, max(until - monotonic(), 0.0))
            except KafkaError as error:
                talk.fail(error)
            else:
                talk.answer(answer)
        return talk.result

    async def _ask(self, timeout: Timeout, start: Callable[[float, float], Call]) -> Any:
        """The result of the call that `start(now, deadline)` begins; raises its error."""
        self._check_open()
        patience = self._patience(timeout)
        call = self._driver.call(lambda now: start(now, now + patience))
        try:
            await self._driver.wait(lambda: call.done, patience + 1)
        finally:
            if not call.done and not self._driver.closed:
                self._driver.step(lambda now: call.fail(call.timed_out(), now))
        return call.value()
