"""When metadata is asked for, with timers that are run by hand."""

from __future__ import annotations

from kwire._codec import Timers
from kwire.engine.common.request import ANY, Request
from kwire.engine.common.retry import Backoff
from kwire.engine.metadata.refresh import ELECTION_LOOK_S, HEDGE_AFTER_S, Refresh

MAX_AGE = 300.0


class Asking:
    """One Refresh and what it asked: (time, request)."""

    def __init__(self, backoff_ms: int = 100) -> None:
        self.timers = Timers()
        self.asked: list[tuple[float, Request]] = []
        self.questions = 0
        backoff = Backoff(backoff_ms, 10 * backoff_ms, lambda: 0.5)
        self.refresh = Refresh(self.timers.call_at, backoff, MAX_AGE, self.new_question, self.ask)

    def new_question(self) -> None:
        self.questions += 1

    def ask(self, now: float) -> Request:
        request = Request(ANY, 3, None, lambda *_: None, lambda *_: None, versions=[0], timeout=30)
        self.asked.append((now, request))
        return request

    def respond(self, now: float, *, unsettled: bool = False, outdated: bool = False, electing: bool = False) -> None:
        self.refresh.end_question()
        self.refresh.on_response(now, unsettled=unsettled, outdated=outdated, electing=electing)

    def run_next(self) -> float:
        moment = self.timers.next_moment()
        assert moment is not None
        self.timers.run(moment)
        return moment

    @property
    def times(self) -> list[float]:
        return [round(now, 3) for now, _ in self.asked]


def test_one_question_is_in_flight_and_another_follows_if_asked_for() -> None:
    asking = Asking()
    asking.refresh.soon(1.0)
    asking.refresh.soon(1.0)
    assert asking.times == [1.0]
    asking.respond(1.1)
    asking.run_next()
    assert asking.times == [1.0, 1.2]


def test_settled_metadata_is_asked_for_when_it_is_old() -> None:
    asking = Asking()
    asking.refresh.soon(0.0)
    asking.respond(0.5)
    asking.run_next()
    assert asking.times == [0.0, 0.5 + MAX_AGE]


def test_failures_are_followed_up_after_a_growing_wait() -> None:
    asking = Asking()
    asking.refresh.soon(0.0)
    for _ in range(3):
        asking.refresh.end_question()
        asking.refresh.on_error(asking.times[-1])
        asking.run_next()
    assert asking.times == [0.0, 0.1, 0.3, 0.7]


def test_a_leader_about_to_be_elected_is_looked_for_without_growing_waits() -> None:
    asking = Asking()
    asking.refresh.soon(0.0)
    for _ in range(5):
        asking.respond(asking.times[-1], unsettled=True, electing=True)
        asking.run_next()
    assert asking.times == [0.0, 0.1, 0.2, 0.3, 0.4, 0.5]


def test_looks_for_a_leader_are_apart_though_the_backoff_is_off() -> None:
    asking = Asking(backoff_ms=0)
    asking.refresh.soon(0.0)
    for _ in range(2):
        asking.respond(asking.times[-1], electing=True)
        asking.run_next()
    assert asking.times == [0.0, ELECTION_LOOK_S, 2 * ELECTION_LOOK_S]


def test_what_is_new_is_asked_for_at_once_after_the_response() -> None:
    asking = Asking()
    asking.refresh.soon(0.0)
    asking.respond(1.0, outdated=True)
    assert asking.times == [0.0, 1.0]


def test_a_second_broker_is_asked_the_same_when_the_first_is_silent() -> None:
    asking = Asking()
    asking.refresh.soon(0.0)
    assert asking.run_next() == HEDGE_AFTER_S
    assert asking.times == [0.0, HEDGE_AFTER_S]
    assert asking.questions == 1
    asking.asked[0][1].cancel()
    assert asking.refresh.may_be_answered()
    asking.respond(3.0)
    assert asking.asked[1][1].done


def test_another_is_asked_once_while_a_leader_is_elected_and_the_first_is_silent() -> None:
    asking = Asking()
    asking.refresh.press(0.0)
    assert asking.times == []
    asking.refresh.soon(0.0)
    asking.refresh.press(0.05)
    asking.refresh.press(0.1)
    assert asking.times == [0.0, 0.05]
    assert asking.run_next() == HEDGE_AFTER_S
    assert asking.times == [0.0, 0.05, HEDGE_AFTER_S]
    assert asking.questions == 1


def test_nothing_is_asked_after_the_stop() -> None:
    asking = Asking()
    asking.refresh.soon(0.0)
    asking.refresh.stop()
    asking.refresh.soon(1.0)
    assert asking.times == [0.0]
    assert asking.timers.next_moment() is None
