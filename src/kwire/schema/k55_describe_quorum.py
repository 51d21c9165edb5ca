"""DescribeQuorum (key 55), versions 0-2: leader, voters and observers of the KRaft quorum (KIP-595).

    v1   response: last_fetch_timestamp, last_caught_up_timestamp (KIP-836)
    v2   response: error_message, replica_directory_id, nodes (KIP-853)

Sources: Apache's definitions of 3.9.2 and 4.4.0 (v0-v2).
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from kwire.schema.fields import NO_UUID, array, i16, i32, i64, string, u16, uuid
from kwire.schema.messages import Request, Response, Struct

__all__ = ["DescribeQuorumRequest", "DescribeQuorumResponse"]


class DescribeQuorumRequest(Request, key=55, versions="0-2", flexible="0+"):
    """Which partitions; there is one, of __cluster_metadata."""

    class TopicData(Struct):
        class PartitionData(Struct):
            partition_index: int = i32("0+", default=0)

        topic_name: str = string("0+", default="")
        partitions: Sequence[PartitionData] = array(PartitionData, "0+", default=())

    topics: Sequence[TopicData] = array(TopicData, "0+", default=())


class DescribeQuorumResponse(Response, key=55, versions="0-2", flexible="0+"):
    """How far each replica is. Times in ms."""

    class TopicData(Struct):
        class PartitionData(Struct):
            class ReplicaState(Struct):
                replica_id: int = i32("0+", default=0)
                replica_directory_id: UUID = uuid("2+", default=NO_UUID)
                log_end_offset: int = i64("0+", default=0)
                last_fetch_timestamp: int = i64("1+", default=-1, ignorable=True)
                last_caught_up_timestamp: int = i64("1+", default=-1, ignorable=True)

            partition_index: int = i32("0+", default=0)
            error_code: int = i16("0+", default=0)
            error_message: str | None = string("2+", default="", nullable="2+", ignorable=True)
            leader_id: int = i32("0+", default=0)
            leader_epoch: int = i32("0+", default=0)
            high_watermark: int = i64("0+", default=0)
            current_voters: Sequence[ReplicaState] = array(ReplicaState, "0+", default=())
            observers: Sequence[ReplicaState] = array(ReplicaState, "0+", default=())

        topic_name: str = string("0+", default="")
        partitions: Sequence[PartitionData] = array(PartitionData, "0+", default=())

    class Node(Struct):
        class Listener(Struct):
            name: str = string("2+", default="")
            host: str = string("2+", default="")
            port: int = u16("2+", default=0)

        node_id: int = i32("2+", default=0)
        listeners: Sequence[Listener] = array(Listener, "2+", default=())

    error_code: int = i16("0+", default=0)
    error_message: str | None = string("2+", default="", nullable="2+", ignorable=True)
    topics: Sequence[TopicData] = array(TopicData, "0+", default=())
    nodes: Sequence[Node] = array(Node, "2+", default=())
