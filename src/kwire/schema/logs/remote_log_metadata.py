"""`__remote_log_metadata`: which segments lie in tiered storage (KIP-405).

    key     none
    value   frame version uvarint (1), record type uvarint, version uvarint, then the fields (flexible)

Source: Apache's definitions of 4.4.0 (all version 0).
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from kwire.schema.fields import NO_UUID, array, bool_, bytes_, i8, i32, i64, string, struct, uuid
from kwire.schema.logs.base import MetadataRecord
from kwire.schema.messages import Struct

__all__ = [
    "RemoteLogSegmentMetadataRecord",
    "RemoteLogSegmentMetadataSnapshotRecord",
    "RemoteLogSegmentMetadataUpdateRecord",
    "RemotePartitionDeleteMetadataRecord",
]


class RemoteLogSegmentMetadataRecord(MetadataRecord, key=0, versions="0", flexible="0+"):
    """Type 0: a segment and where it stands.

    `remote_log_segment_state`: 0 copy started, 1 copied, 2 delete started, 3 deleted.
    """

    class RemoteLogSegmentIdEntry(Struct):
        class TopicIdPartitionEntry(Struct):
            name: str = string("0+", default="")
            id: UUID = uuid("0+", default=NO_UUID)
            partition: int = i32("0+", default=0)

        topic_id_partition: TopicIdPartitionEntry = struct("0+", default_factory=TopicIdPartitionEntry)
        id: UUID = uuid("0+", default=NO_UUID)

    class SegmentLeaderEpochEntry(Struct):
        leader_epoch: int = i32("0+", default=0)
        offset: int = i64("0+", default=0)

    remote_log_segment_id: RemoteLogSegmentIdEntry = struct("0+", default_factory=RemoteLogSegmentIdEntry)
    start_offset: int = i64("0+", default=0)
    end_offset: int = i64("0+", default=0)
    broker_id: int = i32("0+", default=0)
    max_timestamp_ms: int = i64("0+", default=0)
    event_timestamp_ms: int = i64("0+", default=0)
    segment_leader_epochs: Sequence[SegmentLeaderEpochEntry] = array(SegmentLeaderEpochEntry, "0+", default=())
    segment_size_in_bytes: int = i32("0+", default=0)
    custom_metadata: bytes | None = bytes_("0+", default=None, nullable="0+")
    remote_log_segment_state: int = i8("0+", default=0)
    txn_index_empty: bool = bool_("0+", default=False, tag=0)


class RemoteLogSegmentMetadataUpdateRecord(MetadataRecord, key=1, versions="0", flexible="0+"):
    """Type 1: a segment's new state."""

    class RemoteLogSegmentIdEntry(Struct):
        class TopicIdPartitionEntry(Struct):
            name: str = string("0+", default="")
            id: UUID = uuid("0+", default=NO_UUID)
            partition: int = i32("0+", default=0)

        topic_id_partition: TopicIdPartitionEntry = struct("0+", default_factory=TopicIdPartitionEntry)
        id: UUID = uuid("0+", default=NO_UUID)

    remote_log_segment_id: RemoteLogSegmentIdEntry = struct("0+", default_factory=RemoteLogSegmentIdEntry)
    broker_id: int = i32("0+", default=0)
    event_timestamp_ms: int = i64("0+", default=0)
    custom_metadata: bytes | None = bytes_("0+", default=None, nullable="0+")
    remote_log_segment_state: int = i8("0+", default=0)


class RemotePartitionDeleteMetadataRecord(MetadataRecord, key=2, versions="0", flexible="0+"):
    """Type 2: a partition that is deleted. `remote_partition_delete_state`: 0 marked, 1 started, 2 finished."""

    class TopicIdPartitionEntry(Struct):
        name: str = string("0+", default="")
        id: UUID = uuid("0+", default=NO_UUID)
        partition: int = i32("0+", default=0)

    topic_id_partition: TopicIdPartitionEntry = struct("0+", default_factory=TopicIdPartitionEntry)
    broker_id: int = i32("0+", default=0)
    event_timestamp_ms: int = i64("0+", default=0)
    remote_partition_delete_state: int = i8("0+", default=0)


class RemoteLogSegmentMetadataSnapshotRecord(MetadataRecord, key=3, versions="0", flexible="0+"):
    """Type 3: a segment in a snapshot of a partition, which is not named again."""

    class SegmentLeaderEpochEntry(Struct):
        leader_epoch: int = i32("0+", default=0)
        offset: int = i64("0+", default=0)

    segment_id: UUID = uuid("0+", default=NO_UUID)
    start_offset: int = i64("0+", default=0)
    end_offset: int = i64("0+", default=0)
    broker_id: int = i32("0+", default=0)
    max_timestamp_ms: int = i64("0+", default=0)
    event_timestamp_ms: int = i64("0+", default=0)
    segment_leader_epochs: Sequence[SegmentLeaderEpochEntry] = array(SegmentLeaderEpochEntry, "0+", default=())
    segment_size_in_bytes: int = i32("0+", default=0)
    custom_metadata: bytes | None = bytes_("0+", default=None, nullable="0+")
    remote_log_segment_state: int = i8("0+", default=0)
    txn_index_empty: bool = bool_("0+", default=False, tag=0)
