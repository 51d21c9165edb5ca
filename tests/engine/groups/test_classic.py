"""A classic membership: what each answer of the coordinator leads to, and what the listener is told."""

from __future__ import annotations

from typing import Any

import pytest

from kwire import errors
from kwire.engine.common.request import Purpose
from kwire.engine.common.topic_pattern import TopicPattern
from kwire.engine.groups.classic_states import FENCED, JOINING, STABLE
from kwire.engine.groups.joining import HELD_FOR_S
from kwire.errors import BrokerError
from kwire.records import encode
from kwire.schema.error_codes import (
    COORDINATOR_LOAD_IN_PROGRESS,
    COORDINATOR_NOT_AVAILABLE,
    FENCED_INSTANCE_ID,
    ILLEGAL_GENERATION,
    MEMBER_ID_REQUIRED,
    NOT_COORDINATOR,
    REBALANCE_IN_PROGRESS,
    UNKNOWN_MEMBER_ID,
)
from kwire.testing.contents import Contents
from tests.each import each
from tests.engine.embedded_world import EmbeddedWorld
from tests.engine.groups.group_world import GroupMember, partitions_of
from tests.expressions import UNREADABLE

CODES = [code for code in range(-1, 134) if code and errors.broker.by_code(code).code == code]
LATER = {COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR}
FORGOTTEN = {UNKNOWN_MEMBER_ID, ILLEGAL_GENERATION}
ALL = partitions_of("t", 4)


def world_of(**more: Any) -> EmbeddedWorld:
    given = {"group_initial_rebalance_delay_ms": 0, "group_min_session_timeout_ms": 100, **more}
    return EmbeddedWorld(nodes=1, topics={"t": 4}, **given)


def member_of(world: EmbeddedWorld, name: str = "one", **options: Any) -> GroupMember:
    given = {"partition_assignment_strategy": "range", "heartbeat_interval_ms": 300, **options}
    return GroupMember(world, name, **given).subscribe("t").poll_every(lambda: 0.02)


def kinds(member: GroupMember) -> list[str]:
    return [kind for kind, _ in member.told]


def codes_of(member: GroupMember) -> list[int]:
    return [fault.code for fault in member.faults if isinstance(fault, BrokerError)]


def is_retriable(code: int) -> bool:
    return bool(errors.broker.by_code(code).retriable)


@pytest.mark.parametrize("api", ["JoinGroup", "SyncGroup"])
@each("code", CODES)
def test_every_error_of_a_join_is_passed_over_or_told_once(api: str, code: int) -> None:
    world = world_of()
    member = member_of(world, session_timeout_ms=10_000)
    world.faults.error(api, code, times=1)
    passes = is_retriable(code) or code in (*LATER, *FORGOTTEN, REBALANCE_IN_PROGRESS, MEMBER_ID_REQUIRED)
    if code == FENCED_INSTANCE_ID:
        world.run(lambda: len(member.faults) >= 3)
        assert member.owned == set()
        assert member.membership.state == FENCED
        assert set(codes_of(member)) == {code}
        return
    world.run(lambda: member.owned == ALL)
    assert codes_of(member) == ([] if passes else [code])
    assert kinds(member) == ["assigned"]


@each("code", CODES)
def test_every_error_of_a_heartbeat_is_passed_over_or_ends_the_generation(code: int) -> None:
    world = world_of()
    member = member_of(world, session_timeout_ms=1000)
    world.run(lambda: member.owned == ALL)
    before = member.membership.metadata
    world.faults.error("Heartbeat", code, times=1)
    world.run(world.now + 3)
    now = member.membership.metadata
    if code in LATER:
        assert (kinds(member), codes_of(member), now) == (["assigned"], [], before)
    elif code == REBALANCE_IN_PROGRESS:
        assert (kinds(member), codes_of(member)) == (["assigned", "revoked", "assigned"], [])
        assert now.member_id == before.member_id
    elif code in FORGOTTEN:
        assert (kinds(member), codes_of(member)) == (["assigned", "lost", "assigned"], [])
        assert (now.member_id == before.member_id) is (code == ILLEGAL_GENERATION)
    elif code == FENCED_INSTANCE_ID:
        assert kinds(member) == ["assigned", "lost"]
        assert set(codes_of(member)) == {code}
        assert len(member.faults) > 1
    else:
        assert (kinds(member), codes_of(member)) == (["assigned", "lost", "assigned"], [code])
    if code != FENCED_INSTANCE_ID:
        assert member.owned == ALL
        assert member.membership.state == STABLE


