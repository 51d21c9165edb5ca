"""LeaderAndIsr (key 4), versions 0-7: the controller tells a broker which partitions it leads and follows.

A message of the ZooKeeper era; brokers from 4.0 on do not have it.

    v1   is_new: the replica is to be created; response: KAFKA_STORAGE_ERROR (KIP-112)
    v2   broker_epoch; partitions are listed by topic (KIP-380)
    v3   adding_replicas, removing_replicas (KIP-455)
    v4   flexible (KIP-482)
    v5   topic ids; type, full or incremental; the response goes by topic id (KIP-516)
    v6   leader_recovery_state (KIP-704)
    v7   is_k_raft_controller (KIP-866)

Sources: the protocol guides of 0.9 and 0.10.1 (v0), Apache's definitions of 3.9.2 (v0-v7).
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from kwire.schema.fields import NO_UUID, array, bool_, i8, i16, i32, i32s, i64, string, uuid
from kwire.schema.messages import Request, Response, Struct

__all__ = ["LeaderAndIsrRequest", "LeaderAndIsrResponse"]


class _LeaderAndIsrPartitionState(Struct):
    """One partition. Up to v1 it names its topic itself."""

    topic_name: str = string("0-1", default="", ignorable=True)
    partition_index: int = i32("0+", default=0)
    controller_epoch: int = i32("0+", default=0)
    leader: int = i32("0+", default=0)
    leader_epoch: int = i32("0+", default=0)
    isr: Sequence[int] = i32s("0+", default=())
    partition_epoch: int = i32("0+", default=0)
    replicas: Sequence[int] = i32s("0+", default=())
    adding_replicas: Sequence[int] = i32s("3+", default=(), ignorable=True)
    removing_replicas: Sequence[int] = i32s("3+", default=(), ignorable=True)
    is_new: bool = bool_("1+", default=False, ignorable=True)
    leader_recovery_state: int = i8("6+", default=0)


class LeaderAndIsrRequest(Request, key=4, versions="0-7", flexible="4+"):
    """The new state of partitions. `ungrouped_partition_states` up to v1, `topic_states` from v2 on."""

    LeaderAndIsrPartitionState = _LeaderAndIsrPartitionState

    class LeaderAndIsrTopicState(Struct):
        topic_name: str = string("2+", default="")
        topic_id: UUID = uuid("5+", default=NO_UUID, ignorable=True)
        partition_states: Sequence[_LeaderAndIsrPartitionState] = array(_LeaderAndIsrPartitionState, "2+", default=())

    class LeaderAndIsrLiveLeader(Struct):
        broker_id: int = i32("0+", default=0)
        host_name: str = string("0+", default="")
        port: int = i32("0+", default=0)

    controller_id: int = i32("0+", default=0)
    is_k_raft_controller: bool = bool_("7+", default=False)
    controller_epoch: int = i32("0+", default=0)
    broker_epoch: int = i64("2+", default=-1, ignorable=True)
    type: int = i8("5+", default=0)
    ungrouped_partition_states: Sequence[_LeaderAndIsrPartitionState] = array(
        _LeaderAndIsrPartitionState, "0-1", default=()
    )
    topic_states: Sequence[LeaderAndIsrTopicState] = array(LeaderAndIsrTopicState, "2+", default=())
    live_leaders: Sequence[LeaderAndIsrLiveLeader] = array(LeaderAndIsrLiveLeader, "0+", default=())


class _LeaderAndIsrPartitionError(Struct):
    """What became of one partition. Up to v4 it names its topic itself."""

    topic_name: str = string("0-4", default="", ignorable=True)
    partition_index: int = i32("0+", default=0)
    error_code: int = i16("0+", default=0)


class LeaderAndIsrResponse(Response, key=4, versions="0-7", flexible="4+"):
    """What became of each partition."""

    LeaderAndIsrPartitionError = _LeaderAndIsrPartitionError

    class LeaderAndIsrTopicError(Struct):
        topic_id: UUID = uuid("5+", default=NO_UUID)
        partition_errors: Sequence[_LeaderAndIsrPartitionError] = array(_LeaderAndIsrPartitionError, "5+", default=())

    error_code: int = i16("0+", default=0)
    partition_errors: Sequence[_LeaderAndIsrPartitionError] = array(_LeaderAndIsrPartitionError, "0-4", default=())
    topics: Sequence[LeaderAndIsrTopicError] = array(LeaderAndIsrTopicError, "5+", default=())
