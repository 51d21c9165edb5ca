"""`__consumer_offsets`, record types 3 to 8 and 16: groups of the new consumer protocol (KIP-848).

    key     type int16, then the fields of the key
    value   version int16, then the fields of the value (flexible from version 0 on); none deletes what the key names

Members and assignments are records of their own, so that a change of one is one record. Type 4 is no longer written
since 4.1, which keeps a hash of the topics in type 3 instead. Where Apache's definition has an unquoted null as default
(`classic_member_metadata`, `assignment_epochs`), its classes have an empty struct or list, so that null is written.

Source: Apache's definitions of 4.4.0 (all version 0; those of 3.9.2 and 4.0.2 only lack newer tags).
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from kwire.schema.fields import NO_UUID, array, bytes_, i8, i32, i32s, i64, string, strings, struct, uuid
from kwire.schema.logs.base import RecordKey, RecordValue
from kwire.schema.messages import Struct

__all__ = [
    "ConsumerGroupCurrentMemberAssignmentKey",
    "ConsumerGroupCurrentMemberAssignmentValue",
    "ConsumerGroupMemberMetadataKey",
    "ConsumerGroupMemberMetadataValue",
    "ConsumerGroupMetadataKey",
    "ConsumerGroupMetadataValue",
    "ConsumerGroupPartitionMetadataKey",
    "ConsumerGroupPartitionMetadataValue",
    "ConsumerGroupRegularExpressionKey",
    "ConsumerGroupRegularExpressionValue",
    "ConsumerGroupTargetAssignmentMemberKey",
    "ConsumerGroupTargetAssignmentMemberValue",
    "ConsumerGroupTargetAssignmentMetadataKey",
    "ConsumerGroupTargetAssignmentMetadataValue",
]


class ConsumerGroupMetadataKey(RecordKey, key=3, versions="0"):
    """Type 3: which group."""

    group_id: str = string("0", default="")


class ConsumerGroupMetadataValue(RecordValue, key=3, versions="0", flexible="0+"):
    """The epoch of the group, and a hash of the topics that it reads."""

    epoch: int = i32("0+", default=0)
    metadata_hash: int = i64("0+", default=0, tag=0)


class ConsumerGroupPartitionMetadataKey(RecordKey, key=4, versions="0"):
    """Type 4: which group."""

    group_id: str = string("0", default="")


class ConsumerGroupPartitionMetadataValue(RecordValue, key=4, versions="0", flexible="0+"):
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


class ConsumerGroupMemberMetadataKey(RecordKey, key=5, versions="0"):
    """Type 5: which member of which group."""

    group_id: str = string("0", default="")
    member_id: str = string("0", default="")


class ConsumerGroupMemberMetadataValue(RecordValue, key=5, versions="0", flexible="0+"):
    """A member: who it is and what it wants. One that still speaks the classic protocol has its metadata along."""

    class ClassicMemberMetadata(Struct):
        class ClassicProtocol(Struct):
            name: str = string("0+", default="")
            metadata: bytes = bytes_("0+", default=b"")

        session_timeout_ms: int = i32("0+", default=0)
        supported_protocols: Sequence[ClassicProtocol] = array(ClassicProtocol, "0+", default=())

    instance_id: str | None = string("0+", default="", nullable="0+")
    rack_id: str | None = string("0+", default="", nullable="0+")
    client_id: str = string("0+", default="")
    client_host: str = string("0+", default="")
    subscribed_topic_names: Sequence[str] = strings("0+", default=())
    subscribed_topic_regex: str | None = string("0+", default="", nullable="0+")
    rebalance_timeout_ms: int = i32("0+", default=-1)
    server_assignor: str | None = string("0+", default="", nullable="0+")
    classic_member_metadata: ClassicMemberMetadata | None = struct(
        "0+", default_factory=ClassicMemberMetadata, nullable="0+", tag=0
    )


class ConsumerGroupTargetAssignmentMetadataKey(RecordKey, key=6, versions="0"):
    """Type 6: which group."""

    group_id: str = string("0", default="")


class ConsumerGroupTargetAssignmentMetadataValue(RecordValue, key=6, versions="0", flexible="0+"):
    """The epoch that the target assignment was made for."""

    assignment_epoch: int = i32("0+", default=0)
    assignment_timestamp: int = i64("0+", default=0, tag=0, ignorable=True)


class ConsumerGroupTargetAssignmentMemberKey(RecordKey, key=7, versions="0"):
    """Type 7: which member of which group."""

    group_id: str = string("0", default="")
    member_id: str = string("0", default="")


class ConsumerGroupTargetAssignmentMemberValue(RecordValue, key=7, versions="0", flexible="0+"):
    """What the member is to own in the end."""

    class TopicPartition(Struct):
        topic_id: UUID = uuid("0+", default=NO_UUID)
        partitions: Sequence[int] = i32s("0+", default=())

    topic_partitions: Sequence[TopicPartition] = array(TopicPartition, "0+", default=())


class ConsumerGroupCurrentMemberAssignmentKey(RecordKey, key=8, versions="0"):
    """Type 8: which member of which group."""

    group_id: str = string("0", default="")
    member_id: str = string("0", default="")


class ConsumerGroupCurrentMemberAssignmentValue(RecordValue, key=8, versions="0", flexible="0+"):
    """What the member owns now.

    `state`: 0 stable, 1 it has partitions to give up, 2 it waits for others to give up theirs, 127 unknown.
    """

    class TopicPartitions(Struct):
        topic_id: UUID = uuid("0+", default=NO_UUID)
        partitions: Sequence[int] = i32s("0+", default=())
        assignment_epochs: Sequence[int] | None = i32s("0+", default=(), nullable="0+", tag=0)

    member_epoch: int = i32("0+", default=0)
    previous_member_epoch: int = i32("0+", default=0)
    state: int = i8("0+", default=0)
    assigned_partitions: Sequence[TopicPartitions] = array(TopicPartitions, "0+", default=())
    partitions_pending_revocation: Sequence[TopicPartitions] = array(TopicPartitions, "0+", default=())


class ConsumerGroupRegularExpressionKey(RecordKey, key=16, versions="0"):
    """Type 16: which expression of which group."""

    group_id: str = string("0", default="")
    regular_expression: str = string("0", default="")


class ConsumerGroupRegularExpressionValue(RecordValue, key=16, versions="0", flexible="0+"):
    """The topics that the expression stood for when it was last looked up."""

    topics: Sequence[str] = strings("0+", default=())
    version: int = i64("0+", default=0)
    timestamp: int = i64("0+", default=0)
