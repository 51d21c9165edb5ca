"""OffsetFetch (key 9), versions 0-10: how far consumer groups have read.

v0 reads from ZooKeeper, and answers UNKNOWN_TOPIC_OR_PARTITION where nothing is stored.

    v1   offsets are read from Kafka
    v2   null asks for all topics; response: error_code (KIP-88)
    v3   response: throttle_time_ms (KIP-124)
    v4   brokers answer before they throttle (KIP-219)
    v5   response: committed_leader_epoch (KIP-320)
    v6   flexible (KIP-482)
    v7   request: require_stable, answered by UNSTABLE_OFFSET_COMMIT (KIP-447)
    v8   several groups at once, in `groups` (KIP-709)
    v9   request: member_id, member_epoch (KIP-848)
    v10  topic ids instead of names (KIP-848)

Sources: the protocol guides of 0.9 and 0.10.1 (v0-v1), Apache's definitions of 3.9.2 (v0-v9) and 4.4.0 (v1-v10).
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from kwire.schema.fields import NO_UUID, array, bool_, i16, i32, i32s, i64, string, uuid
from kwire.schema.messages import Request, Response, Struct

__all__ = ["OffsetFetchRequest", "OffsetFetchResponse"]


class OffsetFetchRequest(Request, key=9, versions="0-10", flexible="6+"):
    """Which groups and topics. Up to v7 one group: `group_id`, `topics`; from v8 on `groups`."""

    class OffsetFetchRequestTopic(Struct):
        name: str = string("0-7", default="")
        partition_indexes: Sequence[int] = i32s("0-7", default=())

    class OffsetFetchRequestGroup(Struct):
        class OffsetFetchRequestTopics(Struct):
            name: str = string("8-9", default="", ignorable=True)
            topic_id: UUID = uuid("10+", default=NO_UUID, ignorable=True)
            partition_indexes: Sequence[int] = i32s("8+", default=())

        group_id: str = string("8+", default="")
        member_id: str | None = string("9+", default=None, nullable="9+", ignorable=True)
        member_epoch: int = i32("9+", default=-1, ignorable=True)
        topics: Sequence[OffsetFetchRequestTopics] | None = array(
            OffsetFetchRequestTopics, "8+", default=(), nullable="8+"
        )

    group_id: str = string("0-7", default="")
    topics: Sequence[OffsetFetchRequestTopic] | None = array(OffsetFetchRequestTopic, "0-7", default=(), nullable="2-7")
    groups: Sequence[OffsetFetchRequestGroup] = array(OffsetFetchRequestGroup, "8+", default=())
    require_stable: bool = bool_("7+", default=False)


class OffsetFetchResponse(Response, key=9, versions="0-10", flexible="6+"):
    """The offsets, -1 where there is none. Up to v7 `topics`, from v8 on `groups`."""

    class OffsetFetchResponseTopic(Struct):
        class OffsetFetchResponsePartition(Struct):
            partition_index: int = i32("0-7", default=0)
            committed_offset: int = i64("0-7", default=0)
            committed_leader_epoch: int = i32("5-7", default=-1, ignorable=True)
            metadata: str | None = string("0-7", default="", nullable="0-7")
            error_code: int = i16("0-7", default=0)

        name: str = string("0-7", default="")
        partitions: Sequence[OffsetFetchResponsePartition] = array(OffsetFetchResponsePartition, "0-7", default=())

    class OffsetFetchResponseGroup(Struct):
        class OffsetFetchResponseTopics(Struct):
            class OffsetFetchResponsePartitions(Struct):
                partition_index: int = i32("8+", default=0)
                committed_offset: int = i64("8+", default=0)
                committed_leader_epoch: int = i32("8+", default=-1, ignorable=True)
                metadata: str | None = string("8+", default="", nullable="8+")
                error_code: int = i16("8+", default=0)

            name: str = string("8-9", default="", ignorable=True)
            topic_id: UUID = uuid("10+", default=NO_UUID, ignorable=True)
            partitions: Sequence[OffsetFetchResponsePartitions] = array(OffsetFetchResponsePartitions, "8+", default=())

        group_id: str = string("8+", default="")
        topics: Sequence[OffsetFetchResponseTopics] = array(OffsetFetchResponseTopics, "8+", default=())
        error_code: int = i16("8+", default=0)

    throttle_time_ms: int = i32("3+", default=0, ignorable=True)
    topics: Sequence[OffsetFetchResponseTopic] = array(OffsetFetchResponseTopic, "0-7", default=())
    error_code: int = i16("2-7", default=0, ignorable=True)
    groups: Sequence[OffsetFetchResponseGroup] = array(OffsetFetchResponseGroup, "8+", default=())
