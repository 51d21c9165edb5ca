"""ShareGroupHeartbeat (key 76), versions 0-1: a consumer enters its share group, stays in it and leaves it (KIP-932).

    v0   early access, in 3.9 and 4.0 only, not stable
    v1   the first stable version

Sources: Apache's definitions of 3.9.2 (v0) and 4.4.0 (v1).
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from kwire.schema.fields import NO_UUID, array, i16, i32, i32s, nullable_struct, string, strings, uuid
from kwire.schema.messages import Request, Response, Struct

__all__ = ["ShareGroupHeartbeatRequest", "ShareGroupHeartbeatResponse"]


class ShareGroupHeartbeatRequest(Request, key=76, versions="0-1", flexible="0+"):
    """`member_epoch`: 0 joins, -1 leaves. None: nothing changed."""

    group_id: str = string("0+", default="")
    member_id: str = string("0+", default="")
    member_epoch: int = i32("0+", default=0)
    rack_id: str | None = string("0+", default=None, nullable="0+")
    subscribed_topic_names: Sequence[str] | None = strings("0+", default=None, nullable="0+")


class ShareGroupHeartbeatResponse(Response, key=76, versions="0-1", flexible="0+"):
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
