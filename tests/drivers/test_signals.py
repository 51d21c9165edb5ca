"""Signal handlers while a client drives: they may use the client, and what they interrupt goes on."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import pytest

from kwire import errors
from kwire.testing import Broker
from tests.drivers.waiting import Answer, Make, Waiter, until
from tests.interrupts import Trip, put_back
from tests.thorough import THOROUGH
from tests.timing import PATIENT, SOON

TRIP: Any = Trip()
TIMES = 100 if THOROUGH else 20


@contextlib.contextmanager
def handling(number: int, handler: Callable[[], object]) -> Iterator[None]:
    def run(number: int, frame: FrameType | None) -> None:
        handler()

    before = signal.signal(number, run)
    try:
        yield
    finally:
        put_back(number, before)


def test_a_handler_that_waits_takes_the_driver_role_from_the_wait_that_it_interrupts(
    broker: Broker,
    make: Make,
) -> None:
    """The interrupted wait may not select what the next driver watches: it sleeps as everybody else does."""
    reactor = make(broker.bootstrap_servers)
    assert reactor.wait(Answer(reactor).here, PATIENT)
    others: list[Waiter] = []
    slept: list[bool] = []

    def handler() -> None:
        until(others[0].sleeps)
        assert reactor.wait(lambda: True, PATIENT)
        until(others[0].drives)

    def look_and_end() -> None:
        give_up = time.monotonic() + PATIENT
        while time.monotonic() < give_up and not ended:
            if others and others[0].drives() and reactor.snapshot().sleeping == 1:
                slept.append(True)
                others[0].flag = True
                reactor.wake()
                return
            time.sleep(0.0005)

    def done() -> bool:
        if not others:
            others.append(Waiter(reactor))
            TRIP[signal.SIGUSR1]  # its handler runs before the driver selects, outside the lock
        return slept != []  # no call: a call looks for signals

    ended: list[bool] = []
    watch = threading.Thread(target=look_and_end)
    with handling(signal.SIGUSR1, handler):
        watch.start()
        reactor.wait(done, PATIENT)
    ended.append(True)
    watch.join()
    others[0].release()
    assert slept == [True]
    assert others[0].ended is True
    answer = Answer(reactor)
    assert reactor.wait(answer.here, PATIENT)


def test_a_handler_may_send_and_wait_wherever_it_is_run(broker: Broker, make: Make) -> None:
    """Two threads wait for answers all the while: the driver role goes to and fro, connections come and go."""
    reactor = make(broker.bootstrap_servers, reconnect_backoff_ms=1, reconnect_backoff_max_ms=5)
    handled: list[bool] = []
    over = threading.Event()
    raised: list[BaseException] = []

    def ask() -> None:
        answer = Answer(reactor)
        assert reactor.wait(answer.here, PATIENT)

    def handler() -> None:
        try:
            ask()
            handled.append(True)
        except errors.ConcurrentUseError:
            pass  # in the middle of a step

    def work() -> None:
        try:
            while not over.is_set():
                ask()
        except BaseException as error:
            raised.append(error)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        give_up = time.monotonic() + PATIENT
        with handling(signal.SIGALRM, handler):
            signal.setitimer(signal.ITIMER_REAL, 0.001, 0.003)
            try:
                while len(handled) < TIMES and time.monotonic() < give_up:
                    ask()
                    if len(handled) % 10 == 9:
                        broker.close_connections()
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
    finally:
        over.set()
        for thread in threads:
            thread.join(PATIENT)
    assert raised == []
    assert len(handled) >= TIMES
    assert reactor.snapshot().driver is None


def test_whoever_has_the_lock_is_told_and_does_not_wait_for_himself(broker: Broker, make: Make) -> None:
    reactor = make(broker.bootstrap_servers)
    assert reactor.wait(Answer(reactor).here, PATIENT)
    waiter = reactor._add_waiter()
    entries: list[Callable[[], object]] = [
        lambda: reactor.call(lambda now: now),
        lambda: reactor.wait(lambda: True, PATIENT),
        reactor.poll_once,
        reactor.close,
        reactor._lock.__enter__,
    ]
    with reactor._lock:
        inside = reactor.lock_held
        for entry in entries:
            with pytest.raises(errors.ConcurrentUseError, match="interrupts"):
                entry()
        reactor._wake_waiters()  # by a handler that was cut, say: it needs no lock
    assert waiter.acquire(timeout=0)
    assert inside
    assert not reactor.lock_held
    assert reactor.wait(Answer(reactor).here, PATIENT)


def test_a_signal_that_another_thread_took_is_answered_soon(make: Make, ctrl_c: int) -> None:
    """Python runs handlers in the main thread, and nothing ends its select when the system told another thread."""
    reactor = make("127.0.0.1:1")
    sent: list[float] = []

    def take_it_here() -> None:
        until(lambda: reactor.snapshot().polling_until is not None)
        sent.append(time.monotonic())
        signal.pthread_kill(threading.get_ident(), ctrl_c)

    thread = threading.Thread(target=take_it_here)
    thread.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            reactor.wait(lambda: False, PATIENT)
        assert time.monotonic() - sent[0] < SOON
    finally:
        thread.join()


def test_a_broker_that_is_gone_is_an_error_though_sigpipe_is_not_ignored(broker: Broker, make: Make) -> None:
    reactor = make(broker.bootstrap_servers)
    answer = Answer(reactor)
    assert reactor.wait(answer.here, PATIENT)
    pipes: list[bool] = []
    with handling(signal.SIGPIPE, lambda: pipes.append(True)):
        broker.refuse_connections()
        broker.close_connections()
        answers = [Answer(reactor)]
        give_up = time.monotonic() + PATIENT
        while not answers[-1].here() and time.monotonic() < give_up:  # nobody reads, so the end is seen by writing
            answers.append(Answer(reactor))
            time.sleep(0.001)
        assert answers[-1].here() or reactor.wait(answers[-1].here, PATIENT)
    assert pipes == []


def test_too_many_open_files_is_an_error_of_kwire_and_passes(make: Make) -> None:
    usual, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    unopened, opened = make("127.0.0.1:1"), make("127.0.0.1:1")
    assert not opened.wait(lambda: False, 0.001)
    held: list[int] = []
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(map(int, os.listdir("/proc/self/fd"))) + 1, most))
    try:
        with contextlib.suppress(OSError):
            while True:
                held.append(os.dup(0))
        answer = Answer(opened, deadline=PATIENT)
        assert opened.wait(answer.here, PATIENT)
        with pytest.raises(errors.KafkaError, match="Too many open files"):
            unopened.wait(lambda: False, PATIENT)
    finally:
        for number in held:
            os.close(number)
        resource.setrlimit(resource.RLIMIT_NOFILE, (usual, most))
    assert isinstance(answer.outcomes[0], errors.ConnectError)
    assert "Too many open files" in str(answer.outcomes[0])
    assert not unopened.wait(lambda: False, 0.001)
    answer = Answer(unopened, deadline=PATIENT)
    assert unopened.wait(answer.here, PATIENT)
    assert "refused" in str(answer.outcomes[0])
