"""A question that is asked until it is answered or its time is over: what blocking calls of the clients wait for.

Layer 3, no I/O. A call sends its request, looks at the answer, and asks again after a growing wait when the answer, or
the lack of one, may be another next time (retriable codes, lost connections). It ends once: with `result` or `error`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kwire import errors
from kwire._codec import Timer
from kwire._typing import TYPE_CHECKING, Any
from kwire.engine.error_codes import (
    COORDINATOR_LOAD_IN_PROGRESS,
    COORDINATOR_NOT_AVAILABLE,
    NOT_CONTROLLER,
    NOT_COORDINATOR,
    THROTTLING_QUOTA_EXCEEDED,
)
from kwire.engine.request import MessageOrBuilder, Request
from kwire.engine.retry import is_retriable
from kwire.errors import BrokerError, KafkaError, KafkaTimeoutError

if TYPE_CHECKING:
    from kwire.engine.ports import Services

NOT_LOOKED_AT = frozenset(
    {
        COORDINATOR_LOAD_IN_PROGRESS,
        COORDINATOR_NOT_AVAILABLE,
        NOT_COORDINATOR,
        NOT_CONTROLLER,
        THROTTLING_QUOTA_EXCEEDED,
    }
)
"""Codes of a broker that is not, or not yet, the one to ask (coordinator, controller), or that throttles: the request
had no effect, so it is safe to repeat it whatever it does."""

OnDone = Callable[[Any, float], None]


class Call:
    """One such question; `done` turns True when `result` or `error` is set, then `on_done(self, now)` is called.

    From the constructor on, `ask_again` may be called: a subclass has its attributes before it calls this one's.
    """

    def __init__(self, core: Services, what: str, deadline: float, on_done: OnDone | None = None) -> None:
        self.core = core
        self.what = what
        self.done = False
        self.result: Any = None
        self.error: KafkaError | None = None
        self._on_done = on_done
        self._last: KafkaError | None = None
        self._failures = 0
        self._retry: Timer | None = None
        self._limit = core.call_at(deadline, self._out_of_time)
        core.recovered.append(self._recover)

    def value(self) -> Any:
        """The result; raises the error."""
        if self.error is not None:
            raise self.error
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
        if isinstance(last, errors.ConnectError):
            return errors.ConnectError(f"{self.what}: no answer in time; {last.message}", last.causes)
        return KafkaTimeoutError(f"{self.what}: no answer in time" + (f"; last: {last}" if last is not None else ""))

    def on_end(self) -> None:
        """For subclasses: whatever is still under way is of no use."""

    def ask_again(self, now: float) -> None:
        """For subclasses: nothing that is under way will be answered."""

    def _recover(self, now: float) -> None:
        self._retry = None
        self.ask_again(now)

    def _out_of_time(self, now: float) -> None:
        self.fail(self.timed_out(), now)

    def _end(self, now: float) -> None:
        self.done = True
        self._limit.cancel()
        if self._recover in self.core.recovered:
            self.core.recovered.remove(self._recover)
        if self._retry is not None:
            self._retry.cancel()
        self.on_end()
        if self._on_done is not None:
            self._on_done(self, now)


class RequestCall(Call):
    """A call of one request to one target. `take(response, version)` gives the result; a BrokerError that it raises is
    the outcome, unless its code says that the request was not looked at (NOT_LOOKED_AT): then it is asked again."""

    def __init__(
        self,
        core: Services,
        what: str,
        target: int,
        api_key: int,
        message: MessageOrBuilder,
        take: Callable[[Any, int], Any],
        deadline: float,
        now: float,
        *,
        versions: Sequence[int] | None = None,
        prepared: Callable[[], bool] | None = None,
    ) -> None:
        self._target = target
        self._api_key = api_key
        self._message = message
        self._take = take
        self._versions = versions
        self._prepared = prepared
        self._request: Request | None = None
        super().__init__(core, what, deadline)
        if prepared is not None:
            core.cluster.listeners.append(self._metadata_came)
        self._send(now)

    def _send(self, now: float) -> None:
        if self.done or (self._request is not None and not self._request.done):
            return
        if self._prepared is not None and not self._prepared():
            self.core.cluster.refresh(now)
            return
        self._request = self.core.request(
            self._target, self._api_key, self._message, self._on_response, self._on_error, now, versions=self._versions
        )

    def ask_again(self, now: float) -> None:
        self._request = None
        self._send(now)

    def _metadata_came(self, now: float) -> None:
        self._send(now)

    def _on_response(self, response: Any, version: int, now: float) -> None:
        try:
            result = self._take(response, version)
        except KafkaError as error:
            self._on_error(error, now)
        else:
            self.succeed(result, now)

    def _on_error(self, error: KafkaError, now: float) -> None:
        if isinstance(error, BrokerError):
            may_retry = error.code in NOT_LOOKED_AT
            if error.stale_metadata or error.code == NOT_CONTROLLER:
                self.core.cluster.refresh(now)
        else:
            may_retry = is_retriable(error)
        if may_retry:
            self.retry(self._send, error, now)
        else:
            self.fail(error, now)

    def on_end(self) -> None:
        if self._request is not None:
            self._request.cancel()
        if self._metadata_came in self.core.cluster.listeners:
            self.core.cluster.listeners.remove(self._metadata_came)
