"""AlterShareGroupOffsets (key 91), version 0: sets how far a share group has read (KIP-932).

Source: Apache's definitions of 4.4.0 (v0).
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from kwire.schema.fields import NO_UUID, array, i16, i32, i64, string, uuid
from kwire.schema.messages import Request, Response, Struct

__all__ = ["AlterShareGroupOffsetsRequest", "AlterShareGroupOffsetsResponse"]


class AlterShareGroupOffsetsRequest(Request, key=91, versions="0", flexible="0+"):
    """The new first offsets, by partition."""

    class AlterShareGroupOffsetsRequestTopic(Struct):
        class AlterShareGroupOffsetsRequestPartition(Struct):
            partition_index: int = i32("0+", default=0)
            start_offset: int = i64("0+", default=0)

        topic_name: str = string("0+", default="")
        partitions: Sequence[AlterShareGroupOffsetsRequestPartition] = array(
            AlterShareGroupOffsetsRequestPartition, "0+", default=()
        )

    group_id: str = string("0+", default="")
    topics: Sequence[AlterShareGroupOffsetsRequestTopic] = array(AlterShareGroupOffsetsRequestTopic, "0+", default=())


class AlterShareGroupOffsetsResponse(Response, key=91, versions="0", flexible="0+"):
    """What became of each partition."""

    class AlterShareGroupOffsetsResponseTopic(Struct):
        class AlterShareGroupOffsetsResponsePartition(Struct):
            partition_index: int = i32("0+", default=0)
            error_code: int = i16("0+", default=0)
            error_message: str | None = string("0+", default=None, nullable="0+")

        topic_name: str = string("0+", default="")
        topic_id: UUID = uuid("0+", default=NO_UUID)
        partitions: Sequence[AlterShareGroupOffsetsResponsePartition] = array(
            AlterShareGroupOffsetsResponsePartition, "0+", default=()
        )

    throttle_time_ms: int = i32("0+", default=0)
    error_code: int = i16("0+", default=0)
    error_message: str | None = string("0+", default=None, nullable="0+")
    responses: Sequence[AlterShareGroupOffsetsResponseTopic] = array(
        AlterShareGroupOffsetsResponseTopic, "0+", default=()
    )
