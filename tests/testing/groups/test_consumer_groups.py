"""Consumer groups by KIP-848 on the embedded broker: epochs, reconciliation, fencing, patterns, migration."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pytest

from kwire.errors import broker as codes
from kwire.protocol import ConsumerGroupHeartbeatRequest as Request
from kwire.protocol import ConsumerProtocolAssignment
from kwire.testing.groups.classic_group import ClassicGroup
from kwire.testing.groups.consumer_group import ConsumerGroup
from kwire.testing.state.coordinators import GROUP
from tests.expressions import UNREADABLE
from tests.testing.groups.requests import commit, fetch_offsets, heartbeat, join, leave, sync
from tests.testing.groups.test_classic_groups import Group

SESSION_S = 45


class Member:
    """A consumer of the group "g" that does what it is told at once."""

    def __init__(self, group: Group, name: str, topics: Iterable[str] = ("orders",), **first: Any) -> None:
        self.group, self.name, self.epoch, self.instance = group, name, 0, first.get("instance_id")
        self.owned: set[tuple[Any, int]] = set()
        self.beat(rebalance_timeout_ms=30_000, subscribed_topic_names=tuple(topics), topic_partitions=(), **first)

    def beat(self, **fields: Any) -> Any:
        """A heartbeat; what it assigns is owned from now on."""
        fields.setdefault("topic_partitions", _by_topic(self.owned))
        fields.setdefault("instance_id", self.instance)
        answer = self.group.ask(Request(group_id="g", member_id=self.name, member_epoch=self.epoch, **fields), 1)
        self.error = answer.error_code
        if self.error == 0:
            self.epoch = answer.member_epoch
            if answer.assignment is not None:
                self.owned = {(t.topic_id, p) for t in answer.assignment.topic_partitions for p in t.partitions}
        return answer

    def leave(self, epoch: int = -1) -> None:
        self.epoch = epoch
        self.beat(topic_partitions=None)

    @property
    def partitions(self) -> list[int]:
        return sorted(partition for _, partition in self.owned)


def _by_topic(owned: set[tuple[Any, int]]) -> Sequence[Request.TopicPartitions]:
    topics = {topic for topic, _ in owned}
    return [Request.TopicPartitions(topic_id=t, partitions=sorted(p for u, p in owned if u == t)) for t in topics]


def settle(*members: Member) -> None:
    for _ in range(5):
        for member in members:
            member.beat()


def state(group: Group) -> Any:
    return group.broker.cluster.groups.by_id["g"]


def test_the_first_member_gets_everything() -> None:
    group = Group()
    member = Member(group, "a")
    assert (member.error, member.epoch, member.partitions) == (0, 2, [0, 1, 2, 3])
    assert member.beat().assignment is None
    assert state(group).state_name == "Stable"


def test_a_second_member_gets_what_the_first_has_let_go_of() -> None:
    group = Group()
    first, second = Member(group, "a"), Member(group, "b")
    assert (second.epoch, second.partitions) == (3, [])
    assert first.beat().member_epoch == 2
    assert first.partitions == [0, 1]
    assert second.beat().assignment is None
    assert first.beat().member_epoch == 3
    second.beat()
    assert second.partitions == [2, 3]
    assert state(group).state_name == "Stable"


def test_a_member_that_does_not_revoke_is_fenced_after_its_rebalance_timeout() -> None:
    group = Group()
    first, second = Member(group, "a"), Member(group, "b")
    before = _by_topic(first.owned)
    for _ in range(4):
        first.beat(topic_partitions=before)
        second.beat()
        group.pass_time(10)
    first.beat()
    assert first.error == codes.UNKNOWN_MEMBER_ID.code
    settle(second)
    assert second.partitions == [0, 1, 2, 3]


def test_a_silent_member_is_fenced_after_the_session_timeout() -> None:
    group = Group()
    first, second = Member(group, "a"), Member(group, "b")
    settle(first, second)
    group.pass_time(SESSION_S - 1)
    second.beat()
    group.pass_time(2)
    settle(second)
    assert second.partitions == [0, 1, 2, 3]
    first.beat()
    assert first.error == codes.UNKNOWN_MEMBER_ID.code


def test_the_epoch_before_is_taken_again_and_any_other_is_fenced() -> None:
    group = Group()
    first = Member(group, "a")
    Member(group, "b")
    first.beat()
    first.beat()
    assert first.epoch == 3
    first.epoch = 2
    assert first.beat().error_code == 0
    first.epoch = 2
    assert first.beat(topic_partitions=None).error_code == codes.FENCED_MEMBER_EPOCH.code
    first.epoch = 7
    assert first.beat().error_code == codes.FENCED_MEMBER_EPOCH.code


def test_leaving_gives_everything_back_at_once() -> None:
    group = Group()
    first, second = Member(group, "a"), Member(group, "b")
    settle(first, second)
    second.leave()
    assert (second.error, second.epoch) == (0, -1)
    settle(first)
    assert first.partitions == [0, 1, 2, 3]
    first.leave()
    assert state(group).state_name == "Empty"


def test_new_topics_and_partitions_are_assigned_with_the_next_heartbeat() -> None:
    group = Group()
    member = Member(group, "a", ["orders", "later"])
    cluster = group.broker.cluster
    later = cluster.create_topic("later", 1)
    member.beat()
    assert (later.topic_id, 0) in member.owned
    cluster.add_partitions(later, 1)
    member.beat()
    assert (later.topic_id, 1) in member.owned
    cluster.delete_topic(later)
    settle(member)
    assert {topic for topic, _ in member.owned} == {cluster.topics["orders"].topic_id}


def test_patterns_are_resolved_after_the_first_heartbeat_and_again_after_10_s() -> None:
    group = Group()
    member = Member(group, "a", [], subscribed_topic_regex="ord.*")
    assert (member.error, member.partitions) == (0, [])
    group.pass_time(0)
    settle(member)
    assert member.partitions == [0, 1, 2, 3]
    group.broker.cluster.create_topic("ordinary", 1)
    settle(member)
    group.pass_time(10)
    settle(member)
    assert len(member.owned) == 5


@pytest.mark.parametrize("pattern", [*UNREADABLE, "a(?=b)", r"(a)\1", "a(?!b)", "(?<=a)b", "x*+"])
def test_patterns_that_re2_does_not_know_are_refused(pattern: str) -> None:
    assert Member(Group(), "a", [], subscribed_topic_regex=pattern).error == codes.INVALID_REGULAR_EXPRESSION.code


def test_a_static_member_keeps_its_partitions_while_it_is_away() -> None:
    group = Group()
    first, second = Member(group, "a", instance_id="i"), Member(group, "b", instance_id="j")
    settle(first, second)
    owned = first.partitions
    assert Member(group, "c", instance_id="i").error == codes.UNRELEASED_INSTANCE_ID.code
    first.leave(-2)
    again = Member(group, "c", instance_id="i")
    assert (again.error, again.partitions) == (0, owned)
    assert first.beat(topic_partitions=None).error_code == codes.FENCED_INSTANCE_ID.code


@pytest.mark.parametrize("assignor", ["uniform", "range"])
def test_the_assignor_that_members_name_is_used(assignor: str) -> None:
    group = Group()
    group.broker.cluster.create_topic("more", 3)
    members = [Member(group, name, ["orders", "more"], server_assignor=assignor) for name in "ab"]
    settle(*members)
    counts = sorted(len(member.owned) for member in members)
    assert counts == [3, 4]
    assert Member(group, "c", server_assignor="none").error == codes.UNSUPPORTED_ASSIGNOR.code


def test_members_with_different_subscriptions_are_balanced() -> None:
    group = Group()
    group.broker.cluster.create_topic("more", 4)
    members = [Member(group, "a"), Member(group, "b", ["orders", "more"]), Member(group, "c", ["more"])]
    settle(*members)
    assert sorted(len(member.owned) for member in members) == [2, 3, 3]
    assert len(set.union(*(member.owned for member in members))) == 8


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"group_id": ""}, codes.INVALID_REQUEST),
        ({"member_id": ""}, codes.INVALID_REQUEST),
        ({"instance_id": ""}, codes.INVALID_REQUEST),
        ({"rebalance_timeout_ms": -1}, codes.INVALID_REQUEST),
        ({"subscribed_topic_names": None}, codes.INVALID_REQUEST),
        ({"topic_partitions": None}, codes.INVALID_REQUEST),
        ({"member_epoch": -3}, codes.INVALID_REQUEST),
        ({"member_epoch": -2}, codes.INVALID_REQUEST),
        ({"member_epoch": 5, "group_id": "none"}, codes.GROUP_ID_NOT_FOUND),
        ({"member_epoch": -1, "group_id": "none"}, codes.GROUP_ID_NOT_FOUND),
        ({"member_epoch": 1}, codes.UNKNOWN_MEMBER_ID),
    ],
)
def test_heartbeats_are_refused(fields: dict[str, Any], code: type[codes.INVALID_REQUEST]) -> None:
    group = Group()
    Member(group, "other")
    whole: dict[str, Any] = {
        "group_id": "g",
        "member_id": "m",
        "member_epoch": 0,
        "rebalance_timeout_ms": 1000,
        "subscribed_topic_names": ["orders"],
        "topic_partitions": [],
    }
    assert group.ask(Request(**(whole | fields)), 1).error_code == code.code


def test_in_version_0_the_coordinator_gives_out_the_member_id() -> None:
    request = Request(group_id="g", rebalance_timeout_ms=1000, subscribed_topic_names=["orders"], topic_partitions=[])
    assert Group().ask(request, 0).member_id


def test_commits_need_the_epoch_of_the_member() -> None:
    group = Group()
    member = Member(group, "a")

    def code(epoch: int, version: int = 9, name: str = "a") -> int:
        answer = group.ask(commit({("orders", 0): 3}, name, epoch), version)
        error: int = answer.topics[0].partitions[0].error_code
        return error

    assert code(member.epoch) == 0
    assert code(member.epoch + 1) == codes.STALE_MEMBER_EPOCH.code
    assert code(member.epoch - 1) == codes.STALE_MEMBER_EPOCH.code
    assert code(member.epoch, name="x") == codes.UNKNOWN_MEMBER_ID.code
    assert code(-1, name="") == codes.UNKNOWN_MEMBER_ID.code
    fetched = group.ask(fetch_offsets(9, {"orders": [0]}, member_id="a", member_epoch=member.epoch), 9).groups[0]
    assert fetched.topics[0].partitions[0].committed_offset == 3
    stale = group.ask(fetch_offsets(9, {"orders": [0]}, member_id="a", member_epoch=9), 9).groups[0]
    assert stale.error_code == codes.STALE_MEMBER_EPOCH.code


@pytest.mark.parametrize(("release", "code"), [("4.4.0", 0), ("4.2.1", codes.STALE_MEMBER_EPOCH.code)])
def test_an_older_epoch_may_commit_for_partitions_that_the_member_had_then(release: str, code: int) -> None:
    group = Group(release)
    first = Member(group, "a")
    before = first.epoch
    settle(first, Member(group, "b"))
    assert first.epoch == before + 1
    kept = first.partitions[0]
    answer = group.ask(commit({("orders", kept): 3}, "a", before), 9)
    assert answer.topics[0].partitions[0].error_code == code
    lost = group.ask(commit({("orders", 3): 3}, "a", before), 9).topics[0].partitions[0].error_code
    assert lost == codes.STALE_MEMBER_EPOCH.code


@pytest.mark.parametrize("release", ["4.0.2", "4.2.1", "4.4.0"])
def test_a_member_joins_again_at_epoch_0(release: str) -> None:
    group = Group(release)
    first = Member(group, "a")
    Member(group, "b")
    settle(first)
    settle(first)
    again = Member(group, "a")
    assert again.error == (codes.FENCED_MEMBER_EPOCH.code if release == "4.0.2" else 0)


def test_members_survive_a_move_of_the_coordinator() -> None:
    group = Group(nodes=3)
    member = Member(group, "a")
    group.node = next(node for node in (1, 2, 3) if node != group.node)
    group.broker.cluster.coordinators.move(GROUP, "g", group.node)
    member.beat()
    assert member.error == codes.COORDINATOR_LOAD_IN_PROGRESS.code
    assert member.beat().member_epoch == 2


def _classic_assignment(blob: bytes) -> list[int]:
    decoded = ConsumerProtocolAssignment.decode(blob[2:], 0, strict=False)
    return sorted(partition for topic in decoded.assigned_partitions for partition in topic.partitions)


def test_a_classic_group_becomes_a_consumer_group_and_one_again() -> None:
    group = Group()
    joined = group.ask(join(), 3)
    everything = ConsumerProtocolAssignment(
        assigned_partitions=[ConsumerProtocolAssignment.TopicPartition(topic="orders", partitions=[0, 1, 2, 3])]
    ).to_blob(0)
    group.ask(sync(joined.member_id, 1, {joined.member_id: everything}), 5)
    consumer = Member(group, "new")
    assert isinstance(state(group), ConsumerGroup)
    assert (consumer.error, consumer.partitions) == (0, [])
    classic = joined.member_id
    assert group.ask(heartbeat(classic, 1), 4).error_code == codes.REBALANCE_IN_PROGRESS.code
    generation = group.ask(join(member=classic), 9).generation_id
    part = _classic_assignment(group.ask(sync(classic, generation), 5).assignment)
    assert len(part) == 2
    settle(consumer)
    while group.ask(heartbeat(classic, generation), 4).error_code:
        generation = group.ask(join(member=classic), 9).generation_id
        part = _classic_assignment(group.ask(sync(classic, generation), 5).assignment)
        settle(consumer)
    assert sorted(part + consumer.partitions) == [0, 1, 2, 3]
    consumer.leave()
    assert isinstance(state(group), ClassicGroup)
    again = group.ask(join(member=classic), 9)
    assert (again.error_code, again.leader) == (0, classic)
    assert group.ask(leave(classic), 5).members[0].error_code == 0


def test_a_policy_forbids_migration() -> None:
    group = Group(group_consumer_migration_policy="disabled")
    group.stable()
    assert Member(group, "new").error == codes.GROUP_ID_NOT_FOUND.code


def test_an_empty_group_takes_either_protocol_and_keeps_its_offsets() -> None:
    group = Group()
    group.ask(commit({("orders", 0): 3}), 9)
    member = Member(group, "a")
    assert member.epoch == 2
    member.leave()
    group.stable()
    assert isinstance(state(group), ClassicGroup)
    answer = group.ask(fetch_offsets(9, {"orders": [0]}), 9)
    assert answer.groups[0].topics[0].partitions[0].committed_offset == 3
