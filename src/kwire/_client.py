"""The base of the synchronous clients: opening, asking, closing, and warning of one left open.

Layer 5, below the clients: knows settings, a core and its reactor. Calls and records are the clients' own.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from threading import TIMEOUT_MAX, RLock
from types import TracebackType

from kwire._typing import TYPE_CHECKING, Any, Self, TypeVar, override
from kwire.drivers.reactor import Reactor
from kwire.engine.admin.calls import Conversation, Dialogue, Question
from kwire.engine.calls.calls import Call
from kwire.engine.calls.fan_out import FanOutCall
from kwire.errors import KafkaError
from kwire.fronts.front import Front, SettingsType

if TYPE_CHECKING:
    from typing import ClassVar

    from kwire.engine.settings.options import Timeout
else:
    from kwire._typing import ClassVar

T = TypeVar("T")


class _TurnToClose:
    """A listener, a callback or a signal handler of the thread that closes does not wait for itself."""

    def __init__(self, closer: RLock, reactor: Reactor, until: float) -> None:
        self._closer = closer
        self._reactor = reactor
        self._until = until

    def __enter__(self) -> bool:
        left = max(self._until - time.monotonic(), 0.0)
        self._has_turn = self._closer.acquire(timeout=min(left, TIMEOUT_MAX))
        return not self._reactor.closed

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._has_turn:
            self._closer.release()


class Client(Front[SettingsType]):
    """The base of Producer, Consumer and Admin."""

    reads_by_itself: ClassVar[bool] = False
    """Whether its callers read what they wait for, so that its background thread is there for timers only."""

    _reactor: Reactor

    _closer: RLock
    """Held by the thread that closes the client."""

    @override
    def _open(self, settings: SettingsType, *, background: bool = False) -> None:
        super()._open(settings)
        self._closer = RLock()
        self._reactor = Reactor(self._core, background=background, seldom=self.reads_by_itself, name=self.kind)

    @override
    def _is_open(self) -> bool:
        return getattr(self, "_reactor", None) is not None

    @override
    def _step(self, work: Callable[[float], T]) -> T:
        return self._reactor.call(work)

    @property
    @override
    def _closed(self) -> bool:
        return self._reactor.closed

    def close(self) -> None:
        """Closes all connections. From any thread; idempotent."""
        self._reactor.close()

    def _turn_to_close(self, until: float) -> _TurnToClose:
        """A block that waits for another thread that is closing the client, until then; it says whether there is
        something to close.
        """
        return _TurnToClose(self._closer, self._reactor, until)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self) -> None:
        reactor = getattr(self, "_reactor", None)
        if reactor is not None and reactor.owned_by_process and not reactor.closed and reactor.has_resources:
            if not sys.is_finalizing():  # nothing can be imported then
                import warnings

                warnings.warn(f"{self!r} was not closed", ResourceWarning, source=self)
            reactor.close()

    def _run(self, question: Question[T], timeout: Timeout) -> T:
        """The answer to that question."""
        api = question.api
        if api is None:
            return question.finish({})
        found = self._ask(timeout, lambda now, deadline: FanOutCall(self._core, api, deadline=deadline, now=now))
        return question.finish(found)

    def _converse(self, dialogue: Dialogue[T], timeout: Timeout) -> T:
        """The result of a dialogue, all of whose questions together may take that long."""
        until = time.monotonic() + self._patience(timeout)
        talk = Conversation(dialogue)
        while (question := talk.question) is not None:
            try:
                answer = self._run(question, max(until - time.monotonic(), 0.0))
            except KafkaError as error:
                talk.fail(error)
            else:
                talk.answer(answer)
        return talk.result

    def _ask(self, timeout: Timeout, start: Callable[[float, float], Call]) -> Any:
        """The result of the call that `start(now, deadline)` begins; raises its error."""
        self._check_open()
        patience = self._patience(timeout)
        call = self._reactor.call(lambda now: start(now, now + patience))
        try:
            self._reactor.wait(lambda: call.done, patience + 1)
        finally:
            if not call.done and not self._reactor.closed:
                self._reactor.call(lambda now: call.fail(call.timed_out(), now))
        return call.value()
