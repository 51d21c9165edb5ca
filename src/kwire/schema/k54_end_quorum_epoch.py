"""EndQuorumEpoch (key 54), versions 0-1: a leader of the KRaft quorum steps down (KIP-595).

    v1   flexible; preferred successors with directory ids, endpoints of the leader (KIP-853)

Sources: Apache's definitions of 3.9.2 and 4.4.0 (v0-v1).
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from kwire.schema.fields import NO_UUID, array, i16, i32, i32s, string, u16, uuid
from kwire.schema.messages import Request, Response, Struct

__all__ = ["EndQuorumEpochRequest", "EndQuorumEpochResponse"]


class EndQuorumEpochRequest(Request, key=54, versions="0-1", flexible="1+"):
    """The leader that steps down, and its preferred successors."""

    class TopicData(Struct):
        class PartitionData(Struct):
            class ReplicaInfo(Struct):
                candidate_id: int = i32("1+", default=0)
                candidate_directory_id: UUID = uuid("1+", default=NO_UUID)

            partition_index: int = i32("0+", default=0)
            leader_id: int = i32("0+", default=0)
            leader_epoch: int = i32("0+", default=0)
            preferred_successors: Sequence[int] = i32s("0", default=(), ignorable=True)
            preferred_candidates: Sequence[ReplicaInfo] = array(ReplicaInfo, "1+", default=(), ignorable=True)

        topic_name: str = string("0+", default="")
        partitions: Sequence[PartitionData] = array(PartitionData, "0+", default=())

    class LeaderEndpoint(Struct):
        name: str = string("1+", default="")
        host: str = string("1+", default="")
        port: int = u16("1+", default=0)

    cluster_id: str | None = string("0+", default=None, nullable="0+")
    topics: Sequence[TopicData] = array(TopicData, "0+", default=())
    leader_endpoints: Sequence[LeaderEndpoint] = array(LeaderEndpoint, "1+", default=(), ignorable=True)


class EndQuorumEpochResponse(Response, key=54, versions="0-1", flexible="1+"):
    """What each partition says to it."""

    class TopicData(Struct):
        class PartitionData(Struct):
            partition_index: int = i32("0+", default=0)
            error_code: int = i16("0+", default=0)
            leader_id: int = i32("0+", default=0)
            leader_epoch: int = i32("0+", default=0)

        topic_name: str = string("0+", default="")
        partitions: Sequence[PartitionData] = array(PartitionData, "0+", default=())

    class NodeEndpoint(Struct):
        node_id: int = i32("1+", default=0)
        host: str = string("1+", default="")
        port: int = u16("1+", default=0)

    error_code: int = i16("0+", default=0)
    topics: Sequence[TopicData] = array(TopicData, "0+", default=())
    node_endpoints: Sequence[NodeEndpoint] = array(NodeEndpoint, "1+", default=(), tag=0)
