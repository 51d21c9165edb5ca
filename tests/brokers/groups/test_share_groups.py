"""Share groups (KIP-932) on real Kafka: kinds, locks, renewals; kwire's and Java's members of one group, one of them
killed; leaders that die.
"""

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import kwire
from kwire import ShareConsumer, TopicPartition, errors
from tests.brokers import Cluster
from tests.brokers.groups.members import wait_until
from tests.brokers.groups.share_members import (
    LOCK_S,
    PARTITIONS,
    QUICK,
    accepted,
    begin_at_first,
    events,
    java_member,
    kwire_member,
    told,
    write,
)

pytestmark = pytest.mark.kafka


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster("4.4.0", overrides=QUICK) as started:
        yield started


@pytest.fixture
def topic(cluster: Cluster, new_topic: Callable[[], str]) -> str:
    name = new_topic()
    with kwire.Admin(cluster.bootstrap_servers) as admin:
        admin.create_topics({name: PARTITIONS})
    begin_at_first(cluster, f"g-{name}")
    return name


def member_of(cluster: Cluster, topic: str, **options: Any) -> ShareConsumer:
    made = ShareConsumer(cluster.bootstrap_servers, **{"group_id": f"g-{topic}", **options})
    made.subscribe([topic])
    return made


def read(consumer: ShareConsumer, count: int) -> dict[tuple[int, int], int]:
    """The delivery counts of so many records, by partition and offset."""
    found: dict[tuple[int, int], int] = {}
    give_up = time.monotonic() + 30
    while len(found) < count:
        assert time.monotonic() < give_up, found
        records = consumer.poll(timeout=1.0)
        found |= {(record.partition, record.offset): records.delivery_count(record) for record in records}
    return found


def test_kinds_and_locks(cluster: Cluster, topic: str) -> None:
    write(cluster, topic, 12)
    t0 = TopicPartition(topic, 0)
    with member_of(cluster, topic, share_acknowledgement_mode="explicit") as consumer:
        seen: set[tuple[int, int]] = set()
        kinds = {0: "accept", 1: "release", 2: "reject", 3: "renew"}
        while len(seen) < 12:
            records = consumer.poll(timeout=20)
            for record in records:
                first = (record.partition, record.offset) not in seen
                seen.add((record.partition, record.offset))
                consumer.acknowledge(record, kinds[record.offset] if first else "accept")
            assert set(consumer.commit().values()) == {None}
        again = read_all_accepting(consumer)
        assert again <= {(partition, offset) for partition in range(PARTITIONS) for offset in (1, 3)}
        assert consumer.acquisition_lock_timeout_ms == LOCK_S * 1000
    write(cluster, topic, 3)
    with member_of(cluster, topic) as consumer:
        assert set(read(consumer, 3)) == {(0, 4), (1, 4), (2, 4)}
        consumer.commit()
        write(cluster, topic, 1)
        assert read(consumer, 1) == {(0, 5): 1}
        time.sleep(LOCK_S + 0.5)
        assert isinstance(consumer.commit()[t0], errors.broker.InvalidRecordStateError)
        assert read(consumer, 1) == {(0, 5): 2}
        consumer.commit()
        assert len(consumer.poll(timeout=1.0)) == 0


def read_all_accepting(consumer: ShareConsumer) -> set[tuple[int, int]]:
    found: set[tuple[int, int]] = set()
    while records := consumer.poll(timeout=1.0):
        found |= {(record.partition, record.offset) for record in records}
        consumer.acknowledge(records)
    return found


def test_a_session_that_is_forgotten_begins_anew(cluster: Cluster, topic: str) -> None:
    write(cluster, topic, 9)
    with member_of(cluster, topic, max_poll_records=2, share_acquire_mode="record_limit") as consumer:
        assert len(consumer.poll(timeout=20)) == 2
        for session in consumer._polling._fetcher._sessions.values():
            session.epoch = 77
        outcomes = consumer.commit()
        assert {type(error) for error in outcomes.values()} == {errors.broker.InvalidShareSessionEpochError}
        assert sorted(read(consumer, 9)) == [(partition, offset) for partition in range(3) for offset in range(3)]


@pytest.mark.timeout(120)
def test_members_of_both_kinds_do_each_record_once_though_one_is_killed(
    cluster: Cluster, topic: str, tmp_path: Path
) -> None:
    members = [kwire_member(cluster, topic, tmp_path, number) for number in range(3)]
    java = java_member(cluster, topic, tmp_path)
    try:
        wait_until(lambda: bool(list(events([java], "startup_complete"))), java.tail)
        count = 1_500
        write(cluster, topic, count)
        wait_until(lambda: len(accepted([members[0]])) > 20, members[0].tail)
        members[0].kill()
        give_up = time.monotonic() + 30
        while not accepted([java]) or count < 3_000:
            assert time.monotonic() < give_up, java.tail()
            write(cluster, topic, 300)
            count += 300
        everyone = [*members, java]
        wait_until(
            lambda: len({*accepted(everyone), *told(members[:1], "worked_on")}) == count,
            lambda: f"{len(set(accepted(everyone)))} of {count}",
            within=60,
        )
        twice = len(accepted(everyone)) - len(set(accepted(everyone)))
        assert twice == 0
        for member in members[1:]:
            os.kill(member.pid, signal.SIGTERM)
            assert member.wait(20) == 0, member.tail()
    finally:
        for member in [*members, java]:
            member.kill()


@pytest.mark.timeout(240)
@pytest.mark.kafka_all
def test_every_record_is_done_though_leaders_die(new_topic: Callable[[], str], tmp_path: Path) -> None:
    name, count = new_topic(), 6_000
    with Cluster("4.4.0", nodes=3, overrides={**QUICK, "min.insync.replicas": "2"}) as three:
        with kwire.Admin(three.bootstrap_servers) as admin:
            admin.create_topics({name: {"num_partitions": PARTITIONS, "replication_factor": 3}})
        begin_at_first(three, f"g-{name}")
        members = [kwire_member(three, name, tmp_path, number) for number in range(3)]
        try:
            for round_number in range(3):
                write(three, name, count // 3)
                wait_until(lambda: len(accepted(members)) > 500 * (round_number + 1), members[0].tail, within=60)  # noqa: B023
                node = three.node_ids[round_number]
                three.kill_node(node)
                time.sleep(2)
                three.start_node(node)
            wait_until(
                lambda: len({*accepted(members), *told(members, "worked_on")}) == count,
                lambda: f"{len(set(accepted(members)))} of {count}",
                within=90,
            )
            assert len(accepted(members)) == len(set(accepted(members)))
        finally:
            for member in members:
                member.kill()
