"""Commits of a member whose JoinGroup or SyncGroup the coordinator holds: they are answered meanwhile."""

from __future__ import annotations

from typing import Any

import pytest

from kwire.engine.calls.calls import Call
from kwire.engine.calls.offsets import OffsetAndMetadata
from kwire.engine.common.request import Purpose
from kwire.schema.error_codes import REBALANCE_IN_PROGRESS
from tests.engine.embedded_clients import EmbeddedProducer
from tests.engine.embedded_world import EmbeddedWorld
from tests.engine.groups.group_world import GroupMember

# An eager member gives everything up before it joins: its records are committed until then, in on_revoked.
STRATEGIES = ("cooperative-sticky",)
AT_ONCE = 0.5
"""Seconds of virtual time, in which nothing that is held is answered."""


class HeldGroup:
    """Two members share a topic; one stops polling, a third joins, and the quick one's JoinGroup is held."""

    def __init__(self, strategy: str = "cooperative-sticky", **options: Any) -> None:
        self.world = EmbeddedWorld(nodes=1, topics={"t": 4}, group_initial_rebalance_delay_ms=0)
        producer = EmbeddedProducer(self.world)
        producer.complete([producer.send("t", b"%d" % number, partition=number % 4) for number in range(40)])
        self.options = {
            "partition_assignment_strategy": strategy,
            "heartbeat_interval_ms": 300,
            "max_poll_interval_ms": 300_000,
            **options,
        }
        instance = options.pop("group_instance_id", None)
        self.quick = self.join("quick", **({"group_instance_id": instance} if instance else {}))
        self.world.run(lambda: len(self.quick.owned) == 4)
        self.slow = self.join("slow")
        self.world.run(lambda: len(self.quick.owned) == len(self.slow.owned) == 2 and self.all_stable())
        self.world.run(lambda: len(self.quick.read) >= 20)
        self.owned = sorted(self.quick.owned)
        self.slow.resting = True
        self.third = self.join("third")
        self.world.run(lambda: self.quick.membership.state == "joining")
        self.world.run(self.world.now + 2)
        assert self.quick.membership.state == "joining"

    def all_stable(self) -> bool:
        return all(member.membership.is_stable for member in (self.quick, self.slow))

    def join(self, name: str, **more: Any) -> GroupMember:
        member = GroupMember(self.world, name, **{**self.options, "group_instance_id": None, **more})
        return member.subscribe("t").poll_every(lambda: 0.02)

    def read_more(self) -> None:
        """The quick member goes on reading what it keeps."""
        before = len(self.quick.read)
        producer = EmbeddedProducer(self.world)
        producer.complete([producer.send("t", b"more", partition=number % 4) for number in range(40)])
        self.world.run(lambda: len(self.quick.read) == before + 20)

    def commit(self, offset: int = 7) -> Call:
        """Commits in the partitions that the quick member owned before the rebalance."""
        now = self.world.now
        return self.quick.offsets.commit({tp: OffsetAndMetadata(offset) for tp in self.owned}, now, now + 60)

    def committed(self) -> list[int | None]:
        stored = self.world.cluster.groups.offsets.of("g")
        return [stored[tp].offset if tp in stored else None for tp in self.owned]


@pytest.mark.parametrize("instance", [None, "static"])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_commit_is_not_held_up_by_a_held_join(strategy: str, instance: str | None) -> None:
    it = HeldGroup(strategy, enable_auto_commit=False, group_instance_id=instance)
    call = it.commit()
    it.world.run(it.world.now + AT_ONCE)
    assert call.done
    assert call.error is None
    assert it.committed() == [7, 7]
    assert it.quick.membership.state == "joining"


def test_the_connection_that_a_commit_goes_over_is_made_where_there_is_none() -> None:
    it = HeldGroup(enable_auto_commit=False)
    [node] = it.quick.core._nodes.values()
    it.quick.lose(node.links[Purpose.DATA].connection, "idle for too long")
    call = it.commit()
    it.world.run(it.world.now + AT_ONCE)
    assert call.done
    assert it.committed() == [7, 7]


def test_automatic_commits_go_on_during_a_held_join() -> None:
    it = HeldGroup(auto_commit_interval_ms=100)
    it.read_more()
    it.world.run(it.world.now + AT_ONCE)
    assert it.committed() == [20, 20]
    assert it.quick.membership.state == "joining"
    assert it.quick.warnings == []


def test_a_member_that_closes_during_a_held_join_commits_and_leaves_at_once() -> None:
    it = HeldGroup(auto_commit_interval_ms=100_000)
    it.read_more()
    it.quick.step()
    assert it.committed() == [10, 10]
    it.quick.close()
    it.world.run(it.world.now + AT_ONCE)
    assert it.quick.dead
    assert it.committed() == [20, 20]
    assert it.quick.warnings == []


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_coordinator_that_waits_for_the_assignment_says_so_at_once(strategy: str) -> None:
    it = HeldGroup(strategy, auto_commit_interval_ms=100)
    it.world.faults.delay("SyncGroup", 30.0, times=None)
    it.slow.resting = False
    it.slow.poll_every(lambda: 0.02)
    it.world.run(lambda: it.quick.membership.state == "waiting for the assignment")
    call = it.commit()
    it.world.run(it.world.now + AT_ONCE)
    assert call.done
    assert getattr(call.error, "code", None) == REBALANCE_IN_PROGRESS
    assert it.quick.membership.state == "waiting for the assignment"
    assert it.quick.warnings == []


def test_a_commit_waits_for_the_answer_that_tells_the_generation() -> None:
    """The coordinator has ended the rebalance, and its answer to JoinGroup is on its way: the member keeps all the
    while what it commits, so the commit is made by the next generation."""
    it = HeldGroup(enable_auto_commit=False)
    [node] = it.quick.core._nodes.values()
    held = node.links[Purpose.COORDINATOR].connection
    it.quick.answered_until[held] = it.world.now + 3
    it.slow.resting = False
    it.slow.poll_every(lambda: 0.02)
    group = it.world.cluster.groups.by_id["g"]
    before = group.generation
    it.world.run(lambda: group.generation > before)
    call = it.commit()
    it.world.run(it.world.now + 1)
    assert not call.done
    it.world.run(lambda: call.done)
    assert getattr(call.error, "code", None) in (None, REBALANCE_IN_PROGRESS)
    assert it.quick.told[-1][0] != "lost"
