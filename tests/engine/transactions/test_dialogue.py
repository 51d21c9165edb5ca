"""When a coordinator that does not answer is looked up again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from kwire._codec import Request, Timer, Timers
from kwire.engine.common.request import ANY
from kwire.engine.connections.link import HANGS_AFTER_S
from kwire.engine.groups.coordinator import Coordinator
from kwire.engine.ports import Services
from kwire.engine.transactions.dialogue import Dialogue
from kwire.schema.api_keys import END_TXN

_VERSIONS = range(1)


class _Coordinator:
    """Notes when it is looked up."""

    def __init__(self) -> None:
        self.looks: list[float] = []
        self.asked: Request | None = None

    def request(
        self,
        api_key: int,
        message: Any,
        on_response: Callable[..., None],
        on_error: Callable[..., None],
        now: float,
        *,
        versions: Sequence[int],
    ) -> Request:
        self.asked = Request(ANY, api_key, message, on_response, on_error, versions=versions, timeout=30.0)
        return self.asked

    def look_again(self, now: float) -> None:
        self.looks.append(now)


class _Impatient:
    """Sets so many timers."""

    def __init__(self, timers: Timers, most: int) -> None:
        self._timers = timers
        self._left = most

    def call_at(self, when: float, callback: Callable[[float], object]) -> Timer:
        self._left -= 1
        assert self._left, "a timer is set again and again"
        return self._timers.call_at(when, callback)


def _ask(dialogue: Dialogue, coordinator: _Coordinator, now: float) -> None:
    dialogue.ask(cast("Coordinator", coordinator), END_TXN, None, lambda *answer: None, now, _VERSIONS)


def _run(timers: Timers, until: float) -> None:
    while (moment := timers.next_moment()) is not None and moment <= until:
        timers.run(moment)


def test_a_silent_coordinator_is_looked_up_by_the_time_of_its_own_request() -> None:
    """Not by that of a request before, which was answered; and ever more seldom."""
    timers, coordinator = Timers(), _Coordinator()
    dialogue = Dialogue(cast("Services", timers), lambda now: None, lambda *failure: None)
    _ask(dialogue, coordinator, 0.0)
    assert coordinator.asked is not None
    coordinator.asked.answer("an answer", 0.5)
    _ask(dialogue, coordinator, 1.5)
    _run(timers, 30.0)
    first = 1.5 + HANGS_AFTER_S
    assert coordinator.looks[:4] == [first, first + 2, first + 6, first + 14]


def test_a_look_that_is_due_is_not_put_off_by_rounding() -> None:
    """The timer would be set for now, again and again."""
    asked_at = 0.3
    assert (asked_at + HANGS_AFTER_S) - asked_at < HANGS_AFTER_S
    timers, coordinator = Timers(), _Coordinator()
    core = cast("Services", _Impatient(timers, most=10))
    dialogue = Dialogue(core, lambda now: None, lambda *failure: None)
    _ask(dialogue, coordinator, asked_at)
    _run(timers, asked_at + HANGS_AFTER_S)
    assert coordinator.looks == [asked_at + HANGS_AFTER_S]


def test_requests_that_are_answered_share_one_timer() -> None:
    timers, coordinator = Timers(), _Coordinator()
    dialogue = Dialogue(cast("Services", timers), lambda now: None, lambda *failure: None)
    for number in range(100):
        _ask(dialogue, coordinator, number / 1000)
        assert dialogue.is_busy
        assert coordinator.asked is not None
        coordinator.asked.answer("an answer", number / 1000)
        assert not dialogue.is_busy
    moments = []
    while (moment := timers.next_moment()) is not None:
        moments.append(moment)
        timers.run(moment)
    assert moments == [HANGS_AFTER_S]
    assert not coordinator.looks
