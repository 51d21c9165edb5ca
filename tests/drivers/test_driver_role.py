"""The driver role, and how it changes hands: each transition by itself."""

from __future__ import annotations

import ctypes
import statistics
import threading
import time

import pytest

from kwire.drivers.reactor import IDLE_AFTER_S, Reactor
from kwire.testing import Broker
from tests.drivers.waiting import Answer, Make, Waiter, until
from tests.timing import PATIENT


@pytest.fixture
def reactor(broker: Broker, make: Make) -> Reactor:
    return make(broker.bootstrap_servers)


def test_a_waiter_takes_the_driver_role_and_returns_it(reactor: Reactor) -> None:
    waiter = Waiter(reactor)
    until(waiter.drives)
    waiter.release()
    assert waiter.ended is True
    assert reactor.snapshot().driver is None


def test_a_waiter_that_ends_hands_the_driver_role_to_one_that_sleeps(reactor: Reactor) -> None:
    first = Waiter(reactor)
    until(first.drives)
    second = Waiter(reactor)
    until(second.sleeps)
    first.release()
    until(second.drives)
    assert reactor.snapshot().sleeping == 0
    answer = Answer(reactor)
    until(answer.here)
    assert answer.thread == second.thread.ident
    second.release()
    assert [first.ended, second.ended] == [True, True]


def test_a_waiter_that_is_interrupted_hands_the_driver_role_on(reactor: Reactor) -> None:
    class Interrupt(BaseException):
        pass

    first = Waiter(reactor)
    until(first.drives)
    second = Waiter(reactor)
    until(second.sleeps)
    assert first.thread.ident is not None
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(first.thread.ident), ctypes.py_object(Interrupt))
    first.join()
    assert isinstance(first.raised, Interrupt)
    until(second.drives)
    second.release()
    assert second.ended is True


def test_the_background_waits_in_poll_and_lets_go_for_a_waiter(broker: Broker, make: Make) -> None:
    reactor = make(broker.bootstrap_servers, background=True)
    assert reactor.wait(Answer(reactor).here, PATIENT)
    thread = reactor.snapshot().background
    assert thread is not None
    until(lambda: reactor.snapshot().driver == thread.ident and reactor.snapshot().polling_until is not None)
    waiter = Waiter(reactor)
    until(waiter.drives)
    waiter.release()
    until(lambda: reactor.snapshot().driver == thread.ident and reactor.snapshot().polling_until is not None)


def test_a_call_wakes_an_idle_background_for_an_earlier_timer(broker: Broker, make: Make) -> None:
    reactor = make(broker.bootstrap_servers, background=True)
    assert reactor.wait(Answer(reactor).here, PATIENT)
    parked: list[float] = []

    def is_parked() -> bool:
        parked.append(reactor.snapshot().polling_until or 0.0)
        return parked[-1] > time.monotonic() + 5

    until(is_parked)
    fired: list[float] = []
    reactor.call(lambda now: reactor.core.call_at(now + 0.05, fired.append))
    until(lambda: bool(fired))
    assert fired[0] < parked[-1]


def test_a_background_thread_that_dies_is_begun_again_by_the_next_call(
    broker: Broker,
    make: Make,
) -> None:
    reactor = make(broker.bootstrap_servers, background=True)
    assert reactor.wait(Answer(reactor).here, PATIENT)
    died = reactor.snapshot().background
    assert died is not None
    until(died.is_alive)
    reactor._closed = True
    until(lambda: not died.is_alive())
    reactor._closed = False
    answer = Answer(reactor)
    until(answer.here)
    assert reactor.snapshot().background is not died
    assert answer.thread != threading.get_ident()


def test_what_is_raised_in_the_background_thread_does_not_end_the_driving(
    broker: Broker,
    make: Make,
    caplog: pytest.LogCaptureFixture,
) -> None:
    reactor = make(broker.bootstrap_servers, background=True)
    assert reactor.wait(Answer(reactor).here, PATIENT)
    thread = reactor.snapshot().background
    assert thread is not None
    for _ in range(3):
        until(thread.is_alive)
        assert thread.ident is not None
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(SystemExit))
        reactor.wake()
        answer = Answer(reactor)
        until(answer.here)
        thread = reactor.snapshot().background or thread


def test_a_caller_between_two_looks_of_the_background_is_not_kept_waiting(
    broker: Broker,
    make: Make,
) -> None:
    """The role is free between two looks: callers that come one after the other drive themselves, within 2 ms."""
    reactor = make(broker.bootstrap_servers, background=True)
    assert reactor.wait(Answer(reactor).here, PATIENT)
    taken: list[float] = []
    for _ in range(50):
        answer = Answer(reactor)
        begun = time.monotonic()
        assert reactor.wait(answer.here, PATIENT)
        taken.append(time.monotonic() - begun)
    assert statistics.median(taken) < 0.002 + IDLE_AFTER_S


def test_a_callback_that_blocks_keeps_nobody_else_from_driving(reactor: Reactor) -> None:
    go_on, blocks = threading.Event(), threading.Event()

    def block() -> None:
        blocks.set()
        go_on.wait(PATIENT)

    holder = threading.Thread(target=lambda: reactor.call(lambda now: reactor.core.after_step.append(block)))
    holder.start()
    assert blocks.wait(PATIENT)
    answer = Answer(reactor)
    assert reactor.wait(answer.here, PATIENT)
    go_on.set()
    holder.join(PATIENT)