@each("code", CODES)
def test_no_error_of_a_leave_keeps_a_member(code: int) -> None:
    world = world_of()
    member = member_of(world)
    world.run(lambda: member.owned == ALL)
    world.faults.error("LeaveGroup", code, times=1)
    member.close()
    world.run(lambda: member.dead)
    assert kinds(member) == ["assigned", "revoked"]


@pytest.mark.parametrize(
    ("code", "taken"),
    [(REBALANCE_IN_PROGRESS, ["revoked"]), (UNKNOWN_MEMBER_ID, ["lost"]), (ILLEGAL_GENERATION, ["lost"])],
)
def test_a_refused_commit_tells_of_a_rebalance(code: int, taken: list[str]) -> None:
    world = world_of()
    member = member_of(world, heartbeat_interval_ms=40_000)
    world.run(lambda: member.owned == ALL)
    assert member.membership.refused(code, world.now)
    world.run(lambda: kinds(member) == ["assigned", *taken, "assigned"])


def test_a_join_that_is_not_answered_is_made_again() -> None:
    world = world_of()
    member = member_of(world)
    world.run(lambda: world.cluster.groups.by_id.get("g") is not None)
    for address in world.addresses.values():
        member.lose_all(address)
    world.run(lambda: member.owned == ALL)


def test_a_join_that_a_broker_never_answers_is_made_again_after_the_rebalance_time_out() -> None:
    world = world_of()
    world.faults.mute("JoinGroup", times=None)
    member = member_of(world, max_poll_interval_ms=40_000)
    began = world.now
    world.run(lambda: member.membership.failed_rebalances == 1)
    assert world.now - began == pytest.approx(40 + HELD_FOR_S, abs=1)
    world.faults.clear()
    world.run(lambda: member.owned == ALL)


def test_a_cooperative_member_reads_on_while_it_rejoins_and_gives_up_only_what_goes() -> None:
    world = world_of()
    one = member_of(world, "one", partition_assignment_strategy="cooperative-sticky")
    world.run(lambda: one.owned == ALL)
    two = member_of(world, "two", partition_assignment_strategy="cooperative-sticky")
    world.run(lambda: len(one.owned) == 2 == len(two.owned))
    revoked = [set(partitions) for kind, partitions in one.told if kind == "revoked"]
    assert revoked == [set(two.owned)]
    assert "lost" not in kinds(one) + kinds(two)


def test_a_lost_generation_loses_what_a_cooperative_member_keeps() -> None:
    world = world_of()
    one = member_of(world, "one", partition_assignment_strategy="cooperative-sticky")
    world.run(lambda: one.owned == ALL)
    world.faults.error("JoinGroup", UNKNOWN_MEMBER_ID, times=1)
    one.membership.rejoin("a test", world.now)
    world.run(lambda: kinds(one)[-2:] == ["lost", "assigned"])
    assert one.owned == ALL


