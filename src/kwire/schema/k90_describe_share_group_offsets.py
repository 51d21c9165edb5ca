"""DescribeShareGroupOffsets (key 90), versions 0-1: how far share groups have read (KIP-932).

    v1   response: lag (KIP-1226)

Source: Apache's definitions of 4.4.0 (v0-v1).
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from kwire.schema.fields import NO_UUID, array, i16, i32, i32s, i64, string, uuid
from kwire.schema.messages import Request, Response, Struct

__all__ = ["DescribeShareGroupOffsetsRequest", "DescribeShareGroupOffsetsResponse"]


class DescribeShareGroupOffsetsRequest(Request, key=90, versions="0-1", flexible="0+"):
    """Which groups; topics None asks for all."""

    class DescribeShareGroupOffsetsRequestGroup(Struct):
        class DescribeShareGroupOffsetsRequestTopic(Struct):
            topic_name: str = string("0+", default="")
            partitions: Sequence[int] = i32s("0+", default=())

        group_id: str = string("0+", default="")
        topics: Sequence[DescribeShareGroupOffsetsRequestTopic] | None = array(
            DescribeShareGroupOffsetsRequestTopic, "0+", default=(), nullable="0+"
        )

    groups: Sequence[DescribeShareGroupOffsetsRequestGroup] = array(
        DescribeShareGroupOffsetsRequestGroup, "0+", default=()
    )


class DescribeShareGroupOffsetsResponse(Response, key=90, versions="0-1", flexible="0+"):
    """The first offset that is not done, by partition; -1 where there is none."""

    class DescribeShareGroupOffsetsResponseGroup(Struct):
        class DescribeShareGroupOffsetsResponseTopic(Struct):
            class DescribeShareGroupOffsetsResponsePartition(Struct):
                partition_index: int = i32("0+", default=0)
                start_offset: int = i64("0+", default=0)
                leader_epoch: int = i32("0+", default=0)
                lag: int = i64("1+", default=-1, ignorable=True)
                error_code: int = i16("0+", default=0)
                error_message: str | None = string("0+", default=None, nullable="0+")

            topic_name: str = string("0+", default="")
            topic_id: UUID = uuid("0+", default=NO_UUID)
            partitions: Sequence[DescribeShareGroupOffsetsResponsePartition] = array(
                DescribeShareGroupOffsetsResponsePartition, "0+", default=()
            )

        group_id: str = string("0+", default="")
        topics: Sequence[DescribeShareGroupOffsetsResponseTopic] = array(
            DescribeShareGroupOffsetsResponseTopic, "0+", default=()
        )
        error_code: int = i16("0+", default=0)
        error_message: str | None = string("0+", default=None, nullable="0+")

    throttle_time_ms: int = i32("0+", default=0)
    groups: Sequence[DescribeShareGroupOffsetsResponseGroup] = array(
        DescribeShareGroupOffsetsResponseGroup, "0+", default=()
    )
