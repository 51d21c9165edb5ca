"""DeleteGroups (key 42), versions 0-3: deletes groups (KIP-229).

    v1   brokers answer before they throttle (KIP-219)
    v2   flexible (KIP-482)
    v3   response: error_message

Sources: Apache's definitions of 3.9.2 (v0-v2) and 4.4.0 (v0-v3).
"""

from __future__ import annotations

from collections.abc import Sequence

from kwire.schema.fields import array, i16, i32, string, strings
from kwire.schema.messages import Request, Response, Struct

__all__ = ["DeleteGroupsRequest", "DeleteGroupsResponse"]


class DeleteGroupsRequest(Request, key=42, versions="0-3", flexible="2+"):
    """Which groups; sent to their coordinator."""

    groups_names: Sequence[str] = strings("0+", default=())


class DeleteGroupsResponse(Response, key=42, versions="0-3", flexible="2+"):
    """What became of each group."""

    class DeletableGroupResult(Struct):
        group_id: str = string("0+", default="")
        error_code: int = i16("0+", default=0)
        error_message: str | None = string("3+", default=None, nullable="3+", ignorable=True)

    throttle_time_ms: int = i32("0+", default=0)
    results: Sequence[DeletableGroupResult] = array(DeletableGroupResult, "0+", default=())
