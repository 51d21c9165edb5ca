"""Groups that change their protocol while they are in use (KIP-848): classic to consumer, and back.

    classic, empty          the first consumer makes it a consumer group; its offsets stay
    classic, with members   of protocol type "consumer": so does a consumer that joins. Members keep their assignment;
                            what they wait for is answered with REBALANCE_IN_PROGRESS
    consumer, empty         the first member by the classic protocol makes it a classic group
    consumer, with members  a classic group once the last one that uses the new protocol is gone; then it rebalances

`group_consumer_migration_policy` allows it: bidirectional, upgrade, downgrade, disabled.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from kwire.errors import CodecError
from kwire.errors import broker as codes
from kwire.protocol import ConsumerProtocolAssignment, ConsumerProtocolSubscription
from kwire.testing.groups.classic_group import CONSUMER, ClassicGroup, ClassicMember, State
from kwire.testing.groups.classic_members import ClassicPart, assignment_blob, ids_of
from kwire.testing.groups.consumer_group import ConsumerGroup, ConsumerMember
from kwire.testing.groups.server_assignors import PartitionSet

if TYPE_CHECKING:
    from kwire.testing.cluster import ClusterState
    from kwire.testing.release import Release

_UPGRADES, _DOWNGRADES = ("bidirectional", "upgrade"), ("bidirectional", "downgrade")


def find_or_make_consumer_group(
    cluster: ClusterState, group_id: str, release: Release, *, joins: bool
) -> ConsumerGroup:
    """The consumer group; for a member that `joins` it is made. Raises BrokerError.

    GROUP_ID_NOT_FOUND without one, and for a group of another type that cannot become one.
    """
    groups = cluster.groups
    found = groups.get(group_id)
    if found is None and not joins:
        raise codes.GROUP_ID_NOT_FOUND(f"Consumer group {group_id} not found.")
    if found is None:
        return _put(cluster, ConsumerGroup(group_id, cluster, fence_member, release))
    if isinstance(found, ClassicGroup) and joins:
        return _upgraded(cluster, found, release)
    return groups.consumer(group_id)


def _upgraded(cluster: ClusterState, classic: ClassicGroup, release: Release) -> ConsumerGroup:
    made = ConsumerGroup(classic.group_id, cluster, fence_member, release)
    if classic.state is not State.EMPTY:
        _check_upgrade(cluster, classic)
        made.epoch = made.target_epoch = classic.generation
        for member in classic.members.values():
            _take_in(made, member, classic)
        for consumer in made.members.values():
            made.extend_session(consumer)
    classic.die(codes.REBALANCE_IN_PROGRESS.code)
    return _put(cluster, made)


def _check_upgrade(cluster: ClusterState, classic: ClassicGroup) -> None:
    properties = cluster.properties
    allowed = properties.group_consumer_migration_policy in _UPGRADES
    small = len(classic.members) <= properties.group_consumer_max_size
    if not allowed or classic.protocol_type != CONSUMER or not small:
        raise codes.GROUP_ID_NOT_FOUND(f"Group {classic.group_id} is not a consumer group.")


def _take_in(group: ConsumerGroup, member: ClassicMember, classic: ClassicGroup) -> None:
    """A classic member, with what it was assigned and subscribes to."""
    name = classic.protocol or next(iter(member.protocols))
    try:
        subscription = ConsumerProtocolSubscription.decode(member.protocols[name][2:], 0, strict=False)
        assigned = _assigned(group.cluster, member.assignment)
    except CodecError as malformed:
        raise codes.GROUP_ID_NOT_FOUND(
            f"Cannot upgrade the classic group {group.group_id} to consumer group because the embedded consumer "
            "protocol is malformed."
        ) from malformed
    group.members[member.member_id] = ConsumerMember(
        member.member_id,
        member.instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        topics=tuple(subscription.topics),
        epoch=classic.generation,
        previous_epoch=classic.generation,
        assigned=assigned,
        classic=ClassicPart(member.session_timeout_ms, dict(member.protocols)),
    )
    group.targets[member.member_id] = assigned


def _assigned(cluster: ClusterState, blob: bytes) -> PartitionSet:
    if not blob:
        return frozenset()
    decoded = ConsumerProtocolAssignment.decode(blob[2:], 0, strict=False)
    return ids_of(cluster, [(each.topic, each.partitions) for each in decoded.assigned_partitions])


def fence_member(group: ConsumerGroup, member: ConsumerMember) -> None:
    """A member goes; the group is a classic one if only such members are left."""
    others = [each for each in group.members.values() if each is not member]
    if may_downgrade(group, others):
        downgrade(group, others).prepare_rebalance()
    else:
        group.remove([member])


def may_downgrade(group: ConsumerGroup, members: list[ConsumerMember]) -> bool:
    """Whether a group with these members may be a classic one."""
    properties = group.cluster.properties
    allowed = properties.group_consumer_migration_policy in _DOWNGRADES
    small = 0 < len(members) <= properties.group_max_size
    return allowed and small and all(member.classic is not None for member in members)


def downgrade(group: ConsumerGroup, members: Iterable[ConsumerMember]) -> ClassicGroup:
    """The classic group of `members`, stable, with their targets as assignment."""
    made = ClassicGroup(group.group_id, group.cluster)
    made.generation, made.node = group.epoch, group.node
    for member in members:
        assert member.classic is not None
        added = ClassicMember(
            member_id=member.member_id,
            instance_id=member.instance_id,
            client_id=member.client_id,
            client_host=member.client_host,
            protocol_type=CONSUMER,
            protocols=member.classic.protocols,
            session_timeout_ms=member.classic.session_timeout_ms,
            rebalance_timeout_ms=member.rebalance_timeout_ms,
            assignment=assignment_blob(group.cluster, group.target_of(member), member.classic),
        )
        made.add(added)
    group.die()
    made.protocol, made.state = made.chosen_protocol(), State.STABLE
    for added in made.members.values():
        made.extend_session(added)
    made.store()
    group.cluster.groups.by_id[group.group_id] = made
    return made


def _put(cluster: ClusterState, group: ConsumerGroup) -> ConsumerGroup:
    cluster.groups.put(group)
    group.empty_since_ms = cluster.clock()
    return group
