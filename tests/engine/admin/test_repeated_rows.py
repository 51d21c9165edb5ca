"""A response that tells of one thing twice, or of more or fewer than were asked about: an error for those at fault."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from kwire import protocol
from kwire.engine.admin.a02_list_offsets import ListOffsets
from kwire.engine.admin.a03_metadata import DescribeTopicsById
from kwire.engine.admin.a13_leave_group import MemberToRemove, RemoveMembers
from kwire.engine.admin.a15_describe_groups import DescribeGroups
from kwire.engine.admin.a19_create_topics import CreateTopics, NewTopic
from kwire.engine.admin.a20_delete_topics import DeleteTopics
from kwire.engine.admin.a21_delete_records import DeleteRecords
from kwire.engine.admin.a30_create_acls import CreateAcls
from kwire.engine.admin.a31_delete_acls import DeleteAcls
from kwire.engine.admin.a32_describe_configs import DescribeConfigs
from kwire.engine.admin.a42_delete_groups import DeleteGroups
from kwire.engine.admin.a43_elect_leaders import ElectLeaders
from kwire.engine.admin.a45_alter_partition_reassignments import AlterPartitionReassignments
from kwire.engine.admin.a46_list_partition_reassignments import ListPartitionReassignments
from kwire.engine.admin.a49_alter_client_quotas import AlterClientQuotas
from kwire.engine.admin.a50_describe_user_scram_credentials import DescribeUserScramCredentials
from kwire.engine.admin.a65_describe_transactions import DescribeTransactions
from kwire.engine.admin.a69_consumer_group_describe import DescribeConsumerGroups
from kwire.engine.admin.access_results import AclBinding, AclFilter
from kwire.engine.admin.config_results import ConfigResource
from kwire.engine.admin.group_offsets import AlterGroupOffsets, DeleteGroupOffsets, ListGroupOffsets
from kwire.engine.calls.offsets import OffsetAndMetadata
from kwire.engine.common.addresses import TopicPartition
from kwire.errors import KafkaError
from kwire.schema.error_codes import GROUP_AUTHORIZATION_FAILED

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
A, B = UUID(int=1), UUID(int=2)
ANN, BOB = (("user", "ann"),), (("user", "bob"),)
TOPICS = ConfigResource("topic", "a"), ConfigResource("topic", "b")


def named(row: Any, field: str) -> list[Any]:
    """Rows of two things, of which the first comes once more, refused."""
    return [row(**{field: "a"}), row(**{field: "b"}), row(**{field: "a", "error_code": GROUP_AUTHORIZATION_FAILED})]


def numbered(row: Any, field: str = "partition_index") -> list[Any]:
    return [row(**{field: 0}), row(**{field: 1}), row(**{field: 0})]


def cases() -> dict[str, tuple[Any, tuple[Any, Any], Any, int]]:
    """By the name of the call: it, the keys asked about, the response and its version."""
    quota = protocol.AlterClientQuotasResponse.EntryData
    part = quota.EntityData
    elected = protocol.ElectLeadersResponse.ReplicaElectionResult
    listed = protocol.ListOffsetsResponse.ListOffsetsTopicResponse
    cut = protocol.DeleteRecordsResponse.DeleteRecordsTopicResult
    moved = protocol.AlterPartitionReassignmentsResponse.ReassignableTopicResponse
    return {
        "list offsets": (
            ListOffsets({T0: 0, T1: 0}, isolation=0),
            (T0, T1),
            protocol.ListOffsetsResponse(
                topics=[listed(name="t", partitions=numbered(listed.ListOffsetsPartitionResponse))]
            ),
            7,
        ),
        "describe topics": (
            DescribeTopicsById([A, B]),
            (A, B),
            protocol.MetadataResponse(
                topics=[protocol.MetadataResponse.MetadataResponseTopic(topic_id=each, name="x") for each in (A, B, A)]
            ),
            12,
        ),
        "describe groups": (
            DescribeGroups(["a", "b"]),
            ("a", "b"),
            protocol.DescribeGroupsResponse(groups=named(protocol.DescribeGroupsResponse.DescribedGroup, "group_id")),
            5,
        ),
        "describe consumer groups": (
            DescribeConsumerGroups(["a", "b"]),
            ("a", "b"),
            protocol.ConsumerGroupDescribeResponse(
                groups=named(protocol.ConsumerGroupDescribeResponse.DescribedGroup, "group_id")
            ),
            1,
        ),
        "describe transactions": (
            DescribeTransactions(["a", "b"]),
            ("a", "b"),
            protocol.DescribeTransactionsResponse(
                transaction_states=named(protocol.DescribeTransactionsResponse.TransactionState, "transactional_id")
            ),
            0,
        ),
        "create topics": (
            CreateTopics({"a": NewTopic(1), "b": NewTopic(1)}),
            ("a", "b"),
            protocol.CreateTopicsResponse(topics=named(protocol.CreateTopicsResponse.CreatableTopicResult, "name")),
            7,
        ),
        "delete topics": (
            DeleteTopics(["a", "b"]),
            ("a", "b"),
            protocol.DeleteTopicsResponse(responses=named(protocol.DeleteTopicsResponse.DeletableTopicResult, "name")),
            6,
        ),
        "delete groups": (
            DeleteGroups(["a", "b"]),
            ("a", "b"),
            protocol.DeleteGroupsResponse(
                results=named(protocol.DeleteGroupsResponse.DeletableGroupResult, "group_id")
            ),
            2,
        ),
        "delete records": (
            DeleteRecords({T0: 0, T1: 0}),
            (T0, T1),
            protocol.DeleteRecordsResponse(
                topics=[cut(name="t", partitions=numbered(cut.DeleteRecordsPartitionResult))]
            ),
            2,
        ),
        "elect leaders": (
            ElectLeaders(0, [T0, T1]),
            (T0, T1),
            protocol.ElectLeadersResponse(
                replica_election_results=[
                    elected(topic="t", partition_result=numbered(elected.PartitionResult, "partition_id"))
                ]
            ),
            2,
        ),
        "reassign": (
            AlterPartitionReassignments({T0: [1], T1: [1]}, may_change_factor=True),
            (T0, T1),
            protocol.AlterPartitionReassignmentsResponse(
                responses=[moved(name="t", partitions=numbered(moved.ReassignablePartitionResponse))]
            ),
            1,
        ),
        "alter quotas": (
            AlterClientQuotas({ANN: {}, BOB: {}}, validate_only=False),
            (ANN, BOB),
            protocol.AlterClientQuotasResponse(
                entries=[quota(entity=[part(entity_type="user", entity_name=name)]) for name in ("ann", "bob", "ann")]
            ),
            1,
        ),
        "describe users": (
            DescribeUserScramCredentials(["a", "b"]),
            ("a", "b"),
            protocol.DescribeUserScramCredentialsResponse(
                results=named(protocol.DescribeUserScramCredentialsResponse.DescribeUserScramCredentialsResult, "user")
            ),
            0,
        ),
        "describe configs": (
            DescribeConfigs(dict.fromkeys(TOPICS), include_synonyms=False, include_documentation=False),
            TOPICS,
            protocol.DescribeConfigsResponse(
                results=[
                    protocol.DescribeConfigsResponse.DescribeConfigsResult(resource_type=2, resource_name=name)
                    for name in ("a", "b", "a")
                ]
            ),
            4,
        ),
    }


@pytest.mark.parametrize("name", cases())
def test_what_is_told_twice_is_an_error_and_nothing_else_is(name: str) -> None:
    api, (twice, once), response, version = cases()[name]
    found = api.result([twice, once], response, version)
    assert isinstance(found[twice], KafkaError)
    assert "several entries for" in str(found[twice])
    assert not isinstance(found[once], KafkaError)


def test_a_member_that_is_told_of_twice_fails() -> None:
    made = protocol.LeaveGroupResponse
    api = RemoveMembers("g", [MemberToRemove("a"), MemberToRemove("b")], "r")
    members = [made.MemberResponse(group_instance_id=name) for name in ("a", "b", "a")]
    with pytest.raises(KafkaError, match="several entries for 'a'") as raised:
        api.result(["g"], made(members=members), 5)
    assert list(raised.value.failures) == ["a"]


def test_a_partition_of_a_group_that_is_told_of_twice_fails() -> None:
    offsets = {T0: OffsetAndMetadata(1), T1: OffsetAndMetadata(1)}
    committed = protocol.OffsetCommitResponse.OffsetCommitResponseTopic
    deleted = protocol.OffsetDeleteResponse.OffsetDeleteResponseTopic
    fetched = protocol.OffsetFetchResponse.OffsetFetchResponseTopic
    calls: list[tuple[Any, Any, int]] = [
        (
            AlterGroupOffsets("g", offsets),
            protocol.OffsetCommitResponse(
                topics=[committed(name="t", partitions=numbered(committed.OffsetCommitResponsePartition))]
            ),
            8,
        ),
        (
            DeleteGroupOffsets("g", [T0, T1]),
            protocol.OffsetDeleteResponse(
                topics=[deleted(name="t", partitions=numbered(deleted.OffsetDeleteResponsePartition))]
            ),
            0,
        ),
    ]
    for api, response, version in calls:
        with pytest.raises(KafkaError, match="several entries for") as raised:
            api.result(["g"], response, version)
        assert list(raised.value.failures) == [T0]
    response = protocol.OffsetFetchResponse(
        topics=[fetched(name="t", partitions=numbered(fetched.OffsetFetchResponsePartition))]
    )
    found = ListGroupOffsets({"g": [T0, T1]}, stable=False).result(["g"], response, 5)["g"]
    assert isinstance(found, KafkaError)
    assert list(found.failures) == [T0]


def test_a_reassignment_that_is_listed_twice_is_no_list() -> None:
    made = protocol.ListPartitionReassignmentsResponse.OngoingTopicReassignment
    topics = [made(name="t", partitions=numbered(made.OngoingPartitionReassignment))]
    with pytest.raises(KafkaError, match="several entries for"):
        ListPartitionReassignments(None).result([None], protocol.ListPartitionReassignmentsResponse(topics=topics), 0)


def test_acls_without_a_row_of_their_own_fail() -> None:
    acls = [AclBinding("topic", name, "literal", "User:b", "*", "read", "allow") for name in "ab"]
    made = protocol.CreateAclsResponse
    few, many = (made(results=[made.AclCreationResult() for _ in range(count)]) for count in (1, 3))
    assert CreateAcls(acls).result(acls, few, 3) == {acls[0]: None}, "the call says that the others have no entry"
    with pytest.raises(KafkaError, match="3 entries for 2 that were asked about"):
        CreateAcls(acls).result(acls, many, 3)
    filters = [AclFilter(name=name) for name in "ab"]
    row = protocol.DeleteAclsResponse.DeleteAclsFilterResult
    with pytest.raises(KafkaError, match="3 entries for 2 that were asked about"):
        DeleteAcls(filters).result(filters, protocol.DeleteAclsResponse(filter_results=[row() for _ in range(3)]), 3)


def test_a_member_with_an_assignment_that_cannot_be_read_fails_its_group_alone() -> None:
    made = protocol.DescribeGroupsResponse.DescribedGroup
    member = made.DescribedGroupMember(member_id="m", member_assignment=b"\x00\x01\xff")
    groups = [
        made(group_id="a", group_state="Stable", protocol_type="consumer", members=[member]),
        made(group_id="b", group_state="Stable", protocol_type="consumer"),
    ]
    found = DescribeGroups(["a", "b"]).result(["a", "b"], protocol.DescribeGroupsResponse(groups=groups), 5)
    assert isinstance(found["a"], KafkaError)
    assert "the assignment of member 'm' cannot be read" in str(found["a"])
    assert not isinstance(found["b"], KafkaError)


def test_of_all_users_the_error_has_that_of_each_that_failed() -> None:
    made = protocol.DescribeUserScramCredentialsResponse
    api = DescribeUserScramCredentials(None)
    rows = named(made.DescribeUserScramCredentialsResult, "user")[1:]
    with pytest.raises(KafkaError) as raised:
        api.result([None], made(results=rows), 0)
    outer = KafkaError("of the call")
    outer.failures = {None: raised.value}
    assert list(api.explain(outer).failures) == ["a"]
