"""What a broker says of a group: its members, what they sent and what they were assigned."""

from typing import NamedTuple

from kwire import protocol
from kwire.engine.groups.assignors import ClusterView, assignors_of
from kwire.engine.groups.assignors.blobs import decode_assignment
from tests.brokers import Cluster
from tests.brokers.wire import wire_to

Partition = tuple[str, int]


class Row(NamedTuple):
    """One member of a classic group."""

    member_id: str
    client_id: str
    instance_id: str | None
    metadata: bytes
    assignment: bytes

    @property
    def partitions(self) -> set[Partition]:
        return set(decode_assignment(self.assignment).partitions)


class Described(NamedTuple):
    """A classic group."""

    state: str
    assignor: str
    members: list[Row]


def describe_classic(cluster: Cluster, group: str) -> Described:
    """By DescribeGroups; v4, the first with instance ids, where the release has it."""
    version = 4 if cluster.release.number >= (2, 4) else 0
    with wire_to(cluster) as wire:
        [found] = wire.call(protocol.DescribeGroupsRequest(groups=[group]), version).groups
    rows = [
        Row(of.member_id, of.client_id, of.group_instance_id, bytes(of.member_metadata), bytes(of.member_assignment))
        for of in found.members
    ]
    assert not found.error_code
    return Described(found.group_state, found.protocol_data, rows)


def describe_new(cluster: Cluster, group: str) -> dict[str, set[Partition]]:
    """By ConsumerGroupDescribe: what each member has, by its client id."""
    with wire_to(cluster) as wire:
        [found] = wire.call(protocol.ConsumerGroupDescribeRequest(group_ids=[group]), 0).groups
    assert not found.error_code, found.error_message
    return {
        member.client_id: {(of.topic_name, n) for of in member.assignment.topic_partitions for n in of.partitions}
        for member in found.members
    }


def group_type(cluster: Cluster, group: str) -> str:
    """ "classic" or "consumer", by ListGroups."""
    with wire_to(cluster) as wire:
        rows = wire.call(protocol.ListGroupsRequest(), 5).groups
    return next(row.group_type.lower() for row in rows if row.group_id == group)


def computed(described: Described, topic: str, partitions: int) -> dict[str, bytes]:
    """What our assignor makes of the members' metadata."""
    rows = [(row.member_id, row.instance_id, row.metadata) for row in described.members]
    return assignors_of(described.assignor).assign(described.assignor, ClusterView({topic: partitions}), rows)


def committed(cluster: Cluster, group: str, topic: str, partitions: int) -> dict[Partition, int]:
    """The group's offsets."""
    asked = protocol.OffsetFetchRequest.OffsetFetchRequestTopic(name=topic, partition_indexes=list(range(partitions)))
    with wire_to(cluster) as wire:
        [found] = wire.call(protocol.OffsetFetchRequest(group_id=group, topics=[asked]), 1).topics
    return {(topic, row.partition_index): row.committed_offset for row in found.partitions}
