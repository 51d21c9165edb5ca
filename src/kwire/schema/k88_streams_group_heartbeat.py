"""StreamsGroupHeartbeat (key 88), versions 0-1: an application of Kafka Streams enters its group, stays in it and
leaves it (KIP-1071).

    v1   response: acceptable_recovery_lag is int64 instead of int32; topology_description_required (KIP-1331)

Source: Apache's definitions of 4.4.0 (v0-v1).
"""

from __future__ import annotations

from collections.abc import Sequence

from kwire.schema.fields import (
    array,
    bool_,
    i8,
    i16,
    i16s,
    i32,
    i32s,
    i64,
    nullable_struct,
    string,
    strings,
    struct,
    u16,
)
from kwire.schema.messages import Request, Response, Struct

__all__ = ["StreamsGroupHeartbeatRequest", "StreamsGroupHeartbeatResponse"]


class _KeyValue(Struct):
    """A setting of a topic, or a tag of a client."""

    key: str = string("0+", default="")
    value: str = string("0+", default="")


class StreamsGroupHeartbeatRequest(Request, key=88, versions="0-1", flexible="0+"):
    """`member_epoch`: 0 joins, -1 leaves, -2 for a while. None: nothing changed."""

    KeyValue = _KeyValue

    class Topology(Struct):
        class Subtopology(Struct):
            class TopicInfo(Struct):
                name: str = string("0+", default="")
                partitions: int = i32("0+", default=0)
                replication_factor: int = i16("0+", default=0)
                topic_configs: Sequence[_KeyValue] = array(_KeyValue, "0+", default=())

            class CopartitionGroup(Struct):
                source_topics: Sequence[int] = i16s("0+", default=())
                source_topic_regex: Sequence[int] = i16s("0+", default=())
                repartition_source_topics: Sequence[int] = i16s("0+", default=())

            subtopology_id: str = string("0+", default="")
            source_topics: Sequence[str] = strings("0+", default=())
            source_topic_regex: Sequence[str] = strings("0+", default=())
            state_changelog_topics: Sequence[TopicInfo] = array(TopicInfo, "0+", default=())
            repartition_sink_topics: Sequence[str] = strings("0+", default=())
            repartition_source_topics: Sequence[TopicInfo] = array(TopicInfo, "0+", default=())
            copartition_groups: Sequence[CopartitionGroup] = array(CopartitionGroup, "0+", default=())

        epoch: int = i32("0+", default=0)
        subtopologies: Sequence[Subtopology] = array(Subtopology, "0+", default=())

    class TaskIds(Struct):
        subtopology_id: str = string("0+", default="")
        partitions: Sequence[int] = i32s("0+", default=())

    class Endpoint(Struct):
        host: str = string("0+", default="")
        port: int = u16("0+", default=0)

    class TaskOffset(Struct):
        subtopology_id: str = string("0+", default="")
        partition: int = i32("0+", default=0)
        offset: int = i64("0+", default=0)

    group_id: str = string("0+", default="")
    member_id: str = string("0+", default="")
    member_epoch: int = i32("0+", default=0)
    endpoint_information_epoch: int = i32("0+", default=0)
    instance_id: str | None = string("0+", default=None, nullable="0+")
    rack_id: str | None = string("0+", default=None, nullable="0+")
    rebalance_timeout_ms: int = i32("0+", default=-1)
    topology: Topology | None = nullable_struct(Topology, "0+", default=None, nullable="0+")
    active_tasks: Sequence[TaskIds] | None = array(TaskIds, "0+", default=None, nullable="0+")
    standby_tasks: Sequence[TaskIds] | None = array(TaskIds, "0+", default=None, nullable="0+")
    warmup_tasks: Sequence[TaskIds] | None = array(TaskIds, "0+", default=None, nullable="0+")
    process_id: str | None = string("0+", default=None, nullable="0+")
    user_endpoint: Endpoint | None = nullable_struct(Endpoint, "0+", default=None, nullable="0+")
    client_tags: Sequence[_KeyValue] | None = array(_KeyValue, "0+", default=None, nullable="0+")
    task_offsets: Sequence[TaskOffset] | None = array(TaskOffset, "0+", default=None, nullable="0+")
    task_end_offsets: Sequence[TaskOffset] | None = array(TaskOffset, "0+", default=None, nullable="0+")
    shutdown_application: bool = bool_("0+", default=False)


class StreamsGroupHeartbeatResponse(Response, key=88, versions="0-1", flexible="0+"):
    """Tasks to run now; None: as before."""

    class Status(Struct):
        status_code: int = i8("0+", default=0)
        status_detail: str = string("0+", default="")

    class TaskIds(Struct):
        subtopology_id: str = string("0+", default="")
        partitions: Sequence[int] = i32s("0+", default=())

    class EndpointToPartitions(Struct):
        class Endpoint(Struct):
            host: str = string("0+", default="")
            port: int = u16("0+", default=0)

        class TopicPartition(Struct):
            topic: str = string("0+", default="")
            partitions: Sequence[int] = i32s("0+", default=())

        user_endpoint: Endpoint = struct("0+", default_factory=Endpoint)
        active_partitions: Sequence[TopicPartition] = array(TopicPartition, "0+", default=())
        standby_partitions: Sequence[TopicPartition] = array(TopicPartition, "0+", default=())

    throttle_time_ms: int = i32("0+", default=0)
    error_code: int = i16("0+", default=0)
    error_message: str | None = string("0+", default=None, nullable="0+")
    member_id: str = string("0+", default="")
    member_epoch: int = i32("0+", default=0)
    heartbeat_interval_ms: int = i32("0+", default=0)
    acceptable_recovery_lag_legacy: int = i32("0", default=0)
    task_offset_interval_ms: int = i32("0+", default=0)
    acceptable_recovery_lag: int = i64("1+", default=-1, ignorable=True)
    status: Sequence[Status] | None = array(Status, "0+", default=(), nullable="0+")
    active_tasks: Sequence[TaskIds] | None = array(TaskIds, "0+", default=None, nullable="0+")
    standby_tasks: Sequence[TaskIds] | None = array(TaskIds, "0+", default=None, nullable="0+")
    warmup_tasks: Sequence[TaskIds] | None = array(TaskIds, "0+", default=None, nullable="0+")
    topology_description_required: bool = bool_("1+", default=False)
    endpoint_information_epoch: int = i32("0+", default=0)
    partitions_by_user_endpoint: Sequence[EndpointToPartitions] | None = array(
        EndpointToPartitions, "0+", default=None, nullable="0+"
    )
