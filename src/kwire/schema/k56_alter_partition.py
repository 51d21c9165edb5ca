"""AlterPartition (key 56), versions 0-3: the leader of partitions asks the controller to change their ISR (KIP-497).

Called AlterIsr up to 3.1.

    v1   leader_recovery_state (KIP-704)
    v2   topic ids instead of names (KIP-841)
    v3   request: new_isr_with_epochs instead of new_isr (KIP-903)

Sources: Apache's definitions of 3.9.2 (v0-v3) and 4.4.0 (v2-v3).
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from kwire.schema.fields import NO_UUID, array, i8, i16, i32, i32s, i64, string, uuid
from kwire.schema.messages import Request, Response, Struct

__all__ = ["AlterPartitionRequest", "AlterPartitionResponse"]


class AlterPartitionRequest(Request, key=56, versions="0-3", flexible="0+"):
    """The ISR that each partition shall have."""

    class TopicData(Struct):
        class PartitionData(Struct):
            class BrokerState(Struct):
                broker_id: int = i32("3+", default=0)
                broker_epoch: int = i64("3+", default=-1)

            partition_index: int = i32("0+", default=0)
            leader_epoch: int = i32("0+", default=0)
            new_isr: Sequence[int] = i32s("0-2", default=())
            new_isr_with_epochs: Sequence[BrokerState] = array(BrokerState, "3+", default=())
            leader_recovery_state: int = i8("1+", default=0)
            partition_epoch: int = i32("0+", default=0)

        topic_name: str = string("0-1", default="", ignorable=True)
        topic_id: UUID = uuid("2+", default=NO_UUID, ignorable=True)
        partitions: Sequence[PartitionData] = array(PartitionData, "0+", default=())

    broker_id: int = i32("0+", default=0)
    broker_epoch: int = i64("0+", default=-1)
    topics: Sequence[TopicData] = array(TopicData, "0+", default=())


class AlterPartitionResponse(Response, key=56, versions="0-3", flexible="0+"):
    """The state of each partition after the change."""

    class TopicData(Struct):
        class PartitionData(Struct):
            partition_index: int = i32("0+", default=0)
            error_code: int = i16("0+", default=0)
            leader_id: int = i32("0+", default=0)
            leader_epoch: int = i32("0+", default=0)
            isr: Sequence[int] = i32s("0+", default=())
            leader_recovery_state: int = i8("1+", default=0, ignorable=True)
            partition_epoch: int = i32("0+", default=0)

        topic_name: str = string("0-1", default="", ignorable=True)
        topic_id: UUID = uuid("2+", default=NO_UUID, ignorable=True)
        partitions: Sequence[PartitionData] = array(PartitionData, "0+", default=())

    throttle_time_ms: int = i32("0+", default=0)
    error_code: int = i16("0+", default=0)
    topics: Sequence[TopicData] = array(TopicData, "0+", default=())
