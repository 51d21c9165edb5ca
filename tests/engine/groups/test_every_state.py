"""Every state of a membership meets every event that can come in it; nothing is waited for that is there already."""

from __future__ import annotations

import pytest

from kwire.engine.common.lifecycle import Lifecycle
from kwire.engine.groups.classic import ClassicMembership
from kwire.engine.groups.consumer_group import ConsumerMembership
from kwire.schema.error_codes import (
    FENCED_INSTANCE_ID,
    FENCED_MEMBER_EPOCH,
    GROUP_AUTHORIZATION_FAILED,
    UNKNOWN_MEMBER_ID,
)
from tests.engine.groups import state_world
from tests.engine.groups.group_world import partitions_of
from tests.engine.groups.state_world import (
    BOUND_S,
    CODED_EVENTS,
    EVENTS,
    HELD_S,
    JOIN_EVENTS,
    MET_S,
    REACH_CLASSIC,
    REACH_NEW,
    RESTS_S,
    STRATEGIES,
    Story,
    is_new,
)
from tests.engine.moves import MadeMoves
from tests.thorough import THOROUGH

CASTS = ("alone", "alone by pattern", "alone and static", "leads", "follows")
DEALT_CODES = 24
"""`make test` lets each state of either protocol meet each event in one cast, and one of so many that are about an
error code."""


def casts_of(strategy: str) -> list[str]:
    """By KIP-848 nobody leads."""
    return [cast for cast in CASTS if not (is_new(strategy) and cast == "leads")]


def states_of(strategy: str, cast: str) -> list[str]:
    """The leader is known once it has joined. A follower by KIP-848 gets a new topic by a rebalance, when the name is
    known already. Only a cooperative member revokes after a join: here, where another one comes. A static leader that
    comes back leaves the assignment as it is (KIP-814), so what came while it was away is assigned with the next
    rebalance, as by Java's."""
    if is_new(strategy):
        return [state for state in REACH_NEW if not (cast == "follows" and state == "waiting for names")]
    left_out = {"leads": {"out of the group"}, "alone and static": {"leaving", "fenced"}}.get(cast, set())
    if strategy != "cooperative-sticky" or cast not in ("alone", "alone by pattern"):
        left_out = left_out | {"revoking"}
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


@pytest.mark.parametrize(
    ("strategy", "state", "event"),
    [
        ("range", "joining", "SyncGroup refused by 82"),
        ("range", "fenced", "it unsubscribes"),
        ("range", "leaving", "it unsubscribes"),
        ("range", "handing over", "it unsubscribes"),
        ("consumer", "due to reconcile", "it unsubscribes"),
        ("consumer", "waiting for names", "it unsubscribes"),
        ("consumer", "unsubscribed", "a step is cut"),
        *[("cooperative-sticky", state, "it leaves in haste and comes back") for state in REACH_CLASSIC],
        *[("consumer", state, "it leaves in haste and comes back") for state in REACH_NEW],
    ],
)
def test_what_comes_rarely_in_a_state_does_no_harm(strategy: str, state: str, event: str) -> None:
    assert trouble(strategy, "alone", state, event) is None


def test_a_cut_step_while_partitions_that_go_are_committed() -> None:
    story = Story("cooperative-sticky", role="alone")
    story.reach("revoking")
    EVENTS["a step is cut"](story)
    assert story.member.membership.state == "joined"
    assert story.ends_well(), story.picture()


@pytest.mark.parametrize("state", ["joined", "stable"])
def test_a_cut_step_while_a_loss_is_taken_in(state: str, monkeypatch: pytest.MonkeyPatch) -> None:
    story = Story("range")
    story.reach(state)

    def cut(reason: str, now: float) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(story.member.membership, "_lose_all", cut)
        with pytest.raises(KeyboardInterrupt):
            story.refuse_heartbeat(UNKNOWN_MEMBER_ID)
    EVENTS["a step is cut"](story)
    assert story.member.membership.state == "out of the group"
    story.go_on()
    assert story.ends_well(), story.picture()


def test_a_cut_step_while_partitions_that_the_coordinator_wants_back_are_committed() -> None:
    story = Story("consumer")
    story.settle()
    story._write("t", 3)
    story.run(MET_S)
    story.world.faults.delay("OffsetCommit", 2 * HELD_S)
    EVENTS["another comes"](story)
    story.until(lambda: story.member.membership.state == "reconciling" and not story.member.membership.has_event)
    EVENTS["a step is cut"](story)
    assert story.member.membership.state == "due to reconcile"
    assert story.ends_well(), story.picture()


