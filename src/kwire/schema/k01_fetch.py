"""Fetch (key 1), versions 0-18: records of partitions from an offset on, with a long poll.

The broker answers when `min_bytes` have come together or after `max_wait_ms`. Consumers send replica_id -1. The last
message or batch of a partition may be cut off by the byte limit.

    v1   response: throttle_time_ms
    v2   message sets of magic 1 may be answered (KIP-32)
    v3   request: max_bytes of the whole response, soft; partitions are served in request order (KIP-74)
    v4   request: isolation_level; response: last_stable_offset, aborted_transactions; batches of magic 2 (KIP-98)
    v5   log_start_offset, both directions (KIP-107)
    v6   KAFKA_STORAGE_ERROR may be answered (KIP-112)
    v7   fetch sessions: session_id, session_epoch, forgotten_topics_data; response: error_code (KIP-227)
    v8   brokers answer before they throttle (KIP-219)
    v9   request: current_leader_epoch, which fences (KIP-320)
    v10  zstd (KIP-110)
    v11  request: rack_id; response: preferred_read_replica (KIP-392)
    v12  flexible; cluster_id, last_fetched_epoch; diverging_epoch, current_leader, snapshot_id (KIP-482, KIP-595)
    v13  topic ids instead of names (KIP-516)
    v14  OFFSET_MOVED_TO_TIERED_STORAGE may be answered (KIP-405)
    v15  replica_state replaces replica_id (KIP-903)
    v16  response: node_endpoints (KIP-951)
    v17  request: replica_directory_id (KIP-853)
    v18  request: high_watermark (KIP-1166)

Sources: the protocol guides of 0.9 and 0.10.1 (v0-v3), Apache's definitions of 3.9.2 (v0-v17) and 4.4.0 (v4-v18).
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from kwire.schema.fields import NO_UUID, BytesLike, array, i8, i16, i32, i32s, i64, record_data, string, struct, uuid
from kwire.schema.messages import Request, Response, Struct

__all__ = ["FetchRequest", "FetchResponse"]


class FetchRequest(Request, key=1, versions="0-18", flexible="12+"):
    """What to fetch. `isolation_level`: 0 read uncommitted, 1 read committed. Sizes in bytes, times in ms."""

    class ReplicaState(Struct):
        replica_id: int = i32("15+", default=-1)
        replica_epoch: int = i64("15+", default=-1)

    class FetchTopic(Struct):
        class FetchPartition(Struct):
            partition: int = i32("0+", default=0)
            current_leader_epoch: int = i32("9+", default=-1, ignorable=True)
            fetch_offset: int = i64("0+", default=0)
            last_fetched_epoch: int = i32("12+", default=-1)
            log_start_offset: int = i64("5+", default=-1, ignorable=True)
            partition_max_bytes: int = i32("0+", default=0)
            replica_directory_id: UUID = uuid("17+", default=NO_UUID, tag=0, ignorable=True)
            high_watermark: int = i64("18+", default=0x7FFF_FFFF_FFFF_FFFF, tag=1, ignorable=True)

        topic: str = string("0-12", default="", ignorable=True)
        topic_id: UUID = uuid("13+", default=NO_UUID, ignorable=True)
        partitions: Sequence[FetchPartition] = array(FetchPartition, "0+", default=())

    class ForgottenTopic(Struct):
        topic: str = string("7-12", default="", ignorable=True)
        topic_id: UUID = uuid("13+", default=NO_UUID, ignorable=True)
        partitions: Sequence[int] = i32s("7+", default=())

    cluster_id: str | None = string("12+", default=None, nullable="12+", tag=0, ignorable=True)
    replica_id: int = i32("0-14", default=-1)
    replica_state: ReplicaState = struct("15+", default_factory=ReplicaState, tag=1)
    max_wait_ms: int = i32("0+", default=0)
    min_bytes: int = i32("0+", default=0)
    max_bytes: int = i32("3+", default=0x7FFF_FFFF, ignorable=True)
    isolation_level: int = i8("4+", default=0, ignorable=True)
    session_id: int = i32("7+", default=0, ignorable=True)
    session_epoch: int = i32("7+", default=-1, ignorable=True)
    topics: Sequence[FetchTopic] = array(FetchTopic, "0+", default=())
    forgotten_topics_data: Sequence[ForgottenTopic] = array(ForgottenTopic, "7+", default=())
    rack_id: str = string("11+", default="", ignorable=True)


class FetchResponse(Response, key=1, versions="0-18", flexible="12+"):
    """The records. `records` is a `Buffer` that shares the bytes of the frame and keeps them alive."""

    class FetchableTopicResponse(Struct):
        class PartitionData(Struct):
            class EpochEndOffset(Struct):
                epoch: int = i32("12+", default=-1)
                end_offset: int = i64("12+", default=-1)

            class LeaderIdAndEpoch(Struct):
                leader_id: int = i32("12+", default=-1)
                leader_epoch: int = i32("12+", default=-1)

            class SnapshotId(Struct):
                end_offset: int = i64("0+", default=-1)
                epoch: int = i32("0+", default=-1)

            class AbortedTransaction(Struct):
                producer_id: int = i64("4+", default=0)
                first_offset: int = i64("4+", default=0)

            partition_index: int = i32("0+", default=0)
            error_code: int = i16("0+", default=0)
            high_watermark: int = i64("0+", default=0)
            last_stable_offset: int = i64("4+", default=-1, ignorable=True)
            log_start_offset: int = i64("5+", default=-1, ignorable=True)
            diverging_epoch: EpochEndOffset = struct("12+", default_factory=EpochEndOffset, tag=0)
            current_leader: LeaderIdAndEpoch = struct("12+", default_factory=LeaderIdAndEpoch, tag=1)
            snapshot_id: SnapshotId = struct("12+", default_factory=SnapshotId, tag=2)
            aborted_transactions: Sequence[AbortedTransaction] | None = array(
                AbortedTransaction, "4+", default=(), nullable="4+", ignorable=True
            )
            preferred_read_replica: int = i32("11+", default=-1)
            records: BytesLike | None = record_data("0+", default=b"", nullable="0+")

        topic: str = string("0-12", default="", ignorable=True)
        topic_id: UUID = uuid("13+", default=NO_UUID, ignorable=True)
        partitions: Sequence[PartitionData] = array(PartitionData, "0+", default=())

    class NodeEndpoint(Struct):
        node_id: int = i32("16+", default=0)
        host: str = string("16+", default="")
        port: int = i32("16+", default=0)
        rack: str | None = string("16+", default=None, nullable="16+")

    throttle_time_ms: int = i32("1+", default=0, ignorable=True)
    error_code: int = i16("7+", default=0, ignorable=True)
    session_id: int = i32("7+", default=0)
    responses: Sequence[FetchableTopicResponse] = array(FetchableTopicResponse, "0+", default=())
    node_endpoints: Sequence[NodeEndpoint] = array(NodeEndpoint, "16+", default=(), tag=0)
