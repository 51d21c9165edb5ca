"""ShareFetch (key 78), versions 0-2: records for a member of a share group, acknowledging earlier ones (KIP-932).

Acknowledge types: 0 gap, 1 accept, 2 release, 3 reject, 4 renew.

    v0   early access, in 3.9 and 4.0 only, not stable
    v1   the first stable version: max_records, batch_size; response: acquisition_lock_timeout_ms
    v2   request: share_acquire_mode, is_renew_ack (KIP-1206, KIP-1222)

Sources: Apache's definitions of 3.9.2 (v0) and 4.4.0 (v1-v2).
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from kwire.schema.fields import (
    NO_UUID,
    BytesLike,
    array,
    bool_,
    i8,
    i8s,
    i16,
    i32,
    i32s,
    i64,
    record_data,
    string,
    struct,
    uuid,
)
from kwire.schema.messages import Request, Response, Struct

__all__ = ["ShareFetchRequest", "ShareFetchResponse"]


class ShareFetchRequest(Request, key=78, versions="0-2", flexible="0+"):
    """What to fetch, and what became of the records fetched before."""

    class FetchTopic(Struct):
        class FetchPartition(Struct):
            class AcknowledgementBatch(Struct):
                first_offset: int = i64("0+", default=0)
                last_offset: int = i64("0+", default=0)
                acknowledge_types: Sequence[int] = i8s("0+", default=())

            partition_index: int = i32("0+", default=0)
            partition_max_bytes: int = i32("0", default=0)
            acknowledgement_batches: Sequence[AcknowledgementBatch] = array(AcknowledgementBatch, "0+", default=())

        topic_id: UUID = uuid("0+", default=NO_UUID)
        partitions: Sequence[FetchPartition] = array(FetchPartition, "0+", default=())

    class ForgottenTopic(Struct):
        topic_id: UUID = uuid("0+", default=NO_UUID)
        partitions: Sequence[int] = i32s("0+", default=())

    group_id: str | None = string("0+", default=None, nullable="0+")
    member_id: str | None = string("0+", default="", nullable="0+")
    share_session_epoch: int = i32("0+", default=0)
    max_wait_ms: int = i32("0+", default=0)
    min_bytes: int = i32("0+", default=0)
    max_bytes: int = i32("0+", default=0x7FFF_FFFF)
    max_records: int = i32("1+", default=0)
    batch_size: int = i32("1+", default=0)
    share_acquire_mode: int = i8("2+", default=0, ignorable=True)
    is_renew_ack: bool = bool_("2+", default=False)
    topics: Sequence[FetchTopic] = array(FetchTopic, "0+", default=())
    forgotten_topics_data: Sequence[ForgottenTopic] = array(ForgottenTopic, "0+", default=())


class ShareFetchResponse(Response, key=78, versions="0-2", flexible="0+"):
    """`records` is a `Buffer` that shares the bytes of the frame; only the acquired ones may be used."""

    class ShareFetchableTopicResponse(Struct):
        class PartitionData(Struct):
            class LeaderIdAndEpoch(Struct):
                leader_id: int = i32("0+", default=0)
                leader_epoch: int = i32("0+", default=0)

            class AcquiredRecords(Struct):
                first_offset: int = i64("0+", default=0)
                last_offset: int = i64("0+", default=0)
                delivery_count: int = i16("0+", default=0)

            partition_index: int = i32("0+", default=0)
            error_code: int = i16("0+", default=0)
            error_message: str | None = string("0+", default=None, nullable="0+")
            acknowledge_error_code: int = i16("0+", default=0)
            acknowledge_error_message: str | None = string("0+", default=None, nullable="0+")
            current_leader: LeaderIdAndEpoch = struct("0+", default_factory=LeaderIdAndEpoch)
            records: BytesLike | None = record_data("0+", default=b"", nullable="0")
            acquired_records: Sequence[AcquiredRecords] = array(AcquiredRecords, "0+", default=())

        topic_id: UUID = uuid("0+", default=NO_UUID)
        partitions: Sequence[PartitionData] = array(PartitionData, "0+", default=())

    class NodeEndpoint(Struct):
        node_id: int = i32("0+", default=0)
        host: str = string("0+", default="")
        port: int = i32("0+", default=0)
        rack: str | None = string("0+", default=None, nullable="0+")

    throttle_time_ms: int = i32("0+", default=0)
    error_code: int = i16("0+", default=0)
    error_message: str | None = string("0+", default=None, nullable="0+")
    acquisition_lock_timeout_ms: int = i32("1+", default=0)
    responses: Sequence[ShareFetchableTopicResponse] = array(ShareFetchableTopicResponse, "0+", default=())
    node_endpoints: Sequence[NodeEndpoint] = array(NodeEndpoint, "0+", default=())
