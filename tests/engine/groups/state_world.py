"""A member of a group that is stopped in one state, meets one event there, and has to come back to reading everything.

    story = Story("cooperative-sticky", role="leads")
    story.reach(SYNCING)                # the member is in that state, and stays there for MET_S
    EVENTS["a topic appears"](story)
    story.run(MET_S)
    story.go_on()                       # nothing is held any more: the program polls on
    assert story.ends_well()            # within BOUND_S it reads all of its subscription

Virtual time on the embedded cluster. Metadata is asked for when an event has changed it, never because it is old:
metadata_max_age_ms is five minutes.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from kwire.engine.calls.lookup import GROUP
from kwire.engine.calls.offsets import OffsetAndMetadata
from kwire.engine.common.addresses import TopicPartition
from kwire.engine.groups import classic, classic_states, consumer_group, consumer_group_states
from kwire.engine.groups.membership import RebalanceEvent
from kwire.errors import broker
from kwire.records import encode
from kwire.schema.error_codes import FENCED_INSTANCE_ID, FENCED_MEMBER_EPOCH, GROUP_MAX_SIZE_REACHED
from kwire.testing.contents import Contents
from tests.engine.embedded_world import EmbeddedWorld
from tests.engine.groups.group_world import GroupMember

SESSION_S = 1.0
INTERVAL_S = 0.2
HELD_S = 0.4
"""How long a request is held, so that the member stays in a state."""

MET_S = 0.2
"""Time for an event to reach the member while it is in that state."""

BOUND_S = 1.0 + SESSION_S + INTERVAL_S
"""A second, after the coordinator has given up a member that only the client took for forgotten."""

MATCHING_S = 10.0
"""How often a coordinator looks at the most which topics match the pattern of a KIP-848 member."""

POLL_S = 0.02
RESTS_S = 1.5
ENDED = frozenset({classic_states.FENCED, consumer_group_states.FATAL})
STRATEGIES = ("range", "cooperative-sticky", "consumer")


def is_new(strategy: str) -> bool:
    """Whether members are so by KIP-848."""
    return strategy == "consumer"


class Reader(GroupMember):
    """A consumer that polls, unless it rests or its listener is still at work. `dwells_in` names the calls of the
    listener that do not return before `go_on`."""

    def __init__(self, world: EmbeddedWorld, name: str, **given: Any) -> None:
        super().__init__(world, name, **given)
        self.dwells_in: frozenset[str] = frozenset()
        self.leaves = False
        self._polls = False
        self.poll_every(lambda: POLL_S)

    def begin(self) -> Reader:
        self._polls = True
        return self

    def step(self) -> None:
        if self._polls and not self.is_dwelling:
            super().step()

    def rest(self) -> None:
        self._polls = False

    def go_on(self) -> None:
        """The listener returns, and polls go on."""
        event, self.dwells_in = self.membership._current, frozenset()
        if event is not None:
            self._returned(event)
        self._polls = True

    @property
    def is_dwelling(self) -> bool:
        return self.membership._current is not None

    def hear(self) -> None:
        while not self.is_dwelling and (event := self.membership.next_event(self.now)) is not None:
            self.told.append((event.kind, event.partitions))
            if event.kind not in self.dwells_in:
                self._returned(event)

    def _returned(self, event: RebalanceEvent) -> None:
        if event.kind == "assigned":
            self.owned |= set(event.partitions)
        else:
            self.owned -= set(event.partitions)
        self.membership.event_done(event, None, self.now)

    def leave(self) -> None:
        """Begins to unsubscribe, as the front does."""
        self.leaves = True
        self._polls = False
        self.fetcher.settle()
        self.membership.unsubscribe(self.now)

        def go_on() -> None:
            self.hear()
            if not self.leaves:
                return
            if not self.is_dwelling and self.membership.can_leave:
                self.membership.leave(self.now, self._on_left)
            else:
                self.at(self.now + POLL_S, go_on)

        go_on()

    def _on_left(self, now: float) -> None:
        self.leaves = False


class Story:
    """One member, perhaps another one beside it that never stops to poll, and what they are to read."""

    def __init__(self, strategy: str, *, role: str = "alone", by_pattern: bool = False, static: bool = False) -> None:
        self.strategy = strategy
        self.world = EmbeddedWorld(
            nodes=2,
            topics={"t": 3},
            group_initial_rebalance_delay_ms=0,
            group_min_session_timeout_ms=100,
            group_consumer_session_timeout_ms=int(SESSION_S * 1000),
            group_consumer_heartbeat_interval_ms=int(INTERVAL_S * 1000),
        )
        self.is_new = is_new(strategy)
        self.topics: tuple[str, ...] = () if by_pattern else ("t", "late")
        self.pattern: str | None = "t.*|late" if by_pattern else None
        self.contents = Contents(self.world.cluster)
        self.other: Reader | None = None
        self.readers: list[Reader] = []
        self._write("t", 3)
        if role == "follows":
            self._bring_other()
        self.member = self._reader("member", group_instance_id="i" if static else None)
        self.role = role

    # -- the cast ---------------------------------------------------------------------------------------------------

    def _reader(self, name: str, **more: Any) -> Reader:
        protocol = {"group_protocol": "consumer"}
        classic = {"session_timeout_ms": int(SESSION_S * 1000), "heartbeat_interval_ms": int(INTERVAL_S * 1000)}
        kind = protocol if self.is_new else {**classic, "partition_assignment_strategy": self.strategy}
        given = {"retry_backoff_ms": 20, "retry_backoff_max_ms": 50, "reconnect_backoff_max_ms": 50, **kind, **more}
        reader = Reader(self.world, name, max_poll_interval_ms=int(1000 * RESTS_S), max_poll_records=50, **given)
        reader.subscribe(*self.topics, pattern=self.pattern)
        self.readers.append(reader)
        return reader

    def _bring_other(self) -> None:
        self.other = self._reader("other").begin()
        other = self.other
        self.world.run(lambda: other.membership.is_stable and bool(other.owned))

    @property
    def members(self) -> list[Reader]:
        return [each for each in self.readers if not each.dead and each.membership.active]

    @property
    def now(self) -> float:
        return self.world.now

    # -- topics -----------------------------------------------------------------------------------------------------

    def _write(self, topic: str, partitions: int) -> None:
        for number in range(partitions):
            self.contents.append(topic, number, encode([b"x"]))

    def create(self, topic: str, partitions: int) -> None:
        if topic in self.world.cluster.topics:
            return
        self.world.cluster.create_topic(topic, partitions)
        self._write(topic, partitions)
        self.learn()

    def grow(self, topic: str, more: int) -> None:
        found = self.world.cluster.topics[topic]
        self.world.cluster.add_partitions(found, more)
        self._write(topic, len(found.partitions))
        self.learn()

    def delete(self, topic: str) -> None:
        self.world.cluster.delete_topic(self.world.cluster.topics[topic])
        for member in self.readers:
            member.read = [(tp, offset) for tp, offset in member.read if tp.topic != topic]
        self.learn()

    def learn(self) -> None:
        """Everybody asks for metadata."""
        for member in self.members:
            member.core.cluster.refresh(self.now)

    def is_wanted(self, topic: str) -> bool:
        if self.pattern is not None:
            return re.fullmatch(self.pattern, topic) is not None
        return topic in self.topics

    @property
    def wanted(self) -> set[TopicPartition]:
        """What the group has to read."""
        return {
            TopicPartition(name, number)
            for name, found in self.world.cluster.topics.items()
            if self.is_wanted(name)
            for number in range(len(found.partitions))
        }

    # -- the states -------------------------------------------------------------------------------------------------

    def subscribe(self, *topics: str, pattern: str | None = None) -> None:
        """Everybody wants other topics."""
        self.topics, self.pattern = topics, pattern
        for member in self.members:
            member.subscribe(*topics, pattern=pattern)

    def run(self, seconds: float) -> None:
        self.world.run(self.now + seconds)

    def reach(self, state: str) -> None:
        """The member is in that state now, and stays there for MET_S at least."""
        (REACH_NEW if self.is_new else REACH_CLASSIC)[state](self)
        assert state.startswith(self.member.membership.state), (self.member.membership.state, state)

    def settle(self) -> None:
        """The members have joined, and read everything."""
        self.member.begin()
        if self.role == "leads":
            self.until(lambda: self.member.membership.is_stable and bool(self.member.owned))
            self._bring_other()
        self.until(lambda: self.is_well and all(each.owned for each in self.members))

    def until(self, condition: Callable[[], bool]) -> None:
        limit = self.now + 30.0
        self.world.run(lambda: condition() or self.now > limit)
        assert condition(), self.picture()

    def refuse_heartbeat(self, code: int) -> None:
        """As if a heartbeat of the member had been answered so."""
        membership, error = self.member.membership, broker.error_for(code)
        if isinstance(membership, consumer_group.ConsumerMembership):
            membership.heartbeat_refused(error, self.now)
        else:
            assert isinstance(membership, classic.ClassicMembership)
            membership._on_heartbeat_refused(error, self.now)

    def hold(self, api: str) -> None:
        """The next request of that kind is worked on after HELD_S only."""
        self.world.faults.delay(api, HELD_S)

    # -- the end ----------------------------------------------------------------------------------------------------

    def go_on(self) -> None:
        """The program goes on, and whoever left subscribes again."""
        member = self.member
        if member.resting:  # it closes
            self.until(lambda: member.dead)
            return
        if member.leaves or not member.membership.active:
            member.go_on()
            member.rest()
            self.until(lambda: not member.leaves)
            member.subscribe(*self.topics, pattern=self.pattern)
        member.go_on()

    @property
    def is_well(self) -> bool:
        """Whether everyone is stable, and each partition is read by one of them."""
        members = self.members
        owned = [tp for member in members for tp in member.owned]
        read = {tp for member in self.readers for tp, _ in member.read}
        return not members or (
            all(member.membership.is_stable and not member.membership.has_event for member in members)
            and sorted(owned) == sorted(self.wanted)
            and all(set(member.subscription.states) == member.owned for member in members)
            and read >= self.wanted
        )

    @property
    def told(self) -> Reader | None:
        """One whose program hears of its failure in each poll."""
        return next((each for each in self.members if each.membership.state in ENDED and each.faults), None)

    def ends_well(self) -> bool:
        """Whether all is well in time; who was told that it is out of the group subscribes again."""
        limit = self.now + BOUND_S + (MATCHING_S if self.is_new and self.pattern is not None else 0.0)
        self.world.run(lambda: self.is_well or self.told is not None or self.now >= limit)
        told = self.told
        if told is None:
            return self.is_well
        told.subscribe(*self.topics, pattern=self.pattern)
        return self.ends_well()

    def picture(self) -> str:
        """What is wrong, for the reader of a failure."""
        missing = self.wanted - {tp for member in self.readers for tp, _ in member.read}
        return "; ".join(
            [
                f"not read: {sorted(map(str, missing))}",
                *(
                    f"{each.name}: {each.membership.state}, owns {sorted(map(str, each.owned))}, "
                    f"told {each.told[-3:]}, faults {each.faults[-2:]}, warnings {each.warnings[-2:]}"
                    for each in self.members
                ),
            ]
        )


# -- how the states are reached ----------------------------------------------------------------------------------------


def out(story: Story) -> None:
    """It has subscribed, and did not poll."""


def stable(story: Story) -> None:
    story.settle()


def _rebalance(story: Story) -> None:
    """The next poll of the member begins a rebalance."""
    story.member.membership.rejoin("a test", story.now)


def preparing(story: Story) -> None:
    """What is finished is being committed before the member joins again."""
    story.settle()
    _write_and_read(story)
    story.hold("OffsetCommit")
    _rebalance(story)
    story.until(lambda: story.member.membership.state == classic_states.PREPARING)


def _write_and_read(story: Story) -> None:
    story._write("t", 3)
    story.run(0.1)


def _in_the_air(api: str, state: str) -> Callable[[Story], None]:
    def reach(story: Story) -> None:
        if story.role != "alone":
            story.settle()
        story.hold(api)
        if story.role == "alone":
            story.member.begin()
        else:
            _rebalance(story)
        story.until(lambda: story.member.membership.state == state)

    return reach


def joined(story: Story) -> None:
    """The assignment has come, and the member does not poll."""
    _in_the_air("SyncGroup", classic_states.SYNCING)(story)
    story.member.rest()
    story.until(lambda: story.member.membership.state == classic_states.JOINED)


def revoking(story: Story) -> None:
    """What goes to another member is being committed."""
    story.settle()
    story.world.faults.delay("SyncGroup", HELD_S, times=2)
    another_comes(story)
    story.until(lambda: story.member.membership.state == classic_states.SYNCING)
    story._write("t", 3)
    story.run(HELD_S / 2)
    story.hold("OffsetCommit")
    story.until(lambda: story.member.membership.state == classic_states.REVOKING)


def handing(story: Story) -> None:
    """The listener is being told what is new."""
    if story.role != "alone":
        story.settle()
    story.member.dwells_in = frozenset({"assigned"})
    if story.role == "alone":
        story.member.begin()
    else:
        _rebalance(story)
    story.until(lambda: story.member.membership.state == classic_states.HANDING and story.member.is_dwelling)


def leaving(story: Story) -> None:
    story.settle()
    story.member.dwells_in = frozenset({"revoked"})
    story.member.leave()
    story.until(lambda: story.member.is_dwelling)


def fenced(story: Story) -> None:
    """The coordinator says that another one has the same group_instance_id."""
    story.settle()
    story.refuse_heartbeat(FENCED_INSTANCE_ID)


REACH_CLASSIC: dict[str, Callable[[Story], None]] = {
    classic_states.OUT: out,
    classic_states.PREPARING: preparing,
    classic_states.JOINING: _in_the_air("JoinGroup", classic_states.JOINING),
    classic_states.SYNCING: _in_the_air("SyncGroup", classic_states.SYNCING),
    classic_states.JOINED: joined,
    classic_states.REVOKING: revoking,
    classic_states.HANDING: handing,
    classic_states.STABLE: stable,
    classic_states.LEAVING: leaving,
    classic_states.FENCED: fenced,
}


def joining_new(story: Story) -> None:
    story.hold("ConsumerGroupHeartbeat")
    story.member.begin()
    story.until(lambda: story.member.membership.state == consumer_group_states.JOINING)


def reconciling(story: Story) -> None:
    """The listener is being told what is new."""
    story.member.dwells_in = frozenset({"assigned"})
    story.member.begin()
    story.until(lambda: story.member.is_dwelling)


def due(story: Story) -> None:
    """The assignment has come, and the member does not poll."""
    joining_new(story)
    story.member.rest()
    story.until(lambda: story.member.membership.state == consumer_group_states.DUE)


def nameless(story: Story) -> None:
    """All is read but a topic whose name is not known."""
    story.run(MET_S)
    story.world.faults.delay("Metadata", HELD_S, times=4)
    story.create("late", 2)
    story.member.begin()
    story.until(lambda: story.member.membership.state == consumer_group_states.NAMELESS)


def acknowledging(story: Story) -> None:
    """What is read by now is to be said by a heartbeat, behind one that is held."""
    reconciling(story)
    story.hold("ConsumerGroupHeartbeat")
    heartbeats = story.member.membership._heartbeats  # type: ignore[attr-defined]
    story.until(lambda: heartbeats._is_in_flight)
    story.member.go_on()


def in_part(reach: Callable[[Story], None], seconds: float) -> Callable[[Story], None]:
    """Of one of the topics that are assigned, the name is not known before `seconds` have passed."""

    def reach_in_part(story: Story) -> None:
        story.run(MET_S)
        story.world.faults.delay("Metadata", seconds, times=4)
        story.create("late", 2)
        reach(story)

    return reach_in_part


def committing(story: Story) -> None:
    """It has unsubscribed, and what is finished is being committed."""
    story.settle()
    _write_and_read(story)
    story.hold("OffsetCommit")
    story.member.leave()


def unsubscribed(story: Story) -> None:
    """It has unsubscribed while its listener is being told of a loss."""
    fenced_new(story)
    story.member.leave()


def fenced_new(story: Story) -> None:
    """The coordinator has forgotten the member, whose listener is being told of the loss."""
    story.settle()
    story.member.dwells_in = frozenset({"lost"})
    story.refuse_heartbeat(FENCED_MEMBER_EPOCH)
    story.until(lambda: story.member.is_dwelling)


def stale(story: Story) -> None:
    story.settle()
    story.member.rest()
    story.until(lambda: story.member.membership.state == consumer_group_states.STALE)


def fatal(story: Story) -> None:
    story.settle()
    story.refuse_heartbeat(GROUP_MAX_SIZE_REACHED)
    story.until(lambda: story.member.membership.state == consumer_group_states.FATAL and bool(story.member.faults))


REACH_NEW: dict[str, Callable[[Story], None]] = {
    consumer_group_states.OUT: out,
    consumer_group_states.JOINING: joining_new,
    consumer_group_states.STABLE: stable,
    consumer_group_states.DUE: due,
    consumer_group_states.NAMELESS: nameless,
    consumer_group_states.RECONCILING: reconciling,
    consumer_group_states.ACKNOWLEDGING: acknowledging,
    f"{consumer_group_states.RECONCILING} in part": in_part(reconciling, MET_S / 2),
    f"{consumer_group_states.ACKNOWLEDGING} in part": in_part(acknowledging, INTERVAL_S + MET_S / 2),
    consumer_group_states.FENCED: fenced_new,
    consumer_group_states.STALE: stale,
    consumer_group_states.UNSUBSCRIBED: unsubscribed,
    consumer_group_states.COMMITTING: committing,
    consumer_group_states.LEAVING: leaving,
    consumer_group_states.FATAL: fatal,
}


# -- what may happen ---------------------------------------------------------------------------------------------------

CODES = (-1, 7, 13, 14, 15, 16, 22, 25, 27, 29, 30, 35, 42, 81, 82, 110, 111, 113)
"""Of the coordinator, of members, of epochs, of permissions, and some that nobody expects."""


def a_topic_appears(story: Story) -> None:
    story.create("late", 2)


def a_topic_appears_and_metadata_is_late(story: Story) -> None:
    story.world.faults.delay("Metadata", HELD_S / 2)
    story.create("late", 2)


def partitions_are_added(story: Story) -> None:
    story.grow("t", 2)


def a_topic_is_deleted(story: Story) -> None:
    story.delete("t")


def a_topic_is_made_anew(story: Story) -> None:
    story.delete("t")
    story.create("t", 2)


def a_topic_comes_and_grows(story: Story) -> None:
    story.create("late", 1)
    story.run(0.05)
    story.grow("late", 1)


def a_match_appears(story: Story) -> None:
    story.subscribe(pattern="t.*")
    story.run(0.05)
    story.create("t2", 2)


def other_topics_are_wanted(story: Story) -> None:
    story.create("late", 2)
    story.subscribe("late")


def the_same_topics_are_wanted_again(story: Story) -> None:
    story.subscribe("late")
    story.subscribe(*story.topics, "t")


def a_rebalance_is_called_for(story: Story) -> None:
    story.member.membership.rejoin("a test", story.now)


def the_program_rests(story: Story) -> None:
    story.member.rest()
    story.run(RESTS_S + 0.5)


def connections_are_lost(story: Story) -> None:
    for address in story.world.addresses.values():
        story.member.lose_all(address)


def a_step_is_cut(story: Story) -> None:
    connections_are_lost(story)
    story.member.core.recover(story.now)


def the_coordinator_moves(story: Story) -> None:
    where = story.world.cluster.coordinators.leader(GROUP, "g")
    story.world.move_coordinator(GROUP, "g", 3 - where)


def the_coordinator_dies(story: Story) -> None:
    where = story.world.cluster.coordinators.leader(GROUP, "g")
    story.world.kill(where)
    story.run(0.1)
    story.world.revive(where)


def the_other_leaves(story: Story) -> None:
    if story.other is not None:
        story.other.close()


def another_comes(story: Story) -> None:
    if story.other is None:
        story.other = story._reader("other").begin()


def the_consumer_closes(story: Story) -> None:
    story.member.go_on()
    story.member.close()


def heartbeat_of(story: Story) -> str:
    return "ConsumerGroupHeartbeat" if story.is_new else "Heartbeat"


def it_unsubscribes(story: Story) -> None:
    """Perhaps once more; or its listener was cut short before."""
    story.member.leave()


def it_leaves_in_haste_and_comes_back(story: Story) -> None:
    """As a consumer does that is closed while another call is in progress."""
    story.member.leaves = False
    story.member.owned.clear()
    story.member.membership.leave(story.now, lambda now: None)
    story.member.subscribe(*story.topics, pattern=story.pattern)


def a_heartbeat_is_late(story: Story) -> None:
    story.world.faults.delay(heartbeat_of(story), HELD_S)


def an_answer_is_lost(story: Story) -> None:
    story.world.faults.close(None, after_effect=True)


def refused(api: Callable[[Story], str], code: int) -> Callable[[Story], None]:
    def happens(story: Story) -> None:
        story.world.faults.error(api(story), code)

    return happens


def a_commit_is_refused(code: int) -> Callable[[Story], None]:
    def happens(story: Story) -> None:
        story.world.faults.error("OffsetCommit", code)
        rows = dict.fromkeys(story.member.subscription.states, OffsetAndMetadata(0))
        story.member.offsets.commit(rows, story.now, story.now + 1.0)

    return happens


EVENTS: dict[str, Callable[[Story], None]] = {
    function.__name__.replace("_", " "): function
    for function in (
        a_topic_appears,
        a_topic_appears_and_metadata_is_late,
        partitions_are_added,
        a_topic_is_deleted,
        a_topic_is_made_anew,
        a_topic_comes_and_grows,
        a_match_appears,
        other_topics_are_wanted,
        the_same_topics_are_wanted_again,
        a_rebalance_is_called_for,
        the_program_rests,
        connections_are_lost,
        a_step_is_cut,
        the_coordinator_moves,
        the_coordinator_dies,
        the_other_leaves,
        another_comes,
        the_consumer_closes,
        it_unsubscribes,
        it_leaves_in_haste_and_comes_back,
        a_heartbeat_is_late,
        an_answer_is_lost,
    )
}
CODED_EVENTS = {f"heartbeat refused by {code}": refused(heartbeat_of, code) for code in CODES}
CODED_EVENTS |= {f"commit refused by {code}": a_commit_is_refused(code) for code in CODES}
JOIN_EVENTS = {
    f"{api} refused by {code}": refused(lambda story, api=api: api, code)
    for api in ("JoinGroup", "SyncGroup")
    for code in CODES
}
"""What only members of classic groups meet."""
