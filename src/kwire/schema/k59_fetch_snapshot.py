"""FetchSnapshot (key 59), versions 0-1: a piece of a snapshot of the KRaft log (KIP-630).

    v1   request: replica_directory_id; response: node_endpoints (KIP-853)

Sources: Apache's definitions of 3.9.2 and 4.4.0 (v0-v1).
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from kwire.schema.fields import NO_UUID, BytesLike, array, i16, i32, i64, record_data, string, struct, u16, uuid
from kwire.schema.messages import Request, Response, Struct

__all__ = ["FetchSnapshotRequest", "FetchSnapshotResponse"]


class FetchSnapshotRequest(Request, key=59, versions="0-1", flexible="0+"):
    """Which snapshot, from which byte on."""

    class TopicSnapshot(Struct):
        class PartitionSnapshot(Struct):
            class SnapshotId(Struct):
                end_offset: int = i64("0+", default=0)
                epoch: int = i32("0+", default=0)

            partition: int = i32("0+", default=0)
            current_leader_epoch: int = i32("0+", default=0)
            snapshot_id: SnapshotId = struct("0+", default_factory=SnapshotId)
            position: int = i64("0+", default=0)
            replica_directory_id: UUID = uuid("1+", default=NO_UUID, tag=0, ignorable=True)

        name: str = string("0+", default="")
        partitions: Sequence[PartitionSnapshot] = array(PartitionSnapshot, "0+", default=())

    cluster_id: str | None = string("0+", default=None, nullable="0+", tag=0)
    replica_id: int = i32("0+", default=-1)
    max_bytes: int = i32("0+", default=0x7FFF_FFFF)
    topics: Sequence[TopicSnapshot] = array(TopicSnapshot, "0+", default=())


class FetchSnapshotResponse(Response, key=59, versions="0-1", flexible="0+"):
    """Bytes of the snapshot: batches, which may be cut off at both ends."""

    class TopicSnapshot(Struct):
        class PartitionSnapshot(Struct):
            class SnapshotId(Struct):
                end_offset: int = i64("0+", default=0)
                epoch: int = i32("0+", default=0)

            class LeaderIdAndEpoch(Struct):
                leader_id: int = i32("0+", default=0)
                leader_epoch: int = i32("0+", default=0)

            index: int = i32("0+", default=0)
            error_code: int = i16("0+", default=0)
            snapshot_id: SnapshotId = struct("0+", default_factory=SnapshotId)
            current_leader: LeaderIdAndEpoch = struct("0+", default_factory=LeaderIdAndEpoch, tag=0)
            size: int = i64("0+", default=0)
            position: int = i64("0+", default=0)
            unaligned_records: BytesLike = record_data("0+", default=b"")

        name: str = string("0+", default="")
        partitions: Sequence[PartitionSnapshot] = array(PartitionSnapshot, "0+", default=())

    class NodeEndpoint(Struct):
        node_id: int = i32("1+", default=0)
        host: str = string("1+", default="")
        port: int = u16("1+", default=0)

    throttle_time_ms: int = i32("0+", default=0, ignorable=True)
    error_code: int = i16("0+", default=0)
    topics: Sequence[TopicSnapshot] = array(TopicSnapshot, "0+", default=())
    node_endpoints: Sequence[NodeEndpoint] = array(NodeEndpoint, "1+", default=(), tag=0)
