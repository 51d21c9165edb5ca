"""UpdateMetadata (key 6), versions 0-8: the controller tells all brokers about partitions and the brokers that are
alive.

A message of the ZooKeeper era; brokers from 4.0 on do not have it.

    v1   live brokers have endpoints instead of one host and port
    v2   rack (KIP-36)
    v3   listener names (KIP-103)
    v4   offline_replicas (KIP-112)
    v5   broker_epoch; partitions are listed by topic (KIP-380)
    v6   flexible (KIP-482)
    v7   topic ids (KIP-516)
    v8   is_k_raft_controller; type, full or incremental (KIP-866)

Sources: the protocol guides of 0.9 (v0-v1) and 0.10.1 (v2), Apache's definitions of 3.9.2 (v0-v8).
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from kwire.schema.fields import NO_UUID, array, bool_, i8, i16, i32, i32s, i64, string, uuid
from kwire.schema.messages import Request, Response, Struct

__all__ = ["UpdateMetadataRequest", "UpdateMetadataResponse"]


class _UpdateMetadataPartitionState(Struct):
    """One partition. Up to v4 it names its topic itself."""

    topic_name: str = string("0-4", default="", ignorable=True)
    partition_index: int = i32("0+", default=0)
    controller_epoch: int = i32("0+", default=0)
    leader: int = i32("0+", default=0)
    leader_epoch: int = i32("0+", default=0)
    isr: Sequence[int] = i32s("0+", default=())
    zk_version: int = i32("0+", default=0)
    replicas: Sequence[int] = i32s("0+", default=())
    offline_replicas: Sequence[int] = i32s("4+", default=(), ignorable=True)


class UpdateMetadataRequest(Request, key=6, versions="0-8", flexible="6+"):
    """The metadata. In v0 a live broker has `v0_host` and `v0_port`, later `endpoints`."""

    UpdateMetadataPartitionState = _UpdateMetadataPartitionState

    class UpdateMetadataTopicState(Struct):
        topic_name: str = string("5+", default="")
        topic_id: UUID = uuid("7+", default=NO_UUID, ignorable=True)
        partition_states: Sequence[_UpdateMetadataPartitionState] = array(
            _UpdateMetadataPartitionState, "5+", default=()
        )

    class UpdateMetadataBroker(Struct):
        class UpdateMetadataEndpoint(Struct):
            port: int = i32("1+", default=0)
            host: str = string("1+", default="")
            listener: str = string("3+", default="", ignorable=True)
            security_protocol: int = i16("1+", default=0)

        id: int = i32("0+", default=0)
        v0_host: str = string("0", default="", ignorable=True)
        v0_port: int = i32("0", default=0, ignorable=True)
        endpoints: Sequence[UpdateMetadataEndpoint] = array(UpdateMetadataEndpoint, "1+", default=(), ignorable=True)
        rack: str | None = string("2+", default="", nullable="0+", ignorable=True)

    controller_id: int = i32("0+", default=0)
    is_k_raft_controller: bool = bool_("8+", default=False)
    type: int = i8("8+", default=0, tag=0)
    controller_epoch: int = i32("0+", default=0)
    broker_epoch: int = i64("5+", default=-1, ignorable=True)
    ungrouped_partition_states: Sequence[_UpdateMetadataPartitionState] = array(
        _UpdateMetadataPartitionState, "0-4", default=()
    )
    topic_states: Sequence[UpdateMetadataTopicState] = array(UpdateMetadataTopicState, "5+", default=())
    live_brokers: Sequence[UpdateMetadataBroker] = array(UpdateMetadataBroker, "0+", default=())


class UpdateMetadataResponse(Response, key=6, versions="0-8", flexible="6+"):
    """Whether the broker took it."""

    error_code: int = i16("0+", default=0)
