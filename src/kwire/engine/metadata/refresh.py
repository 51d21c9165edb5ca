"""When metadata is asked for: soon after something proved to be stale, and at the latest when it is old.

Layer 3, no I/O; the asking itself is passed in. One question is in flight at most; a broker that does not answer it
soon may hang, so another one is asked beside it, and the first response counts. Failures, and topics that are still
missing or without a leader, are followed up after a growing wait; while a leader is being elected, the wait does not
grow, since records wait for its name.
"""

from __future__ import annotations

from collections.abc import Callable

from kwire._codec import Timer
from kwire._typing import TYPE_CHECKING, override
from kwire.engine.common.recovery import Recoverable
from kwire.engine.common.request import Request
from kwire.engine.common.retry import Backoff

if TYPE_CHECKING:
    CallAt = Callable[[float, Callable[[float], object]], Timer]

HEDGE_AFTER_S = 2.0
"""Seconds after which a second broker is asked, because the first may hang."""

ELECTION_LOOK_S = 0.1
"""The shortest time between two looks for a leader that is being elected."""

Ask = Callable[[float], Request]


class Refresh(Recoverable):
    """The timing of one client's questions. `new_question()` is called before the first `ask(now)` of each."""

    def __init__(
        self, call_at: CallAt, backoff: Backoff, max_age: float, new_question: Callable[[], None], ask: Ask
    ) -> None:
        self._call_at = call_at
        self._backoff = backoff
        self._max_age = max_age
        self._new_question = new_question
        self._ask = ask
        self._in_flight: list[Request] = []
        self._hedge: Timer | None = None
        self._timer: Timer | None = None
        self._again = False
        self._failures = 0
        self._next_allowed = 0.0
        self.stopped = False

    @property
    def in_flight(self) -> bool:
        """Whether a question waits for its response."""
        return bool(self._in_flight)

    @property
    def answered_by(self) -> str:
        """The address of the broker that has just answered the question; "" if it has no answer."""
        return next((str(request.asked) for request in self._in_flight if request.done and request.asked), "")

    @property
    def silent(self) -> list[str]:
        """The addresses of the brokers that were asked, and have not answered yet."""
        return list(dict.fromkeys(str(request.asked) for request in self._in_flight if request.asked is not None))

    def soon(self, now: float) -> None:
        """Asks as soon as the backoff allows; after the question in flight, if there is one."""
        if self.stopped:
            return
        if self._in_flight:
            self._again = True
            return
        self._ask_at(max(now, self._next_allowed), now)

    def at_once(self, now: float) -> None:
        """Asks now, whatever failed before; after the question in flight, if there is one."""
        self._failures = 0
        self._next_allowed = now
        self.soon(now)

    def press(self, now: float) -> None:
        """Asks once more beside a question in flight, which may wait behind what its broker holds back."""
        if len(self._in_flight) == 1:
            self._ask_another(now)

    def on_response(self, now: float, *, unsettled: bool, outdated: bool, electing: bool) -> None:
        """Times the next question. `unsettled`: something is still missing. `outdated`: the question that was answered
        did not ask for everything that is wanted by now. `electing`: a leader is about to be elected."""
        self._failures = self._failures + 1 if unsettled else 0
        self._next_allowed = now + self._backoff.wait(max(self._failures, 1))
        if outdated:
            self._ask_at(now, now)
            return
        due = self._next_allowed if unsettled or self._again else now + self._max_age
        if electing:
            due = min(due, now + max(self._backoff.wait(1), ELECTION_LOOK_S))
        self._ask_at(due, now)

    def on_error(self, now: float) -> None:
        """The question failed: times the next."""
        self._failures += 1
        self._next_allowed = now + self._backoff.wait(self._failures)
        if not self.stopped:
            self._ask_at(self._next_allowed, now)

    def end_question(self) -> None:
        """It has its response, or needs none."""
        requests, self._in_flight = self._in_flight, []
        for request in requests:
            request.cancel()
        if self._hedge is not None:
            self._hedge.cancel()

    def may_be_answered(self) -> bool:
        """Whether one of the brokers asked may still answer."""
        self._in_flight = [request for request in self._in_flight if not request.done]
        return self.in_flight

    def stop(self) -> None:
        """Asks no more."""
        self.stopped = True
        self._cancel_timer()
        self.end_question()

    @override
    def recover(self, now: float) -> None:
        """Nothing is in flight or timed."""
        self.end_question()
        self._cancel_timer()
        self._timer = None

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _ask_at(self, when: float, now: float) -> None:
        if self._timer is not None:
            if self._timer.active and self._timer.when <= when:
                return
            self._timer.cancel()
        if when <= now:
            self._begin(now)
        else:
            self._timer = self._call_at(when, self._begin)

    def _begin(self, now: float) -> None:
        if self._in_flight or self.stopped:
            return
        self._cancel_timer()
        self._again = False
        self._new_question()
        self._send(now)
        self._hedge = self._call_at(now + HEDGE_AFTER_S, self._ask_another)

    def _send(self, now: float) -> None:
        request = self._ask(now)
        if not request.done:
            self._in_flight.append(request)

    def _ask_another(self, now: float) -> None:
        if self._in_flight:
            self._send(now)
