"""Questions about topics, configs and the cluster, for real Kafka and the embedded broker, in every version.

Each is asked of both in this order; what it changes, it changes on both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from kwire import protocol
from kwire.protocol import (
    AlterConfigsRequest,
    AlterPartitionReassignmentsRequest,
    CreatePartitionsRequest,
    DeleteRecordsRequest,
    DescribeClusterRequest,
    DescribeConfigsRequest,
    DescribeQuorumRequest,
    DescribeTopicPartitionsRequest,
    ElectLeadersRequest,
    IncrementalAlterConfigsRequest,
    ListConfigResourcesRequest,
    ListPartitionReassignmentsRequest,
    OffsetForLeaderEpochRequest,
)
from tests.testing.like_kafka import access_questions

Spans = dict[int, tuple[int, int]]
Named = tuple[str, Callable[[int], protocol.Request]]
Question = tuple[str, protocol.Request, int]
TOPIC, BROKER, LOGGER, METRICS, GROUP = 2, 4, 8, 16, 32


def questions(topic: str, spans: Spans) -> Iterator[Question]:
    """All that the release has."""
    for key, named in by_key(topic).items():
        low, high = spans.get(key, (0, -1))
        for version in range(low, high + 1):
            for name, make in named:
                yield name, make(version), version


def by_key(topic: str) -> dict[int, list[Named]]:
    return {
        21: delete_records(topic),
        23: ends_of_epochs(topic),
        37: create_partitions(topic),
        43: elect_leaders(topic),
        45: reassign(topic),
        46: list_reassignments(),
        55: describe_quorum(topic),
        60: describe_cluster(),
        75: describe_topic_partitions(topic),
        33: alter_configs(topic),
        44: incremental_alter_configs(topic),
        32: describe_configs(topic),
        74: list_config_resources(),
        **access_questions.by_key(),
    }


def delete_records(topic: str) -> list[Named]:
    made = DeleteRecordsRequest.DeleteRecordsTopic
    part = made.DeleteRecordsPartition

    def request(offset: int, name: str = topic, partition: int = 0) -> Callable[[int], protocol.Request]:
        topics = [made(name=name, partitions=[part(partition_index=partition, offset=offset)])]
        return lambda version: DeleteRecordsRequest(topics=topics, timeout_ms=5000)

    return [
        *((f"delete records before {offset}", request(offset)) for offset in (-1, 0, 5, -2)),
        ("delete records of a missing topic", request(0, "is-not-there")),
        ("delete records of a missing partition", request(0, topic, 9)),
    ]


def ends_of_epochs(topic: str) -> list[Named]:
    made = OffsetForLeaderEpochRequest.OffsetForLeaderTopic
    part = made.OffsetForLeaderPartition

    def request(epoch: int, current: int, name: str = topic, partition: int = 0) -> Callable[[int], protocol.Request]:
        def build(version: int) -> protocol.Request:
            wanted = part(partition=partition, leader_epoch=epoch)
            if version >= 2:
                wanted.current_leader_epoch = current
            return OffsetForLeaderEpochRequest(topics=[made(topic=name, partitions=[wanted])])

        return build

    return [
        *(
            (f"the end of epoch {epoch} in epoch {current}", request(epoch, current))
            for epoch in (-1, 0, 7)
            for current in (-1, 5)
        ),
        ("the end of an epoch of a missing topic", request(0, -1, "is-not-there")),
        ("the end of an epoch of a missing partition", request(0, -1, topic, 9)),
    ]


def create_partitions(topic: str) -> list[Named]:
    made = CreatePartitionsRequest.CreatePartitionsTopic
    given = made.CreatePartitionsAssignment

    def request(
        count: int, name: str = topic, assigned: list[list[int]] | None = None, validate_only: bool = True
    ) -> Callable[[int], protocol.Request]:
        assignments = None if assigned is None else [given(broker_ids=ids) for ids in assigned]
        topics = [made(name=name, count=count, assignments=assignments)]
        return lambda version: CreatePartitionsRequest(topics=topics, timeout_ms=5000, validate_only=validate_only)

    return [
        ("no more partitions than there are", request(1)),
        ("fewer than no partitions", request(-2)),
        ("partitions of a missing topic", request(3, "is-not-there")),
        ("too few assignments", request(3, assigned=[[1]])),
        ("an assignment to a missing node", request(2, assigned=[[77]])),
        ("an assignment to one node twice", request(2, assigned=[[1, 1]])),
        ("partitions that may be", request(2)),
    ]


def elect_leaders(topic: str) -> list[Named]:
    made = ElectLeadersRequest.TopicPartitions

    def request(kind: int, name: str = topic, partition: int = 0) -> Callable[[int], protocol.Request]:
        def build(version: int) -> protocol.Request:
            asked = ElectLeadersRequest(topic_partitions=[made(topic=name, partitions=[partition])], timeout_ms=5000)
            if version >= 1:
                asked.election_type = kind
            return asked

        return build

    return [
        ("a preferred leader that leads", request(0)),
        ("an unclean election that is not needed", request(1)),
        ("an election in a missing topic", request(0, "is-not-there")),
        ("an election in a missing partition", request(0, topic, 9)),
    ]


def reassign(topic: str) -> list[Named]:
    made = AlterPartitionReassignmentsRequest.ReassignableTopic
    part = made.ReassignablePartition

    def request(replicas: list[int] | None, name: str = topic) -> Callable[[int], protocol.Request]:
        topics = [made(name=name, partitions=[part(partition_index=0, replicas=replicas)])]
        return lambda version: AlterPartitionReassignmentsRequest(topics=topics, timeout_ms=5000)

    return [
        *((f"replicas {replicas}", request(replicas)) for replicas in (None, [], [77], [1, 1], [-1])),
        ("replicas of a missing topic", request([1], "is-not-there")),
    ]


def list_reassignments() -> list[Named]:
    return [("reassignments", lambda version: ListPartitionReassignmentsRequest(topics=None, timeout_ms=5000))]


def describe_cluster() -> list[Named]:
    def request(kind: int) -> Callable[[int], protocol.Request]:
        return lambda version: DescribeClusterRequest(endpoint_type=kind if version else 1)

    return [(f"the cluster by endpoint {kind}", request(kind)) for kind in (1, 2, 3)]


def describe_quorum(topic: str) -> list[Named]:
    """Only what there is no quorum of: the offsets of the other are those of a log."""
    made = DescribeQuorumRequest.TopicData

    def request(*places: tuple[str, int]) -> Callable[[int], protocol.Request]:
        topics = [made(topic_name=name, partitions=[made.PartitionData(partition_index=n)]) for name, n in places]
        return lambda version: DescribeQuorumRequest(topics=topics)

    return [
        ("the quorum of nothing", request()),
        ("the quorum of a topic", request((topic, 0))),
        ("the quorum of another partition", request(("__cluster_metadata", 1))),
    ]


def describe_topic_partitions(topic: str) -> list[Named]:
    made = DescribeTopicPartitionsRequest

    def request(
        names: list[str], limit: int = 2000, cursor: tuple[str, int] | None = None
    ) -> Callable[[int], protocol.Request]:
        at = None if cursor is None else made.Cursor(topic_name=cursor[0], partition_index=cursor[1])
        topics = [made.TopicRequest(name=name) for name in names]
        return lambda version: made(topics=topics, response_partition_limit=limit, cursor=at)

    return [
        ("topics by name", request([topic, "is-not-there", "bad name"])),
        ("no partitions of a topic", request([topic], 0)),
        ("a topic from a cursor on", request([topic], cursor=(topic, 0))),
        ("a topic from beyond its end", request([topic], cursor=(topic, 9))),
        ("a cursor before the start", request([topic], cursor=(topic, -1))),
        ("a cursor to another topic", request([topic], cursor=("a", 0))),
    ]


def resources(topic: str) -> list[tuple[int, str]]:
    return [(TOPIC, topic), (TOPIC, "is-not-there"), (TOPIC, ""), (BROKER, "77"), (BROKER, "x")]


def alter_configs(topic: str) -> list[Named]:
    made = AlterConfigsRequest.AlterConfigsResource

    def request(kind: int, name: str, key: str, value: str, validate_only: bool) -> Callable[[int], protocol.Request]:
        changed = [made(resource_type=kind, resource_name=name, configs=[made.AlterableConfig(name=key, value=value)])]
        return lambda version: AlterConfigsRequest(resources=changed, validate_only=validate_only)

    return [
        *(
            (f"configs of {kind} {name!r} to be {key}={value}", request(kind, name, key, value, True))
            for kind, name in resources(topic)
            for key, value in (("retention.ms", "5"), ("retention.ms", "x"), ("no.such", "1"))
            if kind == TOPIC
        ),
        ("a topic's retention", request(TOPIC, topic, "retention.ms", "77000", False)),
    ]


def incremental_alter_configs(topic: str) -> list[Named]:
    made = IncrementalAlterConfigsRequest.AlterConfigsResource

    def request(
        operation: int, key: str, value: str | None, name: str = topic, validate_only: bool = True, times: int = 1
    ) -> Callable[[int], protocol.Request]:
        config = made.AlterableConfig(name=key, config_operation=operation, value=value)
        changed = [made(resource_type=TOPIC, resource_name=name, configs=[config] * times)]
        return lambda version: IncrementalAlterConfigsRequest(resources=changed, validate_only=validate_only)

    return [
        ("a value to be set", request(0, "retention.ms", "5")),
        ("a value of a wrong type", request(0, "retention.ms", "x")),
        ("a value of an unknown config", request(0, "no.such", "1")),
        ("a value for a missing topic", request(0, "retention.ms", "5", "is-not-there")),
        ("a value that is null", request(0, "retention.ms", None)),
        ("a value to be deleted", request(1, "retention.ms", None)),
        ("a value to append to a number", request(2, "retention.ms", "5")),
        ("a value to append to a list", request(2, "cleanup.policy", "compact", validate_only=False)),
        ("a config that is named twice", request(0, "retention.ms", "5", times=2)),
    ]


def describe_configs(topic: str) -> list[Named]:
    made = DescribeConfigsRequest.DescribeConfigsResource
    keys = ["retention.ms", "cleanup.policy", "no.such", "max.message.bytes", "flush.ms"]

    def request(kind: int, name: str) -> Callable[[int], protocol.Request]:
        asked = [made(resource_type=kind, resource_name=name, configuration_keys=keys)]
        return lambda version: DescribeConfigsRequest(resources=asked, include_synonyms=version > 0)

    return [(f"configs of {kind} {name!r}", request(kind, name)) for kind, name in resources(topic)]


def list_config_resources() -> list[Named]:
    def request(kinds: list[int]) -> Callable[[int], protocol.Request]:
        return lambda version: ListConfigResourcesRequest(resource_types=kinds if version else [])

    return [(f"resources of {kinds}", request(kinds)) for kinds in ([BROKER], [METRICS], [77])]
