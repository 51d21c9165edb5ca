"""What responses about replicas become: those that no embedded broker gives."""

from __future__ import annotations

import pytest

from kwire import errors, protocol
from kwire.engine.admin.a34_alter_replica_log_dirs import AlterReplicaLogDirs
from kwire.engine.admin.a35_describe_log_dirs import DescribeLogDirs, DescribeReplicaLogDirs
from kwire.engine.admin.a43_elect_leaders import PREFERRED, ElectAllLeaders, ElectLeaders
from kwire.engine.admin.a45_alter_partition_reassignments import AlterPartitionReassignments
from kwire.engine.admin.a46_list_partition_reassignments import ListPartitionReassignments
from kwire.engine.admin.replica_results import PartitionReassignment, ReplicaLogDirInfo, TopicPartitionReplica
from kwire.engine.common.addresses import TopicPartition
from kwire.schema.error_codes import (
    CLUSTER_AUTHORIZATION_FAILED,
    ELECTION_NOT_NEEDED,
    KAFKA_STORAGE_ERROR,
    NOT_CONTROLLER,
    UNKNOWN_SERVER_ERROR,
)

T0 = TopicPartition("t", 0)
REPLICA = TopicPartitionReplica("t", 0, 1)


def directory(path: str, *, code: int = 0, future: bool = False, lag: int = 0) -> object:
    made = protocol.DescribeLogDirsResponse.DescribeLogDirsResult
    topic = made.DescribeLogDirsTopic
    row = topic.DescribeLogDirsPartition(partition_size=7, offset_lag=lag, is_future_key=future)
    return made(
        error_code=code, log_dir=path, topics=[] if code else [topic(name="t", partitions=[row])], total_bytes=100
    )


def log_dirs(*rows: object, code: int = 0) -> protocol.DescribeLogDirsResponse:
    return protocol.DescribeLogDirsResponse(error_code=code, results=rows)


def test_a_replica_that_is_being_moved_is_in_two_directories() -> None:
    response = log_dirs(directory("/a"), directory("/b", future=True, lag=3), directory("/c", code=KAFKA_STORAGE_ERROR))
    found = DescribeReplicaLogDirs([REPLICA]).result([REPLICA], response, 4)
    assert found == {REPLICA: ReplicaLogDirInfo("/a", 0, "/b", 3)}
    described = DescribeLogDirs([1]).result([1], response, 4)[1]
    assert isinstance(described, dict)
    assert described["/b"].replicas[T0] == (7, 3, True)
    assert (described["/a"].total_bytes, described["/a"].usable_bytes) == (100, None)
    assert described["/c"].replicas == {}
    assert str(described["/c"].error).startswith("log directory '/c' of broker 1: KAFKA_STORAGE_ERROR")


def test_a_directory_that_cannot_be_described_fails_the_question_where_a_replica_is() -> None:
    with pytest.raises(errors.broker.UNKNOWN_SERVER_ERROR, match="log directory '/c' of broker 1"):
        DescribeReplicaLogDirs([REPLICA]).result([REPLICA], log_dirs(directory("/c", code=UNKNOWN_SERVER_ERROR)), 4)


@pytest.mark.parametrize("response", [log_dirs(), log_dirs(code=CLUSTER_AUTHORIZATION_FAILED)])
def test_no_directory_at_all_means_that_one_may_not_ask(response: protocol.DescribeLogDirsResponse) -> None:
    for api in (DescribeLogDirs([1]), DescribeReplicaLogDirs([REPLICA])):
        with pytest.raises(errors.broker.CLUSTER_AUTHORIZATION_FAILED, match="broker 1"):
            api.result([1 if isinstance(api, DescribeLogDirs) else REPLICA], response, 4)  # type: ignore[list-item]


def test_an_answer_about_a_replica_that_was_not_asked_about_is_no_answer() -> None:
    made = protocol.AlterReplicaLogDirsResponse.AlterReplicaLogDirTopicResult
    row = made.AlterReplicaLogDirPartitionResult(partition_index=5, error_code=KAFKA_STORAGE_ERROR)
    response = protocol.AlterReplicaLogDirsResponse(results=[made(topic_name="other", partitions=[row])])
    assert REPLICA not in AlterReplicaLogDirs({REPLICA: "/a"}).result([REPLICA], response, 2)


def test_reassignments_in_progress_have_the_replicas_that_come_and_go() -> None:
    made = protocol.ListPartitionReassignmentsResponse.OngoingTopicReassignment
    row = made.OngoingPartitionReassignment(replicas=[1, 2, 3], adding_replicas=[3], removing_replicas=[1])
    response = protocol.ListPartitionReassignmentsResponse(topics=[made(name="t", partitions=[row])])
    found = ListPartitionReassignments(None).result([None], response, 0)
    assert found == {None: {T0: PartitionReassignment((1, 2, 3), (3,), (1,))}}
    assert repr(found[None][T0]) == (
        "PartitionReassignment(replicas=(1, 2, 3), adding_replicas=(3,), removing_replicas=(1,))"
    )


def test_the_text_of_the_controller_is_told() -> None:
    for api, response in (
        (ListPartitionReassignments([T0]), protocol.ListPartitionReassignmentsResponse),
        (AlterPartitionReassignments({T0: None}, may_change_factor=True), protocol.AlterPartitionReassignmentsResponse),
    ):
        with pytest.raises(errors.broker.NOT_CONTROLLER, match="PartitionReassignments: it is 2"):
            api.result([T0], response(error_code=NOT_CONTROLLER, error_message="it is 2"), 0)  # type: ignore[list-item]


def elections(*codes: int) -> protocol.ElectLeadersResponse:
    made = protocol.ElectLeadersResponse.ReplicaElectionResult
    rows = [made.PartitionResult(partition_id=number, error_code=code) for number, code in enumerate(codes)]
    return protocol.ElectLeadersResponse(replica_election_results=[made(topic="t", partition_result=rows)])


def test_an_election_that_was_not_needed_is_no_failure() -> None:
    found = ElectLeaders(PREFERRED, [T0]).result([T0], elections(0, ELECTION_NOT_NEEDED), 2)
    assert found == {T0: True, TopicPartition("t", 1): False}
    every = ElectAllLeaders(PREFERRED).result([None], elections(0, ELECTION_NOT_NEEDED), 2)
    assert every == {None: {T0: True}}


def test_elections_of_all_that_fail_are_named() -> None:
    with pytest.raises(errors.broker.UNKNOWN_SERVER_ERROR) as raised:
        ElectAllLeaders(PREFERRED).result([None], elections(0, UNKNOWN_SERVER_ERROR), 2)
    assert list(raised.value.failures) == [TopicPartition("t", 1)]
    assert raised.value.results == {T0: True}
