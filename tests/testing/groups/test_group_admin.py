"""Groups described, listed, deleted, and robbed of offsets, on the embedded broker; and who may do what with them."""

from __future__ import annotations

from typing import Any

import pytest

from kwire.errors import broker as codes
from kwire.protocol import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupHeartbeatRequest,
    DeleteGroupsRequest,
    DescribeGroupsRequest,
    ListGroupsRequest,
    ShareGroupHeartbeatRequest,
)
from tests.testing.groups.requests import commit, delete_offsets, fetch_offsets, find_coordinator, heartbeat, join
from tests.testing.groups.test_classic_groups import Group
from tests.testing.groups.test_consumer_groups import Member, settle
from tests.testing.in_process import InProcess


def described(group: Group, name: str = "g", version: int = 6, **options: Any) -> Any:
    return group.ask(DescribeGroupsRequest(groups=[name], **options), version).groups[0]


def listed(group: Group, **filters: Any) -> dict[str, tuple[str, str, str]]:
    answer = group.ask(ListGroupsRequest(**filters), 5)
    return {each.group_id: (each.protocol_type, each.group_state, each.group_type) for each in answer.groups}


def test_a_stable_group_is_described_with_metadata_and_assignments() -> None:
    group = Group()
    leader, follower = group.stable(2)
    found = described(group)
    assert (found.group_state, found.protocol_type, found.protocol_data) == ("Stable", "consumer", "range")
    assert {each.member_id: each.member_assignment for each in found.members} == {
        leader: leader.encode(),
        follower: follower.encode(),
    }
    assert all(each.member_metadata and each.client_host == "/127.0.0.1" for each in found.members)


def test_a_group_that_rebalances_is_described_without_them() -> None:
    group = Group()
    group.ask(join(), 3)
    found = described(group)
    assert (found.group_state, found.protocol_data) == ("CompletingRebalance", "")
    assert [each.member_metadata for each in found.members] == [b""]


def test_a_missing_group_is_dead_and_an_error_only_from_version_6_on() -> None:
    group = Group()
    assert (described(group, version=5).group_state, described(group, version=5).error_code) == ("Dead", 0)
    assert described(group).error_code == codes.GROUP_ID_NOT_FOUND.code


def test_groups_are_listed_by_state_and_type() -> None:
    group = Group()
    group.broker.ask(commit({("orders", 0): 1}, group="simple"), 9)
    Member(group, "a")
    assert listed(group) == {"simple": ("", "Empty", "classic"), "g": ("consumer", "Stable", "consumer")}
    assert set(listed(group, states_filter=["stable"])) == {"g"}
    assert set(listed(group, types_filter=["Classic"])) == {"simple"}
    assert listed(group, states_filter=["nonsense"]) == {}


def test_a_consumer_group_is_described_with_its_epochs() -> None:
    group = Group()
    members = [Member(group, name) for name in "ab"]
    settle(*members)
    [found] = group.ask(ConsumerGroupDescribeRequest(group_ids=["g"]), 1).groups
    assert (found.group_state, found.group_epoch, found.assignment_epoch) == ("Stable", 3, 3)
    assert found.assignor_name == "uniform"
    assert [each.member_epoch for each in found.members] == [3, 3]
    assigned = [index for each in found.members for index in each.assignment.topic_partitions[0].partitions]
    assert sorted(assigned) == [0, 1, 2, 3]
    assert found.members[0].target_assignment == found.members[0].assignment
    missing = group.ask(ConsumerGroupDescribeRequest(group_ids=["none"]), 1).groups[0]
    assert missing.error_code == codes.GROUP_ID_NOT_FOUND.code
    group.broker.cluster.authorizer.deny("describe", "topic", "orders", None)
    [refused] = group.ask(ConsumerGroupDescribeRequest(group_ids=["g"]), 1).groups
    assert (refused.error_code, refused.members) == (codes.TOPIC_AUTHORIZATION_FAILED.code, ())


def test_only_empty_groups_are_deleted() -> None:
    group = Group()
    [member] = group.stable()

    def delete() -> int:
        code: int = group.ask(DeleteGroupsRequest(groups_names=["g"]), 3).results[0].error_code
        return code

    assert delete() == codes.NON_EMPTY_GROUP.code
    group.pass_time(60)
    assert delete() == 0
    assert delete() == codes.GROUP_ID_NOT_FOUND.code
    assert group.ask(heartbeat(member, 1), 4).error_code == codes.UNKNOWN_MEMBER_ID.code


def test_offsets_are_deleted_where_nobody_reads() -> None:
    group = Group()
    group.broker.cluster.create_topic("other", 1)
    group.ask(commit({("orders", 0): 1, ("other", 0): 2}), 9)
    group.stable()
    answer = group.ask(delete_offsets({"orders": [0, 9], "other": [0]}), 0)
    assert [[each.error_code for each in topic.partitions] for topic in answer.topics] == [
        [codes.GROUP_SUBSCRIBED_TO_TOPIC.code, codes.UNKNOWN_TOPIC_OR_PARTITION.code],
        [0],
    ]
    left = group.ask(fetch_offsets(9, None), 9).groups[0].topics
    assert [topic.name for topic in left] == ["orders"]
    assert group.ask(delete_offsets({"other": [0]}, group="none"), 0).error_code == codes.GROUP_ID_NOT_FOUND.code


@pytest.mark.parametrize(
    ("release", "features", "codes_"),
    [("3.9.2", {}, (35, None)), ("4.1.2", {}, (0, 35)), ("4.4.0", {"group.version": 0}, (35, 0))],
)
def test_what_is_switched_off_is_refused(
    release: str, features: dict[str, int], codes_: tuple[int, int | None]
) -> None:
    broker = InProcess(release, features=features)
    first = {"member_epoch": 0, "subscribed_topic_names": ["t"]}
    consumer = ConsumerGroupHeartbeatRequest(
        group_id="g", member_id="m", rebalance_timeout_ms=1000, topic_partitions=[], **first
    )
    assert broker.ask(consumer, 0).error_code == codes_[0]
    if codes_[1] is not None:
        share = ShareGroupHeartbeatRequest(group_id="s", member_id="m", **first)
        assert broker.ask(share, 1).error_code == codes_[1]


@pytest.mark.parametrize("operation", ["read", "describe"])
def test_groups_may_be_denied(operation: str) -> None:
    group = Group()
    group.stable()
    group.broker.cluster.authorizer.deny(operation, "group", "g", None)
    refused = codes.GROUP_AUTHORIZATION_FAILED.code
    if operation == "read":
        assert group.ask(join(), 9).error_code == refused
        assert group.ask(heartbeat("m", 1), 4).error_code == refused
        assert group.ask(commit({("orders", 0): 1}), 9).topics[0].partitions[0].error_code == refused
        assert Member(group, "a").error == refused
    else:
        assert group.ask(find_coordinator(6, "g"), 6).coordinators[0].error_code == refused
        assert group.ask(fetch_offsets(9, None), 9).groups[0].error_code == refused
        assert described(group).error_code == refused
