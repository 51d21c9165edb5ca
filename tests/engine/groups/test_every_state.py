"""Every state of a membership meets every event that can come in it; nothing is waited for that is there already."""

from __future__ import annotations

import pytest

from tests.engine.groups.state_world import (
    CODED_EVENTS,
    EVENTS,
    JOIN_EVENTS,
    MET_S,
    REACH_CLASSIC,
    REACH_NEW,
    STRATEGIES,
    Story,
    is_new,
)
from tests.thorough import THOROUGH

CASTS = ("alone", "alone by pattern", "alone and static", "leads", "follows")
DEALT_CODES = 24
"""The quick run lets each state of either protocol meet each event in one cast, and one of so many that are about an
error code."""


def casts_of(strategy: str) -> list[str]:
    """By KIP-848 nobody leads."""
    return [cast for cast in CASTS if not (is_new(strategy) and cast == "leads")]


def states_of(strategy: str, cast: str) -> list[str]:
    """The leader is known once it has joined. A static leader that comes back leaves the assignment as it is (KIP-814),
    so what came while it was away is assigned with the next rebalance, as by Java's."""
    if is_new(strategy):
        return list(REACH_NEW)
    left_out = {"leads": {"out of the group"}, "alone and static": {"leaving", "fenced"}}.get(cast, set())
    return [state for state in REACH_CLASSIC if state not in left_out]


def events_of(strategy: str, cast: str) -> list[str]:
    """All of them in a thorough run, else those dealt to this cast."""
    coded = [*CODED_EVENTS, *(() if is_new(strategy) else JOIN_EVENTS)]
    if THOROUGH:
        return [*EVENTS, *coded]
    alike = [each for each in STRATEGIES if is_new(each) == is_new(strategy)]
    hands = [(each, hand) for each in alike for hand in casts_of(each)]
    at = hands.index((strategy, cast))
    return [*list(EVENTS)[at :: len(hands)], *coded[at::DEALT_CODES]]


def trouble(strategy: str, cast: str, state: str, event: str) -> str | None:
    """What is wrong after the event, in words; None where all is well in time."""
    story = Story(strategy, role=cast.split()[0], by_pattern="pattern" in cast, static="static" in cast)
    story.reach(state)
    {**EVENTS, **CODED_EVENTS, **JOIN_EVENTS}[event](story)
    story.run(MET_S)
    story.go_on()
    return None if story.ends_well() else f"{event}: {story.picture()}"


@pytest.mark.parametrize(
    ("strategy", "cast", "state"),
    [
        pytest.param(strategy, cast, state, id=f"{strategy}, {cast}, {state}")
        for strategy in STRATEGIES
        for cast in casts_of(strategy)
        for state in states_of(strategy, cast)
    ],
)
def test_a_member_reads_everything_soon_whatever_comes_in_a_state(strategy: str, cast: str, state: str) -> None:
    found = [why for event in events_of(strategy, cast) if (why := trouble(strategy, cast, state, event)) is not None]
    assert not found, "\n".join(found)


TOPICS_CHANGE = [
    "a topic appears",
    "a topic appears and metadata is late",
    "partitions are added",
    "a topic is made anew",
    "a match appears",
]


@pytest.mark.parametrize("event", TOPICS_CHANGE)
@pytest.mark.parametrize("cast", ["alone", "alone by pattern"])
@pytest.mark.parametrize("state", ["joining", "waiting for the assignment"])
def test_topics_that_change_during_a_join_are_read_after_it(state: str, cast: str, event: str) -> None:
    assert trouble("range", cast, state, event) is None


@pytest.mark.parametrize("state", ["reconciling in part", "acknowledging in part"])
def test_names_that_come_during_a_reconciliation_are_read_after_it(state: str) -> None:
    assert trouble("consumer", "alone", state, "a topic appears") is None
