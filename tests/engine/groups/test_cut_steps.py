"""Members of a group whose polls are cut by Ctrl-C anywhere in the engine: all partitions are read in the end."""

from __future__ import annotations

import random
import sys
from types import FrameType
from typing import Any

import pytest

from kwire.engine.groups import consumer_group
from tests.engine.embedded_world import EmbeddedWorld
from tests.engine.groups.group_world import GroupMember, partitions_of

MEMBERS = 3
SEEDS = range(1, 7)
KINDS: dict[str, dict[str, Any]] = {
    "range": {"partition_assignment_strategy": "range", "session_timeout_ms": 3000, "heartbeat_interval_ms": 200},
    "cooperative": {
        "partition_assignment_strategy": "cooperative-sticky",
        "session_timeout_ms": 3000,
        "heartbeat_interval_ms": 200,
    },
    "KIP-848": {"group_protocol": "consumer"},
}


class CutError(BaseException):
    """Stands for a KeyboardInterrupt."""


def cut_after(calls: int) -> None:
    """Has the engine's function call of that number raise."""
    left = calls

    def trace(frame: FrameType, event: str, argument: object) -> None:
        nonlocal left
        name = frame.f_code.co_filename
        if "/kwire/engine/" in name and frame.f_code.co_name != "<genexpr>":
            left -= 1
            if left == 0:
                sys.settrace(None)
                raise CutError

    sys.settrace(trace)


def step(member: GroupMember, calls: int) -> None:
    """One poll, cut after so many calls; then, as a driver does, recovery."""
    before = sys.gettrace()
    cut_after(calls)
    try:
        member.step()
    except CutError:
        for address in list(member.shared.addresses.values()):
            member.lose_all(address)
        member.core.recover(member.now)
    finally:
        sys.settrace(before)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", SEEDS)
def test_members_whose_polls_are_cut_share_all_partitions_in_the_end(
    seed: int, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(seed)
    monkeypatch.setattr(consumer_group, "new_member_id", lambda of: f"member {rng.random()}")
    world = EmbeddedWorld(
        nodes=3,
        topics={"t": 4},
        seed=seed,
        group_initial_rebalance_delay_ms=0,
        group_min_session_timeout_ms=100,
        group_consumer_session_timeout_ms=3000,
        group_consumer_heartbeat_interval_ms=300,
    )
    given = {"auto_commit_interval_ms": 100, "default_api_timeout_ms": 5000, "request_timeout_ms": 2000, **KINDS[kind]}
    members = [GroupMember(world, f"m{number}", **given).subscribe("t") for number in range(MEMBERS)]
    end = world.now + 20

    def live(member: GroupMember) -> None:
        if world.now < end and rng.random() < 0.15:
            step(member, rng.randint(1, rng.choice([15, 80])))
        else:
            member.step()
        if rng.random() < 0.02 and world.now < end:
            member.membership.rejoin("a test", world.now)
        member.at(world.now + rng.uniform(0.01, 0.3), lambda: live(member))

    for member in members:
        live(member)
    world.run(end)

    def is_shared() -> bool:
        states = [state for member in members for state in member.subscription.states.values()]
        all_owned = sorted(state.tp for state in states) == sorted(partitions_of("t", 4))
        return all_owned and all(member.membership.is_stable for member in members) and not any(s.held for s in states)

    world.run(is_shared)


@pytest.mark.parametrize("kind", KINDS)
def test_who_waits_for_a_farewell_hears_of_it_after_a_cut_step(kind: str) -> None:
    world = EmbeddedWorld(nodes=1, topics={"t": 2}, group_min_session_timeout_ms=100)
    member = GroupMember(world, **KINDS[kind]).subscribe("t").poll_every(lambda: 0.1)
    world.run(lambda: member.membership.is_stable and bool(member.owned))
    member.resting = True
    member.membership.unsubscribe(world.now)
    member.hear()
    world.faults.delay("LeaveGroup", 1.0)
    world.faults.delay("ConsumerGroupHeartbeat", 1.0)
    left: list[float] = []
    member.membership.leave(world.now, left.append)
    for address in list(member.shared.addresses.values()):
        member.lose_all(address)
    member.core.recover(world.now)
    world.run(lambda: bool(left))
    assert len(left) == 1
