"""Who waits for what: only those that something happened to, or whose time has come, are driven."""

from __future__ import annotations

import math
from collections.abc import Hashable
from types import SimpleNamespace
from typing import Any

from kwire.testing import Broker
from kwire.testing.requests import Suspend
from kwire.testing.serving.connection import Connection
from kwire.testing.serving.waiting import WaitingConnections
from tests.testing.client import Client
from tests.testing.in_process import InProcess
from tests.testing.wire import batch, fetch, produce, values


class Waits(SimpleNamespace):
    """What a connection tells of itself."""

    __hash__ = object.__hash__
    __eq__ = object.__eq__


def connection(until: float = math.inf, *wakers: Hashable, may_send_at: float = 0.0) -> Any:
    suspended = Suspend(until, frozenset(wakers)) if wakers or until < math.inf else None
    return Waits(suspended=suspended, due=until, may_send_at=may_send_at)


def test_those_are_ready_that_are_due_or_woken() -> None:
    waiting, early, late, woken = WaitingConnections(), connection(1.0), connection(5.0, "b"), connection(9.0, "a", "b")
    for each in (late, early, woken, connection()):
        waiting.note(each)
    assert waiting.next_due == 1.0
    assert waiting.ready(0.5, ["c"]) == []
    assert waiting.ready(1.0, ["a"]) == [woken, early]
    assert waiting.next_due == 5.0


def test_what_changed_or_closed_is_forgotten() -> None:
    waiting, changed, closed = WaitingConnections(), connection(1.0, "a"), connection(2.0, "a")
    waiting.note(changed)
    waiting.note(closed)
    changed.suspended, changed.due = Suspend(3.0, frozenset(["b"])), 3.0
    waiting.note(changed)
    waiting.forget(closed)
    waiting.forget(closed)
    assert waiting.next_due == 3.0
    assert waiting.ready(2.5, ["a"]) == []
    assert waiting.ready(2.5, ["b"]) == [changed]
    changed.suspended, changed.due = None, math.inf
    waiting.note(changed)
    assert waiting.next_due == math.inf


def test_slow_ones_are_always_looked_at() -> None:
    waiting, slow = WaitingConnections(), connection(may_send_at=7.0)
    waiting.note(slow)
    assert (waiting.next_send, waiting.ready(0.0, [])) == (7.0, [slow])
    slow.may_send_at = 0.0
    waiting.note(slow)
    assert (waiting.next_send, waiting.ready(0.0, [])) == (math.inf, [])


def test_idle_connections_are_not_driven(monkeypatch: Any) -> None:
    driven: list[Connection] = []
    resume = Connection.resume

    def counted(self: Connection, now: float, happened: frozenset[object]) -> bool:
        driven.append(self)
        return resume(self, now, happened)

    with Broker(topics={"orders": 1, "other": 1}) as broker:
        idle = [Client(broker) for _ in range(20)]
        for each in idle:
            each.ask(fetch(0, topic="other"), 11)
        with Client(broker) as sleeper, Client(broker) as reader, Client(broker) as writer:
            sleeper.send(fetch(0, topic="other", max_wait_ms=60_000), 11)
            reader.send(fetch(0, max_wait_ms=60_000), 11)
            broker.wait_for_waiting(2)
            monkeypatch.setattr(Connection, "resume", counted)
            writer.ask(produce(batch(b"a")), 9)
            assert values(reader.receive().responses[0].partitions[0].records) == [b"a"]
        broker.topics()
        assert len(set(driven)) == 1
        for each in idle:
            each.socket.close()


def test_a_fetch_that_waits_looks_at_what_was_touched_alone(monkeypatch: Any) -> None:
    from kwire.testing.answers import b01_fetch

    broker = InProcess()
    broker.cluster.create_topic("orders", 100)
    waiting = broker.begin(fetch(0, partitions=range(100), max_wait_ms=1000, min_bytes=10_000), 11)
    looked: list[Any] = []
    readable = b01_fetch._readable

    def counted(context: Any, wanted: Any) -> Any:
        looked.append(wanted.asked.partition)
        return readable(context, wanted)

    monkeypatch.setattr(b01_fetch, "_readable", counted)
    suspended, broker.cluster.touched = waiting.suspended, set()
    broker.ask(produce(batch(b"a"), partition=7), 9)
    assert suspended is not None
    assert broker.cluster.touched & suspended.wakers
    waiting._flow.send(frozenset(broker.cluster.touched))
    assert looked == [7]
