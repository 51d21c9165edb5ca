"""AssignReplicasToDirs (key 73), version 0: a broker tells the controller in which log directories replicas live
(KIP-858).

Sources: Apache's definitions of 3.9.2 and 4.4.0 (v0).
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from kwire.schema.fields import NO_UUID, array, i16, i32, i64, uuid
from kwire.schema.messages import Request, Response, Struct

__all__ = ["AssignReplicasToDirsRequest", "AssignReplicasToDirsResponse"]


class AssignReplicasToDirsRequest(Request, key=73, versions="0", flexible="0+"):
    """The replicas, by directory and topic id."""

    class DirectoryData(Struct):
        class TopicData(Struct):
            class PartitionData(Struct):
                partition_index: int = i32("0+", default=0)

            topic_id: UUID = uuid("0+", default=NO_UUID)
            partitions: Sequence[PartitionData] = array(PartitionData, "0+", default=())

        id: UUID = uuid("0+", default=NO_UUID)
        topics: Sequence[TopicData] = array(TopicData, "0+", default=())

    broker_id: int = i32("0+", default=0)
    broker_epoch: int = i64("0+", default=-1)
    directories: Sequence[DirectoryData] = array(DirectoryData, "0+", default=())


class AssignReplicasToDirsResponse(Response, key=73, versions="0", flexible="0+"):
    """What became of each partition."""

    class DirectoryData(Struct):
        class TopicData(Struct):
            class PartitionData(Struct):
                partition_index: int = i32("0+", default=0)
                error_code: int = i16("0+", default=0)

            topic_id: UUID = uuid("0+", default=NO_UUID)
            partitions: Sequence[PartitionData] = array(PartitionData, "0+", default=())

        id: UUID = uuid("0+", default=NO_UUID)
        topics: Sequence[TopicData] = array(TopicData, "0+", default=())

    throttle_time_ms: int = i32("0+", default=0)
    error_code: int = i16("0+", default=0)
    directories: Sequence[DirectoryData] = array(DirectoryData, "0+", default=())
