"""DeleteTopics (key 20), versions 0-6: asks the controller to delete topics.

    v1   response: throttle_time_ms (KIP-124)
    v2   brokers answer before they throttle (KIP-219)
    v3   TOPIC_DELETION_DISABLED may be answered (KIP-322)
    v4   flexible (KIP-482)
    v5   response: error_message; THROTTLING_QUOTA_EXCEEDED may be answered (KIP-599)
    v6   topics by name or id, in `topics` instead of `topic_names` (KIP-516)

Sources: the protocol guide of 0.10.1 (v0), Apache's definitions of 3.9.2 (v0-v6) and 4.4.0 (v1-v6).
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from kwire.schema.fields import NO_UUID, array, i16, i32, string, strings, uuid
from kwire.schema.messages import Request, Response, Struct

__all__ = ["DeleteTopicsRequest", "DeleteTopicsResponse"]


class DeleteTopicsRequest(Request, key=20, versions="0-6", flexible="4+"):
    """The topics: `topic_names` up to v5, `topics` from v6 on."""

    class DeleteTopicState(Struct):
        name: str | None = string("6+", default=None, nullable="6+")
        topic_id: UUID = uuid("6+", default=NO_UUID)

    topics: Sequence[DeleteTopicState] = array(DeleteTopicState, "6+", default=())
    topic_names: Sequence[str] = strings("0-5", default=(), ignorable=True)
    timeout_ms: int = i32("0+", default=0)


class DeleteTopicsResponse(Response, key=20, versions="0-6", flexible="4+"):
    """What became of each topic."""

    class DeletableTopicResult(Struct):
        name: str | None = string("0+", default="", nullable="6+")
        topic_id: UUID = uuid("6+", default=NO_UUID, ignorable=True)
        error_code: int = i16("0+", default=0)
        error_message: str | None = string("5+", default=None, nullable="5+", ignorable=True)

    throttle_time_ms: int = i32("1+", default=0, ignorable=True)
    responses: Sequence[DeletableTopicResult] = array(DeletableTopicResult, "0+", default=())