def test_eager_members_take_up_the_cooperative_protocol_in_two_rounds_of_restarts() -> None:
    world = world_of()
    old = {"partition_assignment_strategy": "range"}
    both = {"partition_assignment_strategy": ["cooperative-sticky", "range"]}
    new = {"partition_assignment_strategy": "cooperative-sticky"}
    members = [member_of(world, name, **old) for name in ("a", "b")]
    for options in (both, new):
        for number in range(2):
            members[number].close()
            members[number] = member_of(world, "x", **options)
            world.run(
                lambda: (
                    sorted(tp for member in members for tp in member.owned) == sorted(ALL)
                    and all(member.membership.is_stable for member in members)
                )
            )
    assert not any(member.faults for member in members)
    assert {member.membership.metadata.generation_id for member in members} != {-1}


def test_members_without_a_common_assignor_are_told_so_by_each_poll() -> None:
    world = world_of()
    one = member_of(world, "one")
    world.run(lambda: one.owned == ALL)
    two = member_of(world, "two", partition_assignment_strategy="roundrobin")
    world.run(lambda: len(two.faults) > 2)
    assert set(codes_of(two)) == {23}
    assert one.owned == ALL


def test_a_static_member_comes_back_to_what_it_had_without_a_rebalance() -> None:
    world = world_of()
    one = member_of(world, "one")
    static = member_of(world, "static", group_instance_id="i", session_timeout_ms=6000)
    world.run(lambda: len(one.owned) == 2 == len(static.owned))
    had, told = set(static.owned), len(one.told)
    static.close()
    world.run(lambda: static.dead)
    again = member_of(world, "again", group_instance_id="i", session_timeout_ms=6000)
    world.run(lambda: bool(again.owned))
    assert again.owned == had
    assert len(one.told) == told


def test_a_static_leader_that_comes_back_goes_on_leading_without_a_new_assignment() -> None:
    world = world_of()
    static = {"group_instance_id": "i", "session_timeout_ms": 6000, "metadata_max_age_ms": 500}
    one = member_of(world, "one", **static)
    world.run(lambda: one.owned == ALL)
    generation = one.membership.metadata.generation_id
    one.close()
    world.run(lambda: one.dead)
    again = member_of(world, "again", **static)
    world.run(lambda: again.owned == ALL)
    assert again.membership.metadata.generation_id == generation
    world.cluster.add_partitions(world.cluster.topics["t"], 2)
    world.run(lambda: again.owned == partitions_of("t", 6))
    assert again.membership.metadata.generation_id > generation


def test_partitions_that_come_while_a_static_leader_is_forgotten_are_assigned() -> None:
    """It is asked to leave the assignment as it was, and has seen itself that it is of fewer partitions."""
    world = world_of()
    one = member_of(world, "one", group_instance_id="i", session_timeout_ms=6000)
    world.run(lambda: one.owned == ALL)
    world.faults.error("Heartbeat", UNKNOWN_MEMBER_ID)
    world.run(lambda: one.membership.lost_by is not None)
    world.cluster.add_partitions(world.cluster.topics["t"], 2)
    one.core.cluster.refresh(world.now)
    world.run(lambda: one.owned == partitions_of("t", 6))


def test_partitions_that_come_later_are_assigned() -> None:
    world = world_of()
    one = member_of(world, "one", metadata_max_age_ms=500)
    two = member_of(world, "two", metadata_max_age_ms=500)
    world.run(lambda: len(one.owned) == 2 == len(two.owned))
    world.cluster.add_partitions(world.cluster.topics["t"], 4)
    world.run(lambda: len(one.owned) == 4 == len(two.owned))


def test_a_partition_that_only_the_leader_has_seen_is_waited_for() -> None:
    world = world_of()
    one = member_of(world, "one", metadata_max_age_ms=500)
    two = member_of(world, "two", metadata_max_age_ms=100_000)
    world.run(lambda: len(one.owned) == 2 == len(two.owned))
    world.cluster.add_partitions(world.cluster.topics["t"], 4)
    world.run(lambda: len(one.owned) == 4 == len(two.owned))
    world.run(world.now + 5)
    assert not two.faults
    assert all(state.position == 0 for state in two.subscription.states.values())


