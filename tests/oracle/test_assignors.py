"""Our assignors against Java's: the same bytes from members, the same bytes for them, over random groups."""

import os
import random
from collections.abc import Iterator

import pytest

from kwire import TopicPartition
from kwire.engine.groups.assignors import Assignment, ClusterView, assignors_of, sticky_general
from kwire.engine.groups.assignors.blobs import decode_assignment, encode_assignment
from tests.oracle.assignors import JavaAssignors, Member, Racks
from tests.oracle.driver import RefusedError
from tests.oracle.random_groups import Group
from tests.thorough import THOROUGH

NAMES = ("range", "roundrobin", "sticky", "cooperative-sticky")
GROUPS = int(os.environ.get("KWIRE_ASSIGNOR_GROUPS", "150" if THOROUGH else "60"))
GENERATIONS = 6
LEADER_LEAVES = 0.3


@pytest.fixture(scope="module")
def java() -> Iterator[JavaAssignors]:
    with JavaAssignors() as started:
        yield started


@pytest.mark.kafka
@pytest.mark.parametrize("name", NAMES)
def test_random_groups_are_assigned_the_same(java: JavaAssignors, name: str) -> None:
    for seed in range(GROUPS):
        _compare(java, name, Group(name, seed), f"group {seed}")


@pytest.mark.kafka
@pytest.mark.parametrize("name", NAMES)
def test_random_groups_with_many_topics_are_assigned_the_same(java: JavaAssignors, name: str) -> None:
    for seed in range(GROUPS // 8):
        _compare(java, name, Group(name, seed, is_wide=True), f"wide group {seed}")


def _compare(java: JavaAssignors, name: str, group: Group, case: str) -> None:
    """One leader remembers the newest generation that it has met; now and then another one leads."""
    leader, leads = assignors_of(name), f"{name} {case}"
    for generation in range(GENERATIONS):
        rows, placed = group.rows(), group.placed()
        if group.rng.random() < LEADER_LEAVES:
            leader, leads = assignors_of(name), f"{name} {case} {generation}"
        expected = _by_java(java, name, placed, rows, leads)
        mine = leader.assign(name, _view(group, placed), rows)
        _check(mine, expected, f"{case}, generation {generation}")
        group.take(mine)
        group.change()


@pytest.mark.kafka
@pytest.mark.parametrize("name", NAMES)
def test_members_say_the_same(java: JavaAssignors, name: str) -> None:
    """What a member sends after an assignment: at 13, 25 and 49 topics a HashMap grows, and so changes its order."""
    rng = random.Random(3)
    for _ in range(100):
        topics = [f"topic-{n}" for n in rng.sample(range(1000), rng.choice([1, 5, 12, 13, 14, 24, 25, 26, 48, 49, 50]))]
        owned = [TopicPartition(topic, n) for topic in topics for n in range(rng.choice([1, 1, 3]))]
        data = encode_assignment(Assignment(owned))
        generation, rack = rng.choice([0, 7, 2**31 - 1]), rng.choice([None, "", "a"])
        said = {"subscribed": topics, "owned": owned, "generation": generation}
        expected = java.metadata(name, assigned=data, rack=rack or None, **said)  # type: ignore[arg-type]
        mine = assignors_of(name)
        assert mine.assigned(name, data, generation) == owned
        assert mine.metadata(topics, owned, generation, rack) == [(name, expected)]


def test_balancing_ends_where_java_never_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """In this random group partitions go to an earlier owner that does not read them, and back, for ever."""
    runs: list[int] = []
    run = sticky_general.General.run
    monkeypatch.setattr(sticky_general.General, "run", lambda one: runs.append(1) or run(one))
    group = Group("cooperative-sticky", 784)
    for _ in range(GENERATIONS):
        runs.clear()
        rows, placed = group.rows(), group.placed()
        results = assignors_of("cooperative-sticky").assign("cooperative-sticky", _view(group, placed), rows)
        _check(results, None, "group 784")
        group.take(results)
        group.change()
    assert len(runs) == 2


def _view(group: Group, placed: Racks) -> ClusterView:
    racks = {topic: [frozenset(filter(None, of)) for of in row] for topic, row in placed.items()}
    return ClusterView(group.topics, racks)


def _by_java(java: JavaAssignors, name: str, placed: Racks, rows: list[Member], leads: str) -> dict[str, bytes] | None:
    try:
        return java.assign(name, placed, rows, leader=leads)
    except RefusedError as refused:
        if "NullPointerException" not in refused.java_class:
            raise
        return None


def _check(mine: dict[str, bytes], expected: dict[str, bytes] | None, case: str) -> None:
    """Java's sticky assignors fail where an earlier owner of a partition takes no part in the balancing."""
    if expected is None:
        assigned = [found for data in mine.values() for found in decode_assignment(data).partitions]
        assert len(assigned) == len(set(assigned)), case
        return
    assert mine.keys() == expected.keys(), case
    for member, data in expected.items():
        assert mine[member] == data, f"{case}, {member}: {decode_assignment(mine[member])} {decode_assignment(data)}"
