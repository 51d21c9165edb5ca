"""What Admin returns about groups of Kafka Streams. Layer 3: values only."""

from __future__ import annotations

from collections.abc import Mapping

from kwire._typing import NamedTuple
from kwire.engine.common.addresses import Address
from kwire.engine.common.notebooks import in_notebooks


@in_notebooks
class TaskId(NamedTuple):
    """A task: one partition of what a subtopology reads."""

    subtopology_id: str
    partition: int

    def __str__(self) -> str:
        return f"{self.subtopology_id}_{self.partition}"


@in_notebooks
class StreamsMemberAssignment(NamedTuple):
    """The tasks of a member: those that it runs, those whose state it copies, and those that it prepares to run."""

    active_tasks: tuple[TaskId, ...]
    standby_tasks: tuple[TaskId, ...]
    warmup_tasks: tuple[TaskId, ...]


@in_notebooks
class StreamsMemberDescription(NamedTuple):
    """One member: a thread of the process `process_id`, with its tasks, and the `target` that it shall have.
    `user_endpoint` is where it answers interactive queries, `task_offsets` how far the state of its tasks is restored.
    """

    member_id: str
    group_instance_id: str | None
    client_id: str
    host: str
    process_id: str
    assignment: StreamsMemberAssignment
    target: StreamsMemberAssignment
    epoch: int
    topology_epoch: int
    user_endpoint: Address | None
    client_tags: Mapping[str, str]
    task_offsets: Mapping[TaskId, int]
    task_end_offsets: Mapping[TaskId, int]
    rack_id: str | None
    is_classic: bool


@in_notebooks
class StreamsTopicInfo(NamedTuple):
    """An internal topic of an application as it has to be; 0 partitions: as many as there are tasks."""

    partitions: int
    replication_factor: int
    configs: Mapping[str, str]


@in_notebooks
class StreamsSubtopology(NamedTuple):
    """A part of an application that shares no data with the others but through topics."""

    subtopology_id: str
    source_topics: tuple[str, ...]
    repartition_sink_topics: tuple[str, ...]
    repartition_source_topics: Mapping[str, StreamsTopicInfo]
    state_changelog_topics: Mapping[str, StreamsTopicInfo]


@in_notebooks
class TopologyNode(NamedTuple):
    """A `type` of "source", "processor" or "sink", with the nodes that get its records."""

    name: str
    type: str
    source_topics: tuple[str, ...]
    sink_topic: str | None
    stores: tuple[str, ...]
    successors: tuple[str, ...]


@in_notebooks
class TopologyDescription(NamedTuple):
    """The nodes of each subtopology, and the source and processor of each global store."""

    subtopologies: Mapping[str, tuple[TopologyNode, ...]]
    global_stores: tuple[tuple[TopologyNode, TopologyNode], ...]


@in_notebooks
class StreamsGroupDescription(NamedTuple):
    """One group with its members. `target_epoch` is that of the newest assignment; `topology_epoch` is None while the
    group has no topology; `assignor` is "" before Kafka 4.4.

    `authorized_operations` ("read", "delete" ...) is None unless asked for, as is `topology_description`, of which
    `topology_description_status` says "not_requested", "not_stored", "error" or "available".
    """

    group_id: str
    state: str
    assignor: str
    members: tuple[StreamsMemberDescription, ...]
    epoch: int
    target_epoch: int
    topology_epoch: int | None
    subtopologies: tuple[StreamsSubtopology, ...]
    authorized_operations: frozenset[str] | None
    topology_description: TopologyDescription | None
    topology_description_status: str