def test_moved_replicas_call_for_a_rebalance_where_the_leader_has_a_rack() -> None:
    world = EmbeddedWorld(
        nodes=2,
        topics={"t": 4},
        racks=["a", "b"],
        group_initial_rebalance_delay_ms=0,
        group_min_session_timeout_ms=100,
    )
    one = member_of(world, "one", metadata_max_age_ms=500, client_rack="a")
    two = member_of(world, "two", metadata_max_age_ms=500, client_rack="b")
    world.run(lambda: len(one.owned) == 2 == len(two.owned))
    world.run(world.now + 3)
    told = len(one.told)
    for partition in world.cluster.topics["t"].partitions:
        partition.replicas = [2 if 1 in partition.replicas else 1]
    world.run(lambda: len(one.told) > told)


def test_a_pattern_is_for_whole_names_and_leaves_the_cluster_s_own_topics_out() -> None:
    pattern = TopicPattern("t|__.*", exclude_internal=True)
    assert [pattern(name, name == "__own") for name in ("t", "tt", "__own", "__mine")] == [True, False, False, True]
    assert TopicPattern("__.*", exclude_internal=False)("__own", True)


@pytest.mark.parametrize("pattern", UNREADABLE)
def test_a_pattern_that_python_cannot_read_is_refused(pattern: str) -> None:
    with pytest.raises(errors.ConfigError, match="is not a regular expression"):
        TopicPattern(pattern, exclude_internal=True)


def test_a_pattern_follows_topics_that_come() -> None:
    world = world_of()
    one = GroupMember(world, "one", partition_assignment_strategy="range", metadata_max_age_ms=500)
    one.subscribe(pattern=r"t|u.*").poll_every(lambda: 0.02)
    world.run(lambda: one.owned == ALL)
    world.cluster.create_topic("u1", 1)
    world.run(lambda: one.owned == ALL | partitions_of("u1", 1))


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_topic_made_anew_is_read_from_its_beginning(protocol: str) -> None:
    world = world_of(group_consumer_heartbeat_interval_ms=200)
    contents = Contents(world.cluster)
    one = GroupMember(world, "one", group_protocol=protocol).subscribe("t").poll_every(lambda: 0.02)
    world.run(lambda: one.owned == ALL)
    for number in range(3):
        contents.append("t", number, encode([b"a", b"b"]))
    world.run(lambda: len(one.read) == 6)
    world.cluster.delete_topic(world.cluster.topics["t"])
    world.cluster.create_topic("t", 3)
    one.read.clear()
    for number in range(3):
        contents.append("t", number, encode([b"x", b"y", b"z"]))
    one.core.cluster.refresh(world.now)
    fresh = {(tp, offset) for tp in partitions_of("t", 3) for offset in range(3)}
    world.run(lambda: set(one.read) == fresh and one.owned == partitions_of("t", 3))
    assert not one.faults


def test_the_first_of_two_static_twins_is_fenced() -> None:
    world = world_of()
    first = member_of(world, "first", group_instance_id="i")
    world.run(lambda: first.owned == ALL)
    second = member_of(world, "second", group_instance_id="i")
    world.run(lambda: second.owned == ALL and len(first.faults) > 3)
    assert kinds(first) == ["assigned", "lost"]
    assert set(codes_of(first)) == {FENCED_INSTANCE_ID}
    first.close()
    world.run(lambda: first.dead)
    world.run(world.now + 1)
    assert not second.faults


def test_topics_and_partitions_that_come_later_are_assigned() -> None:
    world = world_of()
    one = member_of(world, "one", metadata_max_age_ms=500)
    world.run(lambda: one.owned == ALL)
    one.membership.subscribe(("t", "u"), None, world.now)
    world.run(world.now + 2)
    world.cluster.create_topic("u", 2)
    world.run(lambda: one.owned == ALL | partitions_of("u", 2))


