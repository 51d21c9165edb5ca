"""What Admin asks of brokers about groups of Kafka Streams, and what it makes of their answers."""

from __future__ import annotations

from typing import Any, cast

from kwire import errors, protocol
from kwire.admin import StreamsMemberAssignment, StreamsTopicInfo, TaskId, TopologyNode
from kwire.engine.admin.a89_streams_group_describe import DescribeStreamsGroups

Response = protocol.StreamsGroupDescribeResponse
Row = Response.DescribedGroup
Member = Row.Member
Topology = Row.Topology
KeyValue = Response.KeyValue
Node = Response.TopologyDescriptionNode
NO_CORE = cast("Any", None)


def described(*rows: Row, version: int = 1) -> Any:
    """The results of an answer that has been through the wire."""
    response = Response.decode(Response(groups=list(rows)).encode(version), version)
    api = DescribeStreamsGroups([row.group_id for row in rows], operations=True, topology=True)
    return api.result([row.group_id for row in rows], response, version)


def test_a_group_is_described_with_its_topology_and_the_tasks_of_its_members() -> None:
    tasks = Member.Assignment.TaskIds
    member = Member(
        member_id="m",
        instance_id="i",
        rack_id="r",
        client_id="c",
        client_host="/h",
        member_epoch=3,
        topology_epoch=1,
        process_id="p",
        user_endpoint=Member.Endpoint(host="query", port=9),
        client_tags=[KeyValue(key="zone", value="z")],
        task_offsets=[Member.TaskOffset(subtopology_id="0", partition=1, offset=5)],
        task_end_offsets=[Member.TaskOffset(subtopology_id="0", partition=1, offset=8)],
        assignment=Member.Assignment(active_tasks=[tasks(subtopology_id="0", partitions=[0, 1])]),
        target_assignment=Member.Assignment(standby_tasks=[tasks(subtopology_id="0", partitions=[1])]),
    )
    subtopology = Topology.Subtopology(
        subtopology_id="0",
        source_topics=["in"],
        repartition_sink_topics=["again"],
        state_changelog_topics=[
            Topology.Subtopology.TopicInfo(
                name="log", partitions=2, replication_factor=1, topic_configs=[KeyValue(key="k", value="v")]
            )
        ],
    )
    nodes = [
        Node(name="read", node_type=1, source_topics=["in"], successors=["count"]),
        Node(name="count", node_type=2, stores=["counts"]),
        Node(name="odd", node_type=9),
    ]
    description = Row.TopologyDescription(
        subtopologies=[Row.TopologyDescription.TopologyDescriptionSubtopology(subtopology_id="0", nodes=nodes)],
        global_stores=[Row.TopologyDescription.TopologyDescriptionGlobalStore(source=nodes[0], processor=nodes[1])],
    )
    group = described(
        Row(
            group_id="g",
            group_state="Stable",
            group_epoch=3,
            assignment_epoch=2,
            assignor_name="sticky",
            topology=Topology(epoch=1, subtopologies=[subtopology]),
            members=[member],
            authorized_operations=1 << 8,
            topology_description=description,
            topology_description_status=3,
        )
    )["g"]
    assert (group.state, group.assignor, group.epoch, group.target_epoch) == ("Stable", "sticky", 3, 2)
    assert (group.topology_epoch, group.authorized_operations) == (1, {"describe"})
    [found] = group.subtopologies
    assert (found.subtopology_id, found.source_topics, found.repartition_sink_topics) == ("0", ("in",), ("again",))
    assert found.state_changelog_topics == {"log": StreamsTopicInfo(2, 1, {"k": "v"})}
    [one] = group.members
    both = TaskId("0", 0), TaskId("0", 1)
    assert (one.member_id, one.group_instance_id, one.rack_id, one.epoch, one.process_id) == ("m", "i", "r", 3, "p")
    assert one.assignment == StreamsMemberAssignment(both, (), ())
    assert one.target == StreamsMemberAssignment((), both[1:], ())
    assert (one.user_endpoint, one.client_tags) == (("query", 9), {"zone": "z"})
    assert (one.task_offsets, one.task_end_offsets) == ({both[1]: 5}, {both[1]: 8})
    assert str(both[1]) == "0_1"
    read = TopologyNode("read", "source", ("in",), None, (), ("count",))
    count = TopologyNode("count", "processor", (), None, ("counts",), ())
    assert group.topology_description.subtopologies["0"][:2] == (read, count)
    assert group.topology_description.subtopologies["0"][2].type == "unknown"
    assert group.topology_description.global_stores == ((read, count),)
    assert group.topology_description_status == "available"


def test_a_group_without_a_topology_has_none() -> None:
    group = described(Row(group_id="g", group_state="Empty"))["g"]
    assert (group.topology_epoch, group.subtopologies, group.members) == (None, (), ())
    assert (group.topology_description, group.topology_description_status) == (None, "not_requested")
    assert group.authorized_operations is None


def test_version_0_tells_neither_the_assignor_nor_the_nodes() -> None:
    group = described(Row(group_id="g", group_state="Empty"), version=0)["g"]
    assert (group.assignor, group.topology_description_status) == ("", "not_requested")


def test_the_error_of_a_group_is_told_in_the_brokers_words() -> None:
    error = described(Row(group_id="g", error_code=69, error_message="no streams group"))["g"]
    assert isinstance(error, errors.broker.GroupIdNotFoundError)
    assert "streams group 'g': no streams group" in str(error)


def test_the_nodes_of_a_topology_are_asked_for_where_brokers_have_them() -> None:
    whole = DescribeStreamsGroups(["g"], operations=True, topology=True)
    assert whole.versions == range(1, 2)
    asked = whole.request(NO_CORE, ["g"], 1)
    assert (asked.include_authorized_operations, asked.include_topology_description) == (True, True)
    assert DescribeStreamsGroups(["g"], operations=False, topology=False).versions is None
