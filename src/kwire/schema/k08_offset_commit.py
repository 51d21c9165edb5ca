"""OffsetCommit (key 8), versions 0-10: a consumer group stores how far it has read.

v0 stores in ZooKeeper, v1 and later in Kafka: they are two sets of offsets.

    v1   generation and member; a commit time per partition; offsets are kept by Kafka
    v2   request: retention_time_ms instead of the commit times
    v3   response: throttle_time_ms (KIP-124)
    v4   brokers answer before they throttle (KIP-219)
    v5   retention_time_ms is gone: the broker decides (KIP-211)
    v6   request: committed_leader_epoch (KIP-320)
    v7   request: group_instance_id (KIP-345)
    v8   flexible (KIP-482)
    v9   members of the new group protocol may commit: STALE_MEMBER_EPOCH, GROUP_ID_NOT_FOUND (KIP-848)
    v10  topic ids instead of names (KIP-848)

Sources: the protocol guides of 0.9 and 0.10.1 (v0-v2), Apache's definitions of 3.9.2 (v0-v9) and 4.4.0 (v2-v10).
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from kwire.schema.fields import NO_UUID, array, i16, i32, i64, string, uuid
from kwire.schema.messages import Request, Response, Struct

__all__ = ["OffsetCommitRequest", "OffsetCommitResponse"]


class OffsetCommitRequest(Request, key=8, versions="0-10", flexible="8+"):
    """The offsets. Outside a group generation -1 and an empty member id."""

    class OffsetCommitRequestTopic(Struct):
        class OffsetCommitRequestPartition(Struct):
            partition_index: int = i32("0+", default=0)
            committed_offset: int = i64("0+", default=0)
            committed_leader_epoch: int = i32("6+", default=-1, ignorable=True)
            commit_timestamp: int = i64("1", default=-1)
            committed_metadata: str | None = string("0+", default="", nullable="0+")

        name: str = string("0-9", default="", ignorable=True)
        topic_id: UUID = uuid("10+", default=NO_UUID, ignorable=True)
        partitions: Sequence[OffsetCommitRequestPartition] = array(OffsetCommitRequestPartition, "0+", default=())

    group_id: str = string("0+", default="")
    generation_id_or_member_epoch: int = i32("1+", default=-1, ignorable=True)
    member_id: str = string("1+", default="", ignorable=True)
    group_instance_id: str | None = string("7+", default=None, nullable="7+")
    retention_time_ms: int = i64("2-4", default=-1, ignorable=True)
    topics: Sequence[OffsetCommitRequestTopic] = array(OffsetCommitRequestTopic, "0+", default=())


class OffsetCommitResponse(Response, key=8, versions="0-10", flexible="8+"):
    """What became of each partition."""

    class OffsetCommitResponseTopic(Struct):
        class OffsetCommitResponsePartition(Struct):
            partition_index: int = i32("0+", default=0)
            error_code: int = i16("0+", default=0)

        name: str = string("0-9", default="", ignorable=True)
        topic_id: UUID = uuid("10+", default=NO_UUID, ignorable=True)
        partitions: Sequence[OffsetCommitResponsePartition] = array(OffsetCommitResponsePartition, "0+", default=())

    throttle_time_ms: int = i32("3+", default=0, ignorable=True)
    topics: Sequence[OffsetCommitResponseTopic] = array(OffsetCommitResponseTopic, "0+", default=())