def test_a_member_that_rests_too_long_leaves_and_its_partitions_are_lost() -> None:
    world = world_of()
    one = member_of(world, "one", max_poll_interval_ms=1000)
    two = member_of(world, "two")
    world.run(lambda: len(one.owned) == 2 == len(two.owned))
    one.resting = True
    world.run(lambda: two.owned == ALL)
    assert "max_poll_interval_ms" in one.warnings[0]
    one.resting = False
    one.poll_every(lambda: 0.02)
    world.run(lambda: len(one.owned) == 2 == len(two.owned))
    assert "lost" in kinds(one)


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_the_time_that_a_listener_takes_counts_as_the_user_s(protocol: str) -> None:
    world = world_of()
    one = GroupMember(world, "one", group_protocol=protocol, max_poll_interval_ms=1000).subscribe("t")
    while (event := one.membership.next_event(one.now)) is None:
        one.polling.begin(one.now)
        world.run(world.now + 0.05)
    world.run(world.now + 3.0)
    assert not world.cluster.groups.by_id["g"].members
    one.membership.event_done(event, None, one.now)
    one.poll_every(lambda: 0.02)
    world.run(lambda: one.owned == ALL)
    assert "lost" in kinds(one)


def test_a_member_that_rests_during_a_join_leaves_after_it() -> None:
    world = world_of(group_initial_rebalance_delay_ms=3000)
    one = member_of(world, "one", max_poll_interval_ms=1000)
    world.run(lambda: one.membership.state == "joining")
    one.resting = True
    world.run(world.now + 10)
    assert one.warnings
    assert not world.cluster.groups.by_id["g"].members


def test_who_leaves_during_a_held_join_does_not_wait_for_it() -> None:
    world = world_of()
    one = member_of(world, "one", heartbeat_interval_ms=20_000)
    world.run(lambda: one.owned == ALL)
    one.resting = True
    two = member_of(world, "two")
    world.run(lambda: len(world.cluster.groups.by_id["g"].members) == 2)
    world.run(world.now + 0.5)
    assert two.membership.state == "joining"
    began = world.now
    two.close()
    world.run(lambda: two.dead)
    assert world.now - began < 0.5
    world.run(world.now + 0.5)
    assert len(world.cluster.groups.by_id["g"].members) == 1


def test_what_goes_round_a_held_join_goes_before_the_farewell_again_once_that_is_answered() -> None:
    world = world_of()
    one = member_of(world, "one", heartbeat_interval_ms=20_000)
    world.run(lambda: one.owned == ALL)
    one.resting = True
    two = member_of(world, "two")
    world.run(lambda: two.membership.state == JOINING)
    for _ in range(2):  # the second time as after an unsubscribe that was interrupted
        two.membership.unsubscribe(world.now)
        assert two.membership.purpose == Purpose.DATA
    two.membership.leave(world.now, lambda now: None)
    two.subscribe("t")
    one.resting = False
    one.poll_every(lambda: 0.02)
    world.run(lambda: len(one.owned) == 2 == len(two.owned) and two.membership.is_stable)
    assert two.membership.purpose == Purpose.COORDINATOR


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_an_event_that_was_not_told_before_the_farewell_takes_nothing_from_the_next_membership(protocol: str) -> None:
    world = world_of()
    member = GroupMember(world, group_protocol=protocol, enable_auto_commit=False).subscribe("t")
    member.poll_every(lambda: 0.02)
    world.run(lambda: member.owned == ALL)
    member.resting = True
    left: list[float] = []
    member.membership.unsubscribe(world.now)
    assert member.membership.has_event
    member.membership.leave(world.now, left.append)
    world.run(lambda: bool(left))
    member.subscribe("t")
    member.membership.poll(world.now)
    world.run(world.now + 5)
    assert not member.told[1:]
    member.resting = False
    member.poll_every(lambda: 0.02)
    world.run(lambda: len(member.told) > 1 and member.membership.is_stable)
    assert member.subscription.states.keys() == ALL
