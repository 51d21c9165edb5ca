"""Transactions that one process writes and another ends, by sockets: the embedded broker and real Kafka."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import time
from collections.abc import Callable

import pytest

from kwire import Admin, Consumer, Producer, _prepared
from kwire._prepared import PreparedTransaction
from kwire.errors import TransactionError
from kwire.testing import Broker
from tests.brokers import Cluster
from tests.timing import PATIENT

TopicNames = Callable[[], str]
VERSIONS = pytest.mark.parametrize("release", ["3.9.2", "4.4.0"])


def write(servers: str, topic: str, name: str, *values: bytes) -> PreparedTransaction:
    with Producer(servers, transactional_id="unused", transaction_timeout_ms=600_000) as producer:
        _prepared.begin_as(producer, name)
        producer.send_many(topic, list(values), partition=0)
        found = _prepared.detach(producer)
    assert found is not None
    return found


@VERSIONS
def test_a_closed_producers_transactions_are_ended(release: str) -> None:
    with Broker(topics={"t": 1}, release=release) as broker, Admin(broker.bootstrap_servers) as admin:
        kept, dropped = (write(broker.bootstrap_servers, "t", name, name.encode()) for name in ("kept", "dropped"))
        assert kept.version == (2 if release == "4.4.0" else 1)
        assert _prepared.list_open(admin, "") == ["dropped", "kept"]
        assert broker.values("t", committed=True) == []
        for _ in range(2):
            assert _prepared.end(admin, [kept], commit=True) == {kept: None}
            assert _prepared.end(admin, [dropped], commit=False) == {dropped: None}
        assert broker.values("t", committed=True) == [b"kept"]
        assert _prepared.list_open(admin, "") == []


def test_a_producer_goes_on_under_other_names() -> None:
    with (
        Broker(topics={"t": 1}) as broker,
        Admin(broker.bootstrap_servers) as admin,
        Producer(broker.bootstrap_servers, transactional_id="unused") as producer,
    ):
        found = []
        for number in range(5):
            _prepared.begin_as(producer, f"tx-{number}")
            producer.send("t", b"%d" % number)
            found.append(_prepared.detach(producer))
        wanted = [each for each in found[::2] if each is not None]
        assert _prepared.end(admin, wanted, commit=True) == dict.fromkeys(wanted)
        assert broker.values("t", committed=True) == [b"0"]  # the second one is open
        assert _prepared.end(admin, [each for each in found if each], commit=False)[wanted[0]] is not None
        assert broker.values("t", committed=True) == [b"0", b"2", b"4"]
        assert broker.request_count("Metadata") < 10


def test_a_record_that_cannot_be_delivered_is_raised() -> None:
    with Broker(topics={"t": 1}) as broker, Producer(broker.bootstrap_servers, transactional_id="unused") as producer:
        _prepared.begin_as(producer, "tx")
        broker.faults.error("Produce", 10)
        producer.send("t", b"1")
        with pytest.raises(TransactionError, match="MESSAGE_TOO_LARGE"):
            _prepared.detach(producer)
        producer.abort_transaction()


def test_nothing_written_is_nothing_to_end() -> None:
    with Broker(topics={"t": 1}) as broker, Producer(broker.bootstrap_servers, transactional_id="unused") as producer:
        _prepared.begin_as(producer, "tx")
        assert _prepared.detach(producer) is None
        with Admin(broker.bootstrap_servers) as admin:
            assert _prepared.end(admin, [], commit=True) == {}
            assert _prepared.describe(admin, []) == {}


def committed(servers: str, topic: str, count: int) -> list[bytes | None]:
    found: list[bytes | None] = []
    with Consumer(servers, auto_offset_reset="earliest", isolation_level="read_committed") as consumer:
        consumer.assign([(topic, 0)])
        until = time.monotonic() + PATIENT
        while len(found) < count and time.monotonic() < until:
            found += consumer.poll(timeout=1.0).values()
        found += consumer.poll(timeout=0.5).values()
    return found


@VERSIONS
def test_real_kafka_ends_the_transactions_of_a_killed_process(
    kafka_cluster: Callable[[str], Cluster], new_topic: TopicNames, release: str
) -> None:
    """Eight of each: written by processes that are killed, ended twice, in one order and the other."""
    servers, topic = kafka_cluster(release).bootstrap_servers, new_topic()
    code = f"""
        import os, signal
        from kwire import Producer, _prepared
        producer = Producer({servers!r}, transactional_id="unused", transaction_timeout_ms=600_000)
        for number in range(16):
            _prepared.begin_as(producer, f"{topic}-{{number}}")
            producer.send_many({topic!r}, [b"%d" % number] * 50, partition=0)
            print(*_prepared.detach(producer), flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    """
    told = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=120, check=False
    )
    rows = [line.split() for line in told.stdout.splitlines()]
    assert len(rows) == 16, told.stderr
    found = [PreparedTransaction(name, *(int(part) for part in rest)) for name, *rest in rows]
    with Admin(servers) as admin:
        assert _prepared.list_open(admin, f"{topic}-") == sorted(each.transactional_id for each in found)
        described = _prepared.describe(admin, [found[0].transactional_id])[found[0].transactional_id]
        assert described is not None
        assert described[:4] == ("Ongoing", found[0].producer_id, found[0].producer_epoch, 600_000)
        for _ in range(2):
            assert _prepared.end(admin, found[::2], commit=True) == dict.fromkeys(found[::2])
            assert _prepared.end(admin, found[1::2], commit=False) == dict.fromkeys(found[1::2])
        refused = _prepared.end(admin, found[::2], commit=False)
        assert {error.code for error in refused.values() if error is not None} <= {47, 48, 90}
        assert None not in refused.values()
    assert committed(servers, topic, 400) == [b"%d" % number for number in range(0, 16, 2) for _ in range(50)]


@VERSIONS
def test_real_kafka_tells_that_a_transaction_timed_out(
    kafka_cluster: Callable[[str], Cluster], new_topic: TopicNames, release: str
) -> None:
    servers, topic = kafka_cluster(release).bootstrap_servers, new_topic()
    with Producer(servers, transactional_id="unused", transaction_timeout_ms=1000) as producer:
        _prepared.begin_as(producer, topic)
        producer.send(topic, b"late", partition=0)
        found = _prepared.detach(producer)
    assert found is not None
    with Admin(servers) as admin:
        until = time.monotonic() + 60
        while _prepared.list_open(admin, topic) and time.monotonic() < until:
            time.sleep(0.5)
        (error,) = _prepared.end(admin, [found], commit=True).values()
    assert error is not None
    assert error.code in (47, 48, 90)
    assert committed(servers, topic, 0) == []
