"""ShareGroupDescribe (key 77), versions 0-1: share groups with their members (KIP-932).

    v0   early access, in 3.9 and 4.0 only, not stable
    v1   the first stable version

Sources: Apache's definitions of 3.9.2 (v0) and 4.4.0 (v1).
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from kwire.schema.fields import NO_UUID, array, bool_, i16, i32, i32s, string, strings, struct, uuid
from kwire.schema.messages import Request, Response, Struct

__all__ = ["ShareGroupDescribeRequest", "ShareGroupDescribeResponse"]

_NO_OPERATIONS = -(2**31)


class ShareGroupDescribeRequest(Request, key=77, versions="0-1", flexible="0+"):
    """Which groups; sent to their coordinator."""

    group_ids: Sequence[str] = strings("0+", default=())
    include_authorized_operations: bool = bool_("0+", default=False)


class ShareGroupDescribeResponse(Response, key=77, versions="0-1", flexible="0+"):
    """Epochs, members and their assignments."""

    class DescribedGroup(Struct):
        class Member(Struct):
            class Assignment(Struct):
                class TopicPartitions(Struct):
                    topic_id: UUID = uuid("0+", default=NO_UUID)
                    topic_name: str = string("0+", default="")
                    partitions: Sequence[int] = i32s("0+", default=())

                topic_partitions: Sequence[TopicPartitions] = array(TopicPartitions, "0+", default=())

            member_id: str = string("0+", default="")
            rack_id: str | None = string("0+", default=None, nullable="0+")
            member_epoch: int = i32("0+", default=0)
            client_id: str = string("0+", default="")
            client_host: str = string("0+", default="")
            subscribed_topic_names: Sequence[str] = strings("0+", default=())
            assignment: Assignment = struct("0+", default_factory=Assignment)

        error_code: int = i16("0+", default=0)
        error_message: str | None = string("0+", default=None, nullable="0+")
        group_id: str = string("0+", default="")
        group_state: str = string("0+", default="")
        group_epoch: int = i32("0+", default=0)
        assignment_epoch: int = i32("0+", default=0)
        assignor_name: str = string("0+", default="")
        members: Sequence[Member] = array(Member, "0+", default=())
        authorized_operations: int = i32("0+", default=_NO_OPERATIONS)

    throttle_time_ms: int = i32("0+", default=0)
    groups: Sequence[DescribedGroup] = array(DescribedGroup, "0+", default=())
