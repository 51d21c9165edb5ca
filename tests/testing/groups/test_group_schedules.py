"""Random schedules of members of the embedded broker's groups: nothing is owned twice, and all settles in the end."""

from __future__ import annotations

import random
from itertools import combinations

import pytest

from kwire.testing.groups.consumer_group import ConsumerGroup
from kwire.testing.state.coordinators import GROUP
from tests.testing.groups.test_classic_groups import Group
from tests.testing.groups.test_consumer_groups import Member, settle, state

TOPICS = ("orders", "more", "other")


class Schedule:
    """Consumers that come, go, fall silent and lose answers, by a seed."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.group = Group(nodes=3)
        for name in TOPICS[1:]:
            self.group.broker.cluster.create_topic(name, 3)
        self.members: list[Member] = []
        self.count = 0

    def step(self) -> None:
        what = self.rng.choice(
            (self.join, self.beat, self.beat, self.beat, self.leave, self.wait, self.move, self.lose)
        )
        what()
        self.check()

    def join(self) -> None:
        self.count += 1
        topics = self.rng.sample(TOPICS, self.rng.randint(1, 3))
        member = Member(self.group, f"m{self.count}", topics, server_assignor=self.rng.choice(("uniform", "range")))
        if not member.error and len(self.members) < 6:
            self.members.append(member)

    def beat(self) -> None:
        for member in self.members:
            if self.rng.random() < 0.7:
                member.beat()
        self.members = [member for member in self.members if not member.error]

    def leave(self) -> None:
        if self.members:
            self.members.pop(self.rng.randrange(len(self.members))).leave()

    def wait(self) -> None:
        self.group.pass_time(self.rng.uniform(0, 25))

    def move(self) -> None:
        self.group.node = self.rng.choice((1, 2, 3))
        self.group.broker.cluster.coordinators.move(GROUP, "g", self.group.node)
        for member in self.members:
            member.beat()
            break

    def lose(self) -> None:
        """The answer to a heartbeat does not arrive."""
        if self.members:
            member = self.rng.choice(self.members)
            before = member.epoch, set(member.owned)
            member.beat()
            if not member.error:
                member.epoch, member.owned = before

    def check(self) -> None:
        group = self.group.broker.cluster.groups.by_id.get("g")
        if isinstance(group, ConsumerGroup):
            for one, other in combinations(group.members.values(), 2):
                assert not (one.assigned | one.revoking) & (other.assigned | other.revoking)
                assert not group.target_of(one) & group.target_of(other)


@pytest.mark.parametrize("seed", range(12))
def test_no_partition_is_assigned_twice(seed: int) -> None:
    schedule = Schedule(seed)
    for _ in range(150):
        schedule.step()
    schedule.group.pass_time(60)
    members = [Member(schedule.group, f"end{n}", TOPICS) for n in range(3)]
    members = [each for each in members if not each.error] or [Member(schedule.group, "end", TOPICS)]
    for _ in range(3):
        settle(*members)
    assert state(schedule.group).state_name == "Stable"
    assert sorted(partition for member in members for _, partition in member.owned) == sorted(
        [0, 1, 2, 3] + [0, 1, 2] * 2
    )
