"""Members that are late, by random schedules: whatever happens, each input is copied once and in order, and the group's
offsets never go back."""

from __future__ import annotations

from typing import Any

import pytest

from kwire.engine.consumer.subscription import Subscription
from kwire.engine.groups.membership import GroupMetadata, Membership
from kwire.engine.groups.tenure import ConsumerGroupMetadata
from kwire.engine.transactions.offsets import offsets_of
from kwire.errors import CommitFailedError
from tests.engine.groups.copiers import COUNT, PARTITIONS, Copying, Reader
from tests.thorough import FIRST_SEED, THOROUGH

SEEDS = range(FIRST_SEED, FIRST_SEED + (100 if THOROUGH else 20))
KINDS: dict[str, dict[str, Any]] = {
    "range": {"partition_assignment_strategy": "range"},
    "cooperative": {"partition_assignment_strategy": "cooperative-sticky"},
    "consumer": {"group_protocol": "consumer"},
    "static": {"partition_assignment_strategy": "range", "static": True},
    "static consumer": {"group_protocol": "consumer", "static": True},
}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", KINDS)
def test_each_input_is_copied_once(kind: str, seed: int) -> None:
    copying = Copying(seed, 3, **KINDS[kind])
    copying.run()
    assert copying.copied() == [list(range(COUNT))] * PARTITIONS


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_lost_is_handed_out_no_more(kind: str) -> None:
    """From the moment on in which the background knows: before a poll tells the listener."""
    copying = Copying(1, 0, **KINDS[kind])
    world = copying.world
    more = {"group_instance_id": "i"} if copying.static else {}
    reader = Reader(world, **copying.options, **more)
    reader.subscribe()
    while not reader.subscription.states:
        reader.poll(1)
        world.run(world.now + 0.1)
    group = world.cluster.groups.by_id["g"]
    group.remove(next(iter(group.members)) if hasattr(group, "generation") else list(group.members.values()))
    world.run(lambda: reader.membership.lost_by is not None)
    assert all(state.held for state in reader.subscription.states.values())
    assert not reader.fetcher.take(10)


def test_a_generation_that_a_member_has_missed_is_a_loss() -> None:
    """Its JoinGroup is answered with the generation after the next: in between its partitions may have been others'."""
    copying = Copying(1, 0, **KINDS["cooperative"])
    world = copying.world
    reader = Reader(world, **copying.options)
    reader.subscribe()
    while not (records := reader.poll(1)):
        world.run(world.now + 0.1)
    owned = tuple(reader.subscription.states)
    before = reader.offsets.metadata()
    reader.membership.rejoin("the test wants it", world.now)
    reader.poll(1)
    world.cluster.groups.by_id["g"].generation += 1  # type: ignore[union-attr]
    world.run(lambda: reader.membership.lost_by is not None)
    assert all(state.held for state in reader.subscription.states.values())
    assert reader.offsets.metadata() == before
    assert reader.offsets.metadata().why_not(records, offsets_of(records)) is not None
    with pytest.raises(CommitFailedError, match="not a member of its group at present"):
        reader.offsets.commit(offsets_of(records), world.now, world.now + 1).value()
    world.run(lambda: reader.membership.has_event)
    told = []
    while (event := reader.membership.next_event(world.now)) is not None:
        told.append((event.kind, event.partitions))
        reader.membership.event_done(event, None, world.now)
    assert told == [("lost", owned), ("assigned", owned)]
    now = reader.offsets.metadata()
    assert (now.generation_id, now.lost) == (before.generation_id + 2, None)
    assert now.why_not(records, offsets_of(records)) is not None


@pytest.mark.parametrize("kind", ["range", "consumer"])
def test_the_schedules_find_a_member_that_names_nobody(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As soon as it has lost its partitions: what the checks are there to find."""

    def of(membership: Membership, subscription: Subscription) -> GroupMetadata:
        known = membership.metadata
        return known if known.generation_id >= 0 else ConsumerGroupMetadata.outside("g")

    monkeypatch.setattr(ConsumerGroupMetadata, "of", of)
    assert not all(is_copied_once(Copying(seed, 3, **KINDS[kind])) for seed in range(10))


def is_copied_once(copying: Copying) -> bool:
    try:
        copying.run()
    except AssertionError:
        return False
    return copying.copied() == [list(range(COUNT))] * PARTITIONS
