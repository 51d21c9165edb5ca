"""Share groups in the embedded world under random schedules: members come, go, die and dawdle while nodes die, leaders
and coordinators move and answers are lost. No record is in two hands under one lock, none that was accepted comes
again, and in the end every one was accepted or rejected.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from kwire.engine.calls.lookup import GROUP
from kwire.engine.common.addresses import TopicPartition
from kwire.engine.settings.clients import ShareConsumerSettings
from kwire.engine.share.acknowledging import Acknowledgement
from kwire.engine.share.acquired import ACCEPT, KINDS, REJECT, RENEW
from kwire.engine.share.polling import SharePolling
from kwire.errors import KafkaError
from tests.engine.embedded_clients import EmbeddedProducer
from tests.engine.embedded_world import EmbeddedClient, EmbeddedWorld

GROUP_ID = "s"
PARTITIONS = 4
LOCK_S = 3.0
LATENCY_S = 0.2
SEEDS = (*range(6), 8009, 8041)

Key = tuple[TopicPartition, int]


class Work:
    """What the members of a group have in hand and have done."""

    def __init__(self, world: EmbeddedWorld) -> None:
        self.world = world
        self.members: list[Member] = []
        self.hands: dict[Key, tuple[Member, float]] = {}
        self.deliveries: Counter[Key] = Counter()
        self.accepted: dict[Key, float] = {}
        self.disturbed_at = -LOCK_S

    @property
    def was_disturbed(self) -> bool:
        """Whether locks that are held now may have been lost."""
        if self.world.disturbing:
            self.disturbed_at = self.world.now
        return self.world.now - self.disturbed_at < 2 * LOCK_S

    def take(self, member: Member, key: Key) -> None:
        """A record was handed out. It may have been acquired before another member accepted it, if leaders change."""
        held = [*member.polling._handed, *member.polling._held]
        acquired_at = min(portion.acquired.until - LOCK_S for portion in held if portion.place.tp == key[0])
        accepted_at = self.accepted.get(key, self.world.now)
        assert acquired_at <= accepted_at + LATENCY_S, (key, accepted_at, self.world.happened[-20:])
        other, until = self.hands.get(key, (member, 0.0))
        may_be_free = self.was_disturbed or other not in self.members or other.kinds.get(key) == "release"
        assert other is member or until <= self.world.now or may_be_free, (key, until)
        self.hands[key] = member, acquired_at + LOCK_S
        self.deliveries[key] += 1

    def settle(self, about: Acknowledgement, error: KafkaError | None) -> None:
        """The broker has said what became of acknowledgements."""
        for acked in about.ranges:
            for offset in range(acked.first, acked.last + 1):
                key = (about.place.tp, offset)
                if error is None and acked.kind in (ACCEPT, REJECT):
                    self.accepted[key] = self.world.now
                if acked.kind != RENEW:
                    self.hands.pop(key, None)


class Member(EmbeddedClient):
    """One ShareConsumer's engine: each poll is one step of the agenda."""

    def __init__(self, work: Work, *, dawdles: float = 0.0, **given: Any) -> None:
        settings = ShareConsumerSettings(**work.world.settings({"group_id": GROUP_ID, "max_poll_records": 40, **given}))
        super().__init__(work.world, settings)  # type: ignore[arg-type]
        self.core.rng = work.world.rng.random
        self.work = work
        self.dawdles = dawdles
        self.is_explicit = settings.share_acknowledgement_mode == "explicit"
        self.polling = SharePolling(self.core, settings, lambda function, *given: function(*given))
        self.polling._on_outcome = self.on_outcome  # type: ignore[method-assign]
        self.kinds: dict[Key, str] = {}
        self.errors: list[KafkaError] = []
        self.polling.subscribe(("t",), self.now)
        work.members.append(self)
        self.shared.at(self.now, self.step)

    def on_outcome(self, about: Acknowledgement, error: KafkaError | None, now: float) -> None:
        SharePolling._on_outcome(self.polling, about, error, now)
        self.work.settle(about, error)

    def step(self) -> None:
        if self.dead:
            return
        try:
            self.poll()
        except KafkaError as error:
            self.errors.append(error)
            self.polling.end(self.now)
        rng = self.shared.rng
        self.shared.at(self.now + rng.uniform(0.02, 6.0 if rng.random() < self.dawdles else 0.5), self.step)

    def poll(self) -> None:
        self.polling.begin(self.now)
        until = self.now + 0.3

        def end() -> None:
            if self.dead:
                return
            if not self.polling.ready() and self.now < until:
                self.shared.at(self.now + 0.02, end)
                return
            try:
                found = self.polling.take(None, self.now)
            except KafkaError as error:
                self.errors.append(error)
                return
            finally:
                self.polling.end(self.now)
            self.polling.arrived = True
            self.use(list(found))

        end()

    def use(self, found: list[Any]) -> None:
        rng = self.shared.rng
        for record in found:
            key = (TopicPartition(record.topic, record.partition), record.offset)
            self.work.take(self, key)
            self.kinds.pop(key, None)
            if self.is_explicit or rng.random() < 0.3:
                kind = rng.choices(list(KINDS), [12, 2, 1, 1])[0]
                self.kinds[key] = kind
                self.polling.acknowledge([record], KINDS[kind])
        if rng.random() < 0.3:
            self.polling.commit(self.now, self.now + 10.0)

    def close(self) -> None:
        """Leaves in order."""
        done: list[float] = []
        self.step = lambda: None  # type: ignore[method-assign]
        self.work.members.remove(self)
        self.polling.close(self.now, done.append)
        self.run(lambda: bool(done))
        self.shared.remove(self)

    def die(self) -> None:
        """As by SIGKILL."""
        self.shared.note("kill a member")
        self.work.members.remove(self)
        self.shared.remove(self)


