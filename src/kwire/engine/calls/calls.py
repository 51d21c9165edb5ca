"""An operation that is retried until it succeeds, fails for good, or its deadline passes: what blocking calls wait for.

Layer 3, no I/O. Each try comes after a growing wait. A call ends once: with `result` or `error`. Those that ask brokers
are in `fan_out.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from operator import attrgetter

from kwire import errors
from kwire._codec import Timer
from kwire._typing import TYPE_CHECKING, Any, override
from kwire.engine.common.recovery import Recoverable
from kwire.engine.common.waits import Until
from kwire.errors import ClientClosedError, KafkaError, KafkaTimeoutError
from kwire.errors.wording import joined

if TYPE_CHECKING:
    from kwire.engine.common.waits import Door, Wait
    from kwire.engine.ports import Services

OnDone = Callable[[Any, float], None]

_is_done = attrgetter("done")


class Call(Recoverable):
    """One such operation; `done` turns True when `result` or `error` is set, then `on_done(self, now)` is called.

    From the constructor on, `ask_again` may be called: a subclass has its attributes before it calls this one's.

    recovers   whether it asks again by itself after an interrupted step; else its owner does that
    """

    recovers = True

    done = False
    result: Any = None
    error: KafkaError | None = None
    _last: KafkaError | None = None
    _failures = 0
    _retry: Timer | None = None

    def __init__(self, core: Services, what: str, deadline: float, on_done: OnDone | None = None) -> None:
        self.core = core
        self.what = what
        self._on_done = on_done
        self._limit = core.call_at(deadline, self._out_of_time)
        if self.recovers:
            self.recover_with(core)

    def value(self) -> Any:
        """The result; raises the error, and ClientClosedError where the client was closed before there was either."""
        if self.error is not None:
            raise self.error
        if not self.done:
            raise ClientClosedError("the client was closed")
        return self.result

    def succeed(self, result: Any, now: float) -> None:
        """Ends the call with a result."""
        if not self.done:
            self.result = result
            self._end(now)

    def fail(self, error: KafkaError, now: float) -> None:
        """Ends the call with an error."""
        if not self.done:
            self.error = error
            self._end(now)

    def retry(self, again: Callable[[float], None], why: KafkaError, now: float) -> None:
        """Runs `again` after the backoff; `why` is told if time runs out."""
        self._last = why
        if self.done or (self._retry is not None and self._retry.active):
            return
        self._failures += 1
        self._retry = self.core.call_at(now + self.core.retry_backoff.wait(self._failures), again)

    def timed_out(self) -> KafkaError:
        """The error when time runs out."""
        last = self._last or self.core.cluster.failure
        unconnected = self.core.connect_error()
        if isinstance(last, errors.ConnectError):
            message = joined("", (f"{self.what}: no answer in time; ", last.message))
            return errors.ConnectError(message, last.causes)
        why = f"last: {last}" if last is not None else unconnected or self.under_way()
        return KafkaTimeoutError(f"{self.what}: no answer in time" + (f"; {why}" if why else ""))

    def under_way(self) -> str:
        """For subclasses: what was asked and is not answered yet, in words."""
        return ""

    def on_end(self) -> None:
        """For subclasses: whatever is still in flight is of no use."""

    def ask_again(self, now: float) -> None:
        """For subclasses: nothing that is in flight will be answered."""

    @override
    def recover(self, now: float) -> None:
        """Asks again, and waits for no more."""
        if self._retry is not None:
            self._retry.cancel()
            self._retry = None
        self.ask_again(now)

    def _out_of_time(self, now: float) -> None:
        self.fail(self.timed_out(), now)

    def _end(self, now: float) -> None:
        self.done = True
        self._limit.cancel()
        if self.recovers:
            self.recover_no_more(self.core)
        if self._retry is not None:
            self._retry.cancel()
        self.on_end()
        if self._on_done is not None:
            self._on_done(self, now)


def result_of(door: Door, start: Callable[[float, float], Call], patience: float) -> Wait[Any]:
    """The result of the call that `start(now, deadline)` begins; raises its error. A wait that is cut ends the call."""
    call = door.call(lambda now: start(now, now + patience))
    try:
        yield Until(partial(_is_done, call), patience + 1)
    finally:
        if not call.done:
            door.clean_up(lambda now: call.fail(call.timed_out(), now))
    return call.value()
