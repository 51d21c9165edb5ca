"""One request about a transaction at a time, and the wait before the next try.

Layer 3, no I/O. What is to be asked is derived from the state anew each time, so nothing is queued here, and after a
interrupted step the state asks again. While a coordinator is silent it is looked up again, ever more seldom: another
broker may be in its place long before the time of the request is over.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from kwire._codec import Timer
from kwire._typing import TYPE_CHECKING, Any, override
from kwire.engine.common.recovery import Recoverable
from kwire.engine.common.request import MessageOrBuilder
from kwire.engine.common.retry import concurrent_wait
from kwire.engine.connections.link import HANGS_AFTER_S
from kwire.errors import ConnectError, KafkaError

if TYPE_CHECKING:
    from kwire._codec import Request
    from kwire.engine.groups.coordinator import Coordinator, WaitingRequest
    from kwire.engine.ports import Services

OnAnswer = Callable[["Coordinator", Any, int, float], None]
OnFailure = Callable[["Coordinator", KafkaError, float], None]


class Dialogue(Recoverable):
    """`go_on(now)` is called when the next request may be sent."""

    def __init__(self, core: Services, go_on: Callable[[float], None], on_failure: OnFailure) -> None:
        self.is_busy = False
        """Whether a request is in flight, or the next has to wait."""
        self.last_error: KafkaError | None = None
        """Why the last try failed; None after an answer."""
        self._core = core
        self._go_on = go_on
        self._on_failure = on_failure
        self._request: Request | WaitingRequest | None = None
        self._timer: Timer | None = None
        self._asked: Coordinator | None = None
        self._asked_at = 0.0
        self._on_answer: OnAnswer = _ignore
        self._look: Timer | None = None
        self._failures = 0

    def ask(
        self,
        coordinator: Coordinator,
        api_key: int,
        message: MessageOrBuilder,
        on_answer: OnAnswer,
        now: float,
        versions: Sequence[int],
    ) -> None:
        """Sends a request; `on_answer(coordinator, response, version, now)` or the dialogue's `on_failure` follows."""
        if coordinator is not self._asked:
            self._asked = coordinator
            coordinator.on_elsewhere = partial(self._elsewhere, coordinator)
        self._on_answer, self._asked_at = on_answer, now
        request = coordinator.request(api_key, message, self._answered, self._failed, now, versions=versions)
        if not request.done:
            self._request, self.is_busy = request, True
            if self._look is None:
                self._look = self._core.call_at(now + HANGS_AFTER_S, self._look_again)

    def succeeded(self) -> None:
        """The last answer was good."""
        self._failures = 0
        self.last_error = None

    def retry(self, why: KafkaError, now: float, *, soon: bool = False) -> None:
        """Goes on after a wait that grows with the failures in a row; soon: what is waited for takes milliseconds."""
        self.last_error = why
        self._failures += 1
        wait = concurrent_wait if soon else self._core.retry_backoff.wait
        self.pause(now + wait(self._failures))

    def pause(self, until: float) -> None:
        """Goes on at that time."""
        self._timer, self.is_busy = self._core.call_at(until, self._wake), True

    @override
    def recover(self, now: float) -> None:
        """Forgets the request in flight, and the wait before the next."""
        if self._request is not None:
            self._request.cancel()
        for timer in (self._timer, self._look):
            if timer is not None:
                timer.cancel()
        self._timer = self._look = None
        self._request, self.is_busy = None, False

    def _look_again(self, now: float) -> None:
        """Set by the first of many requests: looks at the one that is in flight once it has been for so long."""
        self._look = None
        if self._request is None or self._asked is None:
            return
        due = self._asked_at + HANGS_AFTER_S
        if now < due:
            self._look = self._core.call_at(due, self._look_again)
        else:
            self._look = self._core.call_at(now + max(now - self._asked_at, HANGS_AFTER_S), self._look_again)
            self._asked.look_again(now)

    def _elsewhere(self, coordinator: Coordinator, now: float) -> None:
        if self._request is not None and self._asked is coordinator:
            self._request.cancel()
            self._failed(ConnectError(f"another broker than the silent one is {coordinator.what}'s"), now)

    def _wake(self, now: float) -> None:
        self._timer, self.is_busy = None, False
        self._go_on(now)

    def _answered(self, response: Any, version: int, now: float) -> None:
        assert self._asked is not None
        self._request, self.is_busy = None, False
        self._on_answer(self._asked, response, version, now)
        self._go_on(now)

    def _failed(self, error: KafkaError, now: float) -> None:
        assert self._asked is not None
        self._request, self.is_busy = None, False
        self._on_failure(self._asked, error, now)
        self._go_on(now)


def _ignore(coordinator: Coordinator, response: Any, version: int, now: float) -> None:
    """Nothing was asked yet."""
