"""Share groups (KIP-932) on real Kafka: kinds, locks, renewals; kwire's and Java's members of one group, one of them
killed; leaders that die.
"""

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import kwire
from kwire import ShareConsumer, TopicPartition, errors, protocol
from tests.brokers import Cluster, find_release
from tests.brokers.groups.members import wait_until
from tests.brokers.java import find_java
from tests.brokers.maven import resolve_tools
from tests.brokers.processes import JVM_FLAGS, Child
from tests.brokers.wire import wire_to

LOCK_S = 3.0
PARTITIONS = 3
_GROUP = 32
_ROOT = Path(__file__).parents[3]
QUICK = {
    "group.share.heartbeat.interval.ms": "500",
    "group.share.min.heartbeat.interval.ms": "100",
    "group.share.session.timeout.ms": "4000",
    "group.share.min.session.timeout.ms": "1000",
    "group.share.record.lock.duration.ms": str(int(LOCK_S * 1000)),
    "group.share.min.record.lock.duration.ms": "1000",
    "group.share.delivery.count.limit": "10",
    "num.partitions": str(PARTITIONS),
}

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


def begin_at_first(cluster: Cluster, group_id: str) -> None:
    """Has the group begin with the first record there is."""
    made = protocol.IncrementalAlterConfigsRequest
    row = made.AlterConfigsResource
    config = row.AlterableConfig(name="share.auto.offset.reset", config_operation=0, value="earliest")
    with wire_to(cluster) as wire:
        answer = wire.call(made(resources=[row(resource_type=_GROUP, resource_name=group_id, configs=[config])]), 1)
    assert [each.error_code for each in answer.responses] == [0]


def write(cluster: Cluster, topic: str, count: int) -> None:
    with kwire.Producer(cluster.bootstrap_servers) as producer:
        for number in range(count):
            producer.send(topic, b"%d" % number, partition=number % PARTITIONS)
        producer.flush(20)


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


def kwire_member(cluster: Cluster, topic: str, folder: Path, number: int) -> Child:
    name = f"kwire-{number}"
    settings = {"bootstrap_servers": cluster.bootstrap_servers, "group_id": f"g-{topic}", "max_poll_records": 50}
    said = json.dumps({"topic": topic, "settings": {**settings, "client_id": name}})
    command = [sys.executable, "-m", "tests.brokers.groups.share_member", said]
    return Child(name, command, folder / f"{name}.log", _ROOT)


def java_member(cluster: Cluster, topic: str, folder: Path) -> Child:
    jars = resolve_tools(find_release("4.4.0"))
    command = [find_java(), *JVM_FLAGS, "-cp", f"{jars}/*", "org.apache.kafka.tools.VerifiableShareConsumer"]
    command += ["--bootstrap-server", cluster.bootstrap_servers, "--topic", topic, "--group-id", f"g-{topic}"]
    return Child("java", [*command, "--acknowledgement-mode", "sync", "--verbose"], folder / "java.log", _ROOT)


def accepted(members: list[Child]) -> list[tuple[int, int]]:
    """What the members say that the broker has taken for done."""
    found = told(members, "accepted")
    for event in events(members, "offsets_acknowledged"):
        for row in event["partitions"] if event.get("success") else ():
            found += [(row["partition"], offset) for offset in row["offsets"]]
    return found


def told(members: list[Child], name: str) -> list[tuple[int, int]]:
    """The records of kwire's events of that name."""
    return [(event["partition"], offset) for event in events(members, name) for offset in event["offsets"]]


def events(members: list[Child], name: str) -> Iterator[dict[str, Any]]:
    for member in members:
        for line in member.log.read_bytes().split(b"\n")[:-1]:
            event = json.loads(line) if line.startswith(b"{") else {}
            if event.get("name") == name:
                yield event
