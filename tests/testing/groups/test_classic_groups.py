"""Classic groups on the embedded broker: members, generations, time-outs, static members, moved coordinators."""

from __future__ import annotations

from typing import Any

import pytest

from kwire.errors import broker as codes
from kwire.testing import Broker
from kwire.testing.groups.classic_group import State
from kwire.testing.settings.properties import BrokerProperties
from kwire.testing.state.coordinators import GROUP
from tests.testing.groups.requests import commit, fetch_offsets, find_coordinator, heartbeat, join, leave, sync
from tests.testing.in_process import InProcess, Waiting

JOIN, SYNC, HEARTBEAT, LEAVE, COMMIT, FETCH = 9, 5, 4, 5, 9, 9


class Group:
    """The group "g" of an embedded broker, each request on a connection of its own."""

    def __init__(self, release: str = "4.4.0", *, nodes: int = 1, **properties: Any) -> None:
        self.broker = InProcess(release, nodes=nodes, properties=BrokerProperties(**properties))
        self.broker.cluster.create_topic("orders", 4)
        self.node = self.broker.cluster.coordinators.leader(GROUP, "g")

    @property
    def state(self) -> State:
        return self.broker.cluster.groups.by_id["g"].state

    def begin(self, request: Any, version: int) -> Waiting:
        return self.broker.begin(request, version, node=self.node)

    def ask(self, request: Any, version: int) -> Any:
        return self.broker.ask(request, version, node=self.node)

    def pass_time(self, seconds: float) -> None:
        until = self.broker.now + seconds
        timers = self.broker.cluster.timers
        while (due := timers.next_due) is not None and due <= until:
            self.broker.now = due
            timers.run_due(due)
        self.broker.now = until

    def new_id(self, **options: Any) -> str:
        refused = self.ask(join(**options), JOIN)
        assert refused.error_code == codes.MEMBER_ID_REQUIRED.code
        member: str = refused.member_id
        return member

    def stable(self, members: int = 1, **options: Any) -> list[str]:
        """Members in a stable group, the leader first."""
        ids = [self.new_id(**options) for _ in range(members)]
        waiting = [self.begin(join(member=each, **options), JOIN) for each in ids]
        generation = _answer(waiting[0]).generation_id
        if members > 1:
            again = self.begin(join(member=ids[0], **options), JOIN)
            generation = _answer(again).generation_id
        leader = self.broker.cluster.groups.by_id["g"].leader
        followers = [self.begin(sync(each, generation), SYNC) for each in ids if each != leader]
        assert self.ask(sync(leader, generation, {each: each.encode() for each in ids}), SYNC).error_code == 0
        assert all(_answer(each).error_code == 0 for each in followers)
        return [leader, *(each for each in ids if each != leader)]


def _answer(waiting: Waiting) -> Any:
    if waiting.answer is None:
        waiting.step()
    return waiting.response


def test_a_member_joins_with_the_id_that_it_was_given() -> None:
    group = Group()
    member = group.new_id()
    assert member.startswith("test-")
    joined = group.ask(join(member=member), JOIN)
    assert (joined.error_code, joined.generation_id, joined.leader, joined.member_id) == (0, 1, member, member)
    assert (joined.protocol_type, joined.protocol_name) == ("consumer", "range")
    assert [each.member_id for each in joined.members] == [member]
    assert group.ask(sync(member, 1, {member: b"all"}), SYNC).assignment == b"all"
    assert group.ask(heartbeat(member, 1), HEARTBEAT).error_code == 0


def test_before_version_4_a_member_joins_at_once() -> None:
    for version in range(4):
        joined = Group().ask(join(), version)
        assert (joined.error_code, joined.generation_id) == (0, 1)


def test_a_join_waits_for_the_others_to_join_again() -> None:
    group = Group()
    [first] = group.stable()
    second = group.new_id()
    waiting = group.begin(join(member=second), JOIN)
    assert waiting.answer is None
    assert group.ask(heartbeat(first, 1), HEARTBEAT).error_code == codes.REBALANCE_IN_PROGRESS.code
    joined = group.ask(join(member=first), JOIN)
    assert [each.member_id for each in joined.members] == [first, second]
    assert _answer(waiting).members == ()
    assert _answer(waiting).leader == first


def test_members_are_told_their_part_when_the_leader_hands_it_in() -> None:
    group = Group()
    leader, follower = group.stable(2)
    assert group.ask(sync(follower, 2), SYNC).assignment == follower.encode()
    assert group.state is State.STABLE
    assert group.ask(heartbeat(leader, 2), HEARTBEAT).error_code == 0