def test_a_cut_step_between_the_last_commit_and_the_listener(monkeypatch: pytest.MonkeyPatch) -> None:
    story = Story("consumer")
    story.reach("committing")

    def cut() -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(story.member.membership, "_tell_all", cut)
        with pytest.raises(KeyboardInterrupt):
            story.until(lambda: not story.member.leaves)
    EVENTS["a step is cut"](story)
    story.until(lambda: not story.member.leaves)
    assert story.member.told[-1] == ("revoked", tuple(sorted(partitions_of("t", 3))))


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_cut_step_while_all_is_committed_that_is_given_back(strategy: str) -> None:
    story = Story(strategy)
    story.settle()
    story._write("t", 3)
    story.run(MET_S)
    story.world.faults.delay("OffsetCommit", 2 * HELD_S)
    story.member.leave()
    assert not story.member.membership.can_leave
    EVENTS["a step is cut"](story)
    story.until(lambda: not story.member.leaves)
    assert story.member.told[-1][0] == "revoked"
    story.go_on()
    assert story.ends_well(), story.picture()


@pytest.mark.parametrize("event", ["it unsubscribes", "it leaves in haste and comes back", "heartbeat refused by 25"])
def test_what_comes_while_partitions_that_go_are_committed(event: str) -> None:
    assert trouble("cooperative-sticky", "alone", "revoking", event) is None


def test_topics_that_are_not_wanted_any_more_once_the_listener_knows_of_a_loss_are_not_read() -> None:
    story = Story("cooperative-sticky", role="alone")
    story.settle()
    story.member.dwells_in = frozenset({"lost"})
    story.hold("JoinGroup")
    story.member.membership.rejoin("a test", story.now)
    story.until(lambda: story.member.membership.state == "joining")
    story.world.cluster.groups.by_id["g"].generation += 1  # type: ignore[union-attr]
    story.until(lambda: story.member.membership.state == "revoking" and story.member.is_dwelling)
    EVENTS["other topics are wanted"](story)
    before = len(story.member.told)
    story.go_on()
    assert story.ends_well(), story.picture()
    assert {(kind, tp.topic) for kind, partitions in story.member.told[before:] for tp in partitions} == {
        ("assigned", "late")
    }


def test_a_commit_that_is_fenced_after_a_join_that_failed() -> None:
    story = Story("range", role="alone", static=True)
    story.world.faults.error("SyncGroup", GROUP_AUTHORIZATION_FAILED)
    story.member.begin()
    story.until(lambda: bool(story.member.faults))
    story.member.rest()
    assert story.member.membership.state == "out of the group"
    assert story.member.membership.refused(FENCED_INSTANCE_ID, story.now)
    assert story.member.membership.state == "fenced"
    story.go_on()
    assert story.ends_well(), story.picture()


@pytest.mark.parametrize("state", ["preparing to join", "joined", "revoking", "handing over", "stable", "leaving"])
def test_a_member_that_is_fenced_in_a_state_says_so(state: str) -> None:
    story = Story("cooperative-sticky")
    story.reach(state)
    story.refuse_heartbeat(FENCED_INSTANCE_ID)
    assert story.member.membership.state == "fenced"
    story.go_on()
    assert story.ends_well(), story.picture()


@pytest.mark.parametrize("state", ["handing over", "revoking", "preparing to join", "stable"])
def test_a_member_that_is_fenced_while_its_listener_is_at_work_loses_the_rest(state: str) -> None:
    story = Story("cooperative-sticky")
    story.reach(state)
    story.refuse_heartbeat(FENCED_INSTANCE_ID)
    story.member.go_on()
    story.run(1.0)
    assert story.member.owned == set()
    assert not story.member.subscription.states
    assert story.member.told[-1][0] == "lost" or state == "preparing to join"


@pytest.mark.parametrize(
    "state", ["joining", "stable", "due to reconcile", "waiting for names", "reconciling", "acknowledging"]
)
def test_a_member_that_is_forgotten_in_a_state_joins_again(state: str) -> None:
    story = Story("consumer")
    story.reach(state)
    story.refuse_heartbeat(FENCED_MEMBER_EPOCH)
    assert story.member.membership.state in ("fenced", "joining")
    story.go_on()
    assert story.ends_well(), story.picture()


@pytest.mark.parametrize("state", ["due to reconcile", "waiting for names", "committing"])
def test_a_member_that_fails_in_a_state_says_so(state: str) -> None:
    story = Story("consumer")
    story.reach(state)
    story.refuse_heartbeat(GROUP_AUTHORIZATION_FAILED)
    assert story.member.membership.state == "failed"
    story.go_on()
    assert story.ends_well(), story.picture()


@pytest.mark.parametrize("state", ["joining", "waiting for names", "acknowledging"])
def test_a_member_that_does_not_poll_while_its_coordinator_is_slow(state: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state_world, "HELD_S", RESTS_S + 1.0)
    monkeypatch.setattr(state_world, "BOUND_S", BOUND_S + 2 * (RESTS_S + 1.0))
    story = Story("consumer")
    story.reach(state)
    story.member.rest()
    story.until(lambda: story.member.membership.state == "stale")
    story.go_on()
    assert story.ends_well(), story.picture()


@pytest.mark.parametrize("membership", [ClassicMembership, ConsumerMembership])
def test_each_move_of_the_table_was_made_and_no_other(membership: type[Lifecycle], moves: MadeMoves) -> None:
    assert moves.are_all_of(membership)
