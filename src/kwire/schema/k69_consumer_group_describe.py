"""ConsumerGroupDescribe (key 69), versions 0-1: groups of the new consumer protocol with their members (KIP-848).

    v1   response: member_type (KIP-1099)

Sources: Apache's definitions of 3.9.2 (v0) and 4.4.0 (v0-v1).
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from kwire.schema.fields import NO_UUID, array, bool_, i8, i16, i32, i32s, string, strings, struct, uuid
from kwire.schema.messages import Request, Response, Struct

__all__ = ["ConsumerGroupDescribeRequest", "ConsumerGroupDescribeResponse"]

_NO_OPERATIONS = -(2**31)


class ConsumerGroupDescribeRequest(Request, key=69, versions="0-1", flexible="0+"):
    """Which groups; sent to their coordinator."""

    group_ids: Sequence[str] = strings("0+", default=())
    include_authorized_operations: bool = bool_("0+", default=False)


class ConsumerGroupDescribeResponse(Response, key=69, versions="0-1", flexible="0+"):
    """Epochs, members, their assignments now and those they shall have."""

    class DescribedGroup(Struct):
        class Member(Struct):
            class Assignment(Struct):
                class TopicPartitions(Struct):
                    topic_id: UUID = uuid("0+", default=NO_UUID)
                    topic_name: str = string("0+", default="")
                    partitions: Sequence[int] = i32s("0+", default=())

                topic_partitions: Sequence[TopicPartitions] = array(TopicPartitions, "0+", default=())

            member_id: str = string("0+", default="")
            instance_id: str | None = string("0+", default=None, nullable="0+")
            rack_id: str | None = string("0+", default=None, nullable="0+")
            member_epoch: int = i32("0+", default=0)
            client_id: str = string("0+", default="")
            client_host: str = string("0+", default="")
            subscribed_topic_names: Sequence[str] = strings("0+", default=())
            subscribed_topic_regex: str | None = string("0+", default=None, nullable="0+")
            assignment: Assignment = struct("0+", default_factory=Assignment)
            target_assignment: Assignment = struct("0+", default_factory=Assignment)
            member_type: int = i8("1+", default=-1, ignorable=True)

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
