"""CreateTopics (key 19), versions 0-7: asks the controller to create topics.

    v1   request: validate_only; response: error_message (KIP-4)
    v2   response: throttle_time_ms (KIP-124)
    v3   brokers answer before they throttle (KIP-219)
    v4   num_partitions and replication_factor may be -1, the broker's defaults (KIP-464)
    v5   flexible; response: configs and counts of the new topic (KIP-482, KIP-525)
    v6   THROTTLING_QUOTA_EXCEEDED may be answered (KIP-599)
    v7   response: topic_id (KIP-516)

A timeout of 0 or less answers at once, while the topics are still being made.
Sources: the protocol guide of 0.10.1 (v0), Apache's definitions of 3.9.2 (v0-v7) and 4.4.0 (v2-v7).
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from kwire.schema.fields import NO_UUID, array, bool_, i8, i16, i32, i32s, string, uuid
from kwire.schema.messages import Request, Response, Struct

__all__ = ["CreateTopicsRequest", "CreateTopicsResponse"]


class CreateTopicsRequest(Request, key=19, versions="0-7", flexible="5+"):
    """The topics. With `assignments`, num_partitions and replication_factor must be -1."""

    class CreatableTopic(Struct):
        class CreatableReplicaAssignment(Struct):
            partition_index: int = i32("0+", default=0)
            broker_ids: Sequence[int] = i32s("0+", default=())

        class CreatableTopicConfig(Struct):
            name: str = string("0+", default="")
            value: str | None = string("0+", default="", nullable="0+")

        name: str = string("0+", default="")
        num_partitions: int = i32("0+", default=0)
        replication_factor: int = i16("0+", default=0)
        assignments: Sequence[CreatableReplicaAssignment] = array(CreatableReplicaAssignment, "0+", default=())
        configs: Sequence[CreatableTopicConfig] = array(CreatableTopicConfig, "0+", default=())

    topics: Sequence[CreatableTopic] = array(CreatableTopic, "0+", default=())
    timeout_ms: int = i32("0+", default=60000)
    validate_only: bool = bool_("1+", default=False)


class CreateTopicsResponse(Response, key=19, versions="0-7", flexible="5+"):
    """What became of each topic."""

    class CreatableTopicResult(Struct):
        class CreatableTopicConfigs(Struct):
            name: str = string("5+", default="")
            value: str | None = string("5+", default="", nullable="5+")
            read_only: bool = bool_("5+", default=False)
            config_source: int = i8("5+", default=-1, ignorable=True)
            is_sensitive: bool = bool_("5+", default=False)

        name: str = string("0+", default="")
        topic_id: UUID = uuid("7+", default=NO_UUID, ignorable=True)
        error_code: int = i16("0+", default=0)
        error_message: str | None = string("1+", default="", nullable="0+", ignorable=True)
        topic_config_error_code: int = i16("5+", default=0, tag=0, ignorable=True)
        num_partitions: int = i32("5+", default=-1, ignorable=True)
        replication_factor: int = i16("5+", default=-1, ignorable=True)
        configs: Sequence[CreatableTopicConfigs] | None = array(
            CreatableTopicConfigs, "5+", default=(), nullable="5+", ignorable=True
        )

    throttle_time_ms: int = i32("2+", default=0, ignorable=True)
    topics: Sequence[CreatableTopicResult] = array(CreatableTopicResult, "0+", default=())
