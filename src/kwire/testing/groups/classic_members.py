"""Members of a consumer group that use the classic protocol, while the group migrates (KIP-848).

A join is answered at once, with the member's epoch as generation and no leader; SyncGroup tells the assignment that the
coordinator made. REBALANCE_IN_PROGRESS calls for a new join: the group's epoch is newer, or the member has to revoke
something, or what it waits for is free. Joins and SyncGroups that are called for have the rebalance timeout to come.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kwire.errors import CodecError
from kwire.errors import broker as codes
from kwire.protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupResponse,
    SyncGroupRequest,
    SyncGroupResponse,
)
from kwire.testing.groups.classic_group import CONSUMER
from kwire.testing.groups.consumer_group import ConsumerGroup, ConsumerMember, MemberState, by_topic
from kwire.testing.groups.server_assignors import PartitionSet
from kwire.testing.requests import RequestContext

if TYPE_CHECKING:
    from kwire.testing.cluster import ClusterState

_NEWEST_ASSIGNMENT = 3


@dataclass(frozen=True, slots=True)
class ClassicPart:
    """What only a member of the classic protocol has."""

    session_timeout_ms: int
    protocols: dict[str, bytes]

    @property
    def protocol(self) -> str:
        """The one that it is told."""
        return next(iter(self.protocols))

    @property
    def metadata_version(self) -> int:
        return int.from_bytes(self.protocols[self.protocol][:2], "big", signed=True)


def join(context: RequestContext[JoinGroupRequest], group: ConsumerGroup) -> JoinGroupResponse:
    """A member joins, or joins again. Raises BrokerError."""
    request = context.request
    protocols = {protocol.name: bytes(protocol.metadata) for protocol in request.protocols}
    _check_room(group, request.member_id)
    _check_protocols(group, request.protocol_type, protocols)
    if not request.member_id and request.group_instance_id is None and context.version >= 4:
        return JoinGroupResponse(error_code=codes.MEMBER_ID_REQUIRED.code, member_id=str(uuid.uuid4()))
    member = _joining(group, request.member_id, request.group_instance_id)
    subscription = _subscription(protocols)
    changed = member.topics != tuple(subscription.topics)
    member.instance_id = request.group_instance_id or member.instance_id
    member.rack_id = subscription.rack_id or member.rack_id
    member.rebalance_timeout_ms = request.rebalance_timeout_ms if context.version >= 1 else request.session_timeout_ms
    member.topics, member.assignor = tuple(subscription.topics), None
    member.client_id, member.client_host = context.client_id, context.client_host
    member.classic = ClassicPart(request.session_timeout_ms, protocols)
    group.update_epoch(changed=changed)
    group.update_targets()
    owned = [(each.topic, each.partitions) for each in subscription.owned_partitions]
    group.reconcile(member, ids_of(context.cluster, owned))
    group.happened(member, "join")
    group.happened(member, "revocation")
    group.extend_session(member)
    group.call_in(member, "sync", member.rebalance_timeout_ms)
    return JoinGroupResponse(
        member_id=member.member_id,
        generation_id=member.epoch,
        protocol_type=CONSUMER,
        protocol_name=member.classic.protocol,
    )


def sync(request: SyncGroupRequest, group: ConsumerGroup) -> SyncGroupResponse:
    """Tells a member its assignment. Raises BrokerError."""
    member, classic = _classic(group, request.member_id, request.group_instance_id, request.generation_id)
    named = ((request.protocol_type, CONSUMER), (request.protocol_name, classic.protocol))
    if any(asked is not None and asked != known for asked, known in named):
        raise codes.INCONSISTENT_GROUP_PROTOCOL(f"member {member.member_id!r} has {CONSUMER!r}, {classic.protocol!r}")
    if group.epoch > member.epoch and member.state is not MemberState.UNREVOKED:
        _expect_join(group, member)
        raise codes.REBALANCE_IN_PROGRESS(f"group {group.group_id!r} rebalances")
    group.happened(member, "sync")
    group.extend_session(member)
    return SyncGroupResponse(
        protocol_type=request.protocol_type,
        protocol_name=request.protocol_name,
        assignment=assignment_blob(group.cluster, member.assigned, classic),
    )


def heartbeat(request: HeartbeatRequest, group: ConsumerGroup) -> None:
    """Notes that a member is alive. Raises BrokerError, REBALANCE_IN_PROGRESS if it has to join again."""
    member, _ = _classic(group, request.member_id, request.group_instance_id, request.generation_id)
    group.extend_session(member)
    released = member.state is MemberState.UNRELEASED and not group.waits_for_others(member)
    if member.epoch < group.epoch or member.state is MemberState.UNREVOKED or released:
        _expect_join(group, member)
        raise codes.REBALANCE_IN_PROGRESS(f"group {group.group_id!r} rebalances")


def assignment_blob(cluster: ClusterState, assigned: PartitionSet, classic: ClassicPart) -> bytes:
    """An assignment as the classic protocol has it, in the version of the member's metadata."""
    names = {topic.topic_id: topic.name for topic in cluster.topics.values()}
    given = ConsumerProtocolAssignment.TopicPartition
    message = ConsumerProtocolAssignment(
        assigned_partitions=[
            given(topic=names[topic], partitions=partitions)
            for topic, partitions in by_topic(assigned).items()
            if topic in names
        ]
    )
    return message.to_blob(min(classic.metadata_version, _NEWEST_ASSIGNMENT))


