"""AddRaftVoter (key 80), versions 0-1: adds a voter to the KRaft quorum (KIP-853).

    v1   request: ack_when_committed

Sources: Apache's definitions of 3.9.2 (v0) and 4.4.0 (v0-v1).
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from kwire.schema.fields import NO_UUID, array, bool_, i16, i32, string, u16, uuid
from kwire.schema.messages import Request, Response, Struct

__all__ = ["AddRaftVoterRequest", "AddRaftVoterResponse"]


class AddRaftVoterRequest(Request, key=80, versions="0-1", flexible="0+"):
    """The voter and where it listens."""

    class Listener(Struct):
        name: str = string("0+", default="")
        host: str = string("0+", default="")
        port: int = u16("0+", default=0)

    cluster_id: str | None = string("0+", default="", nullable="0+")
    timeout_ms: int = i32("0+", default=0)
    voter_id: int = i32("0+", default=0)
    voter_directory_id: UUID = uuid("0+", default=NO_UUID)
    listeners: Sequence[Listener] = array(Listener, "0+", default=())
    ack_when_committed: bool = bool_("1+", default=True)


class AddRaftVoterResponse(Response, key=80, versions="0-1", flexible="0+"):
    """Whether it was added."""

    throttle_time_ms: int = i32("0+", default=0)
    error_code: int = i16("0+", default=0)
    error_message: str | None = string("0+", default="", nullable="0+", ignorable=True)
