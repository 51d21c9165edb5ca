"""StreamsGroupDescribe: groups of Kafka Streams (KIP-1071), each asked of its coordinator. Layer 3, no I/O."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from kwire import errors, protocol
from kwire._typing import TYPE_CHECKING, override
from kwire.engine.admin.authorized_operations import names_in
from kwire.engine.admin.groups_api import GroupsApi, explained
from kwire.engine.admin.streams_group_results import (
    StreamsGroupDescription,
    StreamsMemberAssignment,
    StreamsMemberDescription,
    StreamsSubtopology,
    StreamsTopicInfo,
    TaskId,
    TopologyDescription,
    TopologyNode,
)
from kwire.engine.calls.rows import by_key
from kwire.engine.common.addresses import Address
from kwire.errors import KafkaError
from kwire.schema.api_keys import STREAMS_GROUP_DESCRIBE

if TYPE_CHECKING:
    from kwire.engine.ports import Services
    from kwire.schema.k89_streams_group_describe import _TopologyDescriptionNode as Node

    Row = protocol.StreamsGroupDescribeResponse.DescribedGroup
    Member = Row.Member
    Topic = Row.Topology.Subtopology.TopicInfo

_VERSIONS_WITH_DESCRIPTION = range(1, 2)
_NODE_TYPES = {1: "source", 2: "processor", 3: "sink"}
_STATUSES = {0: "not_requested", 1: "not_stored", 2: "error", 3: "available"}
_UNKNOWN = "unknown"


class DescribeStreamsGroups(GroupsApi[StreamsGroupDescription]):
    """{group id: StreamsGroupDescription}; with `topology`, also the nodes of each topology."""

    api_key = STREAMS_GROUP_DESCRIBE

    def __init__(self, groups: Sequence[str], *, operations: bool, topology: bool) -> None:
        super().__init__(groups)
        self._operations = operations
        self._topology = topology
        if topology:
            self.versions = _VERSIONS_WITH_DESCRIPTION

    @override
    def request(self, core: Services, keys: Sequence[str], version: int) -> protocol.StreamsGroupDescribeRequest:
        return protocol.StreamsGroupDescribeRequest(
            group_ids=list(keys),
            include_authorized_operations=self._operations,
            include_topology_description=self._topology,
        )

    @override
    def result(
        self, keys: Sequence[str], response: protocol.StreamsGroupDescribeResponse, version: int
    ) -> Mapping[str, StreamsGroupDescription | KafkaError]:
        return by_key(((row.group_id, _described(row)) for row in response.groups), self.what)

    @override
    def explain(self, error: KafkaError) -> KafkaError:
        if self._topology:
            return explained(error, "include_topology_description needs Kafka 4.4 or newer")
        return explained(error, "streams groups need Kafka 4.1 or newer, which has them in preview until 4.2")


def _described(row: Row) -> StreamsGroupDescription | KafkaError:
    if row.error_code:
        text = f"streams group {row.group_id!r}" + (f": {row.error_message}" if row.error_message else "")
        return errors.broker.error_for(row.error_code, text)
    topology = row.topology
    return StreamsGroupDescription(
        row.group_id,
        row.group_state,
        row.assignor_name or "",
        tuple(map(_member, row.members)),
        row.group_epoch,
        row.assignment_epoch,
        None if topology is None else topology.epoch,
        () if topology is None else tuple(map(_subtopology, topology.subtopologies or ())),
        names_in(row.authorized_operations),
        None if row.topology_description is None else _description(row.topology_description),
        _STATUSES.get(row.topology_description_status, _UNKNOWN),
    )


def _member(row: Member) -> StreamsMemberDescription:
    endpoint = row.user_endpoint
    return StreamsMemberDescription(
        row.member_id,
        row.instance_id,
        row.client_id,
        row.client_host,
        row.process_id,
        _assignment(row.assignment),
        _assignment(row.target_assignment),
        row.member_epoch,
        row.topology_epoch,
        None if endpoint is None else Address(endpoint.host, endpoint.port),
        {tag.key: tag.value for tag in row.client_tags},
        _offsets(row.task_offsets),
        _offsets(row.task_end_offsets),
        row.rack_id,
        row.is_classic,
    )


def _assignment(row: Member.Assignment) -> StreamsMemberAssignment:
    return StreamsMemberAssignment(_tasks(row.active_tasks), _tasks(row.standby_tasks), _tasks(row.warmup_tasks))


def _tasks(rows: Iterable[Member.Assignment.TaskIds]) -> tuple[TaskId, ...]:
    return tuple(TaskId(row.subtopology_id, partition) for row in rows for partition in row.partitions)


def _offsets(rows: Iterable[Member.TaskOffset]) -> dict[TaskId, int]:
    return {TaskId(row.subtopology_id, row.partition): row.offset for row in rows}


def _subtopology(row: Row.Topology.Subtopology) -> StreamsSubtopology:
    return StreamsSubtopology(
        row.subtopology_id,
        tuple(row.source_topics),
        tuple(row.repartition_sink_topics),
        _topics(row.repartition_source_topics),
        _topics(row.state_changelog_topics),
    )


def _topics(rows: Iterable[Topic]) -> dict[str, StreamsTopicInfo]:
    return {
        row.name: StreamsTopicInfo(
            row.partitions, row.replication_factor, {each.key: each.value for each in row.topic_configs}
        )
        for row in rows
    }


def _description(row: Row.TopologyDescription) -> TopologyDescription:
    return TopologyDescription(
        {each.subtopology_id: tuple(map(_node, each.nodes)) for each in row.subtopologies},
        tuple((_node(store.source), _node(store.processor)) for store in row.global_stores),
    )


def _node(row: Node) -> TopologyNode:
    return TopologyNode(
        row.name,
        _NODE_TYPES.get(row.node_type, _UNKNOWN),
        tuple(row.source_topics),
        row.sink_topic,
        tuple(row.stores),
        tuple(row.successors),
    )
