"""Classic groups under random schedules of joins, deaths, slow polls, moved coordinators and lost answers.

No partition is owned twice in one generation, and when nothing breaks any more every partition is owned once.
"""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest

from kwire.engine.calls.lookup import GROUP
from tests.engine.embedded_world import EmbeddedWorld
from tests.engine.groups.group_world import GroupMember, partitions_of
from tests.thorough import SOAK, THOROUGH

SEEDS = range(100) if SOAK else range(12) if THOROUGH else (1, 3, 7)
STRATEGIES = [("range",), ("roundrobin",), ("sticky",), ("cooperative-sticky",), ("range", "cooperative-sticky")]


MOST_PARTITIONS = 12
NODES = 3


class Story:
    """A group whose members come and go."""

    def __init__(self, seed: int, strategy: tuple[str, ...], release: str = "4.4.0") -> None:
        self.rng = random.Random(seed)
        self.strategy = strategy
        self.partitions = 7
        self.has_static = release == "4.4.0"
        self.world = EmbeddedWorld(
            nodes=NODES,
            topics={"t": self.partitions},
            seed=seed,
            release=release,
            group_initial_rebalance_delay_ms=0,
            group_min_session_timeout_ms=100,
        )
        self.names = (f"m{number}" for number in itertools.count())
        self.members: list[GroupMember] = []

    def join(self, **settings: Any) -> None:
        rng = self.rng
        member = self.make(next(self.names), **{**self.settings(), **settings})
        self.members.append(member)
        member.subscribe("t")
        member.poll_every(lambda: 2.0 if rng.random() < 0.02 else rng.uniform(0.01, 0.3))

    def make(self, name: str, **settings: Any) -> GroupMember:
        return GroupMember(self.world, name, **settings)

    def settings(self) -> dict[str, Any]:
        rng = self.rng
        return {
            "partition_assignment_strategy": self.strategy,
            "session_timeout_ms": rng.choice([1000, 6000]),
            "heartbeat_interval_ms": 200,
            "max_poll_interval_ms": rng.choice([1500, 60_000]),
            "metadata_max_age_ms": 2000,
            "auto_commit_interval_ms": 500,
            "group_instance_id": rng.choice([None, None, next(self.names)]) if self.has_static else None,
        }

    def happen(self) -> None:
        """One thing happens to the group."""
        rng = self.rng
        kind = rng.choice(["join", "join", "kill", "leave", "rejoin", "interrupt", "grow"])
        if kind == "join" and len(self.members) < 6:
            self.join()
        elif not self.members:
            return
        elif kind in ("kill", "leave"):
            gone = self.members.pop(rng.randrange(len(self.members)))
            if kind == "kill":
                self.world.remove(gone)
            else:
                gone.close()
        elif kind == "grow":
            if self.partitions == MOST_PARTITIONS or len(list(self.world.cluster.nodes.alive)) < NODES:
                return
            self.partitions += 1
            self.world.cluster.add_partitions(self.world.cluster.topics["t"], 1)
        elif kind == "rejoin":
            member = rng.choice(self.members)
            member.membership.rejoin("a test", self.world.now)
        else:
            member = rng.choice(self.members)
            for address in list(self.world.addresses.values()):
                member.lose_all(address)
            member.core.recover(self.world.now)

    def check(self) -> None:
        """A member that the coordinator has dropped may not know it; a group that was made anew counts from 1 again."""
        owners: dict[object, str] = {}
        known = getattr(self.world.cluster.groups.by_id.get("g"), "members", {})
        for member in self.members:
            if member.membership.metadata.member_id not in known:
                continue
            generation = member.membership.metadata.generation_id
            for tp in member.owned if member.membership.is_stable else ():
                key = (generation, tp)
                assert owners.setdefault(key, member.name) == member.name, (key, owners, self.world.happened[-10:])
        for member in self.members:
            if member.membership.is_stable and not member.membership.has_event:
                assert member.owned == set(member.subscription.states), member.told[-5:]

    def play(self, seconds: float) -> None:
        end = self.world.now + seconds
        while self.world.now < end:
            self.happen()
            until = self.world.now + self.rng.expovariate(1.0)
            while self.world.now < until:
                self.world.run(self.world.now + 0.05)
                self.check()

    def settle(self) -> None:
        """Nothing breaks any more: every partition is owned once, and all is read on."""
        self.world.calm()
        if not self.members:
            self.join()
        for member in self.members:
            member.faults.clear()
        wanted = partitions_of("t", self.partitions)

        def balanced() -> bool:
            owned = [tp for member in self.members for tp in member.owned]
            return sorted(owned) == sorted(wanted) and all(each.membership.is_stable for each in self.members)

        self.world.run(balanced)
        self.world.run(self.world.now + 5.0)
        self.check()
        for member in self.members:
            assert not member.faults


@pytest.mark.parametrize("strategy", STRATEGIES, ids="+".join)
@pytest.mark.parametrize("seed", SEEDS)
def test_no_partition_is_owned_twice_and_all_are_owned_in_the_end(seed: int, strategy: tuple[str, ...]) -> None:
    story = Story(seed, strategy)
    story.world.disturb(2.0, loss=0.01, keys=[(GROUP, "g")])
    story.join()
    story.play(30)
    story.settle()


@pytest.mark.parametrize("strategy", STRATEGIES, ids="+".join)
def test_the_same_while_nodes_hang_and_connections_are_half_open(strategy: tuple[str, ...]) -> None:
    for seed in SEEDS:
        story = Story(seed, strategy)
        story.world.disturb(2.0, loss=0.01, keys=[(GROUP, "g")], hangs=0.4)
        story.join()
        story.play(30)
        story.settle()


@pytest.mark.parametrize("release", ["0.10.0.1", "0.10.2.2", "2.2.2", "2.8.2", "3.9.2"])
def test_the_same_with_older_brokers(release: str) -> None:
    story = Story(1, ("range",), release)
    story.world.disturb(3.0, loss=0.01, keys=[(GROUP, "g")])
    story.join()
    story.play(20)
    story.settle()