def ids_of(cluster: ClusterState, partitions: Iterable[tuple[str, Sequence[int]]]) -> PartitionSet:
    """Partitions by topic id; topics that do not exist are left out."""
    return frozenset(
        (cluster.topics[name].topic_id, index) for name, each in partitions if name in cluster.topics for index in each
    )


def _check_room(group: ConsumerGroup, member_id: str) -> None:
    limit = group.cluster.properties.group_consumer_max_size
    if member_id not in group.members and len(group.members) >= limit:
        raise codes.GROUP_MAX_SIZE_REACHED(f"group {group.group_id!r} has {limit} members")


def _check_protocols(group: ConsumerGroup, protocol_type: str, protocols: dict[str, bytes]) -> None:
    parts = [member.classic for member in group.members.values() if member.classic is not None]
    counts = Counter(name for part in parts for name in part.protocols)
    if protocol_type != CONSUMER or not any(counts[name] == len(parts) for name in protocols):
        raise codes.INCONSISTENT_GROUP_PROTOCOL(f"group {group.group_id!r} has consumers of other protocols")


def _joining(group: ConsumerGroup, member_id: str, instance_id: str | None) -> ConsumerMember:
    owner = group.statics.get(instance_id) if instance_id is not None else None
    if instance_id is not None and member_id:
        return group.find_member(member_id, instance_id)
    new_id = member_id or str(uuid.uuid4())
    if owner is not None:
        return group.take_over(group.members[owner], new_id)
    return group.members.setdefault(new_id, ConsumerMember(new_id))


def _subscription(protocols: dict[str, bytes]) -> ConsumerProtocolSubscription:
    blob = next(iter(protocols.values()))
    version = min(max(int.from_bytes(blob[:2], "big", signed=True), 0), _NEWEST_ASSIGNMENT)
    try:
        return ConsumerProtocolSubscription.decode(blob[2:], version, strict=False)
    except CodecError as malformed:
        raise codes.UNKNOWN_SERVER_ERROR("the metadata of the member cannot be read") from malformed


def _classic(
    group: ConsumerGroup, member_id: str, instance_id: str | None, generation: int
) -> tuple[ConsumerMember, ClassicPart]:
    member = group.find_member(member_id, instance_id)
    if member.classic is None:
        raise codes.UNKNOWN_MEMBER_ID(f"member {member_id!r} does not use the classic protocol")
    if generation != member.epoch:
        raise codes.ILLEGAL_GENERATION(f"generation {generation}; that of member {member_id!r} is {member.epoch}")
    return member, member.classic


def _expect_join(group: ConsumerGroup, member: ConsumerMember) -> None:
    if "join" not in member.timers:
        group.call_in(member, "join", member.rebalance_timeout_ms)
