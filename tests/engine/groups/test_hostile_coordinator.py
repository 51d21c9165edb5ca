"""A coordinator that answers what none should: the poll says so, and the member does not hammer it."""

from __future__ import annotations

from collections.abc import Callable
from types import GeneratorType
from typing import Any
from uuid import UUID

import pytest

from kwire import records
from kwire.engine.common.addresses import TopicPartition
from kwire.engine.groups.assignors.blobs import encode_assignment
from kwire.engine.groups.assignors.contract import Assignment
from kwire.errors import UnknownTopicError
from kwire.schema.error_codes import MEMBER_ID_REQUIRED
from kwire.testing.answers import b03_metadata, b11_join_group, b14_sync_group, b68_consumer_group_heartbeat
from kwire.testing.contents import Contents
from kwire.testing.groups.offsets import Committed
from tests.engine.embedded_world import EmbeddedWorld
from tests.engine.groups.group_world import GroupMember, partitions_of

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


# What was assigned and is not there.


def assigning(answering: Any, *partitions: tuple[str, int]) -> list[float]:
    """Has every member be assigned these."""

    def change(response: Any) -> None:
        if not response.error_code:
            response.assignment = encode_assignment(Assignment(tuple(TopicPartition(*each) for each in partitions)))

    return answering(b14_sync_group, change)


BEYOND = "topic 't' has no partition 9: its partitions are 0 to 3"


@pytest.mark.parametrize("committed", [None, 3])
def test_a_partition_that_the_topic_does_not_have_is_told_and_the_rest_is_read(
    answering: Any, committed: int | None
) -> None:
    assigning(answering, ("t", 1), ("t", 9))
    asked = answering(b03_metadata, lambda response: None)
    shared = world()
    if committed is not None:
        shared.cluster.groups.find_or_make_classic("g")
        shared.cluster.groups.offsets.commit("g", "t", 9, Committed(committed))
    Contents(shared.cluster).append("t", 1, records.encode([b"a", b"b"]))
    member = member_in(shared)
    begun = shared.now
    shared.run(lambda: bool(member.warnings))
    assert shared.now - begun < 2
    assert member.warnings == [
        f"group 'g' has assigned t-9 to this consumer, but {BEYOND}; metadata is refreshed until that changes"
    ]
    shared.run(lambda: bool(member.faults))

    assert shared.now - begun == pytest.approx(60, abs=3)
    assert isinstance(member.faults[0], UnknownTopicError)
    assert str(member.faults[0]) == f"group 'g' has assigned t-9 to this consumer, but for 60 s now {BEYOND}"
    assert [offset for _, offset in member.read] == [0, 1]
    shared.run(shared.now + 50)
    assert (len(member.warnings), len(member.faults)) == (1, 1)
    assert len(asked) < 150, "one question in a second"


def test_a_partition_that_comes_to_be_there_is_read(answering: Any) -> None:
    assigning(answering, ("t", 5))
    shared = world()
    member = member_in(shared)
    shared.run(lambda: bool(member.warnings))
    shared.cluster.add_partitions(shared.cluster.topics["t"], 6)
    Contents(shared.cluster).append("t", 5, records.encode([b"a"]))
    shared.run(lambda: bool(member.read))
    shared.run(shared.now + 100)
    assert (len(member.warnings), member.faults) == (1, [])


def test_a_partition_of_a_topic_that_is_not_there_is_told(answering: Any) -> None:
    assigning(answering, ("u", 0))
    shared = world()
    member = GroupMember(shared, partition_assignment_strategy="range").subscribe("u").poll_every(lambda: 0.02)
    shared.run(lambda: bool(member.faults))
    assert len(member.warnings) == 1
    assert member.warnings[0].startswith("group 'g' has assigned u-0 to this consumer, but topic 'u' does not exist;")
    assert "u-0" in str(member.faults[0])
    assert isinstance(member.faults[0], UnknownTopicError)


def test_what_is_missing_for_a_moment_is_not_told(answering: Any) -> None:
    """The leader may have seen partitions that are news to this member's metadata."""
    assigning(answering, ("t", 5))
    shared = world()
    member = member_in(shared)
    shared.run(lambda: member.subscription.by_group and bool(member.core.cluster.generation))
    shared.cluster.add_partitions(shared.cluster.topics["t"], 6)
    shared.run(lambda: bool(member.owned))
    shared.run(shared.now + 100)
    assert member.warnings == []
    assert member.faults == []


def test_topics_that_were_not_subscribed_to_are_told_once(answering: Any) -> None:
    assigning(answering, ("u", 0))
    shared = world()
    member = member_in(shared)
    shared.run(shared.now + 5)
    told = "group 'g' has assigned partitions of ['u'] to this consumer, which is subscribed to ['t']: it joins again."
    assert member.warnings == [f"{told} The leader's assignor 'range' is at fault"]


def test_an_id_of_no_topic_is_told_and_the_rest_is_read(answering: Any) -> None:
    """By the protocol of Kafka 4, where assignments have ids for names."""
    unknown = UUID(int=77)

    def change(response: Any) -> None:
        if response.assignment is not None:
            row = type(response.assignment).TopicPartitions(topic_id=unknown, partitions=[1, 0])
            response.assignment.topic_partitions = [*response.assignment.topic_partitions, row]

    answering(b68_consumer_group_heartbeat, change)
    shared = world()
    member = GroupMember(shared, group_protocol="consumer").subscribe("t").poll_every(lambda: 0.02)
    begun = shared.now
    shared.run(lambda: bool(member.warnings))
    what = f"group 'g' has assigned 0, 1 of the topic with id {unknown} to this consumer, but"
    assert member.warnings == [f"{what} no broker has that id; metadata is refreshed until that changes"]
    shared.run(lambda: bool(member.faults))
    assert shared.now - begun == pytest.approx(60, abs=5)
    assert str(member.faults[0]) == f"{what} for 60 s now no broker has that id"
    assert member.owned == partitions_of("t", 4)
