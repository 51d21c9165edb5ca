"""StreamsGroupDescribe (key 89), versions 0-1: groups of Kafka Streams with their topology and members (KIP-1071).

    v1   topology descriptions on request (KIP-1331); response: assignor_name (KIP-1357)

Source: Apache's definitions of 4.4.0 (v0-v1).
"""

from __future__ import annotations

from collections.abc import Sequence

from kwire.schema.fields import array, bool_, i8, i16, i32, i32s, i64, nullable_struct, string, strings, struct, u16
from kwire.schema.messages import Request, Response, Struct

__all__ = ["StreamsGroupDescribeRequest", "StreamsGroupDescribeResponse"]

_NO_OPERATIONS = -(2**31)


class StreamsGroupDescribeRequest(Request, key=89, versions="0-1", flexible="0+"):
    """Which groups; sent to their coordinator."""

    group_ids: Sequence[str] = strings("0+", default=())
    include_authorized_operations: bool = bool_("0+", default=False)
    include_topology_description: bool = bool_("1+", default=False)


class _KeyValue(Struct):
    """A setting of a topic, or a tag of a client."""

    key: str = string("0+", default="")
    value: str = string("0+", default="")


class _TopologyDescriptionNode(Struct):
    """A source, a processor or a sink of a topology."""

    name: str = string("1+", default="")
    node_type: int = i8("1+", default=0)
    source_topics: Sequence[str] = strings("1+", default=())
    sink_topic: str | None = string("1+", default=None, nullable="1+")
    stores: Sequence[str] = strings("1+", default=())
    successors: Sequence[str] = strings("1+", default=())


class StreamsGroupDescribeResponse(Response, key=89, versions="0-1", flexible="0+"):
    """Epochs, topology, members and their tasks."""

    KeyValue = _KeyValue
    TopologyDescriptionNode = _TopologyDescriptionNode

    class DescribedGroup(Struct):
        class Topology(Struct):
            class Subtopology(Struct):
                class TopicInfo(Struct):
                    name: str = string("0+", default="")
                    partitions: int = i32("0+", default=0)
                    replication_factor: int = i16("0+", default=0)
                    topic_configs: Sequence[_KeyValue] = array(_KeyValue, "0+", default=())

                subtopology_id: str = string("0+", default="")
                source_topics: Sequence[str] = strings("0+", default=())
                repartition_sink_topics: Sequence[str] = strings("0+", default=())
                state_changelog_topics: Sequence[TopicInfo] = array(TopicInfo, "0+", default=())
                repartition_source_topics: Sequence[TopicInfo] = array(TopicInfo, "0+", default=())

            epoch: int = i32("0+", default=0)
            subtopologies: Sequence[Subtopology] | None = array(Subtopology, "0+", default=None, nullable="0+")

        class Member(Struct):
            class Endpoint(Struct):
                host: str = string("0+", default="")
                port: int = u16("0+", default=0)

            class TaskOffset(Struct):
                subtopology_id: str = string("0+", default="")
                partition: int = i32("0+", default=0)
                offset: int = i64("0+", default=0)

            class Assignment(Struct):
                class TaskIds(Struct):
                    subtopology_id: str = string("0+", default="")
                    partitions: Sequence[int] = i32s("0+", default=())

                active_tasks: Sequence[TaskIds] = array(TaskIds, "0+", default=())
                standby_tasks: Sequence[TaskIds] = array(TaskIds, "0+", default=())
                warmup_tasks: Sequence[TaskIds] = array(TaskIds, "0+", default=())

            member_id: str = string("0+", default="")
            member_epoch: int = i32("0+", default=0)
            instance_id: str | None = string("0+", default=None, nullable="0+")
            rack_id: str | None = string("0+", default=None, nullable="0+")
            client_id: str = string("0+", default="")
            client_host: str = string("0+", default="")
            topology_epoch: int = i32("0+", default=0)
            process_id: str = string("0+", default="")
            user_endpoint: Endpoint | None = nullable_struct(Endpoint, "0+", default=None, nullable="0+")
            client_tags: Sequence[_KeyValue] = array(_KeyValue, "0+", default=())
            task_offsets: Sequence[TaskOffset] = array(TaskOffset, "0+", default=())
            task_end_offsets: Sequence[TaskOffset] = array(TaskOffset, "0+", default=())
            assignment: Assignment = struct("0+", default_factory=Assignment)
            target_assignment: Assignment = struct("0+", default_factory=Assignment)
            is_classic: bool = bool_("0+", default=False)

        class TopologyDescription(Struct):
            class TopologyDescriptionSubtopology(Struct):
                subtopology_id: str = string("1+", default="")
                nodes: Sequence[_TopologyDescriptionNode] = array(_TopologyDescriptionNode, "1+", default=())

            class TopologyDescriptionGlobalStore(Struct):
                source: _TopologyDescriptionNode = struct("1+", default_factory=_TopologyDescriptionNode)
                processor: _TopologyDescriptionNode = struct("1+", default_factory=_TopologyDescriptionNode)

            subtopologies: Sequence[TopologyDescriptionSubtopology] = array(
                TopologyDescriptionSubtopology, "1+", default=()
            )
            global_stores: Sequence[TopologyDescriptionGlobalStore] = array(
                TopologyDescriptionGlobalStore, "1+", default=()
            )

        error_code: int = i16("0+", default=0)
        error_message: str | None = string("0+", default=None, nullable="0+")
        group_id: str = string("0+", default="")
        group_state: str = string("0+", default="")
        group_epoch: int = i32("0+", default=0)
        assignment_epoch: int = i32("0+", default=0)
        topology: Topology | None = nullable_struct(Topology, "0+", default=None, nullable="0+")
        members: Sequence[Member] = array(Member, "0+", default=())
        authorized_operations: int = i32("0+", default=_NO_OPERATIONS)
        topology_description: TopologyDescription | None = nullable_struct(
            TopologyDescription, "1+", default=None, nullable="1+"
        )
        topology_description_status: int = i8("1+", default=0)
        assignor_name: str | None = string("1+", default=None, nullable="1+", ignorable=True)

    throttle_time_ms: int = i32("0+", default=0)
    groups: Sequence[DescribedGroup] = array(DescribedGroup, "0+", default=())
