"""ConsumerGroupHeartbeat (key 68), versions 0-1: a consumer enters its group, stays in it and leaves it, by the new
protocol (KIP-848).

    v1   request: subscribed_topic_regex; members make their own ids (KIP-848, KIP-1082)

Sources: Apache's definitions of 3.9.2 (v0) and 4.4.0 (v0-v1).
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from kwire.schema.fields import NO_UUID, array, i16, i32, i32s, nullable_struct, string, strings, uuid
from kwire.schema.messages import Request, Response, Struct

__all__ = ["ConsumerGroupHeartbeatRequest", "ConsumerGroupHeartbeatResponse"]


class ConsumerGroupHeartbeatRequest(Request, key=68, versions="0-1", flexible="0+"):
    """`member_epoch`: 0 joins, -1 leaves, -2 leaves for a while. None: nothing changed."""

    class TopicPartitions(Struct):
        topic_id: UUID = uuid("0+", default=NO_UUID)
        partitions: Sequence[int] = i32s("0+", default=())

    group_id: str = string("0+", default="")
    member_id: str = string("0+", default="")
    member_epoch: int = i32("0+", default=0)
    instance_id: str | None = string("0+", default=None, nullable="0+")
    rack_id: str | None = string("0+", default=None, nullable="0+")
    rebalance_timeout_ms: int = i32("0+", default=-1)
    subscribed_topic_names: Sequence[str] | None = strings("0+", default=None, nullable="0+")
    subscribed_topic_regex: str | None = string("1+", default=None, nullable="1+")
    server_assignor: str | None = string("0+", default=None, nullable="0+")
    topic_partitions: Sequence[TopicPartitions] | None = array(TopicPartitions, "0+", default=None, nullable="0+")


class ConsumerGroupHeartbeatResponse(Response, key=68, versions="0-1", flexible="0+"):
    """What to read now; `assignment` None: as before."""

    class Assignment(Struct):
        class TopicPartitions(Struct):
            topic_id: UUID = uuid("0+", default=NO_UUID)
            partitions: Sequence[int] = i32s("0+", default=())

        topic_partitions: Sequence[TopicPartitions] = array(TopicPartitions, "0+", default=())

    throttle_time_ms: int = i32("0+", default=0)
    error_code: int = i16("0+", default=0)
    error_message: str | None = string("0+", default=None, nullable="0+")
    member_id: str | None = string("0+", default=None, nullable="0+")
    member_epoch: int = i32("0+", default=0)
    heartbeat_interval_ms: int = i32("0+", default=0)
    assignment: Assignment | None = nullable_struct(Assignment, "0+", default=None, nullable="0+")
