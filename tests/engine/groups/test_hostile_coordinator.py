"""A coordinator that answers what none should: the poll says so, and the member does not hammer it."""

from __future__ import annotations

from collections.abc import Callable
from types import GeneratorType
from typing import Any

import pytest

from kwire.engine.addresses import TopicPartition
from kwire.engine.error_codes import MEMBER_ID_REQUIRED
from kwire.engine.groups.assignors.blobs import encode_assignment
from kwire.engine.groups.assignors.contract import Assignment
from kwire.testing import b11_join_group, b14_sync_group
from tests.engine.embedded_world import EmbeddedWorld
from tests.engine.groups.group_world import GroupMember

Change = Callable[[Any], None]


@pytest.fixture
def answering(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any, Change], list[float]]:
    """Has the handlers of an API change each answer; the moments at which they did."""

    def make(module: Any, change: Change) -> list[float]:
        real, moments = module.answer, []

        def answer(context: Any) -> Any:
            found = real(context)
            response = (yield from found) if isinstance(found, GeneratorType) else found
            change(response)
            moments.append(context.now())
            return response

        monkeypatch.setattr(module, "answer", answer)
        return moments

    return make


def member_in(world: EmbeddedWorld) -> GroupMember:
    return GroupMember(world, partition_assignment_strategy="range").subscribe("t").poll_every(lambda: 0.02)


def world() -> EmbeddedWorld:
    return EmbeddedWorld(nodes=1, topics={"t": 4}, group_initial_rebalance_delay_ms=0)


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [("generation_id", -1, "generation -1"), ("member_id", "", "member ''")],
)
def test_a_member_without_a_generation_or_an_id(answering: Any, name: str, value: object, words: str) -> None:
    def change(response: Any) -> None:
        if not response.error_code:
            setattr(response, name, value)

    moments = answering(b11_join_group, change)
    shared = world()
    member = member_in(shared)
    shared.run(shared.now + 5)
    assert words in str(member.faults[0])
    assert "group 'g'" in str(member.faults[0])
    assert len(moments) < 600, "one join for each poll at most"


def test_a_member_id_for_a_member_that_has_one(answering: Any) -> None:
    def change(response: Any) -> None:
        response.error_code = MEMBER_ID_REQUIRED
        response.member_id = f"member-{len(moments)}"

    moments = answering(b11_join_group, change)
    shared = world()
    member_in(shared)
    shared.run(shared.now + 20)
    assert 5 < len(moments) < 60


def test_a_partition_that_cannot_be(answering: Any) -> None:
    def change(response: Any) -> None:
        response.assignment = encode_assignment(Assignment((TopicPartition("t", -1),)))

    answering(b14_sync_group, change)
    shared = world()
    member = member_in(shared)
    shared.run(lambda: bool(member.faults))
    assert str(member.faults[0]) == "the assignment of group 'g' by 'range' has partition -1 of 't'"
    assert member.owned == set()