def make_world(seed: int) -> EmbeddedWorld:
    world = EmbeddedWorld(
        topics={"t": PARTITIONS},
        seed=seed,
        group_share_session_timeout_ms=6_000,
        group_share_heartbeat_interval_ms=500,
        group_share_record_lock_duration_ms=int(LOCK_S * 1000),
        group_share_delivery_count_limit=10,
    )
    world.cluster.groups.configs.set(GROUP_ID, "share.auto.offset.reset", "earliest")
    return world


def write(world: EmbeddedWorld, count: int) -> None:
    producer = EmbeddedProducer(world)
    producer.complete([producer.send("t", b"%d" % each, partition=each % PARTITIONS) for each in range(count)])
    world.remove(producer)


@pytest.mark.parametrize("mode", ["implicit", "explicit"])
@pytest.mark.parametrize("acquire", ["batch_optimized", "record_limit"])
def test_members_share_the_records(mode: str, acquire: str) -> None:
    world = make_world(1)
    write(world, 400)
    work = Work(world)
    members = [Member(work, share_acknowledgement_mode=mode, share_acquire_mode=acquire) for _ in range(3)]
    world.run(lambda: len(work.accepted) == 400)
    assert [member.errors for member in members] == [[], [], []]


def test_what_a_dead_member_had_goes_to_another() -> None:
    world = make_world(2)
    write(world, 40)
    work = Work(world)
    first = Member(work)
    world.run(lambda: bool(work.hands))
    first.die()
    Member(work)
    began = world.now
    world.run(lambda: len(work.accepted) == 40)
    assert world.now - began < 2 * LOCK_S + 8.0
    assert max(work.deliveries.values()) >= 2


def test_what_a_closed_member_had_goes_to_another_at_once() -> None:
    world = make_world(3)
    write(world, 40)
    work = Work(world)
    first = Member(work, share_acknowledgement_mode="explicit")
    world.run(lambda: bool(work.hands))
    first.close()
    second = Member(work)
    began = world.now
    world.run(lambda: any(member is second for member, _ in work.hands.values()))
    assert world.now - began < 1.0
    world.run(lambda: len(work.accepted) == 40)
    assert second.errors == []


@pytest.mark.parametrize("seed", SEEDS)
def test_random_schedules(seed: int) -> None:
    world = make_world(seed)
    write(world, 600)
    work = Work(world)
    for mode in ("implicit", "explicit", "implicit"):
        Member(work, share_acknowledgement_mode=mode, dawdles=0.03)
    world.disturb(every=1.0, loss=0.01, keys=[(GROUP, GROUP_ID)])
    end = world.now + 60.0
    while world.now < end:
        world.run(world.now + world.rng.uniform(0.5, 5.0))
        change(world, work)
    world.calm()
    for node in world.cluster.nodes.ids:
        if not world.cluster.nodes.is_alive(node):
            world.revive(node)
    for member in work.members:
        member.dawdles = 0.0
    write(world, 200)
    world.run(lambda: archived(world))


def change(world: EmbeddedWorld, work: Work) -> None:
    """Somebody comes, leaves or dies."""
    kind = world.rng.choice(["join", "kill", "close", "nothing"])
    if kind == "join" and len(work.members) < 6:
        Member(work, share_acknowledgement_mode=world.rng.choice(["implicit", "explicit"]), dawdles=0.03)
    elif kind != "nothing" and len(work.members) > 1:
        member = world.rng.choice(work.members)
        if kind == "kill":
            member.die()
        else:
            member.close()


def archived(world: EmbeddedWorld) -> bool:
    """Whether the group is done with every record there is."""
    parts = world.cluster.groups.shares.of_group(GROUP_ID)
    return len(parts) == PARTITIONS and all(part.lag == 0 for part in parts)
