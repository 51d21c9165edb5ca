"""`__consumer_offsets`, record types 9 to 15: share groups (KIP-932).

    key     type int16, then the fields of the key
    value   version int16, then the fields of the value (flexible from version 0 on); none deletes what the key names

What was delivered and acknowledged stands in `__share_group_state`. The early access of 3.9 and 4.0 alone wrote type 9,
and a value of type 11 without its hash, which is refused here.
Sources: Apache's definitions of 4.4.0, for type 9 of 4.0.2 (all version 0).
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from kwire.schema.fields import NO_UUID, array, i8, i32, i32s, i64, string, strings, uuid
from kwire.schema.logs.base import RecordKey, RecordValue
from kwire.schema.messages import Struct

__all__ = [
    "ShareGroupCurrentMemberAssignmentKey",
    "ShareGroupCurrentMemberAssignmentValue",
    "ShareGroupMemberMetadataKey",
    "ShareGroupMemberMetadataValue",
    "ShareGroupMetadataKey",
    "ShareGroupMetadataValue",
    "ShareGroupPartitionMetadataKey",
    "ShareGroupPartitionMetadataValue",
    "ShareGroupStatePartitionMetadataKey",
    "ShareGroupStatePartitionMetadataValue",
    "ShareGroupTargetAssignmentMemberKey",
    "ShareGroupTargetAssignmentMemberValue",
    "ShareGroupTargetAssignmentMetadataKey",
    "ShareGroupTargetAssignmentMetadataValue",
]


class ShareGroupPartitionMetadataKey(RecordKey, key=9, versions="0"):
    """Type 9: which group."""

    group_id: str = string("0", default="")


class ShareGroupPartitionMetadataValue(RecordValue, key=9, versions="0", flexible="0+"):
    """The topics that the group reads, as they were when the assignment was made."""

    class TopicMetadata(Struct):
        class PartitionMetadata(Struct):
            partition: int = i32("0+", default=0)
            racks: Sequence[str] = strings("0+", default=())

        topic_id: UUID = uuid("0+", default=NO_UUID)
        topic_name: str = string("0+", default="")
        num_partitions: int = i32("0+", default=0)
        partition_metadata: Sequence[PartitionMetadata] = array(PartitionMetadata, "0+", default=())

    topics: Sequence[TopicMetadata] = array(TopicMetadata, "0+", default=())


class ShareGroupMemberMetadataKey(RecordKey, key=10, versions="0"):
    """Type 10: which member of which group."""

    group_id: str = string("0", default="")
    member_id: str = string("0", default="")


class ShareGroupMemberMetadataValue(RecordValue, key=10, versions="0", flexible="0+"):
    """A member: who it is and what it wants."""

    rack_id: str | None = string("0+", default="", nullable="0+")
    client_id: str = string("0+", default="")
    client_host: str = string("0+", default="")
    subscribed_topic_names: Sequence[str] = strings("0+", default=())


class ShareGroupMetadataKey(RecordKey, key=11, versions="0"):
    """Type 11: which group."""

    group_id: str = string("0", default="")


class ShareGroupMetadataValue(RecordValue, key=11, versions="0", flexible="0+"):
    """The epoch of the group, and a hash of the topics that it reads."""

    epoch: int = i32("0+", default=0)
    metadata_hash: int = i64("0+", default=0)


class ShareGroupTargetAssignmentMetadataKey(RecordKey, key=12, versions="0"):
    """Type 12: which group."""

    group_id: str = string("0", default="")


class ShareGroupTargetAssignmentMetadataValue(RecordValue, key=12, versions="0", flexible="0+"):
    """The epoch that the target assignment was made for."""

    assignment_epoch: int = i32("0+", default=0)
    assignment_timestamp: int = i64("0+", default=0, tag=0, ignorable=True)


class ShareGroupTargetAssignmentMemberKey(RecordKey, key=13, versions="0"):
    """Type 13: which member of which group."""

    group_id: str = string("0", default="")
    member_id: str = string("0", default="")


class ShareGroupTargetAssignmentMemberValue(RecordValue, key=13, versions="0", flexible="0+"):
    """What the member is to read."""

    class TopicPartition(Struct):
        topic_id: UUID = uuid("0+", default=NO_UUID)
        partitions: Sequence[int] = i32s("0+", default=())

    topic_partitions: Sequence[TopicPartition] = array(TopicPartition, "0+", default=())


class ShareGroupCurrentMemberAssignmentKey(RecordKey, key=14, versions="0"):
    """Type 14: which member of which group."""

    group_id: str = string("0", default="")
    member_id: str = string("0", default="")


class ShareGroupCurrentMemberAssignmentValue(RecordValue, key=14, versions="0", flexible="0+"):
    """What the member reads now."""

    class TopicPartitions(Struct):
        topic_id: UUID = uuid("0+", default=NO_UUID)
        partitions: Sequence[int] = i32s("0+", default=())

    member_epoch: int = i32("0+", default=0)
    previous_member_epoch: int = i32("0+", default=0)
    state: int = i8("0+", default=0)
    assigned_partitions: Sequence[TopicPartitions] = array(TopicPartitions, "0+", default=())


class ShareGroupStatePartitionMetadataKey(RecordKey, key=15, versions="0"):
    """Type 15: which group."""

    group_id: str = string("0", default="")


class ShareGroupStatePartitionMetadataValue(RecordValue, key=15, versions="0", flexible="0+"):
    """For which partitions the share coordinator keeps state, is about to, or is to forget it."""

    class TopicPartitionsInfo(Struct):
        topic_id: UUID = uuid("0+", default=NO_UUID)
        topic_name: str = string("0+", default="")
        partitions: Sequence[int] = i32s("0+", default=())

    class TopicInfo(Struct):
        topic_id: UUID = uuid("0+", default=NO_UUID)
        topic_name: str = string("0+", default="")

    initializing_topics: Sequence[TopicPartitionsInfo] = array(TopicPartitionsInfo, "0+", default=())
    initialized_topics: Sequence[TopicPartitionsInfo] = array(TopicPartitionsInfo, "0+", default=())
    deleting_topics: Sequence[TopicInfo] = array(TopicInfo, "0+", default=())
