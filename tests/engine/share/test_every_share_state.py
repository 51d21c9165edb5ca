"""Every state of a share group's member meets every event that can come in it: soon it reads all of its topics."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kwire.engine.calls.lookup import GROUP
from kwire.engine.common.addresses import TopicPartition
from kwire.engine.groups.epoch_heartbeats import EpochHeartbeats
from kwire.engine.settings.clients import ShareConsumerSettings
from kwire.engine.share.membership import FATAL, MEMBER, OUT, ShareMembership
from kwire.engine.share.polling import SharePolling
from kwire.errors import KafkaError, broker
from kwire.records import encode
from kwire.testing.contents import Contents
from tests.engine.embedded_world import EmbeddedClient, EmbeddedWorld
from tests.engine.moves import MadeMoves

CODES = (-1, 7, 14, 15, 16, 25, 29, 30, 35, 42, 81, 110, 113)
INTERVAL_S = 0.2
HELD_S = 0.4
RESTS_S = 1.5
FETCHES_S = 0.5
"""How long a broker holds a fetch, so that the next one may have more partitions."""
BOUND_S = 1.0 + 2 * INTERVAL_S
POLL_S = 0.02


class Reader(EmbeddedClient):
    """A ShareConsumer without its front, which polls every POLL_S; `read` has the partitions of the records it got."""

    def __init__(self, world: EmbeddedWorld) -> None:
        given: dict[str, Any] = {"group_id": "s", "retry_backoff_ms": 20, "retry_backoff_max_ms": 50}
        given |= {"fetch_max_wait_ms": int(FETCHES_S * 1000)}
        given |= {"max_poll_interval_ms": int(RESTS_S * 1000), "reconnect_backoff_max_ms": 50}
        settings = ShareConsumerSettings(**world.settings(given))
        super().__init__(world, settings)  # type: ignore[arg-type]
        self.core.rng = world.rng.random
        self.polling = SharePolling(self.core, settings, lambda function, *given: function(*given))
        self.read: set[TopicPartition] = set()
        self.errors: list[KafkaError] = []
        self.polls = False
        self.polling.subscribe(("t", "late"), self.now)
        self.at(self.now, self.step)

    def step(self) -> None:
        if self.polls:
            try:
                self.polling.begin(self.now)
                self.read |= {TopicPartition(each.topic, each.partition) for each in self.polling.take(None, self.now)}
                self.polling.arrived = True
            except KafkaError as error:
                self.errors.append(error)
        self.at(self.now + POLL_S, self.step)


class Story:
    """One member, and what it is to read."""

    def __init__(self) -> None:
        self.world = EmbeddedWorld(nodes=2, topics={"t": 3}, group_share_heartbeat_interval_ms=int(INTERVAL_S * 1000))
        self.contents = Contents(self.world.cluster)
        self.reader = Reader(self.world)
        self.topics = ("t", "late")

    @property
    def membership(self) -> Any:
        return self.reader.polling.membership

    @property
    def wanted(self) -> set[TopicPartition]:
        found = self.world.cluster.topics.values()
        return {
            TopicPartition(each.name, at)
            for each in found
            if each.name in self.topics
            for at in range(len(each.partitions))
        }

    def run(self, seconds: float) -> None:
        self.world.run(self.world.now + seconds)

    def within(self, seconds: float, condition: Callable[[], bool]) -> bool:
        limit = self.world.now + seconds
        self.world.run(lambda: condition() or self.world.now >= limit)
        return condition()

    def learn(self) -> None:
        self.reader.core.cluster.refresh(self.world.now)

    def ends_well(self) -> bool:
        """Whether all partitions are assigned in time, and then read; who was told of a failure subscribes again."""
        membership = self.membership
        self.reader.polls = True
        settled = self.within(
            BOUND_S, lambda: membership.state == FATAL or set(membership.assigned.values()) == self.wanted
        )
        if membership.state == FATAL:
            assert self.within(BOUND_S, lambda: bool(self.reader.errors))
            self.reader.polling.subscribe(self.topics, self.world.now)
            return self.ends_well()
        return settled and self.reads_everything()

    def reads_everything(self) -> bool:
        self.run(FETCHES_S + 0.2)  # a partition that is new to a share group is read from its end
        self.reader.read.clear()
        for tp in self.wanted:
            self.contents.append(tp.topic, tp.partition, encode([b"x"]))
        return self.within(BOUND_S, lambda: self.reader.read == self.wanted)


def out(story: Story) -> None:
    """It has subscribed, and did not poll."""


def joining(story: Story) -> None:
    story.world.faults.delay("ShareGroupHeartbeat", HELD_S)
    story.reader.polls = True
    assert story.within(1.0, lambda: story.membership.state == MEMBER)


def member(story: Story) -> None:
    story.reader.polls = True
    assert story.within(2.0, lambda: set(story.membership.assigned.values()) == story.wanted)


def nameless(story: Story) -> None:
    """Of a topic that is assigned, the name is not known yet."""
    story.run(0.2)
    story.world.faults.delay("Metadata", 0.3, times=4)
    story.world.cluster.create_topic("late", 2)
    story.reader.polls = True
    assert story.within(0.2, lambda: bool(story.membership.assigned))


def rested(story: Story) -> None:
    member(story)
    story.reader.polling.end(story.world.now)
    story.reader.polls = False
    assert story.within(RESTS_S + 1.0, lambda: story.membership.state == OUT)


def failed(story: Story) -> None:
    member(story)
    story.membership.heartbeat_refused(broker.error_for(81), story.world.now)
    assert story.membership.state == FATAL


REACH = {each.__name__: each for each in (out, joining, member, nameless, rested, failed)}


def a_topic_appears(story: Story) -> None:
    if "late" not in story.world.cluster.topics:
        story.world.cluster.create_topic("late", 2)
    story.learn()


def partitions_are_added(story: Story) -> None:
    story.world.cluster.add_partitions(story.world.cluster.topics["t"], 2)
    story.learn()


def a_topic_is_deleted(story: Story) -> None:
    story.world.cluster.delete_topic(story.world.cluster.topics["t"])
    story.learn()


def a_topic_is_made_anew(story: Story) -> None:
    a_topic_is_deleted(story)
    story.world.cluster.create_topic("t", 2)
    story.learn()


def other_topics_are_wanted(story: Story) -> None:
    a_topic_appears(story)
    story.topics = ("late",)
    story.reader.polling.subscribe(story.topics, story.world.now)


def it_leaves_and_comes_back(story: Story) -> None:
    story.reader.polls = False
    story.reader.polling.unsubscribe(story.world.now, lambda now: None)
    story.reader.polling.subscribe(story.topics, story.world.now)


def connections_are_lost(story: Story) -> None:
    for address in story.world.addresses.values():
        story.reader.lose_all(address)


def a_step_is_cut(story: Story) -> None:
    connections_are_lost(story)
    story.reader.core.recover(story.world.now)


def the_coordinator_moves(story: Story) -> None:
    where = story.world.cluster.coordinators.leader(GROUP, "s")
    story.world.move_coordinator(GROUP, "s", 2 if where == 1 else 1)


def an_answer_is_lost(story: Story) -> None:
    story.world.faults.close("ShareGroupHeartbeat", after_effect=True)


def refused(code: int) -> Callable[[Story], None]:
    return lambda story: story.world.faults.error("ShareGroupHeartbeat", code)


EVENTS: dict[str, Callable[[Story], None]] = {
    each.__name__.replace("_", " "): each
    for each in (
        a_topic_appears,
        partitions_are_added,
        a_topic_is_deleted,
        a_topic_is_made_anew,
        other_topics_are_wanted,
        it_leaves_and_comes_back,
        connections_are_lost,
        a_step_is_cut,
        the_coordinator_moves,
        an_answer_is_lost,
    )
}
EVENTS |= {f"heartbeat refused by {code}": refused(code) for code in CODES}


@pytest.mark.parametrize("state", REACH)
def test_a_member_reads_everything_soon_whatever_comes_in_a_state(state: str) -> None:
    found: list[str] = []
    for event, happens in EVENTS.items():
        story = Story()
        REACH[state](story)
        happens(story)
        story.run(HELD_S)
        if not story.ends_well():
            missing = sorted(map(str, story.wanted - story.reader.read))
            found.append(f"{event}: {story.membership.state}, {missing} not read, {story.reader.errors[-2:]}")
    assert not found, "\n".join(found)


def test_a_join_that_is_cut_before_its_first_heartbeat_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def cut(heartbeats: EpochHeartbeats, now: float) -> None:
        raise KeyboardInterrupt

    story = Story()
    story.reader.polls = True
    with monkeypatch.context() as patch:
        patch.setattr(EpochHeartbeats, "begin", cut)
        with pytest.raises(KeyboardInterrupt):
            story.run(1.0)
    assert story.membership.state == MEMBER
    a_step_is_cut(story)
    story.reader.step()
    assert story.ends_well()


def test_each_move_of_the_table_was_made_and_no_other(moves: MadeMoves) -> None:
    assert moves.are_all_of(ShareMembership)
