"""TxnOffsetCommit (key 28), versions 0-6: stores offsets of a group as part of a transaction (KIP-98).

    v1   brokers answer before they throttle (KIP-219)
    v2   request: committed_leader_epoch (KIP-320)
    v3   flexible; request: member_id, group_instance_id and the generation (KIP-482, KIP-447)
    v4   TRANSACTION_ABORTABLE may be answered (KIP-890)
    v5   adds the offsets to the transaction by itself; not before transaction.version 2 (KIP-890)
    v6   topic ids instead of names; a member epoch may stand for the generation (KIP-1319)

Sources: Apache's definitions of 3.9.2 (v0-v4) and 4.4.0 (v0-v6).
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from kwire.schema.fields import NO_UUID, array, i16, i32, i64, renamed, string, uuid
from kwire.schema.messages import Request, Response, Struct

__all__ = ["TxnOffsetCommitRequest", "TxnOffsetCommitResponse"]


class TxnOffsetCommitRequest(Request, key=28, versions="0-6", flexible="3+"):
    """The offsets. Sent to the coordinator of the group."""

    class TxnOffsetCommitRequestTopic(Struct):
        class TxnOffsetCommitRequestPartition(Struct):
            partition_index: int = i32("0+", default=0)
            committed_offset: int = i64("0+", default=0)
            committed_leader_epoch: int = i32("2+", default=-1, ignorable=True)
            committed_metadata: str | None = string("0+", default="", nullable="0+")

        name: str = string("0-5", default="", ignorable=True)
        topic_id: UUID = uuid("6+", default=NO_UUID, ignorable=True)
        partitions: Sequence[TxnOffsetCommitRequestPartition] = array(TxnOffsetCommitRequestPartition, "0+", default=())

    transactional_id: str = string("0+", default="")
    group_id: str = string("0+", default="")
    producer_id: int = i64("0+", default=0)
    producer_epoch: int = i16("0+", default=0)
    generation_id_or_member_epoch: int = i32("3+", default=-1)
    generation_id: int = renamed("generation_id_or_member_epoch")
    member_id: str = string("3+", default="")
    group_instance_id: str | None = string("3+", default=None, nullable="3+")
    topics: Sequence[TxnOffsetCommitRequestTopic] = array(TxnOffsetCommitRequestTopic, "0+", default=())


class TxnOffsetCommitResponse(Response, key=28, versions="0-6", flexible="3+"):
    """What became of each partition."""

    class TxnOffsetCommitResponseTopic(Struct):
        class TxnOffsetCommitResponsePartition(Struct):
            partition_index: int = i32("0+", default=0)
            error_code: int = i16("0+", default=0)

        name: str = string("0-5", default="", ignorable=True)
        topic_id: UUID = uuid("6+", default=NO_UUID, ignorable=True)
        partitions: Sequence[TxnOffsetCommitResponsePartition] = array(
            TxnOffsetCommitResponsePartition, "0+", default=()
        )

    throttle_time_ms: int = i32("0+", default=0)
    topics: Sequence[TxnOffsetCommitResponseTopic] = array(TxnOffsetCommitResponseTopic, "0+", default=())
