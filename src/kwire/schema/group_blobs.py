"""The bytes that members of a classic group hand to each other through their coordinator.

    member metadata      JoinGroup, DescribeGroups      version int16, ConsumerProtocolSubscription
    member assignment    SyncGroup, DescribeGroups      version int16, ConsumerProtocolAssignment
    user_data            inside of both                 what the assignor's name says

The coordinator does not read them; their layout goes with the protocol type "consumer". Newer versions only add fields
at the end, so that a reader takes the fields it knows. The user data of the assignors "sticky" and "cooperative-sticky"
carry no version; the newer of the first has one field more.

Sources: KIP-429 (v1), KIP-792 (v2), KIP-881 (v3), Apache's definitions of 4.4.0; KIP-54, KIP-341 and Apache's assignors
for their own data.
"""

from __future__ import annotations

from collections.abc import Sequence

from kwire.schema.fields import array, bytes_, i32, i32s, string, strings
from kwire.schema.messages import Message, Struct

__all__ = [
    "ConsumerProtocolAssignment",
    "ConsumerProtocolSubscription",
]


class ConsumerProtocolSubscription(Message, versions="0-3"):
    """What a member wants to read, and what it owns."""

    class TopicPartition(Struct):
        topic: str = string("1+", default="")
        partitions: Sequence[int] = i32s("1+", default=())

    topics: Sequence[str] = strings("0+", default=())
    user_data: bytes | None = bytes_("0+", default=None, nullable="0+")
    owned_partitions: Sequence[TopicPartition] = array(TopicPartition, "1+", default=(), ignorable=True)
    generation_id: int = i32("2+", default=-1, ignorable=True)
    rack_id: str | None = string("3+", default=None, nullable="3+", ignorable=True)


class ConsumerProtocolAssignment(Message, versions="0-3"):
    """What a member is to read."""

    class TopicPartition(Struct):
        topic: str = string("0+", default="")
        partitions: Sequence[int] = i32s("0+", default=())

    assigned_partitions: Sequence[TopicPartition] = array(TopicPartition, "0+", default=())
    user_data: bytes | None = bytes_("0+", default=None, nullable="0+")
