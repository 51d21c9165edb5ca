"""UpdateRaftVoter (key 82), version 0: a voter of the KRaft quorum tells where it listens and what it can do (KIP-853).

Sources: Apache's definitions of 3.9.2 and 4.4.0 (v0).
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from kwire.schema.fields import NO_UUID, array, i16, i32, string, struct, u16, uuid
from kwire.schema.messages import Request, Response, Struct

__all__ = ["UpdateRaftVoterRequest", "UpdateRaftVoterResponse"]


class UpdateRaftVoterRequest(Request, key=82, versions="0", flexible="0+"):
    """The voter."""

    class Listener(Struct):
        name: str = string("0+", default="")
        host: str = string("0+", default="")
        port: int = u16("0+", default=0)

    class KRaftVersionFeature(Struct):
        min_supported_version: int = i16("0+", default=0)
        max_supported_version: int = i16("0+", default=0)

    cluster_id: str | None = string("0+", default="", nullable="0+")
    current_leader_epoch: int = i32("0+", default=0)
    voter_id: int = i32("0+", default=0)
    voter_directory_id: UUID = uuid("0+", default=NO_UUID)
    listeners: Sequence[Listener] = array(Listener, "0+", default=())
    k_raft_version_feature: KRaftVersionFeature = struct("0+", default_factory=KRaftVersionFeature)


class UpdateRaftVoterResponse(Response, key=82, versions="0", flexible="0+"):
    """Whether it was taken, and who leads."""

    class CurrentLeader(Struct):
        leader_id: int = i32("0+", default=-1)
        leader_epoch: int = i32("0+", default=-1)
        host: str = string("0+", default="")
        port: int = i32("0+", default=0)

    throttle_time_ms: int = i32("0+", default=0)
    error_code: int = i16("0+", default=0)
    current_leader: CurrentLeader = struct("0+", default_factory=CurrentLeader, tag=0)
