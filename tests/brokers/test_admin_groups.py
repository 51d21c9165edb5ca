"""What Admin does with groups on real Kafka, looked at by Apache's own commands."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import confluent_kafka
import pytest

from kwire import Admin, Consumer, OffsetAndMetadata, Producer, ShareConsumer, TopicPartition, errors
from kwire.admin import MemberToRemove
from tests.brokers import Cluster
from tests.brokers.peers.group_command import SHARE, STREAMS, groups_of_command, rows_of_command
from tests.brokers.peers.peer import WITHIN_S
from tests.testing.peers.java_tools import CountWords

RELEASES = ["4.4.0", "3.9.2", "2.8.2", "1.1.1", "0.10.2.2"]
RECORDS = 10

pytestmark = pytest.mark.timeout(240)


@pytest.fixture
def topic(new_topic: Callable[[], str]) -> str:
    return new_topic()


def fill(cluster: Cluster, topic: str) -> None:
    with Admin(cluster.bootstrap_servers) as admin:
        admin.create_topics({topic: 2})
    with Producer(cluster.bootstrap_servers) as producer:
        for number in range(RECORDS):
            producer.send(topic, b"%d" % number, partition=0)


def member_of(cluster: Cluster, topic: str, **options: Any) -> Consumer:
    """A member of the group that is called as its topic; all of it is assigned, and committed."""
    given = {"group_id": topic, "auto_offset_reset": "earliest", "enable_auto_commit": False, **options}
    consumer = Consumer(cluster.bootstrap_servers, **given)
    consumer.subscribe([topic])
    left = RECORDS
    while left:
        left -= len(consumer.poll(1.0))
    consumer.commit()
    return consumer


def wait_for(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + WITHIN_S
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.1)


def offsets_of_command(cluster: Cluster, group: str) -> dict[int, str]:
    """By partition, as the command describes the group."""
    rows = rows_of_command(cluster, "--describe", "--group", group)
    return {int(row["PARTITION"]): row["CURRENT-OFFSET"] for row in rows if row["CURRENT-OFFSET"] != "-"}


def committed_of_confluent(servers: str, group: str, tp: TopicPartition) -> int:
    """The committed offset, asked by another client: the command shows none of a streams group without members."""
    consumer = confluent_kafka.Consumer({"bootstrap.servers": servers, "group.id": group})
    try:
        [found] = consumer.committed([confluent_kafka.TopicPartition(*tp)], timeout=WITHIN_S)
    finally:
        consumer.close()
    return int(found.offset)


@pytest.mark.parametrize("release", RELEASES)
def test_a_group_is_described_and_its_members_are_put_out(
    release: str, topic: str, kafka_cluster: Callable[[str], Cluster]
) -> None:
    cluster = kafka_cluster(release)
    number = cluster.release.number
    fill(cluster, topic)
    with Admin(cluster.bootstrap_servers) as admin, member_of(cluster, topic) as member:
        found = admin.describe_classic_groups([topic])[topic]
        [one] = found.members
        assert (found.type, found.state, found.assignor) == ("Classic", "Stable", "range")
        rows = rows_of_command(cluster, "--describe", "--group", topic)
        assert {row["CONSUMER-ID"] for row in rows} == {one.member_id} == {member.group_metadata().member_id}
        assert found.authorized_operations is None
        if number >= (2, 3):
            asked = admin.describe_classic_groups([topic], include_authorized_operations=True)[topic]
            assert asked.authorized_operations is not None
            assert {"read", "describe", "delete"} <= asked.authorized_operations
        listed = {row.group_id for row in admin.list_groups(types=["classic"], protocol_types=["consumer"])}
        assert topic in listed & groups_of_command(cluster)
        assert topic not in [row.group_id for row in admin.list_consumer_groups(types=["consumer"])]
        if number >= (2, 6):
            assert topic in [row.group_id for row in admin.list_groups(states=["stable"])]
            assert topic not in [row.group_id for row in admin.list_groups(states=["empty"])]
        else:
            with pytest.raises(errors.broker.UnsupportedVersionError, match=r"from Kafka 2\.6 on"):
                admin.list_groups(states=["stable"])
        admin.remove_members_from_consumer_group(topic, [MemberToRemove(member_id=one.member_id)])
        wait_for(lambda: not admin.describe_consumer_groups([topic])[topic].members)
        with pytest.raises(errors.broker.UnknownMemberIdError) as e:
            admin.remove_members_from_consumer_group(topic, [MemberToRemove(member_id=one.member_id)])
        assert list(e.value.failures) == [one.member_id]
        assert all(row["CONSUMER-ID"] == "-" for row in rows_of_command(cluster, "--describe", "--group", topic))


@pytest.mark.parametrize("release", ["4.4.0", "2.8.2", "1.1.1"])
def test_all_members_are_put_out(release: str, topic: str, kafka_cluster: Callable[[str], Cluster]) -> None:
    cluster = kafka_cluster(release)
    fill(cluster, topic)
    static = {"group_instance_id": "i"} if cluster.release.number >= (2, 4) else {}
    with Admin(cluster.bootstrap_servers) as admin, member_of(cluster, topic, **static):
        admin.remove_members_from_consumer_group(topic)
        wait_for(lambda: not admin.describe_consumer_groups([topic])[topic].members)


def test_a_group_of_the_new_protocol_is_described(topic: str, kafka_cluster: Callable[[str], Cluster]) -> None:
    cluster = kafka_cluster("4.4.0")
    fill(cluster, topic)
    with (
        Admin(cluster.bootstrap_servers) as admin,
        member_of(cluster, topic, group_protocol="consumer", client_rack="r") as member,
    ):
        found = admin.describe_consumer_groups([topic], include_authorized_operations=True)[topic]
        [one] = found.members
        assert (found.type, found.state, found.target_epoch) == ("Consumer", "Stable", found.epoch)
        assert (one.rack_id, one.upgraded) == ("r", True)
        assert found.authorized_operations is not None
        assert "read" in found.authorized_operations
        assert topic in [row.group_id for row in admin.list_consumer_groups(states=["stable"], types=["consumer"])]
        assert topic in groups_of_command(cluster, "--type", "consumer")
        with pytest.raises(errors.broker.GroupIdNotFoundError):
            admin.describe_classic_groups([topic])
        assert one.member_id == member.group_metadata().member_id
        admin.remove_members_from_consumer_group(topic)
        wait_for(lambda: (admin.describe_consumer_groups([topic])[topic].epoch or 0) > (found.epoch or 0))


@pytest.mark.parametrize("release", RELEASES)
def test_offsets_of_several_groups_are_as_the_command_has_them(
    release: str, topic: str, kafka_cluster: Callable[[str], Cluster]
) -> None:
    cluster = kafka_cluster(release)
    fill(cluster, topic)
    first, second = TopicPartition(topic, 0), TopicPartition(topic, 1)
    groups = [f"{topic}-one", f"{topic}-two"]
    with Admin(cluster.bootstrap_servers) as admin:
        for place, group in enumerate(groups):
            with Consumer(cluster.bootstrap_servers, group_id=group) as consumer:
                consumer.commit({first: 3 + place})
        found = admin.list_consumer_group_offsets(groups, partitions=[first, second])
        assert found == {group: {first: OffsetAndMetadata(3 + n), second: None} for n, group in enumerate(groups)}
        assert admin.list_consumer_group_offsets({groups[1]: None}) == {groups[1]: {first: OffsetAndMetadata(4)}}
        if cluster.release.number < (1, 1):
            return
        admin.alter_consumer_group_offsets(groups[0], {first: 7, second: 0})
        assert offsets_of_command(cluster, groups[0]) == {0: "7", 1: "0"}
        admin.delete_consumer_groups(groups)
        assert not groups_of_command(cluster).intersection(groups)


def test_share_groups_are_described_altered_and_deleted(topic: str, kafka_cluster: Callable[[str], Cluster]) -> None:
    cluster = kafka_cluster("4.4.0")
    fill(cluster, topic)
    first, second = TopicPartition(topic, 0), TopicPartition(topic, 1)

    def starts_of_command() -> dict[str, str]:
        rows = rows_of_command(cluster, "--describe", "--group", topic, command=SHARE)
        return {row["PARTITION"]: row["START-OFFSET"] for row in rows}

    with Admin(cluster.bootstrap_servers) as admin:
        with ShareConsumer(cluster.bootstrap_servers, group_id=topic, client_id="c") as consumer:
            consumer.subscribe([topic])
            wait_for(lambda: consumer.poll(0.5) is not None and topic in [row.group_id for row in admin.list_groups()])
            wait_for(lambda: all(row.assignment for row in admin.describe_share_groups([topic])[topic].members))
            wait_for(lambda: len(starts_of_command()) == 2)
            found = admin.describe_share_groups([topic], include_authorized_operations=True)[topic]
            [one] = found.members
            assert (found.state, one.client_id, sorted(one.assignment)) == ("Stable", "c", [first, second])
            assert found.authorized_operations is not None
            assert "delete" in found.authorized_operations
            rows = rows_of_command(cluster, "--describe", "--group", topic, "--members", command=SHARE)
            assert [row["CONSUMER-ID"] for row in rows] == [one.member_id]
            with pytest.raises(errors.broker.NonEmptyGroupError):
                admin.alter_share_group_offsets(topic, {first: 4})
        assert topic in [row.group_id for row in admin.list_groups(types=["share"], states=["empty"])]
        admin.alter_share_group_offsets(topic, {first: 4, second: 0})
        assert starts_of_command() == {"0": "4", "1": "0"}
        listed = admin.list_share_group_offsets(topic)
        assert {tp: row and row.start_offset for tp, row in listed.items()} == {first: 4, second: 0}
        assert [row.lag for row in listed.values() if row is not None] == [RECORDS - 4, 0]
        with pytest.raises(errors.broker.UnknownTopicOrPartitionError) as e:
            admin.alter_share_group_offsets(topic, {("missing", 0): 1, second: 0})
        assert list(e.value.failures) == [TopicPartition("missing", 0)]
        assert admin.list_share_group_offsets(topic, partitions=[first]) == {first: listed[first]}
        admin.delete_share_group_offsets(topic, [topic])
        assert starts_of_command() == {}
        assert admin.list_share_group_offsets({topic: None, "none": None}) == {topic: {}, "none": {}}
        admin.delete_share_groups([topic])
        assert topic not in groups_of_command(cluster, command=SHARE)
        with pytest.raises(errors.broker.GroupIdNotFoundError):
            admin.describe_share_groups([topic])


def test_streams_groups_are_described_altered_and_deleted(
    tmp_path: Path, kafka_cluster: Callable[[str], Cluster]
) -> None:
    cluster = kafka_cluster("4.4.0")
    servers, group = cluster.bootstrap_servers, "counting"
    with Admin(servers) as admin, Producer(servers) as producer:
        admin.create_topics({"words": 2, "counts": 1})
        producer.send_many("words", [b"a", b"b", b"a"], partition=0)
        producer.flush()
        with CountWords(tmp_path, "one", servers, "words", "counts", protocol="streams") as running:
            running.wait_for(lambda _: "RUNNING" in [e.get("state") for e in running.events("state")], "it runs")
            wait_for(lambda: admin.describe_streams_groups([group])[group].state == "Stable")
            found = admin.describe_streams_groups(
                [group], include_authorized_operations=True, include_topology_description=True
            )[group]
            assert {row.subtopology_id: row.source_topics for row in found.subtopologies}["0"] == ("words",)
            assert [name for row in found.subtopologies for name in row.state_changelog_topics] == [
                f"{group}-counts-changelog"
            ]
            tasks = sorted(str(task) for member in found.members for task in member.assignment.active_tasks)
            assert tasks == ["0_0", "0_1", "1_0", "1_1"]
            assert found.authorized_operations is not None
            assert "read" in found.authorized_operations
            assert found.topology_description_status in ("not_stored", "available")
            rows = rows_of_command(cluster, "--describe", "--group", group, "--members", command=STREAMS)
            assert {row["MEMBER"] for row in rows} == {member.member_id for member in found.members}
            with pytest.raises(errors.broker.NonEmptyGroupError):
                admin.delete_streams_groups([group])
            running.terminate()
        wait_for(lambda: not admin.describe_streams_groups([group])[group].members)
        words = TopicPartition("words", 0)
        assert words in admin.list_streams_group_offsets(group)
        admin.alter_streams_group_offsets(group, {words: 1})
        assert committed_of_confluent(servers, group, words) == 1
        admin.delete_streams_group_offsets(group, [words])
        assert admin.list_streams_group_offsets(group, partitions=[words]) == {words: None}
        assert [row.group_id for row in admin.list_groups(types=["streams"])] == [group]
        admin.delete_streams_groups([group])
        assert group not in groups_of_command(cluster, command=STREAMS)
        with pytest.raises(errors.broker.GroupIdNotFoundError, match="counting"):
            admin.describe_streams_groups([group])
