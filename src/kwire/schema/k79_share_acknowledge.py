"""ShareAcknowledge (key 79), versions 0-2: a member of a share group acknowledges records (KIP-932).

Acknowledge types: 0 gap, 1 accept, 2 release, 3 reject, 4 renew.

    v0   early access, in 3.9 and 4.0 only, not stable
    v1   the first stable version
    v2   request: is_renew_ack; response: acquisition_lock_timeout_ms (KIP-1222)

Sources: Apache's definitions of 3.9.2 (v0) and 4.4.0 (v1-v2).
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from kwire.schema.fields import NO_UUID, array, bool_, i8s, i16, i32, i64, string, struct, uuid
from kwire.schema.messages import Request, Response, Struct

__all__ = ["ShareAcknowledgeRequest", "ShareAcknowledgeResponse"]


class ShareAcknowledgeRequest(Request, key=79, versions="0-2", flexible="0+"):
    """What became of the records fetched before."""

    class AcknowledgeTopic(Struct):
        class AcknowledgePartition(Struct):
            class AcknowledgementBatch(Struct):
                first_offset: int = i64("0+", default=0)
                last_offset: int = i64("0+", default=0)
                acknowledge_types: Sequence[int] = i8s("0+", default=())

            partition_index: int = i32("0+", default=0)
            acknowledgement_batches: Sequence[AcknowledgementBatch] = array(AcknowledgementBatch, "0+", default=())

        topic_id: UUID = uuid("0+", default=NO_UUID)
        partitions: Sequence[AcknowledgePartition] = array(AcknowledgePartition, "0+", default=())

    group_id: str | None = string("0+", default=None, nullable="0+")
    member_id: str | None = string("0+", default="", nullable="0+")
    share_session_epoch: int = i32("0+", default=0)
    is_renew_ack: bool = bool_("2+", default=False)
    topics: Sequence[AcknowledgeTopic] = array(AcknowledgeTopic, "0+", default=())


class ShareAcknowledgeResponse(Response, key=79, versions="0-2", flexible="0+"):
    """What became of each partition."""

    class ShareAcknowledgeTopicResponse(Struct):
        class PartitionData(Struct):
            class LeaderIdAndEpoch(Struct):
                leader_id: int = i32("0+", default=0)
                leader_epoch: int = i32("0+", default=0)

            partition_index: int = i32("0+", default=0)
            error_code: int = i16("0+", default=0)
            error_message: str | None = string("0+", default=None, nullable="0+")
            current_leader: LeaderIdAndEpoch = struct("0+", default_factory=LeaderIdAndEpoch)

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
    acquisition_lock_timeout_ms: int = i32("2+", default=0, ignorable=True)
    responses: Sequence[ShareAcknowledgeTopicResponse] = array(ShareAcknowledgeTopicResponse, "0+", default=())
    node_endpoints: Sequence[NodeEndpoint] = array(NodeEndpoint, "0+", default=())
