"""Vote (key 52), versions 0-2: a candidate of the KRaft quorum asks for a vote (KIP-595).

    v1   directory ids; request: voter_id; response: node_endpoints (KIP-853)
    v2   request: pre_vote; the candidate is called replica (KIP-996)

Sources: Apache's definitions of 3.9.2 (v0-v1) and 4.4.0 (v0-v2).
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from kwire.schema.fields import NO_UUID, array, bool_, i16, i32, i64, renamed, string, u16, uuid
from kwire.schema.messages import Request, Response, Struct

__all__ = ["VoteRequest", "VoteResponse"]


class VoteRequest(Request, key=52, versions="0-2", flexible="0+"):
    """The replica that asks for votes. The older names of the fields `replica_*` are `candidate_*`."""

    class TopicData(Struct):
        class PartitionData(Struct):
            partition_index: int = i32("0+", default=0)
            replica_epoch: int = i32("0+", default=0)
            candidate_epoch: int = renamed("replica_epoch")
            replica_id: int = i32("0+", default=0)
            candidate_id: int = renamed("replica_id")
            replica_directory_id: UUID = uuid("1+", default=NO_UUID, ignorable=True)
            candidate_directory_id: UUID = renamed("replica_directory_id")
            voter_directory_id: UUID = uuid("1+", default=NO_UUID, ignorable=True)
            last_offset_epoch: int = i32("0+", default=0)
            last_offset: int = i64("0+", default=0)
            pre_vote: bool = bool_("2+", default=False)

        topic_name: str = string("0+", default="")
        partitions: Sequence[PartitionData] = array(PartitionData, "0+", default=())

    cluster_id: str | None = string("0+", default=None, nullable="0+")
    voter_id: int = i32("1+", default=-1, ignorable=True)
    topics: Sequence[TopicData] = array(TopicData, "0+", default=())


class VoteResponse(Response, key=52, versions="0-2", flexible="0+"):
    """Whether the vote was given, and who leads."""

    class TopicData(Struct):
        class PartitionData(Struct):
            partition_index: int = i32("0+", default=0)
            error_code: int = i16("0+", default=0)
            leader_id: int = i32("0+", default=0)
            leader_epoch: int = i32("0+", default=0)
            vote_granted: bool = bool_("0+", default=False)

        topic_name: str = string("0+", default="")
        partitions: Sequence[PartitionData] = array(PartitionData, "0+", default=())

    class NodeEndpoint(Struct):
        node_id: int = i32("1+", default=0)
        host: str = string("1+", default="")
        port: int = u16("1+", default=0)

    error_code: int = i16("0+", default=0)
    topics: Sequence[TopicData] = array(TopicData, "0+", default=())
    node_endpoints: Sequence[NodeEndpoint] = array(NodeEndpoint, "1+", default=(), tag=0)
