"""`__consumer_offsets`, record types 17 and 19 to 23: groups of Kafka Streams (KIP-1071).

    key     type int16, then the fields of the key
    value   version int16, then the fields of the value (flexible from version 0 on); none deletes what the key names

A task is a partition of a subtopology. No release has type 18. Where Apache's definition has an unquoted null as
default (`last_assignment_configs`, `assignment_epochs`), its classes have an empty list, so that null is written.

Source: Apache's definitions of 4.4.0 (all version 0).
"""

from __future__ import annotations

from collections.abc import Sequence

from kwire.schema.fields import array, i8, i16, i16s, i32, i32s, i64, nullable_struct, string, strings, u16
from kwire.schema.logs.base import RecordKey, RecordValue
from kwire.schema.messages import Struct

__all__ = [
    "StreamsGroupCurrentMemberAssignmentKey",
    "StreamsGroupCurrentMemberAssignmentValue",
    "StreamsGroupMemberMetadataKey",
    "StreamsGroupMemberMetadataValue",
    "StreamsGroupMetadataKey",
    "StreamsGroupMetadataValue",
    "StreamsGroupTargetAssignmentMemberKey",
    "StreamsGroupTargetAssignmentMemberValue",
    "StreamsGroupTargetAssignmentMetadataKey",
    "StreamsGroupTargetAssignmentMetadataValue",
    "StreamsGroupTopologyKey",
    "StreamsGroupTopologyValue",
]


class StreamsGroupMetadataKey(RecordKey, key=17, versions="0"):
    """Type 17: which group."""

    group_id: str = string("0", default="")


class StreamsGroupMetadataValue(RecordValue, key=17, versions="0", flexible="0+"):
    """The epoch of the group, a hash of its topics, and which topology was last found in order."""

    class LastAssignmentConfig(Struct):
        key: str = string("0+", default="")
        value: str = string("0+", default="")

    epoch: int = i32("0+", default=0)
    metadata_hash: int = i64("0+", default=0)
    validated_topology_epoch: int = i32("0+", default=-1, tag=0)
    last_assignment_configs: Sequence[LastAssignmentConfig] | None = array(
        LastAssignmentConfig, "0+", default=(), nullable="0+", tag=1
    )
    stored_description_topology_epoch: int = i32("0+", default=-1, tag=2)
    failed_description_topology_epoch: int = i32("0+", default=-1, tag=3)


class StreamsGroupMemberMetadataKey(RecordKey, key=19, versions="0"):
    """Type 19: which member of which group."""

    group_id: str = string("0", default="")
    member_id: str = string("0", default="")


class StreamsGroupMemberMetadataValue(RecordValue, key=19, versions="0", flexible="0+"):
    """A member: who it is and where its state can be asked for."""

    class Endpoint(Struct):
        host: str = string("0+", default="")
        port: int = u16("0+", default=0)

    class KeyValue(Struct):
        key: str = string("0+", default="")
        value: str = string("0+", default="")

    instance_id: str | None = string("0+", default="", nullable="0+")
    rack_id: str | None = string("0+", default="", nullable="0+")
    client_id: str = string("0+", default="")
    client_host: str = string("0+", default="")
    rebalance_timeout_ms: int = i32("0+", default=-1)
    topology_epoch: int = i32("0+", default=0)
    process_id: str = string("0+", default="")
    user_endpoint: Endpoint | None = nullable_struct(Endpoint, "0+", default=None, nullable="0+")
    client_tags: Sequence[KeyValue] = array(KeyValue, "0+", default=())


class StreamsGroupTargetAssignmentMetadataKey(RecordKey, key=20, versions="0"):
    """Type 20: which group."""

    group_id: str = string("0", default="")


class StreamsGroupTargetAssignmentMetadataValue(RecordValue, key=20, versions="0", flexible="0+"):
    """The epoch that the target assignment was made for."""

    assignment_epoch: int = i32("0+", default=0)
    assignment_timestamp: int = i64("0+", default=0, tag=0, ignorable=True)


class StreamsGroupTargetAssignmentMemberKey(RecordKey, key=21, versions="0"):
    """Type 21: which member of which group."""

    group_id: str = string("0", default="")
    member_id: str = string("0", default="")


class StreamsGroupTargetAssignmentMemberValue(RecordValue, key=21, versions="0", flexible="0+"):
    """The tasks that the member is to own in the end."""

    class TaskIds(Struct):
        subtopology_id: str = string("0+", default="")
        partitions: Sequence[int] = i32s("0+", default=())

    active_tasks: Sequence[TaskIds] = array(TaskIds, "0+", default=())
    standby_tasks: Sequence[TaskIds] = array(TaskIds, "0+", default=())
    warmup_tasks: Sequence[TaskIds] = array(TaskIds, "0+", default=())


class StreamsGroupCurrentMemberAssignmentKey(RecordKey, key=22, versions="0"):
    """Type 22: which member of which group."""

    group_id: str = string("0", default="")
    member_id: str = string("0", default="")


class StreamsGroupCurrentMemberAssignmentValue(RecordValue, key=22, versions="0", flexible="0+"):
    """The tasks that the member owns now, and those that it has to give up."""

    class TaskIds(Struct):
        subtopology_id: str = string("0+", default="")
        partitions: Sequence[int] = i32s("0+", default=())
        assignment_epochs: Sequence[int] | None = i32s("0+", default=(), nullable="0+", tag=0)

    member_epoch: int = i32("0+", default=0)
    previous_member_epoch: int = i32("0+", default=0)
    state: int = i8("0+", default=0)
    active_tasks: Sequence[TaskIds] = array(TaskIds, "0+", default=())
    standby_tasks: Sequence[TaskIds] = array(TaskIds, "0+", default=())
    warmup_tasks: Sequence[TaskIds] = array(TaskIds, "0+", default=())
    active_tasks_pending_revocation: Sequence[TaskIds] = array(TaskIds, "0+", default=())
    standby_tasks_pending_revocation: Sequence[TaskIds] = array(TaskIds, "0+", default=())
    warmup_tasks_pending_revocation: Sequence[TaskIds] = array(TaskIds, "0+", default=())


class StreamsGroupTopologyKey(RecordKey, key=23, versions="0"):
    """Type 23: which group."""

    group_id: str = string("0", default="")


class StreamsGroupTopologyValue(RecordValue, key=23, versions="0", flexible="0+"):
    """The topology that the members run."""

    class Subtopology(Struct):
        class TopicInfo(Struct):
            class TopicConfig(Struct):
                key: str = string("0+", default="")
                value: str = string("0+", default="")

            name: str = string("0+", default="")
            partitions: int = i32("0+", default=0)
            replication_factor: int = i16("0+", default=0)
            topic_configs: Sequence[TopicConfig] = array(TopicConfig, "0+", default=())

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
