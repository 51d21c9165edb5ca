"""DeleteShareGroupOffsets (key 92), version 0: deletes the offsets of a share group for topics (KIP-932).

Source: Apache's definitions of 4.4.0 (v0).
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from kwire.schema.fields import NO_UUID, array, i16, i32, string, uuid
from kwire.schema.messages import Request, Response, Struct

__all__ = ["DeleteShareGroupOffsetsRequest", "DeleteShareGroupOffsetsResponse"]


class DeleteShareGroupOffsetsRequest(Request, key=92, versions="0", flexible="0+"):
    """The group and the topics."""

    class DeleteShareGroupOffsetsRequestTopic(Struct):
        topic_name: str = string("0+", default="")

    group_id: str = string("0+", default="")
    topics: Sequence[DeleteShareGroupOffsetsRequestTopic] = array(DeleteShareGroupOffsetsRequestTopic, "0+", default=())


class DeleteShareGroupOffsetsResponse(Response, key=92, versions="0", flexible="0+"):
    """What became of each topic."""

    class DeleteShareGroupOffsetsResponseTopic(Struct):
        topic_name: str = string("0+", default="")
        topic_id: UUID = uuid("0+", default=NO_UUID)
        error_code: int = i16("0+", default=0)
        error_message: str | None = string("0+", default=None, nullable="0+")

    throttle_time_ms: int = i32("0+", default=0)
    error_code: int = i16("0+", default=0)
    error_message: str | None = string("0+", default=None, nullable="0+")
    responses: Sequence[DeleteShareGroupOffsetsResponseTopic] = array(
        DeleteShareGroupOffsetsResponseTopic, "0+", default=()
    )
