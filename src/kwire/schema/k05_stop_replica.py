"""StopReplica (key 5), versions 0-4: the controller has a broker stop replicas, and delete them if so told.

A message of the ZooKeeper era; brokers from 4.0 on do not have it.

    v1   broker_epoch; partitions are listed by topic (KIP-380)
    v2   flexible (KIP-482)
    v3   request: leader_epoch and delete_partition of each partition; FENCED_LEADER_EPOCH (KIP-570)
    v4   is_k_raft_controller (KIP-866)

Sources: the protocol guides of 0.9 and 0.10.1 (v0), Apache's definitions of 3.9.2 (v0-v4).
"""

from __future__ import annotations

from collections.abc import Sequence

from kwire.schema.fields import array, bool_, i16, i32, i32s, i64, string
from kwire.schema.messages import Request, Response, Struct

__all__ = ["StopReplicaRequest", "StopReplicaResponse"]


class StopReplicaRequest(Request, key=5, versions="0-4", flexible="2+"):
    """Which replicas. Three layouts: `ungrouped_partitions` in v0, `topics` in v1 and v2, `topic_states` from v3 on."""

    class StopReplicaPartitionV0(Struct):
        topic_name: str = string("0", default="")
        partition_index: int = i32("0", default=0)

    class StopReplicaTopicV1(Struct):
        name: str = string("1-2", default="")
        partition_indexes: Sequence[int] = i32s("1-2", default=())

    class StopReplicaTopicState(Struct):
        class StopReplicaPartitionState(Struct):
            partition_index: int = i32("3+", default=0)
            leader_epoch: int = i32("3+", default=-1)
            delete_partition: bool = bool_("3+", default=False)

        topic_name: str = string("3+", default="")
        partition_states: Sequence[StopReplicaPartitionState] = array(StopReplicaPartitionState, "3+", default=())

    controller_id: int = i32("0+", default=0)
    is_k_raft_controller: bool = bool_("4+", default=False)
    controller_epoch: int = i32("0+", default=0)
    broker_epoch: int = i64("1+", default=-1, ignorable=True)
    delete_partitions: bool = bool_("0-2", default=False)
    ungrouped_partitions: Sequence[StopReplicaPartitionV0] = array(StopReplicaPartitionV0, "0", default=())
    topics: Sequence[StopReplicaTopicV1] = array(StopReplicaTopicV1, "1-2", default=())
    topic_states: Sequence[StopReplicaTopicState] = array(StopReplicaTopicState, "3+", default=())


class StopReplicaResponse(Response, key=5, versions="0-4", flexible="2+"):
    """What became of each replica."""

    class StopReplicaPartitionError(Struct):
        topic_name: str = string("0+", default="")
        partition_index: int = i32("0+", default=0)
        error_code: int = i16("0+", default=0)

    error_code: int = i16("0+", default=0)
    partition_errors: Sequence[StopReplicaPartitionError] = array(StopReplicaPartitionError, "0+", default=())