def test_a_rebalance_goes_on_without_those_who_do_not_join_again() -> None:
    group = Group()
    group.stable(rebalance_ms=5_000)
    second = group.new_id()
    waiting = group.begin(join(member=second, rebalance_ms=5_000), JOIN)
    group.pass_time(4.9)
    assert waiting.wake() is False
    group.pass_time(0.2)
    assert waiting.wake()
    assert waiting.response.leader == second
    assert [each.member_id for each in waiting.response.members] == [second]


def test_a_silent_member_expires_and_the_rest_rebalances() -> None:
    group = Group()
    leader, follower = group.stable(2, session_ms=6_000)
    group.pass_time(5)
    assert group.ask(heartbeat(leader, 2), HEARTBEAT).error_code == 0
    group.pass_time(2)
    assert group.ask(heartbeat(leader, 2), HEARTBEAT).error_code == codes.REBALANCE_IN_PROGRESS.code
    assert group.ask(heartbeat(follower, 2), HEARTBEAT).error_code == codes.UNKNOWN_MEMBER_ID.code
    group.pass_time(100)
    assert group.state is State.EMPTY


def test_an_id_that_is_not_used_expires() -> None:
    group = Group()
    member = group.new_id(session_ms=6_000)
    group.pass_time(6.1)
    assert group.ask(join(member=member), JOIN).error_code == codes.UNKNOWN_MEMBER_ID.code


def test_members_that_do_not_sync_are_removed() -> None:
    group = Group()
    member = group.new_id()
    group.ask(join(member=member, rebalance_ms=1_000), JOIN)
    group.pass_time(1.1)
    assert group.ask(heartbeat(member, 1), HEARTBEAT).error_code == codes.UNKNOWN_MEMBER_ID.code
    assert group.state is State.EMPTY


def test_the_first_rebalance_waits_for_more_members() -> None:
    group = Group(group_initial_rebalance_delay_ms=3_000)
    first = group.begin(join(), 3)
    group.pass_time(2)
    second = group.begin(join(), 3)
    group.pass_time(2)
    assert not first.wake()
    group.pass_time(2)
    assert first.wake()
    assert len(first.response.members) == 2
    assert second.wake() or second.step() is None


def test_a_member_that_leaves_starts_a_rebalance() -> None:
    group = Group()
    leader, follower = group.stable(2)
    assert group.ask(leave(follower), LEAVE).members[0].error_code == 0
    assert group.ask(leave(follower), LEAVE).members[0].error_code == codes.UNKNOWN_MEMBER_ID.code
    assert group.ask(leave(follower, version=1), 1).error_code == codes.UNKNOWN_MEMBER_ID.code
    joined = group.ask(join(member=leader), JOIN)
    assert (joined.generation_id, len(joined.members)) == (3, 1)
    assert group.ask(leave(leader), LEAVE).members[0].error_code == 0
    assert group.state is State.EMPTY


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        (join(session_ms=100), codes.INVALID_SESSION_TIMEOUT),
        (join(group=""), codes.INVALID_GROUP_ID),
        (join(protocol_type="connect"), codes.INCONSISTENT_GROUP_PROTOCOL),
        (join(protocols=["sticky"]), codes.INCONSISTENT_GROUP_PROTOCOL),
        (join(protocols=[]), codes.INCONSISTENT_GROUP_PROTOCOL),
        (join(member="nobody"), codes.UNKNOWN_MEMBER_ID),
        (join(group="none", member="nobody"), codes.UNKNOWN_MEMBER_ID),
    ],
)
def test_joins_are_refused(request_: Any, code: type[codes.UNKNOWN_MEMBER_ID]) -> None:
    group = Group()
    group.stable()
    group.node = group.broker.cluster.coordinators.leader(GROUP, request_.group_id)
    assert group.ask(request_, JOIN).error_code == code.code


def test_a_wrong_generation_is_refused_everywhere() -> None:
    group = Group()
    [member] = group.stable()
    illegal = codes.ILLEGAL_GENERATION.code
    assert group.ask(heartbeat(member, 7), HEARTBEAT).error_code == illegal
    assert group.ask(sync(member, 7), SYNC).error_code == illegal
    result = group.ask(commit({("orders", 0): 1}, member, 7), COMMIT)
    assert result.topics[0].partitions[0].error_code == illegal


