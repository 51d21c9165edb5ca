"""A consumer of a group in the embedded world that lives by itself: it polls, works, dawdles, and is checked.

Group      the members of one group, what they have read, and the invariants
Member     one consumer: the engine's parts without a front. Each of its polls is one step of the agenda
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from kwire.engine.common.addresses import TopicPartition
from kwire.engine.consumer.fetcher import Fetcher
from kwire.engine.consumer.polling import Polling
from kwire.engine.groups.group_offsets import GroupOffsets
from kwire.engine.groups.opening import open_membership
from kwire.engine.settings.clients import ConsumerSettings
from kwire.errors import KafkaError
from tests.engine.embedded_world import EmbeddedClient, EmbeddedWorld

GROUP_ID = "g"


class Group:
    """What is known of one group from outside its members."""

    def __init__(self, world: EmbeddedWorld, topic: str, **settings: Any) -> None:
        self.world, self.topic = world, topic
        self.settings = {
            "group_id": GROUP_ID,
            "auto_offset_reset": "earliest",
            "auto_commit_interval_ms": 500,
            "max_poll_interval_ms": 6_000,
            **settings,
        }
        self.members: list[Member] = []
        self.finished: dict[TopicPartition, set[int]] = defaultdict(set)
        self.committed: dict[TopicPartition, int] = {}

    def join(self, **settings: Any) -> Member:
        member = Member(self, **{**self.settings, **settings})
        self.members.append(member)
        return member

    def kill(self, member: Member) -> None:
        """As SIGKILL does."""
        self.world.note("kill a member")
        self.members.remove(member)
        self.world.remove(member)

    @property
    def partitions(self) -> set[TopicPartition]:
        return {
            TopicPartition(self.topic, index) for index in range(len(self.world.cluster.topics[self.topic].partitions))
        }

    def check(self) -> None:
        """What holds at every moment."""
        self._check_owners()
        self._check_commits()

    def _check_owners(self) -> None:
        """No two that the coordinator takes for members of this epoch read one partition."""
        group = self.world.cluster.groups.by_id.get(GROUP_ID)
        owners: dict[TopicPartition, list[str]] = defaultdict(list)
        for member in self.members:
            known = getattr(group, "members", {}).get(member.membership.metadata.member_id)
            if known is None or member.membership.metadata.generation_id != getattr(known, "epoch", None):
                continue
            for tp, state in member.subscription.states.items():
                if not state.held:
                    owners[tp].append(member.membership.metadata.member_id)
        assert all(len(ids) <= 1 for ids in owners.values()), (owners, self.world.happened[-20:])

    def _check_commits(self) -> None:
        """Nothing is committed that was not handed out and finished; positions never go back."""
        for (topic, partition), row in self.world.cluster.groups.offsets.of(GROUP_ID).items():
            tp = TopicPartition(topic, partition)
            if self.committed.get(tp) != row.offset:
                missing = [offset for offset in range(row.offset) if offset not in self.finished[tp]]
                assert not missing, (tp, row.offset, missing[:5], self.world.happened[-20:])
                self.committed[tp] = row.offset

    @property
    def at_rest(self) -> bool:
        """Whether all members are stable, and share all partitions among them."""
        owned = [tp for member in self.members for tp in member.subscription.states]
        return (
            all(member.membership.is_stable for member in self.members)
            and len(owned) == len(set(owned))
            and set(owned) == self.partitions
        )

    def has_committed_all(self) -> bool:
        logs = self.world.cluster.topics[self.topic].partitions
        return all(self.committed.get(tp) == logs[tp.partition].log.end_offset for tp in self.partitions)


class Member(EmbeddedClient):
    """One consumer. `calls` are those of its listener; `dawdles` is how likely it is to work longer than it may."""

    def __init__(self, group: Group, *, pattern: str | None = None, dawdles: float = 0.0, **given: Any) -> None:
        world = group.world
        settings = ConsumerSettings(**world.settings(given))
        super().__init__(world, settings)
        self.core.rng = world.rng.random
        self.group = group
        self.dawdles = dawdles
        self.fetcher = Fetcher(self.core, settings)
        self.subscription = self.fetcher.subscription
        self.membership = open_membership(self.core, settings, self.subscription)
        self.offsets = GroupOffsets(
            self.core, settings, self.membership.coordinator, self.subscription, self.membership, world.note
        )
        self.fetcher.begin_in_group(self.offsets.fetches)
        self.polling = Polling(self.core, settings, self.fetcher, self.membership, self.offsets)
        self.calls: list[tuple[str, tuple[TopicPartition, ...]]] = []
        self.errors: list[KafkaError] = []
        self.in_hand: list[tuple[TopicPartition, int]] = []
        self.membership.subscribe(None if pattern else (group.topic,), pattern, self.now)
        self.shared.at(self.now, self.step)

    def step(self) -> None:
        """One poll, and the work on what it returned."""
        if self.dead:
            return
        try:
            self.poll()
        except KafkaError as error:
            self.errors.append(error)
        self.group.check()
        rng = self.shared.rng
        longest = 9.0 if rng.random() < self.dawdles else 0.4
        self.shared.at(self.now + rng.uniform(0.02, longest), self.step)

    def poll(self) -> None:
        for tp, offset in self.in_hand:
            self.group.finished[tp].add(offset)
        self.in_hand = []
        self.polling.begin(self.now)
        while (event := self.membership.next_event(self.now)) is not None:
            self.calls.append(event)
            self.membership.event_done(event, None, self.now)
        for tp, records in self.polling.take(50, self.now):
            assert tp in self.subscription.states
            self.in_hand += [(tp, record.offset) for record in records]
        self.fetcher.hand_out.arrived = True

    def close(self) -> None:
        """Leaves in order."""
        for tp, offset in self.in_hand:
            self.group.finished[tp].add(offset)
        self.dead = True
        left: list[float] = []

        def go_on() -> None:
            while (event := self.membership.next_event(self.now)) is not None:
                self.membership.event_done(event, None, self.now)
            if self.membership.can_leave:
                self.membership.leave(self.now, left.append)
            else:
                self.shared.at(self.now + 0.05, go_on)

        self.fetcher.settle()
        self.membership.unsubscribe(self.now)
        go_on()
        self.dead = False
        self.step = lambda: None  # type: ignore[method-assign]
        self.run(lambda: bool(left))
        self.group.members.remove(self)
        self.shared.remove(self)
