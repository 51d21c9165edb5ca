"""Metadata (key 3), versions 0-13: brokers, topics, partitions and their leaders.

In v0 an empty list of topics asks for all; from v1 on null asks for all and an empty list for none.

    v1   response: rack, controller_id, is_internal (KIP-36, KIP-4)
    v2   response: cluster_id (KIP-78)
    v3   response: throttle_time_ms (KIP-124)
    v4   request: allow_auto_topic_creation (KAFKA-5291)
    v5   response: offline_replicas (KIP-112)
    v6   brokers answer before they throttle (KIP-219)
    v7   response: leader_epoch (KIP-320)
    v8   authorized operations of topics and cluster, as bit fields (KIP-430)
    v9   flexible (KIP-482)
    v10  topic ids in the answer; not to be used in the request before v12 (KIP-516)
    v11  the cluster's authorized operations move to DescribeCluster (KIP-700)
    v12  topics may be asked for by id, with a null name (KIP-516)
    v13  response: error_code; the broker may ask for a new bootstrap (KIP-1102)

Brokers of 0.8.0 and 0.8.1 list only brokers that a partition of the answer names.
Sources: the protocol guides of 0.9 and 0.10.1 (v0-v2), Apache's definitions of 3.9.2 and 4.4.0 (v0-v13).
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from kwire.schema.fields import NO_UUID, array, bool_, i16, i32, i32s, string, uuid
from kwire.schema.messages import Request, Response, Struct

__all__ = ["MetadataRequest", "MetadataResponse"]

_NO_OPERATIONS = -(2**31)


class MetadataRequest(Request, key=3, versions="0-13", flexible="9+"):
    """Which topics to tell about."""

    class MetadataRequestTopic(Struct):
        topic_id: UUID = uuid("10+", default=NO_UUID, ignorable=True)
        name: str | None = string("0+", default="", nullable="10+")

    topics: Sequence[MetadataRequestTopic] | None = array(MetadataRequestTopic, "0+", default=(), nullable="1+")
    allow_auto_topic_creation: bool = bool_("4+", default=True)
    include_cluster_authorized_operations: bool = bool_("8-10", default=False)
    include_topic_authorized_operations: bool = bool_("8+", default=False)


class MetadataResponse(Response, key=3, versions="0-13", flexible="9+"):
    """The cluster as one broker sees it. `leader_id` is -1 where there is no leader."""

    class MetadataResponseBroker(Struct):
        node_id: int = i32("0+", default=0)
        host: str = string("0+", default="")
        port: int = i32("0+", default=0)
        rack: str | None = string("1+", default=None, nullable="1+", ignorable=True)

    class MetadataResponseTopic(Struct):
        class MetadataResponsePartition(Struct):
            error_code: int = i16("0+", default=0)
            partition_index: int = i32("0+", default=0)
            leader_id: int = i32("0+", default=0)
            leader_epoch: int = i32("7+", default=-1, ignorable=True)
            replica_nodes: Sequence[int] = i32s("0+", default=())
            isr_nodes: Sequence[int] = i32s("0+", default=())
            offline_replicas: Sequence[int] = i32s("5+", default=(), ignorable=True)

        error_code: int = i16("0+", default=0)
        name: str | None = string("0+", default="", nullable="12+")
        topic_id: UUID = uuid("10+", default=NO_UUID, ignorable=True)
        is_internal: bool = bool_("1+", default=False, ignorable=True)
        partitions: Sequence[MetadataResponsePartition] = array(MetadataResponsePartition, "0+", default=())
        topic_authorized_operations: int = i32("8+", default=_NO_OPERATIONS)

    throttle_time_ms: int = i32("3+", default=0, ignorable=True)
    brokers: Sequence[MetadataResponseBroker] = array(MetadataResponseBroker, "0+", default=())
    cluster_id: str | None = string("2+", default=None, nullable="2+", ignorable=True)
    controller_id: int = i32("1+", default=-1, ignorable=True)
    topics: Sequence[MetadataResponseTopic] = array(MetadataResponseTopic, "0+", default=())
    cluster_authorized_operations: int = i32("8-10", default=_NO_OPERATIONS)
    error_code: int = i16("13+", default=0, ignorable=True)