def test_a_full_group_sends_the_next_one_away() -> None:
    group = Group(group_max_size=1)
    group.stable()
    assert group.ask(join(), JOIN).error_code == codes.GROUP_MAX_SIZE_REACHED.code


def test_the_protocol_with_the_most_votes_is_chosen() -> None:
    group = Group(group_initial_rebalance_delay_ms=1_000)
    offers = (["range", "sticky"], ["sticky", "range"], ["sticky", "range", "mine"])
    waiting = [group.begin(join(protocols=each), 3) for each in offers]
    group.pass_time(2)
    assert {_answer(each).protocol_name for each in waiting} == {"sticky"}


def test_a_static_member_comes_back_without_a_rebalance() -> None:
    group = Group()
    joined = group.ask(join(instance="i"), JOIN)
    group.ask(sync(joined.member_id, 1, {joined.member_id: b"mine"}, instance="i"), SYNC)
    again = group.ask(join(instance="i"), JOIN)
    assert again.member_id != joined.member_id
    assert (again.generation_id, again.leader, again.skip_assignment) == (1, again.member_id, True)
    assert [each.group_instance_id for each in again.members] == ["i"]
    assert group.ask(sync(again.member_id, 1, instance="i"), SYNC).assignment == b"mine"
    fenced = codes.FENCED_INSTANCE_ID.code
    assert group.ask(heartbeat(joined.member_id, 1, instance="i"), HEARTBEAT).error_code == fenced
    assert group.ask(join(member=joined.member_id, instance="i"), JOIN).error_code == fenced


def test_before_version_9_a_static_leader_is_told_the_former_ones_name() -> None:
    group = Group()
    joined = group.ask(join(instance="i"), 8)
    group.ask(sync(joined.member_id, 1, {joined.member_id: b"mine"}, instance="i"), SYNC)
    again = group.ask(join(instance="i"), 8)
    assert (again.leader, again.members) == (joined.member_id, ())


def test_an_administrator_removes_a_static_member_by_its_instance() -> None:
    group = Group()
    group.ask(join(instance="i"), JOIN)
    assert group.ask(leave("", instance="i"), LEAVE).members[0].error_code == 0
    assert group.ask(leave("", instance="i"), LEAVE).members[0].error_code == codes.UNKNOWN_MEMBER_ID.code


def test_another_node_is_not_the_coordinator() -> None:
    group = Group(nodes=3)
    found = group.broker.ask(find_coordinator(6, "g"), 6, node=1).coordinators[0]
    assert found.node_id == group.node
    other = next(node for node in (1, 2, 3) if node != group.node)
    not_here = codes.NOT_COORDINATOR.code
    assert group.broker.ask(join(), JOIN, node=other).error_code == not_here
    assert group.broker.ask(heartbeat("m", 1), HEARTBEAT, node=other).error_code == not_here
    committed = group.broker.ask(commit({("orders", 0): 1}), COMMIT, node=other)
    assert committed.topics[0].partitions[0].error_code == not_here
    assert group.broker.ask(fetch_offsets(9, None), 9, node=other).groups[0].error_code == not_here


def test_members_and_offsets_survive_a_move_of_the_coordinator() -> None:
    group = Group(nodes=3)
    leader, follower = group.stable(2)
    group.ask(commit({("orders", 0): 7}, leader, 2), COMMIT)
    late = group.begin(join(member=group.new_id()), JOIN)
    group.node = next(node for node in (1, 2, 3) if node != group.node)
    group.broker.cluster.coordinators.move(GROUP, "g", group.node)
    assert late.wake()
    assert late.response.error_code == codes.NOT_COORDINATOR.code
    loading = group.ask(fetch_offsets(9, {"orders": [0]}), 9).groups[0].error_code
    assert loading in (0, codes.COORDINATOR_LOAD_IN_PROGRESS.code)
    assert group.ask(heartbeat(follower, 2), HEARTBEAT).error_code == 0
    assert group.ask(sync(follower, 2), SYNC).assignment == follower.encode()
    offsets = group.ask(fetch_offsets(9, {"orders": [0]}), 9).groups[0].topics[0].partitions[0]
    assert offsets.committed_offset == 7


def test_a_group_that_has_lost_all_members_while_it_rebalances_takes_new_ones() -> None:
    with Broker() as broker:
        group = broker._state().groups.find_or_make_classic("g")
        group.protocol_type, group.state = "consumer", State.PREPARING
        assert group.supports("consumer", {"range": b""})
        assert not group.supports("connect", {"range": b""})
