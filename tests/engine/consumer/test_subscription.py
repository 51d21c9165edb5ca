"""What a consumer reads, in virtual time: topics that are refused, made anew, asked about once, or found later."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from kwire import errors
from kwire.engine.admin.a02_list_offsets import ListOffsets
from kwire.engine.calls.fan_out import FanOutCall
from kwire.engine.calls.offsets import EARLIEST, PartitionsLookup
from kwire.engine.common.addresses import TopicPartition
from kwire.engine.consumer import subscription
from kwire.engine.consumer.polling import Polling
from kwire.schema.api_keys import FETCH, METADATA
from tests.engine.consumer.test_fetcher import T0, T1, A, B, LogBroker, OldLogBroker, Reading

TOPIC_AUTHORIZATION_FAILED = 29


class Polls:
    """A fetcher with its polls, as a front makes them."""

    def __init__(self, broker: LogBroker, **settings: Any) -> None:
        self.reading = Reading(broker, **settings)
        self.world = self.reading.world
        self.fetcher = self.reading.fetcher
        self.subscription = self.fetcher.subscription
        self.polling = Polling(self.world.core, self.reading.settings, self.fetcher)

    def poll(self, timeout: float) -> dict[TopicPartition, list[bytes | None]]:
        self.polling.begin(self.world.now)
        deadline = self.world.now + timeout
        while not self.polling.ready() and self.world.now < deadline:
            self.world.run(min(self.world.now + 0.1, deadline))
            self.polling.check(self.world.now)
        taken = {tp: part.values() for tp, part in self.polling.take(None, self.world.now)}
        self.fetcher.hand_out.arrived = True
        return taken


def metadata_requests(broker: LogBroker) -> int:
    return [key for key, _, _ in broker.requests].count(METADATA)


def test_a_refused_topic_is_told_by_each_poll_and_read_once_it_is_allowed() -> None:
    broker = LogBroker()
    broker.append(0, [b"secret"])
    broker.errors["t"] = TOPIC_AUTHORIZATION_FAILED
    polls = Polls(broker)
    polls.subscription.subscribe(["t"], polls.world.now)
    for _ in range(3):
        with pytest.raises(errors.BrokerError, match="TOPIC_AUTHORIZATION_FAILED"):
            polls.poll(5)
    del broker.errors["t"]
    polls.world.run(polls.world.now + 2)
    while True:
        try:
            assert polls.poll(5) == {T0: [b"secret"]}
            break
        except errors.BrokerError:
            continue


def test_a_refused_topic_does_not_keep_the_others_from_being_read() -> None:
    broker = LogBroker()
    broker.errors["no"] = TOPIC_AUTHORIZATION_FAILED
    broker.append(0, [b"yes"])
    polls = Polls(broker)
    polls.subscription.subscribe(["no", "t"], polls.world.now)
    got: dict[TopicPartition, list[bytes | None]] = {}
    refused = 0
    while not got:
        try:
            got = polls.poll(5)
        except errors.BrokerError:
            refused += 1
    assert got == {T0: [b"yes"]}
    assert refused >= 1


@pytest.mark.parametrize("with_ids", [True, False])
def test_a_subscribed_topic_made_anew_with_fewer_partitions_is_read_on(with_ids: bool) -> None:
    broker = LogBroker() if with_ids else OldLogBroker()
    broker.topics = {"t": [0, 0, 0]}
    for partition in range(3):
        broker.append(partition, [b"old"])
    polls = Polls(broker)
    polls.subscription.subscribe(["t"], polls.world.now)
    while len(polls.subscription.states) < 3 or not all(s.position == 1 for s in polls.subscription.states.values()):
        polls.poll(1)
    broker.topics = {"t": [0]}
    made_anew(broker)
    broker.append(0, [b"new"])
    polls.world.core.cluster.refresh(polls.world.now)
    polls.world.run(polls.world.now + 1)
    assert list(polls.subscription.states) == [T0]
    assert polls.poll(5) == {T0: [b"new"]}


def made_anew(broker: LogBroker) -> None:
    plain = LogBroker.topic

    def topic(name: str) -> Any:
        row = plain(broker, name)
        if broker.with_ids:
            row.topic_id = UUID(int=8)
        return row

    broker.topic = topic  # type: ignore[method-assign]
    broker.handlers[FETCH] = lambda message, version, now: fetched(broker, message, version)


def fetched(broker: LogBroker, message: Any, version: int) -> Any:
    for topic in message.topics:
        if version >= 13:
            topic.topic_id = UUID(int=7)
    response = LogBroker.fetch(broker, message, version, 0.0)
    for topic in response.responses:
        if version >= 13:
            topic.topic_id = UUID(int=8)
    return response


def test_a_broker_that_knows_fewer_partitions_for_a_while_takes_none_away() -> None:
    broker = LogBroker()
    broker.topics = {"t": [0, 0]}
    polls = Polls(broker)
    polls.subscription.subscribe(["t"], polls.world.now)
    polls.world.run(polls.world.now + 1)
    broker.topics = {"t": [0]}
    polls.world.core.cluster.refresh(polls.world.now)
    polls.world.run(polls.world.now + 1)
    assert list(polls.subscription.states) == [T0, T1]


def missed_for_a_while(broker: LogBroker, polls: Polls, seconds: float) -> None:
    """The broker that is asked for metadata knows the first partition only, and then all of them again."""
    for known in ([0], [0, 0]):
        broker.topics = {"t": known}
        polls.world.core.cluster.refresh(polls.world.now)
        polls.world.run(polls.world.now + seconds)


def test_a_partition_missed_by_the_metadata_while_it_was_fetched_is_read_on() -> None:
    broker = LogBroker("2.0.1")
    broker.topics, broker.long_poll = {"t": [0, 0]}, True
    polls = Polls(broker, fetch_max_wait_ms=200)
    polls.subscription.subscribe(["t"], polls.world.now)
    polls.poll(0.5)
    missed_for_a_while(broker, polls, 1.0)
    broker.append(1, [b"later"])
    assert polls.poll(2) == {T1: [b"later"]}


def test_records_of_a_partition_missed_by_the_metadata_outlive_the_broker_that_gave_them() -> None:
    broker, other = LogBroker("2.0.1"), LogBroker("2.0.1", 1, B)
    for each in (broker, other):
        each.brokers, each.topics = {0: A, 1: B}, {"t": [0, 1]}
    broker.logs = other.logs
    other.append(1, [b"kept"])
    polls = Polls(broker)
    polls.reading.world.peers[B] = other
    polls.subscription.subscribe(["t"], polls.world.now)
    polls.world.run(lambda: any(state.chunks for state in polls.subscription.states.values()))
    broker.brokers = {0: A}
    missed_for_a_while(broker, polls, 1.0)
    assert polls.poll(2) == {T1: [b"kept"]}


def test_an_assigned_partition_that_is_gone_is_told_now_and_then() -> None:
    broker = LogBroker()
    polls = Polls(broker)
    polls.subscription.assign([T0, T1], polls.world.now)
    begun = polls.world.now
    told: list[str] = []
    while polls.world.now < begun + 10:
        try:
            polls.poll(0.5)
        except errors.UnknownTopicError as error:
            told.append(str(error))
    assert 2 <= len(told) <= 30
    assert "'t' has no partition 1" in told[0]


def test_what_is_asked_about_once_is_not_asked_for_ever() -> None:
    broker = LogBroker()
    reading = Reading(broker, allow_auto_create_topics=False)
    core, world = reading.world.core, reading.world
    lookup = PartitionsLookup(core, "typo", deadline=world.now + 1, now=world.now)
    gone = ListOffsets({TopicPartition("gone", 0): EARLIEST}, isolation=0)
    offsets = FanOutCall(core, gone, deadline=world.now + 1, now=world.now)
    world.run(lambda: lookup.done and offsets.done)
    assert isinstance(lookup.error, errors.UnknownTopicError)
    before = metadata_requests(broker)
    world.run(world.now + 60)
    assert metadata_requests(broker) - before <= 1


def test_asking_about_a_topic_creates_none_and_subscribing_does() -> None:
    broker = LogBroker()
    asked: list[tuple[list[str], bool]] = []
    plain = broker.handlers[METADATA]

    def metadata(message: Any, version: int, now: float) -> Any:
        names = [row.name for row in message.topics]
        asked.append((names, message.allow_auto_topic_creation))
        if message.allow_auto_topic_creation:
            broker.topics.update({name: [0] for name in names})
        return plain(message, version, now)

    broker.handlers[METADATA] = metadata
    polls = Polls(broker)
    world = polls.world
    lookup = PartitionsLookup(world.core, "deleted", deadline=world.now + 30, now=world.now)
    polls.subscription.subscribe(["wanted"], world.now)
    world.run(lambda: lookup.done)
    assert isinstance(lookup.error, errors.UnknownTopicError)
    assert set(broker.topics) == {"t", "wanted"}


def test_the_partitions_of_a_topic_are_found() -> None:
    broker = LogBroker()
    broker.topics = {"t": [0, 0]}
    world = Reading(broker).world
    lookup = PartitionsLookup(world.core, "t", deadline=world.now + 1, now=world.now)
    world.run(lambda: lookup.done)
    assert lookup.value() == [T0, T1]


def test_polls_before_any_broker_answers_return_nothing_and_fail_in_the_end() -> None:
    broker = LogBroker()
    broker.refuses = "connection refused"
    polls = Polls(broker, default_api_timeout_ms=30_000)
    polls.subscription.assign([T0], polls.world.now)
    for _ in range(25):
        assert not polls.poll(1.0)
    with pytest.raises(errors.ConnectError, match="connection refused"):
        polls.poll(10)
    broker.refuses = ""
    broker.append(0, [b"up"])
    got = {}
    while not got:
        got = polls.poll(1.0)
    assert got == {T0: [b"up"]}


def test_of_partitions_that_went_the_last_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subscription, "MAX_GONE", 3)
    read = Polls(LogBroker(), group_id="g").subscription
    read.subscribe([], 0.0)
    partitions = [TopicPartition(f"t{number}", 0) for number in range(5)]
    for tp in (*partitions, partitions[0]):
        read.assign_by_group([tp], 0.0)
    assert list(read.ended) == partitions[2:]
    assert read.withdrawn == set(partitions[2:])
    read.assign_by_group([partitions[2]], 0.0)
    assert read.ended[partitions[0]] == 6
    assert read.withdrawn == {partitions[0], *partitions[3:]}


def test_a_partition_that_went_is_kept_by_nobody_though_its_position_was_never_committed() -> None:
    polls = Polls(LogBroker(), group_id="g")
    read = subscription.Subscription(polls.world.core, polls.reading.settings, lambda now: None)
    read.in_group = True
    read.subscribe(["t"], 0.0)
    for _ in range(3):
        read.assign_by_group([T0], 0.0)
        read.state(T0).seek(0)
        assert read.moved == {read.state(T0)}
        read.assign_by_group([], 0.0)
        assert not read.moved


def test_only_what_is_held_anew_has_all_partitions_looked_at() -> None:
    """A member holds what it gives back twice: before its last commit, and for its listener."""
    polls = Polls(LogBroker())
    polls.subscription.assign([T0, T1], polls.world.now)
    looks: list[float] = []
    polls.subscription._on_change = looks.append
    polls.subscription.set_revoking([T0], 1.0)
    polls.subscription.set_revoking([T0], 2.0)
    polls.subscription.set_revoking([T0, T1], 3.0)
    polls.subscription.release([T1, TopicPartition("gone", 0)], 4.0)
    polls.subscription.release([T1], 5.0)
    assert looks == [1.0, 3.0, 4.0]
    assert [state.held for state in polls.subscription.states.values()] == [True, False]
