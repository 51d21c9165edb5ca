"""CreatePartitions (key 37), versions 0-3: gives topics more partitions (KIP-195).

    v1   brokers answer before they throttle (KIP-219)
    v2   flexible (KIP-482)
    v3   THROTTLING_QUOTA_EXCEEDED may be answered (KIP-599)

Sources: Apache's definitions of 3.9.2 and 4.4.0 (v0-v3).
"""

from __future__ import annotations

from collections.abc import Sequence

from kwire.schema.fields import array, bool_, i16, i32, i32s, string
from kwire.schema.messages import Request, Response, Struct

__all__ = ["CreatePartitionsRequest", "CreatePartitionsResponse"]


class CreatePartitionsRequest(Request, key=37, versions="0-3", flexible="2+"):
    """`count` is the new number of partitions, not how many more."""

    class CreatePartitionsTopic(Struct):
        class CreatePartitionsAssignment(Struct):
            broker_ids: Sequence[int] = i32s("0+", default=())

        name: str = string("0+", default="")
        count: int = i32("0+", default=0)
        assignments: Sequence[CreatePartitionsAssignment] | None = array(
            CreatePartitionsAssignment, "0+", default=(), nullable="0+"
        )

    topics: Sequence[CreatePartitionsTopic] = array(CreatePartitionsTopic, "0+", default=())
    timeout_ms: int = i32("0+", default=0)
    validate_only: bool = bool_("0+", default=False)


class CreatePartitionsResponse(Response, key=37, versions="0-3", flexible="2+"):
    """What became of each topic."""

    class CreatePartitionsTopicResult(Struct):
        name: str = string("0+", default="")
        error_code: int = i16("0+", default=0)
        error_message: str | None = string("0+", default=None, nullable="0+")

    throttle_time_ms: int = i32("0+", default=0)
    results: Sequence[CreatePartitionsTopicResult] = array(CreatePartitionsTopicResult, "0+", default=())
