"""RemoveRaftVoter (key 81), version 0: removes a voter from the KRaft quorum (KIP-853).

Sources: Apache's definitions of 3.9.2 and 4.4.0 (v0).
"""

from __future__ import annotations

from uuid import UUID

from kwire.schema.fields import NO_UUID, i16, i32, string, uuid
from kwire.schema.messages import Request, Response

__all__ = ["RemoveRaftVoterRequest", "RemoveRaftVoterResponse"]


class RemoveRaftVoterRequest(Request, key=81, versions="0", flexible="0+"):
    """Which voter."""

    cluster_id: str | None = string("0+", default="", nullable="0+")
    voter_id: int = i32("0+", default=0)
    voter_directory_id: UUID = uuid("0+", default=NO_UUID)


class RemoveRaftVoterResponse(Response, key=81, versions="0", flexible="0+"):
    """Whether it was removed."""

    throttle_time_ms: int = i32("0+", default=0)
    error_code: int = i16("0+", default=0)
    error_message: str | None = string("0+", default="", nullable="0+", ignorable=True)
