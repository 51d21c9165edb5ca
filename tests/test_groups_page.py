"""The programs of docs/groups.md and docs/transactions.md, run on one broker, as a reader would."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kwire import Admin, Consumer, Producer, testing
from tests.snippets import run, snippet

GROUPS = "docs/groups.md"
TRANSACTIONS = "docs/transactions.md"


@pytest.fixture
def broker() -> Iterator[testing.Broker]:
    with testing.Broker(nodes=3) as running:
        running.create_topic("orders", 3)
        yield running


@pytest.fixture
def outcome(broker: testing.Broker) -> Callable[..., dict[str, Any]]:
    def of(page: str, phrase: str, **given: Any) -> dict[str, Any]:
        return run(snippet(page, phrase), servers=broker.bootstrap_servers, **given)

    return of


def order(broker: testing.Broker, count: int) -> None:
    with Producer(broker.bootstrap_servers) as producer:
        producer.send_many("orders", [b"%d" % number for number in range(count)])


def committed_values(broker: testing.Broker, topic: str) -> list[bytes]:
    with Consumer(broker.bootstrap_servers, isolation_level="read_committed", auto_offset_reset="earliest") as consumer:
        ends = consumer.end_offsets(partitions := consumer.partitions_for(topic))
        consumer.assign(partitions, until=ends)
        values: list[bytes] = []
        while not consumer.done():
            values += consumer.poll(timeout=1.0).values()
    return values


def test_groups(
    broker: testing.Broker, outcome: Callable[..., dict[str, Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    order(broker, 10)
    outcome(GROUPS, "left = 10")
    assert len(capsys.readouterr().out.splitlines()) == 10
    found = outcome(GROUPS, "commit_async")
    assert sum(row.offset for row in found["committed"].values() if row is not None) == 7
    assert sum(found["lag"].values()) == 3
    outcome(GROUPS, "class Listener")
    assert "mine now: [TopicPartition(topic='orders', partition=0)" in capsys.readouterr().out


def test_an_assignor_of_ones_own(broker: testing.Broker, outcome: Callable[..., dict[str, Any]]) -> None:
    assert outcome(GROUPS, "class OddAndEven")["mine"] == {("orders", 0), ("orders", 1), ("orders", 2)}


def test_looking_after_groups(
    broker: testing.Broker, outcome: Callable[..., dict[str, Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    with Consumer(broker.bootstrap_servers, group_id="billing") as consumer:
        consumer.commit({("orders", 0): 1})
    order(broker, 10)
    found = outcome(GROUPS, "admin.lag(")
    assert capsys.readouterr().out == "billing Empty\n"
    assert [tp for tp, lag in found["lag"].items() if lag is not None] == [("orders", 0)]
    assert found["offsets"]["orders", 0].offset == 0
    with Admin(broker.bootstrap_servers) as admin:
        assert admin.list_consumer_groups() == []


def test_clearing_up_groups(
    broker: testing.Broker, outcome: Callable[..., dict[str, Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    with Consumer(broker.bootstrap_servers, group_id="billing") as consumer:
        consumer.commit({("orders", 0): 1})
    order(broker, 10)
    with Consumer(broker.bootstrap_servers, group_id="audit") as member, Admin(broker.bootstrap_servers) as admin:
        member.subscribe(["orders"])
        while not member.assignment():
            member.poll(0.1)
        found = outcome(GROUPS, "audit.members[0]")
        assert admin.describe_consumer_groups(["audit"])["audit"].members == ()
    assert found["offsets"]["billing"]["orders", 0].offset == 1
    assert capsys.readouterr().out == "['alter_configs', 'delete', 'describe', 'describe_configs', 'read']\n"


def test_share_groups(
    broker: testing.Broker, outcome: Callable[..., dict[str, Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    def submit_jobs() -> None:
        with Producer(broker.bootstrap_servers) as producer:
            producer.send_many("jobs", [b"one", b"broken", b"two"])

    outcome(GROUPS, "share.auto.offset.reset")  # the first poll may be over too soon
    assert outcome(GROUPS, "ShareConsumer(", submit_jobs=submit_jobs)["outcome"] == {("jobs", 0): None}
    outcome(GROUPS, "delete_share_groups(")
    assert capsys.readouterr().out == "Empty []\njobs-0 0\n"


def test_transactions(broker: testing.Broker, outcome: Callable[..., dict[str, Any]]) -> None:
    outcome(TRANSACTIONS, "invoiced customer-3")
    assert committed_values(broker, "invoices") == [b"17.50"]
    order(broker, 100)
    outcome(TRANSACTIONS, "left = 100")
    assert sorted(committed_values(broker, "bills")) == sorted(b"%d" % number for number in range(100))


def test_a_refused_transaction_is_tried_again(broker: testing.Broker, outcome: Callable[..., dict[str, Any]]) -> None:
    with Admin(broker.bootstrap_servers) as admin:
        admin.create_topics({"bills": 1})
    bill = outcome(TRANSACTIONS, "def bill(")["bill"]
    order(broker, 10)
    servers = broker.bootstrap_servers
    with (
        Consumer(servers, group_id="billing", enable_auto_commit=False, auto_offset_reset="earliest") as consumer,
        Producer(servers, transactional_id="billing") as producer,
    ):
        consumer.subscribe(["orders"])
        broker.faults.error("Produce", 87, times=1)  # INVALID_RECORD: no retry mends it
        billed = 0
        for _ in range(30):
            billed += bill(consumer, producer)
            if billed >= 20:
                break
    assert sorted(committed_values(broker, "bills")) == sorted(b"%d" % number for number in range(10))
