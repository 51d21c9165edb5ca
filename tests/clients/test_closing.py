"""close() called twice at once, beside other calls, and in a forked child: it returns, and what is finished is kept."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from kwire import Admin, Consumer, Producer, ShareConsumer, errors
from kwire.testing import Broker, Clock
from tests.clients.test_share_consumer import begin_at_first
from tests.timing import PATIENT

T0 = ("t", 0)
ROUNDS = 5


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker(topics={"t": 1}, group_initial_rebalance_delay_ms=0) as started:
        started.append("t", [b"%d" % number for number in range(10)])
        yield started


def member(broker: Broker, group: str, **options: Any) -> Consumer:
    """A member of a group that has finished ten records, and not committed them."""
    made = Consumer(
        broker.bootstrap_servers,
        group_id=group,
        auto_offset_reset="earliest",
        auto_commit_interval_ms=3_600_000,
        **options,
    )
    made.subscribe(["t"])
    seen = 0
    while seen < 10:
        seen += len(made.poll(1.0))
    made.poll(0.0)
    return made


def new_member(broker: Broker, group: str) -> Consumer:
    return member(broker, group, group_protocol="consumer")


def reader(broker: Broker, group: str) -> Consumer:
    """No member, but it commits."""
    made = Consumer(broker.bootstrap_servers, group_id=group, auto_offset_reset="earliest")
    made.assign([T0])
    while not made.poll(1.0):
        pass
    made.poll(0.0)
    return made


def share_member(broker: Broker, group: str) -> ShareConsumer:
    begin_at_first(broker, group)
    made = ShareConsumer(broker.bootstrap_servers, group_id=group)
    made.subscribe(["t"])
    while not made.poll(1.0):
        pass
    return made


def producer(broker: Broker, group: str) -> Producer:
    made = Producer(broker.bootstrap_servers, linger_ms=20)
    made.send("t", group.encode())
    return made


def admin(broker: Broker, group: str) -> Admin:
    made = Admin(broker.bootstrap_servers)
    assert made.list_topics() == ["t"]
    return made


CLIENTS: list[Callable[[Broker, str], Any]] = [member, new_member, reader, share_member, producer, admin]


def at_once(*calls: Callable[[], object]) -> list[BaseException | None]:
    """Runs each in a thread of its own, all at the same time; what each of them raised."""
    barrier, raised = threading.Barrier(len(calls)), list[BaseException | None]([None] * len(calls))

    def run(number: int, call: Callable[[], object]) -> None:
        barrier.wait()
        try:
            call()
        except BaseException as error:
            raised[number] = error

    threads = [threading.Thread(target=run, args=place) for place in enumerate(calls)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENT)
        assert not thread.is_alive()
    return raised


def committed(broker: Broker, group: str) -> int | None:
    with Consumer(broker.bootstrap_servers, group_id=group) as asking:
        row = next(iter(asking.committed([T0]).values()))
        return row and row.offset


@pytest.mark.parametrize("count", [2, 6])
@pytest.mark.parametrize("made", CLIENTS)
def test_threads_that_close_one_client_at_once_all_return(
    made: Callable[[Broker, str], Any], count: int, broker: Broker, caplog: pytest.LogCaptureFixture
) -> None:
    for turn in range(ROUNDS):
        client = made(broker, f"g-{turn}")
        assert at_once(*[client.close] * count) == [None] * count
        if isinstance(client, Consumer):
            assert committed(broker, f"g-{turn}") == 10
        if isinstance(client, Producer):
            assert broker.values("t").count(b"g-%d" % turn) == 1
    assert caplog.records == []


BESIDE: dict[str, Callable[[Consumer], object]] = {
    "poll": lambda it: it.poll(PATIENT),
    "commit": lambda it: it.commit(),
    "unsubscribe": lambda it: it.unsubscribe(),
    "lag": lambda it: it.lag(),
}


@pytest.mark.parametrize("call", BESIDE)
@pytest.mark.parametrize("made", [member, new_member])
def test_close_returns_beside_any_other_call(
    made: Callable[[Broker, str], Consumer], call: str, broker: Broker
) -> None:
    """The other call ends by itself, or is told that the client is closed."""
    for turn in range(ROUNDS):
        client = made(broker, f"g-{turn}")
        *closed, told = at_once(client.close, client.close, partial(BESIDE[call], client))
        assert closed == [None, None]
        assert told is None or isinstance(told, errors.ClientClosedError | errors.ConcurrentUseError)


@pytest.mark.parametrize("call", ["lag", "position"])
@pytest.mark.parametrize("made", [member, new_member])
def test_who_waits_is_told_of_the_close_also_while_the_group_is_left(
    made: Callable[[Broker, str], Consumer], call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The partitions are given up an instant before the client is closed."""
    clock = Clock(frozen=True)
    with Broker(topics={"t": 1}, group_initial_rebalance_delay_ms=0, clock=clock) as broker:
        broker.append("t", [b"%d" % number for number in range(10)])
        client = made(broker, "g")
        looked_up = broker.request_count("ListOffsets")
        broker.faults.delay("ListOffsets", 5.0)
        if call == "position":
            client.seek(T0, "latest")
        told: list[BaseException | None] = []
        waits = {"lag": client.lag, "position": partial(client.position, T0)}[call]
        inside, settle = threading.Event(), client._fetcher.settle
        monkeypatch.setattr(client._fetcher, "settle", lambda: (inside.set(), settle()))
        waiter = threading.Thread(target=lambda: told.extend(at_once(waits)))
        waiter.start()
        assert inside.wait(PATIENT)
        broker.wait_for_requests("ListOffsets", looked_up + 1)
        leave = client._leave_at_once

        def leave_and_let_answer() -> None:
            leave()
            clock.advance(5.0)
            waiter.join(PATIENT)

        monkeypatch.setattr(client, "_leave_at_once", leave_and_let_answer)
        client.close()
        waiter.join(PATIENT)
        [error] = told
        assert isinstance(error, errors.ClientClosedError)


def test_a_share_consumer_closes_beside_a_poll(broker: Broker) -> None:
    for turn in range(ROUNDS):
        client = share_member(broker, f"g-{turn}")
        *closed, told = at_once(client.close, client.close, partial(client.poll, PATIENT))
        assert closed == [None, None]
        assert told is None or isinstance(told, errors.ClientClosedError)


def test_a_close_with_less_time_ends_the_one_that_has_more(broker: Broker) -> None:
    client = member(broker, "g")
    broker.faults.mute("OffsetCommit", times=None)
    assert at_once(client.close, lambda: client.close(timeout=0.3)) == [None, None]
    assert client._closed


def test_a_listener_may_close_the_consumer_that_closes(broker: Broker) -> None:
    class Listener:
        def on_revoked(self, partitions: object) -> None:
            client.close()

    client = Consumer(broker.bootstrap_servers, group_id="g", auto_offset_reset="earliest")
    client.subscribe(["t"], listener=Listener())
    while not client.poll(1.0):
        pass
    client.close()
    assert client._closed


@pytest.mark.parametrize("made", CLIENTS)
def test_close_returns_in_a_forked_child_and_the_parent_goes_on(
    made: Callable[[Broker, str], Any], broker: Broker
) -> None:
    client = made(broker, "g")
    child = os.fork()
    if child == 0:
        try:
            with client:
                pass
            client.close()
        except BaseException:
            os._exit(1)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    client.close()
    if isinstance(client, Consumer):
        assert committed(broker, "g") == 10
