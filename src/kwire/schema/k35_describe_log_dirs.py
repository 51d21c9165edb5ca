"""DescribeLogDirs (key 35), versions 0-5: the log directories of a broker and what lies in them (KIP-113).

    v1   brokers answer before they throttle (KIP-219)
    v2   flexible (KIP-482)
    v3   response: error_code of the whole (KIP-784)
    v4   response: total_bytes, usable_bytes (KIP-827)
    v5   response: is_cordoned (KIP-1066)

Sources: Apache's definitions of 3.9.2 (v0-v4) and 4.4.0 (v1-v5).
"""

from __future__ import annotations

from collections.abc import Sequence

from kwire.schema.fields import array, bool_, i16, i32, i32s, i64, string
from kwire.schema.messages import Request, Response, Struct

__all__ = ["DescribeLogDirsRequest", "DescribeLogDirsResponse"]


class DescribeLogDirsRequest(Request, key=35, versions="0-5", flexible="2+"):
    """Which partitions; None asks for all."""

    class DescribableLogDirTopic(Struct):
        topic: str = string("0+", default="")
        partitions: Sequence[int] = i32s("0+", default=())

    topics: Sequence[DescribableLogDirTopic] | None = array(DescribableLogDirTopic, "0+", default=(), nullable="0+")


class DescribeLogDirsResponse(Response, key=35, versions="0-5", flexible="2+"):
    """Sizes in bytes. A future replica is one that moves to another directory."""

    class DescribeLogDirsResult(Struct):
        class DescribeLogDirsTopic(Struct):
            class DescribeLogDirsPartition(Struct):
                partition_index: int = i32("0+", default=0)
                partition_size: int = i64("0+", default=0)
                offset_lag: int = i64("0+", default=0)
                is_future_key: bool = bool_("0+", default=False)

            name: str = string("0+", default="")
            partitions: Sequence[DescribeLogDirsPartition] = array(DescribeLogDirsPartition, "0+", default=())

        error_code: int = i16("0+", default=0)
        log_dir: str = string("0+", default="")
        topics: Sequence[DescribeLogDirsTopic] = array(DescribeLogDirsTopic, "0+", default=())
        total_bytes: int = i64("4+", default=-1, ignorable=True)
        usable_bytes: int = i64("4+", default=-1, ignorable=True)
        is_cordoned: bool = bool_("5+", default=False, ignorable=True)

    throttle_time_ms: int = i32("0+", default=0)
    error_code: int = i16("3+", default=0, ignorable=True)
    results: Sequence[DescribeLogDirsResult] = array(DescribeLogDirsResult, "0+", default=())
