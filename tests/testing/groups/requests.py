"""Requests of groups, and members that join, sync and commit over the embedded broker without sockets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kwire import protocol
from kwire.protocol import (
    AlterShareGroupOffsetsRequest,
    ConsumerGroupDescribeRequest,
    ConsumerGroupHeartbeatRequest,
    ConsumerProtocolSubscription,
    DeleteGroupsRequest,
    DeleteShareGroupOffsetsRequest,
    DescribeGroupsRequest,
    DescribeShareGroupOffsetsRequest,
    FindCoordinatorRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    ListGroupsRequest,
    OffsetCommitRequest,
    OffsetDeleteRequest,
    OffsetFetchRequest,
    ShareAcknowledgeRequest,
    ShareFetchRequest,
    ShareGroupDescribeRequest,
    ShareGroupHeartbeatRequest,
    SyncGroupRequest,
)

_SHARE_GROUP = DescribeShareGroupOffsetsRequest.DescribeShareGroupOffsetsRequestGroup
_ALTERED = AlterShareGroupOffsetsRequest.AlterShareGroupOffsetsRequestTopic(
    topic_name="orders",
    partitions=[
        AlterShareGroupOffsetsRequest.AlterShareGroupOffsetsRequestTopic.AlterShareGroupOffsetsRequestPartition(
            partition_index=index, start_offset=0
        )
        for index in (0, 7)
    ],
)
_DELETED = DeleteShareGroupOffsetsRequest.DeleteShareGroupOffsetsRequestTopic(topic_name="orders")


def join(
    group: str = "g",
    member: str = "",
    *,
    instance: str | None = None,
    protocols: Sequence[str] = ("range",),
    metadata: bytes | None = None,
    protocol_type: str = "consumer",
    session_ms: int = 10_000,
    rebalance_ms: int = 30_000,
) -> JoinGroupRequest:
    """A consumer of topic "orders", unless `metadata` says otherwise."""
    offered = ConsumerProtocolSubscription(topics=["orders"]).to_blob(0) if metadata is None else metadata
    return JoinGroupRequest(
        group_id=group,
        session_timeout_ms=session_ms,
        rebalance_timeout_ms=rebalance_ms,
        member_id=member,
        group_instance_id=instance,
        protocol_type=protocol_type,
        protocols=[JoinGroupRequest.JoinGroupRequestProtocol(name=name, metadata=offered) for name in protocols],
    )


def sync(
    member: str,
    generation: int,
    assignments: Mapping[str, bytes] | None = None,
    *,
    group: str = "g",
    instance: str | None = None,
    **fields: Any,
) -> SyncGroupRequest:
    """With `assignments` that of the leader."""
    named = {"protocol_type": "consumer", "protocol_name": "range"} | fields
    given = [
        SyncGroupRequest.SyncGroupRequestAssignment(member_id=to, assignment=assignment)
        for to, assignment in (assignments or {}).items()
    ]
    return SyncGroupRequest(
        group_id=group,
        generation_id=generation,
        member_id=member,
        group_instance_id=instance,
        assignments=given,
        **named,
    )


def heartbeat(member: str, generation: int, *, group: str = "g", instance: str | None = None) -> HeartbeatRequest:
    return HeartbeatRequest(group_id=group, generation_id=generation, member_id=member, group_instance_id=instance)


def leave(*members: str, group: str = "g", version: int = 5, instance: str | None = None) -> LeaveGroupRequest:
    """By member id; an `instance` with each."""
    if version < 3:
        return LeaveGroupRequest(group_id=group, member_id=members[0])
    named = [LeaveGroupRequest.MemberIdentity(member_id=each, group_instance_id=instance) for each in members]
    return LeaveGroupRequest(group_id=group, members=named)


def commit(
    offsets: Mapping[tuple[str, int], int],
    member: str = "",
    generation: int = -1,
    *,
    group: str = "g",
    metadata: str | None = "",
    ids: Mapping[str, Any] | None = None,
    **fields: Any,
) -> OffsetCommitRequest:
    """One offset per (topic, partition); `ids` are topic ids by name."""
    asked = OffsetCommitRequest.OffsetCommitRequestTopic
    by_topic: dict[str, list[tuple[int, int]]] = {}
    for (topic, partition), offset in offsets.items():
        by_topic.setdefault(topic, []).append((partition, offset))
    return OffsetCommitRequest(
        group_id=group,
        generation_id_or_member_epoch=generation,
        member_id=member,
        topics=[
            asked(
                **({"name": topic} if ids is None else {"topic_id": ids[topic]}),
                partitions=[
                    asked.OffsetCommitRequestPartition(
                        partition_index=partition, committed_offset=offset, committed_metadata=metadata
                    )
                    for partition, offset in partitions
                ],
            )
            for topic, partitions in by_topic.items()
        ],
        **fields,
    )


def fetch_offsets(
    version: int,
    topics: Mapping[str, Sequence[int]] | None,
    *,
    group: str = "g",
    ids: Mapping[str, Any] | None = None,
    require_stable: bool = False,
    **fields: Any,
) -> OffsetFetchRequest:
    """What a group has committed for partitions by topic, None for all."""
    if version < 8:
        old = OffsetFetchRequest.OffsetFetchRequestTopic
        asked = None if topics is None else [old(name=name, partition_indexes=each) for name, each in topics.items()]
        stable = {"require_stable": require_stable} if version >= 7 else {}
        return OffsetFetchRequest(group_id=group, topics=asked, **stable)
    new = OffsetFetchRequest.OffsetFetchRequestGroup
    named = [
        new.OffsetFetchRequestTopics(
            **({"name": name} if ids is None else {"topic_id": ids[name]}), partition_indexes=each
        )
        for name, each in (topics or {}).items()
    ]
    wanted = new(group_id=group, topics=None if topics is None else named, **fields)
    return OffsetFetchRequest(groups=[wanted], require_stable=require_stable)


def delete_offsets(topics: Mapping[str, Sequence[int]], *, group: str = "g") -> OffsetDeleteRequest:
    """The offsets of partitions by topic."""
    asked = OffsetDeleteRequest.OffsetDeleteRequestTopic
    return OffsetDeleteRequest(
        group_id=group,
        topics=[
            asked(name=name, partitions=[asked.OffsetDeleteRequestPartition(partition_index=index) for index in each])
            for name, each in topics.items()
        ],
    )


def find_coordinator(version: int, *keys: str, kind: int = 0) -> FindCoordinatorRequest:
    if version >= 4:
        return FindCoordinatorRequest(key_type=kind, coordinator_keys=keys)
    return FindCoordinatorRequest(key=keys[0], **({"key_type": kind} if version >= 1 else {}))


def group_requests(key: int, version: int) -> Iterator[protocol.Request]:
    """Requests that say something in this version."""
    by_key: dict[int, list[protocol.Request]] = {
        8: [commit({("orders", 0): 5, ("orders", 7): 1})],
        9: [fetch_offsets(version, {"orders": [0, 7], "none": [0]})],
        10: [find_coordinator(version, "g")],
        11: [join(), join("h", protocols=["range", "sticky"])],
        12: [heartbeat("nobody", 1)],
        13: [leave("nobody", version=version)],
        14: [sync("nobody", 1, {"nobody": b"assignment"})],
        15: [DescribeGroupsRequest(groups=["g", "none"])],
        16: [ListGroupsRequest()],
        42: [DeleteGroupsRequest(groups_names=["g", "none"])],
        47: [delete_offsets({"orders": [0, 7], "none": [0]})],
        69: [ConsumerGroupDescribeRequest(group_ids=["g", "new", "none"])],
        76: [
            ShareGroupHeartbeatRequest(group_id="s", member_id="m", subscribed_topic_names=["orders"]),
            ShareGroupHeartbeatRequest(group_id="s", member_id="n", subscribed_topic_names=["orders"], rack_id="r"),
        ],
        77: [ShareGroupDescribeRequest(group_ids=["s", "g", "none"])],
        78: [ShareFetchRequest(group_id="s", member_id="m", max_wait_ms=3, max_bytes=1000)],
        79: [ShareAcknowledgeRequest(group_id="s", member_id="m", share_session_epoch=1)],
        90: [DescribeShareGroupOffsetsRequest(groups=[_SHARE_GROUP(group_id="s", topics=None)])],
        91: [AlterShareGroupOffsetsRequest(group_id="t", topics=[_ALTERED])],
        92: [DeleteShareGroupOffsetsRequest(group_id="t", topics=[_DELETED])],
        68: [
            ConsumerGroupHeartbeatRequest(
                group_id="new",
                member_id="m",
                rebalance_timeout_ms=1000,
                subscribed_topic_names=["orders"],
                topic_partitions=[],
                **({"subscribed_topic_regex": "o.*"} if version >= 1 else {}),
            )
        ],
    }
    yield from by_key.get(key, [])
