"""JoinGroup and SyncGroup lost on a half-open connection: the bytes were taken, and nothing comes any more.

Nothing but time tells such a request from one that the coordinator holds; it is sent again, and one that is held stands
that.
"""

from __future__ import annotations

from typing import Any

import pytest

from kwire.engine.common.request import Purpose
from kwire.schema.api_keys import JOIN_GROUP
from tests.engine.embedded_world import EmbeddedWorld
from tests.engine.groups.group_world import GroupMember, partitions_of

ALL = partitions_of("t", 4)
REQUESTS = ("JoinGroup", "SyncGroup")


class Shared:
    """A cluster of three, and members of one group in it."""

    def __init__(self, release: str = "4.4.0", **more: Any) -> None:
        self.world = EmbeddedWorld(
            nodes=3, topics={"t": 4}, release=release, group_initial_rebalance_delay_ms=0, **more
        )

    def member(self, name: str = "member", **options: Any) -> GroupMember:
        return GroupMember(self.world, name, **options).subscribe("t").poll_every(lambda: 0.02)

    def run_until_owned(self, member: GroupMember, count: int = 4) -> float:
        """The seconds until that member has so many partitions."""
        begun = self.world.now
        self.world.run(lambda: len(member.owned) == count)
        return self.world.now - begun


@pytest.mark.parametrize("after_effect", [False, True], ids=["the request", "the answer"])
@pytest.mark.parametrize("lost", REQUESTS)
def test_a_new_member_joins_though_its_request_is_lost(lost: str, after_effect: bool) -> None:
    shared = Shared()
    shared.world.faults.mute(lost, after_effect=after_effect)
    assert 30 <= shared.run_until_owned(member := shared.member()) < 32 + 45 * (lost == "JoinGroup" and after_effect)
    assert (member.faults, member.warnings) == ([], [])


@pytest.mark.parametrize("lost", REQUESTS)
def test_a_member_that_joins_with_its_id_keeps_it_and_its_partitions(lost: str) -> None:
    """The request is sent again within the session of a member that the coordinator does not hear of."""
    shared = Shared()
    member = shared.member(partition_assignment_strategy="cooperative-sticky", session_timeout_ms=10_000)
    shared.run_until_owned(member)
    known = member.membership.metadata
    shared.world.faults.mute(lost)
    member.membership.rejoin("the test wants it", shared.world.now)
    begun = shared.world.now
    shared.world.run(lambda: member.membership.rebalances == 2 and member.membership.is_stable)
    assert 6 < shared.world.now - begun < 9
    assert member.membership.metadata.generation_id > known.generation_id
    assert member.membership.metadata.member_id == known.member_id
    assert [kind for kind, partitions in member.told if partitions] == ["assigned"]
    assert (member.faults, member.warnings) == ([], [])


def test_the_connection_of_a_lost_join_is_left_though_the_coordinator_is_looked_up_just_then() -> None:
    shared = Shared()
    shared.world.faults.mute("JoinGroup")
    member = shared.member()
    shared.world.run(shared.world.now + 29.9)
    member.membership.coordinator.node = None
    assert shared.run_until_owned(member) < 2
    assert [kind for kind, partitions in member.told if partitions] == ["assigned"]


def test_a_static_member_joins_though_its_request_is_lost() -> None:
    shared = Shared()
    shared.world.faults.mute("JoinGroup", after_effect=True)
    member = shared.member(group_instance_id="here")
    assert shared.run_until_owned(member) < 32
    assert member.faults == []


def test_the_group_goes_on_without_the_seconds_of_max_poll_interval() -> None:
    """All wait for the member whose JoinGroup was lost, and none of them longer than it takes to send it again."""
    shared = Shared()
    members = [shared.member(name) for name in ("a", "b")]
    shared.world.run(lambda: all(len(member.owned) == 2 and member.membership.is_stable for member in members))
    shared.world.faults.mute("JoinGroup")
    members.append(shared.member("c"))
    begun = shared.world.now
    shared.world.run(lambda: all(0 < len(each.owned) < 3 and each.membership.is_stable for each in members))
    assert shared.world.now - begun < 40
    assert [each.faults + each.warnings for each in members] == [[], [], []]


def test_a_held_join_stands_being_sent_again() -> None:
    """One member rests, so the others are held until max_poll_interval_ms has passed: five minutes."""
    shared = Shared()
    resting = shared.member("resting")
    shared.run_until_owned(resting)
    resting.resting = True
    begun = shared.world.now
    others = [shared.member(name) for name in ("a", "b")]
    asked = [joins_of(member) for member in others]
    shared.world.run(lambda: all(len(member.owned) == 2 for member in others))
    assert 290 < shared.world.now - begun < 310
    assert all(10 <= len(joins) <= 13 for joins in asked)
    assert len(shared.world.cluster.groups.by_id["g"].members) == 2
    assert [member.faults + member.warnings for member in others] == [[], []]
    assert [member.membership.failed_rebalances for member in others] == [0, 0]


def test_a_coordinator_that_hangs_is_left_for_the_one_that_has_taken_over() -> None:
    shared = Shared()
    member = shared.member()
    shared.run_until_owned(member)
    group = shared.world.cluster.groups.by_id["g"]
    shared.world.faults.mute("JoinGroup")
    member.membership.rejoin("the test wants it", shared.world.now)
    shared.world.run(lambda: member.membership.state == "joining")
    shared.world.move_coordinator(0, "g", 1 + group.node % 3)
    member.owned.clear()
    assert shared.run_until_owned(member) < 32


def test_a_member_without_an_id_waits_where_it_would_become_two() -> None:
    """Kafka before 2.2 makes a member of each JoinGroup without an id."""
    shared = Shared("2.1.1")
    resting = shared.member("resting")
    shared.run_until_owned(resting)
    resting.resting = True
    other = shared.member("other")
    asked = joins_of(other)
    shared.world.run(lambda: other.owned == ALL)
    assert len(asked) == 1


def test_a_coordinator_that_never_answers_is_told_of_in_the_end() -> None:
    shared = Shared()
    shared.world.faults.mute("JoinGroup", times=None)
    member = shared.member(max_poll_interval_ms=100_000)
    shared.world.run(lambda: bool(member.faults))
    assert "the coordinator of group 'g' did not answer JoinGroup within 105000 ms" in str(member.faults[0])


def test_an_answer_that_comes_in_slowly_is_not_cut() -> None:
    shared = Shared()
    member = shared.member()
    receive, held = member.receive, []

    def slowly(connection: Any, data: bytes) -> None:
        """The first answer of SyncGroup takes 50 seconds from its first byte."""
        link = member.core._nodes[1].links[Purpose.COORDINATOR] if 1 in member.core._nodes else None
        syncing = member.membership.state == "waiting for the assignment"
        if syncing and not held and link is not None:
            held.append(data)
            receive(connection, data[:5])
            member.at(member.now + 50, lambda: receive(connection, data[5:]))
        else:
            receive(connection, data)

    member.receive = slowly  # type: ignore[method-assign]
    assert 50 <= shared.run_until_owned(member) < 51
    assert held


def joins_of(member: GroupMember) -> list[float]:
    """When it sends JoinGroup, from now on."""
    moments: list[float] = []
    deliver = member.deliver

    def noted(connection: Any, frame: bytes) -> None:
        if int.from_bytes(frame[4:6], "big") == JOIN_GROUP:
            moments.append(member.now)
        deliver(connection, frame)

    member.deliver = noted  # type: ignore[method-assign]
    return moments
