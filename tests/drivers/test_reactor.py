"""The reactor: who drives when, what wakes whom, and what is left when a step is cut."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import struct
import sys
import threading
import time

import pytest

from kwire import errors
from kwire._codec import LATE_S, MAX_SLEEP_S
from kwire.drivers.reactor import DRIVEN_POLL_S, IDLE_AFTER_S
from kwire.testing import Broker
from tests.brokers.ports import free_ports
from tests.drivers.tls_sides import Listener
from tests.drivers.waiting import Answer, Make, until
from tests.interrupts import Cut, alarms
from tests.timing import PATIENT, SOON


def test_a_waiter_reads_its_own_answer(broker: Broker, make: Make) -> None:
    reactor = make(broker.bootstrap_servers, background=True)
    answer = Answer(reactor)
    assert reactor.wait(answer.here, PATIENT)
    assert answer.thread == threading.get_ident()


def test_the_background_reads_what_nobody_waits_for(broker: Broker, make: Make) -> None:
    reactor = make(broker.bootstrap_servers, background=True)
    answer = Answer(reactor)
    give_up = time.monotonic() + PATIENT
    while not answer.here() and time.monotonic() < give_up:
        time.sleep(0.002)
    assert answer.here()
    assert answer.thread != threading.get_ident()


def test_without_a_background_nothing_happens_between_calls(broker: Broker, make: Make) -> None:
    reactor = make(broker.bootstrap_servers)
    answer = Answer(reactor)
    time.sleep(0.05)
    assert not answer.here()
    assert not [thread for thread in threading.enumerate() if thread.name == "kwire-test"]
    assert reactor.wait(answer.here, PATIENT)


def test_a_waiter_takes_the_driver_role_from_an_idle_background(broker: Broker, make: Make) -> None:
    reactor = make(broker.bootstrap_servers, background=True)
    assert reactor.wait(Answer(reactor).here, PATIENT)
    time.sleep(IDLE_AFTER_S * 3)
    assert reactor.wait(Answer(reactor).here, PATIENT)


def test_an_idle_background_keeps_its_timers(broker: Broker, make: Make) -> None:
    reactor = make(broker.bootstrap_servers, background=True)
    assert reactor.wait(Answer(reactor).here, PATIENT)
    time.sleep(IDLE_AFTER_S * 3)
    fired: list[float] = []
    begun = time.monotonic()
    reactor.call(lambda now: reactor.core.call_at(now + 0.05, fired.append))
    until(lambda: bool(fired))
    assert fired[0] - begun >= 0.05


def test_timers_run_while_a_caller_computes(broker: Broker, make: Make) -> None:
    reactor = make(broker.bootstrap_servers, background=True)
    assert reactor.wait(Answer(reactor).here, PATIENT)
    fired: list[float] = []
    begun = time.monotonic()
    reactor.call(lambda now: reactor.core.call_at(now + 0.005, fired.append))
    give_up = begun + 10
    while not fired and time.monotonic() < give_up:
        sum(range(1000))
    assert fired
    assert fired[0] - begun >= 0.005


def test_what_drives_is_left_alone_by_the_background(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its steps wake nobody, and a timer that is due is its own."""
    reactor = make("127.0.0.1:1")
    fired: list[float] = []
    reactor.call(lambda now: reactor.core.call_at(now, fired.append))
    slept: list[float] = []
    monkeypatch.setattr(time, "sleep", slept.append)
    monkeypatch.setattr(reactor, "_driver", threading.get_ident() + 1)
    reactor._look_in()
    assert (slept, fired, list(reactor._waiters)) == ([DRIVEN_POLL_S], [], [])
    monkeypatch.setattr(reactor, "_driver", None)
    reactor._look_in()
    assert len(fired) == 1


