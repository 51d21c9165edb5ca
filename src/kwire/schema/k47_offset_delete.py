"""OffsetDelete (key 47), version 0: deletes offsets of a group for partitions that it no longer reads (KIP-496).

Sources: Apache's definitions of 3.9.2 and 4.4.0 (v0).
"""

from __future__ import annotations

from collections.abc import Sequence

from kwire.schema.fields import array, i16, i32, string
from kwire.schema.messages import Request, Response, Struct

__all__ = ["OffsetDeleteRequest", "OffsetDeleteResponse"]


class OffsetDeleteRequest(Request, key=47, versions="0"):
    """The group and the partitions."""

    class OffsetDeleteRequestTopic(Struct):
        class OffsetDeleteRequestPartition(Struct):
            partition_index: int = i32("0+", default=0)

        name: str = string("0+", default="")
        partitions: Sequence[OffsetDeleteRequestPartition] = array(OffsetDeleteRequestPartition, "0+", default=())

    group_id: str = string("0+", default="")
    topics: Sequence[OffsetDeleteRequestTopic] = array(OffsetDeleteRequestTopic, "0+", default=())


class OffsetDeleteResponse(Response, key=47, versions="0"):
    """What became of each partition."""

    class OffsetDeleteResponseTopic(Struct):
        class OffsetDeleteResponsePartition(Struct):
            partition_index: int = i32("0+", default=0)
            error_code: int = i16("0+", default=0)

        name: str = string("0+", default="")
        partitions: Sequence[OffsetDeleteResponsePartition] = array(OffsetDeleteResponsePartition, "0+", default=())

    error_code: int = i16("0+", default=0)
    throttle_time_ms: int = i32("0+", default=0, ignorable=True)
    topics: Sequence[OffsetDeleteResponseTopic] = array(OffsetDeleteResponseTopic, "0+", default=())
