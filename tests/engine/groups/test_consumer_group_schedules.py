"""KIP-848 groups in the embedded world under random schedules: members come, go, die and dawdle while nodes die,
coordinators and leaders move and answers are lost. Whatever happens, partitions have one owner and commits are honest.
"""

from __future__ import annotations

import pytest

from kwire.engine.calls.lookup import GROUP
from tests.engine.embedded_clients import EmbeddedProducer
from tests.engine.embedded_world import EmbeddedWorld
from tests.engine.groups.embedded_member import GROUP_ID, Group, Member

PARTITIONS = 8
SEEDS = range(6)


def make_world(seed: int) -> EmbeddedWorld:
    return EmbeddedWorld(
        topics={"t": PARTITIONS},
        seed=seed,
        group_consumer_session_timeout_ms=6_000,
        group_consumer_heartbeat_interval_ms=500,
    )


def write(world: EmbeddedWorld, count: int) -> None:
    producer = EmbeddedProducer(world)
    producer.complete([producer.send("t", b"%d" % each, partition=each % PARTITIONS) for each in range(count)])
    world.remove(producer)


@pytest.mark.parametrize("assignor", [None, "uniform", "range"])
def test_members_share_the_partitions(assignor: str | None) -> None:
    world = make_world(1)
    group = Group(world, "t", group_protocol="consumer", group_remote_assignor=assignor)
    members = [group.join() for _ in range(3)]
    world.run(lambda: group.at_rest and sorted(len(member.subscription.states) for member in members) == [2, 3, 3])


def test_one_that_leaves_commits_and_the_others_go_on_from_there() -> None:
    world = make_world(2)
    write(world, 400)
    group = Group(world, "t", group_protocol="consumer", auto_commit_interval_ms=100_000)
    first = group.join()
    world.run(lambda: bool(first.in_hand))
    first.close()
    assert group.committed or world.cluster.groups.offsets.of(GROUP_ID)
    group.join()
    group.join(auto_commit_interval_ms=200)
    world.run(lambda: all(len(group.finished[tp]) == 50 for tp in group.partitions))


def test_one_that_is_killed_is_replaced_after_its_session() -> None:
    world = make_world(3)
    group = Group(world, "t", group_protocol="consumer")
    first = group.join()
    group.join()
    world.run(lambda: group.at_rest and len(first.subscription.states) == PARTITIONS // 2)
    group.kill(first)
    began = world.now
    world.run(lambda: group.at_rest)
    assert 4.0 < world.now - began < 9.0


def test_a_static_member_that_comes_back_gets_what_it_had() -> None:
    world = make_world(4)
    group = Group(world, "t", group_protocol="consumer")
    first, second = group.join(group_instance_id="a"), group.join(group_instance_id="b")
    world.run(lambda: group.at_rest and len(first.subscription.states) == PARTITIONS // 2)
    had = set(first.subscription.states)
    epoch = second.membership.metadata.generation_id
    first.close()
    again = group.join(group_instance_id="a")
    world.run(lambda: group.at_rest)
    assert set(again.subscription.states) == had
    assert second.membership.metadata.generation_id == epoch


def test_a_second_one_with_the_same_instance_id_is_refused_in_the_end() -> None:
    world = make_world(5)
    group = Group(world, "t", group_protocol="consumer")
    group.join(group_instance_id="a")
    world.run(lambda: group.at_rest)
    second = group.join(group_instance_id="a", default_api_timeout_ms=20_000)
    world.run(world.now + 15)
    assert second.errors == []
    world.run(lambda: len(second.errors) >= 2)
    assert {error.name for error in second.errors} == {"UNRELEASED_INSTANCE_ID"}  # type: ignore[attr-defined]


def test_a_static_member_that_was_killed_comes_back_when_its_session_is_over() -> None:
    world = make_world(5)
    group = Group(world, "t", group_protocol="consumer")
    first = group.join(group_instance_id="a")
    world.run(lambda: group.at_rest)
    group.kill(first)
    again = group.join(group_instance_id="a")
    warnings: list[str] = []
    again.membership.warn = warnings.append
    world.run(lambda: group.at_rest)
    assert again.errors == []
    assert len(warnings) == 1
    assert "group_instance_id='a' is in use by another member" in warnings[0]


def test_a_pattern_finds_topics_that_come_later() -> None:
    world = make_world(6)
    group = Group(world, "t", group_protocol="consumer")
    member = group.join(pattern="[tu]")
    world.run(lambda: group.at_rest)
    world.cluster.create_topic("u", 2)
    world.run(lambda: any(tp.topic == "u" for tp in member.subscription.states))


@pytest.mark.parametrize("policy", ["classic first", "consumer first"])
def test_members_of_both_protocols_share_a_group(policy: str) -> None:
    world = make_world(7)
    write(world, 80)
    group = Group(world, "t")
    kinds = ["classic", "consumer"] if policy == "classic first" else ["consumer", "classic"]
    first = group.join(group_protocol=kinds[0])
    world.run(lambda: group.at_rest)
    group.join(group_protocol=kinds[1])
    world.run(lambda: group.at_rest)
    first.close()
    world.run(lambda: group.at_rest and all(len(group.finished[tp]) == 10 for tp in group.partitions))


@pytest.mark.parametrize(("seed", "hangs"), [*((seed, 0.0) for seed in SEEDS), (0, 0.4), (1, 0.4)])
def test_random_schedules(seed: int, hangs: float) -> None:
    """`hangs`: how much of what breaks is nodes that hang and connections that are half open."""
    world = make_world(seed)
    write(world, 800)
    group = Group(world, "t", group_protocol="consumer")
    for _ in range(3):
        group.join(dawdles=0.03)
    world.disturb(every=1.0, loss=0.01, keys=[(GROUP, GROUP_ID)], hangs=hangs)
    end = world.now + 90.0
    while world.now < end:
        world.run(world.now + world.rng.uniform(0.5, 8.0))
        change(world, group)
    world.calm()
    for node in world.cluster.nodes.ids:
        if not world.cluster.nodes.is_alive(node):
            world.revive(node)
    for member in group.members:
        member.dawdles = 0.0
    write(world, 400)
    world.run(lambda: group.at_rest and group.has_committed_all())
    world.run(world.now + 5.0)
    assert group.at_rest
    assert {error.name for member in group.members for error in member.errors if hasattr(error, "name")} == set()


def change(world: EmbeddedWorld, group: Group) -> None:
    """Somebody comes, leaves or dies."""
    kind = world.rng.choice(["join", "kill", "close", "nothing"])
    if kind == "join" and len(group.members) < 6:
        group.join(dawdles=0.03)
    elif kind != "nothing" and len(group.members) > 1:
        member: Member = world.rng.choice(group.members)
        if kind == "kill":
            group.kill(member)
        else:
            member.close()