def test_what_may_be_done_ahead_is_done_where_a_look_came_late(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    reactor = make("127.0.0.1:1")
    told: list[tuple[float, float]] = []
    reactor.core.early.append(lambda until, now: told.append((until, now)))
    reactor.call(lambda now: None)
    sleep = time.sleep
    monkeypatch.setattr(time, "sleep", lambda seconds: sleep(seconds + 10 * LATE_S))
    give_up = time.monotonic() + PATIENT
    while not told:  # one that comes far too late is taken for one of a process that was stopped
        assert time.monotonic() < give_up
        reactor._look_in()
    [(early_until, now)] = told
    assert early_until - now == pytest.approx(sys.getswitchinterval())
    assert now <= time.monotonic()


def test_what_may_be_done_ahead_is_done_where_a_parked_driver_came_late(
    broker: Broker, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    reactor = make(broker.bootstrap_servers, background=True)
    assert reactor.wait(Answer(reactor).here, PATIENT)
    monkeypatch.setattr(reactor, "_look_in", lambda: time.sleep(0.01))
    give_up = time.monotonic() + PATIENT
    while reactor.snapshot().polling_until is None and time.monotonic() < give_up:
        time.sleep(0.01)
    told: list[tuple[float, float]] = []
    reactor.core.early.append(lambda until, now: told.append((until, now)))
    interval = sys.getswitchinterval()
    sys.setswitchinterval(20 * LATE_S)
    try:
        while not told and time.monotonic() < give_up:
            reactor.call(lambda now: reactor.core.call_at(now, lambda now: None))
            end = time.monotonic() + 1.0
            while not told and time.monotonic() < end:
                sum(range(1000))
    finally:
        sys.setswitchinterval(interval)
    assert told
    assert told[0][0] - told[0][1] == pytest.approx(20 * LATE_S)


def test_many_threads_wait_at_once(broker: Broker, make: Make) -> None:
    reactor = make(broker.bootstrap_servers, background=True)
    failures: list[object] = []

    def work() -> None:
        for _ in range(30):
            answer = Answer(reactor)
            if not reactor.wait(answer.here, PATIENT) or isinstance(answer.outcomes[0], Exception):
                failures.append(answer.outcomes)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENT)
    assert not any(thread.is_alive() for thread in threads)
    assert failures == []


def test_one_waiter_ends_while_another_goes_on(broker: Broker, make: Make) -> None:
    reactor = make(broker.bootstrap_servers)
    broker.faults.delay("Metadata", 0.4)
    slow = Answer(reactor)
    ended: list[bool] = []
    other = threading.Thread(target=lambda: ended.append(reactor.wait(slow.here, PATIENT)))
    short = threading.Thread(target=lambda: reactor.wait(slow.here, 0.05))
    short.start()
    other.start()
    short.join(PATIENT)
    other.join(PATIENT)
    assert ended == [True]


def test_a_wait_in_vain_ends_at_its_deadline(make: Make) -> None:
    reactor = make("127.0.0.1:1")
    begun = time.monotonic()
    assert not reactor.wait(lambda: False, 0.2)
    assert time.monotonic() - begun >= 0.2


class Pieces:
    """A broker that sends the answer to its first request piece by piece, each when the last was read."""

    def __init__(self, make: Make, size: int, count: int) -> None:
        self.size, self.count = size, count
        self.ended = threading.Event()
        self.listener = Listener(self._serve)
        self.reactor = make(f"127.0.0.1:{self.listener.port}")

    def _serve(self, near: socket.socket) -> None:
        near.recv(65536)
        near.sendall(struct.pack(">i", self.size * self.count))
        traffic = self.reactor.core.traffic
        for number in range(self.count):
            until(lambda: traffic.bytes_in == 4 + number * self.size or self.ended.is_set())  # noqa: B023
            near.sendall(bytes(self.size))
        self.ended.wait(PATIENT)

    def close(self) -> None:
        self.ended.set()
        self.listener.close()


def test_a_part_of_a_frame_is_no_news_for_who_waits(make: Make) -> None:
    pieces = Pieces(make, 1000, 300)
    asked = 0

    def done() -> bool:
        nonlocal asked
        asked += 1
        return pieces.reactor.core.traffic.bytes_in == 4 + 1000 * 300

    Answer(pieces.reactor)
    begun = time.monotonic()
    assert pieces.reactor.wait(done, PATIENT)
    assert asked < 20 + (time.monotonic() - begun) / MAX_SLEEP_S
    pieces.close()


def test_who_waits_looks_again_although_only_parts_of_a_frame_come(make: Make) -> None:
    pieces = Pieces(make, 10, 1_000_000)
    Answer(pieces.reactor)
    begun = time.monotonic()
    assert pieces.reactor.wait(lambda: pieces.reactor.core.traffic.bytes_in > 1000, PATIENT)
    assert time.monotonic() - begun < SOON
    pieces.close()


def test_a_blocking_call_inside_a_callback_is_refused(broker: Broker, make: Make) -> None:
    reactor = make(broker.bootstrap_servers)
    raised: list[Exception] = []

    def callback() -> None:
        try:
            reactor.wait(lambda: True, 1)
        except errors.ConcurrentUseError as error:
            raised.append(error)

    reactor.call(lambda now: reactor.core.after_step.append(callback))
    assert len(raised) == 1
    assert reactor.wait(lambda: True, 1)


def test_callbacks_of_two_threads_do_not_get_into_each_others_way(broker: Broker, make: Make) -> None:
    reactor = make(broker.bootstrap_servers)
    first_is_in, second_is_in = threading.Event(), threading.Event()

    def first() -> None:
        first_is_in.set()
        second_is_in.wait(PATIENT)

    def second() -> None:
        second_is_in.set()
        time.sleep(0.05)

    one = threading.Thread(target=lambda: reactor.call(lambda now: reactor.core.after_step.append(first)))
    one.start()
    assert first_is_in.wait(PATIENT)
    reactor.call(lambda now: reactor.core.after_step.append(second))
    one.join(PATIENT)
    assert reactor.wait(Answer(reactor).here, PATIENT)
    assert reactor._in_callbacks == set()


def test_a_callback_that_raises_is_logged_and_harms_nobody(
    broker: Broker, make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    reactor = make(broker.bootstrap_servers)

    def bad() -> None:
        raise ValueError("mine")

    seen: list[int] = []
    reactor.call(lambda now: reactor.core.after_step.extend([bad, lambda: seen.append(1)]))
    assert seen == [1]
    assert "a callback raised" in caplog.text
    assert reactor.wait(Answer(reactor).here, PATIENT)


def test_callbacks_may_call(broker: Broker, make: Make) -> None:
    reactor = make(broker.bootstrap_servers)
    answers: list[Answer] = []
    reactor.call(lambda now: reactor.core.after_step.append(lambda: answers.append(Answer(reactor))))
    assert reactor.wait(answers[0].here, PATIENT)


def test_an_interrupted_step_is_recovered_from(broker: Broker, make: Make) -> None:
    reactor = make(broker.bootstrap_servers)
    assert reactor.wait(Answer(reactor).here, PATIENT)

    def cut(now: float) -> None:
        raise KeyboardInterrupt

    lost = Answer(reactor)
    with pytest.raises(KeyboardInterrupt):
        reactor.call(cut)
    assert reactor.core.dirty
    assert reactor.wait(lost.here, PATIENT)
    assert isinstance(lost.outcomes[0], errors.ConnectError)
    assert not reactor.core.dirty
    after = Answer(reactor)
    assert reactor.wait(after.here, PATIENT)
    assert not isinstance(after.outcomes[0], Exception)


def test_an_exception_of_a_call_is_no_interrupt(broker: Broker, make: Make) -> None:
    reactor = make(broker.bootstrap_servers)
    waiting = Answer(reactor)

    def refuse(now: float) -> None:
        raise errors.ConfigError("no")

    with pytest.raises(errors.ConfigError):
        reactor.call(refuse)
    assert reactor.wait(waiting.here, PATIENT)
    assert not isinstance(waiting.outcomes[0], Exception)


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_interrupts_at_any_moment_leave_it_usable(broker: Broker, make: Make) -> None:
    reactor = make(broker.bootstrap_servers, reconnect_backoff_ms=0, reconnect_backoff_max_ms=0)

    with alarms() as alarm:
        for round_number in range(600):
            alarm.set(0.00005 + (round_number % 97) * 0.00001)
            with contextlib.suppress(Cut):
                alarm.armed = True
                answer = Answer(reactor)
                reactor.wait(answer.here, PATIENT)
                alarm.armed = False
        assert alarm.cuts > 20
    final = Answer(reactor)
    assert reactor.wait(final.here, PATIENT)
    if isinstance(final.outcomes[0], errors.ConnectError):
        final = Answer(reactor)
        assert reactor.wait(final.here, PATIENT)
    assert not isinstance(final.outcomes[0], Exception)
    assert reactor.snapshot().sockets <= 2


def test_ctrl_c_answers_at_once(make: Make, ctrl_c: int) -> None:
    reactor = make("127.0.0.1:1")
    timer = threading.Timer(0.1, signal.pthread_kill, (threading.main_thread().ident, ctrl_c))
    timer.start()
    begun = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        reactor.wait(lambda: False, PATIENT)
    assert time.monotonic() - begun < SOON
    timer.join()


def test_close_ends_waits_and_threads(broker: Broker, make: Make) -> None:
    reactor = make(broker.bootstrap_servers, background=True)
    assert reactor.wait(Answer(reactor).here, PATIENT)
    ended: list[bool] = []
    waiter = threading.Thread(target=lambda: ended.append(reactor.wait(lambda: False, PATIENT)))
    waiter.start()
    time.sleep(0.05)
    begun = time.monotonic()
    reactor.close()
    waiter.join(PATIENT)
    assert ended == [False]
    assert time.monotonic() - begun < SOON
    assert not [thread for thread in threading.enumerate() if thread.name == "kwire-test"]
    reactor.close()


def test_a_reactor_that_was_never_used_opens_nothing(make: Make) -> None:
    before = len(os.listdir("/proc/self/fd"))
    reactor = make("127.0.0.1:1")
    assert len(os.listdir("/proc/self/fd")) <= before  # what other tests left behind may go meanwhile
    assert not reactor.has_resources


def test_a_child_process_is_told_to_make_its_own(broker: Broker, make: Make) -> None:
    reactor = make(broker.bootstrap_servers, background=True)
    assert reactor.wait(Answer(reactor).here, PATIENT)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            reactor.wait(lambda: True, 1)
        except errors.KafkaError as error:
            code = 0 if "after a fork" in str(error) else 2
        finally:
            reactor.close()
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    again = Answer(reactor)
    assert reactor.wait(again.here, PATIENT)
    assert not isinstance(again.outcomes[0], Exception)


def test_an_outage_is_logged_once_and_again_at_its_end(make: Make, caplog: pytest.LogCaptureFixture) -> None:
    [port] = free_ports(1)
    with Broker(port=port) as broker:
        reactor = make(broker.bootstrap_servers)
        assert reactor.wait(Answer(reactor).here, PATIENT)
    give_up = time.monotonic() + PATIENT
    while not caplog.records and time.monotonic() < give_up:
        reactor.wait(Answer(reactor).here, PATIENT)
    with Broker(port=port):
        while len(caplog.records) < 2 and time.monotonic() < give_up:
            reactor.wait(Answer(reactor).here, PATIENT)
    assert [(record.name, record.levelname) for record in caplog.records] == [("kwire.drivers", "WARNING")] * 2
    begun, over = (record.getMessage() for record in caplog.records)
    assert f"127.0.0.1:{port} cannot be reached" in begun
    assert "refused" in begun
    assert f"127.0.0.1:{port} can be reached again" in over
