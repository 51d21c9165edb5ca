"""Admin on transactions, on the embedded broker: listed, described, aborted; producers described and fenced."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

import kwire
from kwire import Admin, Producer, TopicPartition, errors
from kwire.admin import FencedProducer, ProducerState, TransactionListing
from kwire.errors import ConfigError
from kwire.testing import Broker

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


@pytest.fixture(params=[1, 3], ids=["one node", "three nodes"])
def broker(request: pytest.FixtureRequest) -> Iterator[Broker]:
    with Broker(nodes=request.param, topics={"t": 2}) as started:
        yield started


@pytest.fixture
def admin(broker: Broker) -> Iterator[Admin]:
    with Admin(broker.bootstrap_servers) as made:
        yield made


def open_transaction(broker: Broker, name: str = "tx") -> Producer:
    """A producer with one record of an open transaction in the first partition."""
    producer = Producer(broker.bootstrap_servers, transactional_id=name)
    producer.init_transactions()
    producer.begin_transaction()
    producer.send("t", b"open", partition=0).result(10)
    return producer


def test_transactions_of_all_coordinators_are_listed(broker: Broker, admin: Admin) -> None:
    names = [f"tx-{number}" for number in range(6)]
    producers = [open_transaction(broker, name) for name in names]
    producers[0].commit_transaction()
    listed = admin.list_transactions()
    assert [row.transactional_id for row in listed] == names
    assert [row.state for row in listed] == ["CompleteCommit", *["Ongoing"] * 5]
    assert {row.coordinator_id for row in listed} == {broker.coordinator_of(name, "transaction") for name in names}
    for producer in producers[1:]:
        producer.abort_transaction()
    for producer in producers:
        producer.close()


def test_filters_choose_what_is_listed(broker: Broker, admin: Admin) -> None:
    def listed(**filters: Any) -> list[str]:
        return [row.transactional_id for row in admin.list_transactions(**filters)]

    with open_transaction(broker, "a-1") as first, open_transaction(broker, "a-2") as second:
        first.commit_transaction()
        assert listed(states=["Ongoing", "Empty"]) == listed(states="Ongoing") == ["a-2"]
        [row] = admin.list_transactions(states=["CompleteCommit"])
        assert isinstance(row, TransactionListing)
        assert listed(producer_ids=[row.producer_id]) == ["a-1"]
        assert listed(pattern="a-.") == ["a-1", "a-2"]
        assert listed(pattern="a") == []
        assert listed(min_duration=3600) == []
        broker.clock.advance(10)
        assert listed(min_duration=5, states=["Ongoing"]) == ["a-2"]
        with pytest.raises(errors.broker.INVALID_REGULAR_EXPRESSION):
            listed(pattern="(")
        second.abort_transaction()


def test_a_transaction_is_described_with_its_partitions(broker: Broker, admin: Admin) -> None:
    with open_transaction(broker) as producer:
        producer.send("t", b"more", partition=1).result(10)
        found = admin.describe_transactions(["tx"])["tx"]
        assert (found.state, found.partitions, found.timeout_ms) == ("Ongoing", (T0, T1), 60_000)
        assert found.coordinator_id == broker.coordinator_of("tx", "transaction")
        assert found.started > 0
        with pytest.raises(errors.broker.TRANSACTIONAL_ID_NOT_FOUND, match="'none'") as raised:
            admin.describe_transactions(["none", "tx", "neither"])
        assert list(raised.value.failures) == ["none", "neither"]
        producer.commit_transaction()
    after = admin.describe_transactions("tx")["tx"]
    assert (after.state, after.partitions) == ("CompleteCommit", ())


def test_the_producers_of_partitions_are_described(broker: Broker, admin: Admin) -> None:
    with open_transaction(broker) as producer:
        expected = admin.describe_transactions(["tx"])["tx"]
        found = admin.describe_producers([T0, T1])
        [state] = found[T0]
        assert (state.producer_id, state.producer_epoch) == (expected.producer_id, expected.producer_epoch)
        assert (state.last_sequence, state.coordinator_epoch, state.current_transaction_start_offset) == (0, None, 0)
        assert found[T1] == ()
        producer.commit_transaction()
    [state] = admin.describe_producers([T0], broker=broker.leader_of("t"))[T0]
    assert (state.coordinator_epoch, state.current_transaction_start_offset) == (0, None)


def test_partitions_that_are_not_there_are_named_beside_those_that_are(admin: Admin) -> None:
    with pytest.raises(errors.UnknownTopicError, match="no partition 7") as raised:
        admin.describe_producers([("t", 7), T0], timeout=5)
    assert list(raised.value.failures) == [("t", 7)]


def test_a_broker_that_does_not_lead_says_so_at_once() -> None:
    with Broker(nodes=2, topics={"t": 1}) as broker, Admin(broker.bootstrap_servers) as admin:
        other = 3 - broker.leader_of("t")
        with pytest.raises(errors.broker.NOT_LEADER_OR_FOLLOWER, match="DescribeProducers of t-0"):
            admin.describe_producers([T0], broker=other)
        assert broker.request_count("DescribeProducers") == 1


def test_a_transaction_is_aborted_in_a_partition(broker: Broker, admin: Admin) -> None:
    producer = open_transaction(broker)
    [state] = admin.describe_producers([T0])[T0]
    admin.abort_transaction(T0, state)
    [state] = admin.describe_producers([T0])[T0]
    assert state.current_transaction_start_offset is None
    assert broker.values("t", committed=True) == []
    with pytest.raises(ConfigError, match="no open transaction"):
        admin.abort_transaction(T0, state)
    admin.force_terminate_transaction("tx")
    with pytest.raises(errors.KafkaError):
        producer.commit_transaction()
    producer.close()


def test_an_abort_may_name_the_producer_by_its_fields(broker: Broker, admin: Admin) -> None:
    producer = open_transaction(broker)
    [state] = admin.describe_producers([T0])[T0]
    fields = {"producer_id": state.producer_id, "producer_epoch": state.producer_epoch}
    admin.abort_transaction(("t", 0), {**fields, "coordinator_epoch": 0})
    assert admin.describe_producers([T0])[T0][0].current_transaction_start_offset is None
    producer.abort_transaction()
    [state] = admin.describe_producers([T0])[T0]
    with pytest.raises(errors.broker.INVALID_PRODUCER_EPOCH, match=f"producer {state.producer_id} in t-0"):
        admin.abort_transaction(T0, {**fields, "producer_epoch": 0} if state.producer_epoch else {**fields})
    producer.close()


def test_an_abort_is_repeated_only_where_it_had_no_effect(broker: Broker, admin: Admin) -> None:
    producer = open_transaction(broker)
    [state] = admin.describe_producers([T0])[T0]
    broker.faults.error("WriteTxnMarkers", errors.broker.REQUEST_TIMED_OUT)
    with pytest.raises(errors.broker.REQUEST_TIMED_OUT, match=r"abort of the transaction of producer .* in t-0"):
        admin.abort_transaction(T0, state)
    assert broker.request_count("WriteTxnMarkers") == 1
    broker.faults.error("WriteTxnMarkers", errors.broker.NOT_LEADER_OR_FOLLOWER, times=2)
    admin.abort_transaction(T0, state)
    assert broker.request_count("WriteTxnMarkers") == 4
    producer.abort_transaction()
    producer.close()


def test_an_open_transaction_is_waited_for_until_it_is_aborted(broker: Broker, admin: Admin) -> None:
    broker.faults.error("InitProducerId", errors.broker.CONCURRENT_TRANSACTIONS, times=3)
    assert admin.fence_producers(["tx"])["tx"].producer_id >= 0
    assert broker.request_count("InitProducerId") == 4


def test_fenced_producers_can_write_no_more(broker: Broker, admin: Admin) -> None:
    producer = open_transaction(broker)
    before = admin.describe_transactions(["tx"])["tx"]
    fenced = admin.fence_producers(["tx", "new"])
    assert isinstance(fenced["tx"], FencedProducer)
    assert fenced["tx"].producer_id == before.producer_id
    assert fenced["tx"].producer_epoch > before.producer_epoch
    assert broker.values("t", committed=True) == []
    assert admin.list_transactions(states=["Ongoing"]) == []
    with pytest.raises(errors.KafkaError):
        producer.commit_transaction()
    producer.close()


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (lambda admin: admin.list_transactions(states=["Open"]), "'Open' is not a state of transactions"),
        (lambda admin: admin.list_transactions(producer_ids=["1"]), "producer_id='1'"),
        (lambda admin: admin.list_transactions(min_duration=-1), "min_duration=-1"),
        (lambda admin: admin.list_transactions(min_duration=float("inf")), "min_duration=inf"),
        (lambda admin: admin.list_transactions(pattern=""), "pattern=''"),
        (lambda admin: admin.describe_transactions([""]), "'' is not a transactional id"),
        (lambda admin: admin.describe_transactions(b"tx"), "transactional_ids=b'tx'"),
        (lambda admin: admin.describe_producers(T0), "partitions="),
        (lambda admin: admin.describe_producers([T0], broker=-1), "broker=-1"),
        (lambda admin: admin.abort_transaction("t", ProducerState(1, 0, 0, 0, None, 0)), "'t' is not a partition"),
        (lambda admin: admin.abort_transaction(T0, 5), "producer=5"),
        (lambda admin: admin.abort_transaction(T0, {"producer_id": 1}), "producer has producer_id: expected"),
        (
            lambda admin: admin.abort_transaction(T0, {"producer_id": 1, "producer_epoch": 2**15}),
            "producer_epoch=32768",
        ),
        (
            lambda admin: admin.abort_transaction(
                T0, {"producer_id": 1, "producer_epoch": 1, "coordinator_epoch": "1"}
            ),
            "coordinator_epoch='1'",
        ),
        (lambda admin: admin.fence_producers([7]), "7 is not a transactional id"),
        (lambda admin: admin.force_terminate_transaction(None), "None is not a transactional id"),
    ],
)
def test_an_argument_that_cannot_be_is_refused_before_anything_is_sent(call: Any, problem: str) -> None:
    with Admin("127.0.0.1:1") as admin, pytest.raises(ConfigError, match=problem):
        call(admin)


def test_nothing_is_asked_about_nothing() -> None:
    with Admin("127.0.0.1:1") as admin:
        assert admin.describe_transactions([]) == admin.describe_producers([]) == admin.fence_producers([]) == {}


@pytest.mark.parametrize(
    ("release", "call", "advice"),
    [
        ("2.8.2", lambda admin: admin.list_transactions(), "ListTransactions.*does not have it.*since Kafka 3.0"),
        ("3.5.2", lambda admin: admin.list_transactions(min_duration=1), "offers versions 0 to 0.*from Kafka 3.8 on"),
        ("4.0.0", lambda admin: admin.list_transactions(pattern="a"), "offers versions 0 to 1.*from Kafka 4.1 on"),
        ("2.8.2", lambda admin: admin.describe_transactions(["tx"]), "DescribeTransactions.*since Kafka 3.0"),
        ("2.7.0", lambda admin: admin.describe_producers([T0]), "DescribeProducers.*since Kafka 2.8"),
        ("0.10.2", lambda admin: admin.fence_producers(["tx"]), "transactions came with Kafka 0.11"),
        ("0.10.2", lambda admin: admin.force_terminate_transaction("tx"), "transactions came with Kafka 0.11"),
        (
            "0.10.2",
            lambda admin: admin.abort_transaction(T0, {"producer_id": 1, "producer_epoch": 0}),
            "WriteTxnMarkers.*transactions came with Kafka 0.11",
        ),
    ],
)
def test_a_broker_that_is_too_old_says_what_to_do_instead(release: str, call: Any, advice: str) -> None:
    with (
        Broker(release=release, topics={"t": 1}) as broker,
        Admin(broker.bootstrap_servers) as admin,
        pytest.raises(errors.broker.UNSUPPORTED_VERSION, match=advice),
    ):
        call(admin)


def test_the_first_release_with_transactions_fences_and_aborts() -> None:
    with Broker(release="0.11.0.3", topics={"t": 1}) as broker, Admin(broker.bootstrap_servers) as admin:
        producer = open_transaction(broker)
        assert admin.fence_producers(["tx"])["tx"].producer_epoch > 0
        with pytest.raises(errors.KafkaError):
            producer.commit_transaction()
        producer.close()


def test_who_may_not_is_told_so() -> None:
    users = {"bob": "secret", "root": "r"}
    with (
        Broker(users=users, authorizer=True, super_users=["User:root"], topics={"t": 1}) as broker,
        Admin(broker.bootstrap_servers, **broker.client_settings) as admin,
    ):
        assert admin.list_transactions() == []
        with pytest.raises(errors.broker.TRANSACTIONAL_ID_AUTHORIZATION_FAILED) as raised:
            admin.fence_producers(["a", "b"])
        assert list(raised.value.failures) == ["a", "b"]
        with pytest.raises(errors.broker.TRANSACTIONAL_ID_AUTHORIZATION_FAILED):
            admin.describe_transactions(["a"])
        with pytest.raises(errors.broker.TOPIC_AUTHORIZATION_FAILED):
            admin.describe_producers([T0])


def test_coroutines_do_the_same(broker: Broker) -> None:
    producer = open_transaction(broker)

    async def work() -> None:
        async with kwire.aio.Admin(broker.bootstrap_servers) as admin:
            assert [row.transactional_id for row in await admin.list_transactions(pattern="t.")] == ["tx"]
            assert (await admin.describe_transactions(["tx"]))["tx"].state == "Ongoing"
            [state] = (await admin.describe_producers([T0]))[T0]
            await admin.abort_transaction(T0, state)
            await admin.force_terminate_transaction("tx")
            assert list(await admin.fence_producers(["tx"])) == ["tx"]
            with pytest.raises(errors.broker.TRANSACTIONAL_ID_NOT_FOUND):
                await admin.describe_transactions(["none"])

    asyncio.run(work())
    with pytest.raises(errors.KafkaError):
        producer.commit_transaction()
    producer.close()
