"""Offsets that a group commits, on every release from 0.8.1: where reading goes on, metadata, open transactions.

0.8.1 keeps them in ZooKeeper, without the metadata; groups with members came with 0.9.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

import kwire
from kwire import OffsetAndMetadata, TopicPartition
from tests.brokers import Cluster
from tests.brokers.peers.peer import WITHIN_S

COUNT = 20


@pytest.fixture
def topic(kafka: Cluster, new_topic: Callable[[], str]) -> str:
    """A topic with COUNT records in its first partition."""
    name = new_topic()
    with kwire.Producer(kafka.bootstrap_servers) as producer:
        for number in range(COUNT):
            producer.send(name, b"%d" % number, partition=0)
    return name


def consumer_of(kafka: Cluster, topic: str, **options: Any) -> kwire.Consumer:
    given = {"group_id": f"of-{topic}", "auto_offset_reset": "earliest", "enable_auto_commit": False, **options}
    return kwire.Consumer(kafka.bootstrap_servers, **given)


def read(consumer: kwire.Consumer, count: int, **options: Any) -> list[int]:
    found: list[int] = []
    deadline = time.monotonic() + WITHIN_S
    while len(found) < count and time.monotonic() < deadline:
        found += [int(value or b"") for value in consumer.poll(1.0, **options).values()]
    return found


@pytest.mark.timeout(180)
def test_another_consumer_goes_on_where_one_has_committed(kafka: Cluster, topic: str) -> None:
    if kafka.release.number < (0, 8, 1):
        pytest.skip("no commits before 0.8.1")
    tp = TopicPartition(topic, 0)
    with consumer_of(kafka, topic) as one:
        one.assign([tp])
        assert one.committed([tp]) == {tp: None}
        read(one, 7, max_records=7)
        one.commit()
        read(one, 1, max_records=1)
        one.commit({tp: OffsetAndMetadata(8, "note")})
        one.commit_async({tp: OffsetAndMetadata(9, "note")})
        one.commit_async()
        one.commit({})
    with consumer_of(kafka, topic) as two:
        two.assign([tp])
        found = two.committed([tp])[tp]
        assert found is not None
        assert found.offset == 9
        assert found.metadata == ("note" if kafka.release.number >= (0, 8, 2) else "")
        assert two.lag() == {tp: COUNT - 9}
        assert read(two, COUNT - 9) == list(range(9, COUNT))


@pytest.mark.timeout(180)
def test_members_commit_by_themselves_what_they_are_done_with(kafka: Cluster, topic: str) -> None:
    if kafka.release.number < (0, 9):
        pytest.skip("no groups before 0.9")
    tp = TopicPartition(topic, 0)
    with consumer_of(kafka, topic, enable_auto_commit=True) as one:
        one.subscribe([topic])
        for record in one:
            if record.offset == 11:
                break
    with consumer_of(kafka, topic) as two:
        two.subscribe([topic])
        assert read(two, COUNT - 11) == list(range(11, COUNT))
        two.commit()
        assert two.group_metadata().generation_id > 0
        found = two.committed([tp])[tp]
        assert found is not None
        assert found.offset == COUNT


@pytest.mark.needs("transactions")
@pytest.mark.timeout(180)
def test_offsets_of_an_open_transaction_are_waited_for(kafka: Cluster, topic: str) -> None:
    tp = TopicPartition(topic, 0)
    stable = kafka.release.number >= (2, 5)
    with (
        kwire.Producer(kafka.bootstrap_servers, transactional_id=f"tx-{topic}") as producer,
        consumer_of(kafka, topic) as one,
    ):
        one.assign([tp])
        one.commit({tp: 3})
        producer.init_transactions()
        producer.begin_transaction()
        producer.send_offsets_to_transaction({tp: 8}, one.group_metadata())
        if stable:
            with pytest.raises(kwire.errors.KafkaTimeoutError, match="UNSTABLE_OFFSET_COMMIT"):
                one.committed([tp], timeout=1.0)
        producer.commit_transaction()
        deadline = time.monotonic() + WITHIN_S
        while not stable and one.committed([tp])[tp] != OffsetAndMetadata(8) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert one.committed([tp])[tp] == OffsetAndMetadata(8)


@pytest.mark.needs("transactions")
@pytest.mark.timeout(180)
def test_a_committed_reader_sees_no_aborted_record_and_waits_for_open_ones(
    kafka: Cluster, new_topic: Callable[[], str]
) -> None:
    topic = new_topic()
    tp = TopicPartition(topic, 0)
    with kwire.Producer(kafka.bootstrap_servers, transactional_id=f"tx-{topic}") as producer:
        producer.init_transactions()
        for number in range(30):
            producer.begin_transaction()
            producer.send(topic, b"%d" % number, partition=0)
            if number % 3 == 0:
                producer.flush()
                producer.abort_transaction()
            else:
                producer.commit_transaction()
        producer.begin_transaction()
        producer.send(topic, b"30", partition=0).result(timeout=WITHIN_S)
        with consumer_of(kafka, topic, isolation_level="read_committed") as one:
            one.assign([tp])
            assert read(one, 20) == [number for number in range(30) if number % 3]
            assert len(one.poll(1.0)) == 0
            assert one.lag() == {tp: 0}
            one.commit()
            found = one.committed([tp])[tp]
            assert found is not None
            assert found.offset == 60  # with the markers
            producer.commit_transaction()
            assert read(one, 1) == [30]
    with consumer_of(kafka, topic, group_id=None) as two:
        two.assign([tp])
        assert read(two, 31) == list(range(31))


def test_admin_sees_and_moves_what_a_group_committed(kafka: Cluster, topic: str) -> None:
    if kafka.release.number < (0, 10):
        pytest.skip("Admin asks about groups from 0.10 on")
    tp, group = TopicPartition(topic, 0), f"of-{topic}"
    with kwire.Admin(kafka.bootstrap_servers) as admin:
        with consumer_of(kafka, topic) as one:
            one.subscribe([topic])
            read(one, COUNT)
            one.commit()
            listed = {row.group_id: row for row in admin.list_consumer_groups()}[group]
            assert listed.protocol_type == "consumer"
            assert listed.type in ("", "Classic")
            described = admin.describe_consumer_groups([group])[group]
            assert (described.state, described.assignor) == ("Stable", "range")
            assert [member.assignment for member in described.members] == [(tp,)]
        if kafka.release.number < (0, 11):
            return
        deadline = time.monotonic() + WITHIN_S
        while admin.describe_consumer_groups([group])[group].members and time.monotonic() < deadline:
            time.sleep(0.05)
        admin.alter_consumer_group_offsets(group, {tp: 5})
        assert admin.lag(group) == {tp: COUNT - 5}
        if kafka.release.number >= (2, 4):
            admin.delete_consumer_group_offsets(group, [tp])
            assert admin.list_consumer_group_offsets(group) == {}
        if kafka.release.number >= (1, 1):
            admin.alter_consumer_group_offsets(group, {tp: 5})
            admin.delete_consumer_groups([group])
            assert group not in [row.group_id for row in admin.list_groups()]
