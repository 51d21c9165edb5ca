"""A coordinator that is not found, loads for ever or hangs up: a consumer that never joined is told by its polls, one
that did goes on trying, and warns."""

from __future__ import annotations

import re

import pytest

from kwire.errors import KafkaTimeoutError
from kwire.schema.error_codes import COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR
from tests.engine.embedded_world import EmbeddedWorld
from tests.engine.groups.group_world import GroupMember, partitions_of

ALL = partitions_of("t", 4)
PROTOCOLS = [("classic", "JoinGroup", "Heartbeat"), ("consumer", "ConsumerGroupHeartbeat", "ConsumerGroupHeartbeat")]


def world() -> EmbeddedWorld:
    return EmbeddedWorld(nodes=1, topics={"t": 4}, group_initial_rebalance_delay_ms=0)


def member_in(shared: EmbeddedWorld, protocol: str) -> GroupMember:
    return GroupMember(shared, group_protocol=protocol).subscribe("t").poll_every(lambda: 0.02)


@pytest.mark.parametrize(("protocol", "join", "beat"), PROTOCOLS)
@pytest.mark.parametrize("code", [COORDINATOR_NOT_AVAILABLE, COORDINATOR_LOAD_IN_PROGRESS, NOT_COORDINATOR, None])
def test_a_group_that_cannot_be_joined(protocol: str, join: str, beat: str, code: int | None) -> None:
    shared = world()
    begun = shared.now
    if code is None:
        shared.faults.close(join, times=None)
    else:
        shared.faults.error(join, code, times=None)
    member = member_in(shared, protocol)
    shared.run(lambda: len(member.faults) == 2)
    assert shared.now - begun == pytest.approx(120, abs=8)
    for fault in member.faults:
        assert isinstance(fault, KafkaTimeoutError)
        assert str(fault).startswith(f"group 'g' was not joined within 60 s: {join} at broker 1 (node:1)")
    assert member.warnings == []
    shared.faults.clear()
    shared.run(lambda: member.owned == ALL)
    shared.run(shared.now + 100)
    assert len(member.faults) == 2


@pytest.mark.parametrize(("protocol", "join", "beat"), PROTOCOLS)
def test_a_coordinator_that_is_not_found(protocol: str, join: str, beat: str) -> None:
    """As where Kafka cannot make the topic of the groups, because it has fewer brokers than that wants replicas."""
    shared = world()
    shared.faults.error("FindCoordinator", COORDINATOR_NOT_AVAILABLE, times=None)
    member = member_in(shared, protocol)
    shared.run(lambda: bool(member.faults))
    assert str(member.faults[0]).startswith(
        "group 'g' was not joined within 60 s: FindCoordinator: FindCoordinator of 'g': COORDINATOR_NOT_AVAILABLE"
    )
    [told] = [text for _, text in member.warned if "has no coordinator" in text]
    assert told.startswith("group 'g' has no coordinator (3.")
    assert "are there enough brokers for the replication factor of __consumer_offsets?; still trying" in told


@pytest.mark.parametrize(("protocol", "join", "beat"), PROTOCOLS)
def test_a_member_goes_on_trying_and_warns(protocol: str, join: str, beat: str) -> None:
    shared = world()
    member = member_in(shared, protocol)
    shared.run(lambda: member.owned == ALL)
    shared.faults.close(beat, times=None)
    shared.run(lambda: bool(member.warnings))
    beginning = r"group 'g': requests to its coordinator have failed for 6\d s, and are retried: "
    assert re.match(rf"{beginning}{beat} at broker 1 \(node:1\)", member.warnings[0])
    shared.faults.clear()
    shared.run(lambda: member.owned == ALL and member.membership.is_stable)
    shared.run(shared.now + 100)
    assert (len(member.warnings), member.faults) == (1, [])


def test_failures_now_and_then_are_no_trouble() -> None:
    shared = world()
    member = member_in(shared, "classic")
    shared.run(lambda: member.owned == ALL)
    for _ in range(20):
        shared.faults.close("Heartbeat")
        shared.run(shared.now + 10)
    assert (member.warnings, member.faults) == ([], [])


def test_a_join_that_is_held_is_no_trouble() -> None:
    """The coordinator waits for a member that does not join again: for max_poll_interval_ms, five minutes."""
    shared = world()
    silent = member_in(shared, "classic")
    shared.run(lambda: silent.owned == ALL)
    silent.resting = True
    other = member_in(shared, "classic")
    shared.run(shared.now + 200)
    assert (other.owned, other.warnings, other.faults) == (set(), [], [])


def test_a_member_whose_heartbeat_is_lost_keeps_its_place() -> None:
    """The connection is half open: the JoinGroup before it, which may be held for minutes, gives it no more time."""
    shared = world()
    member = member_in(shared, "classic")
    shared.run(lambda: member.owned == ALL)
    before = member.membership.metadata
    shared.faults.mute("Heartbeat")
    shared.run(shared.now + 400)
    assert member.owned == ALL
    assert member.membership.metadata == before
