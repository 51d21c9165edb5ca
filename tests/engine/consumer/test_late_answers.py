"""Answers that come late to a consumer of many partitions: after a seek, an election, a broker that left."""

from __future__ import annotations

from typing import Any

from kwire import protocol
from kwire.engine.common.addresses import TopicPartition
from kwire.engine.consumer.fetch_sessions import CLOSE_BELOW, OPEN_AT
from kwire.schema.api_keys import FETCH, OFFSET_FOR_LEADER_EPOCH
from tests.engine.consumer.test_fetcher import T0, A, B, Reading
from tests.engine.consumer.test_position_lookup import EpochBroker

MANY = [TopicPartition("t", number) for number in range(OPEN_AT)]


class SessionBroker(EpochBroker):
    """Remembers what a fetch session asks for, and answers with the partitions that have something, or hold_s later."""

    def __init__(self, node_id: int = 0) -> None:
        super().__init__()
        self.node_id = node_id
        self.brokers = {0: A, 1: B}
        self.topics = {"t": [1] * len(MANY)}
        self.hold_s = 0.2
        self._asked: dict[int, Any] = {}

    def fetch(self, message: Any, version: int, now: float) -> Any:
        if message.session_epoch <= 0:
            self._asked = {}
        for forgotten in message.forgotten_topics_data:
            for partition in forgotten.partitions:
                self._asked.pop(partition, None)
        self._asked |= {part.partition: part for topic in message.topics for part in topic.partitions}
        rows = [self.fetch_one(part, version) for part in self._asked.values()]
        told = [row for row in rows if row.records or row.error_code]
        self.holds = 0.0 if told else self.hold_s
        made = protocol.FetchResponse.FetchableTopicResponse
        return protocol.FetchResponse(
            throttle_time_ms=self.throttle,
            session_id=5 if message.session_epoch >= 0 else 0,
            responses=[made(topic_id=self.topic("t").topic_id, partitions=told if message.session_epoch > 0 else rows)],
        )


def in_session() -> tuple[Reading, EpochBroker, SessionBroker]:
    """A consumer of idle partitions, which rest in a session with broker 1; broker 0 tells of the cluster."""
    first, second = EpochBroker(), SessionBroker(1)
    first.brokers, first.topics = second.brokers, second.topics
    reading = Reading(first, {B: second}).assign(*MANY)
    reading.world.run(reading.world.now + 2.0)
    assert reading.fetcher._sources[1].session.is_open
    return reading, first, second


def test_what_rests_at_a_broker_that_leaves_while_it_throttles_is_read_from_the_next_leader() -> None:
    reading, first, second = in_session()
    second.throttle = 5_000
    reading.world.run(lambda: not reading.fetcher._sources[1].in_flight)
    for broker in (first, second):
        broker.brokers, broker.topics = {0: A}, {"t": [0] * len(MANY)}
    first.append(3, [b"moved"])
    reading.world.core.cluster.refresh(reading.world.now)
    assert reading.take() == {TopicPartition("t", 3): [b"moved"]}


def test_the_end_of_a_session_does_not_have_an_epoch_looked_up_twice() -> None:
    """A second answer about the epoch would come when records of the next one have been fetched, and its end would be
    taken for the log's."""
    reading, first, second = in_session()
    warnings: list[str] = []
    reading.fetcher.positions._on_warning = warnings.append
    second.append(0, [b"0", b"1", b"2", b"3"], partition_leader_epoch=5)
    assert reading.take() == {T0: [b"0", b"1", b"2", b"3"]}
    reading.world.run(reading.world.now + 0.1)
    for broker in (first, second):
        broker.ends[5], broker.epoch = 4, 6
    second.append(0, [b"4", b"5"], partition_leader_epoch=6)
    reading.world.core.cluster.refresh(reading.world.now)
    ends_of_epochs = second.handlers[OFFSET_FOR_LEADER_EPOCH]

    def late(message: Any, version: int, now: float) -> Any:
        second.holds = 1.0
        return ends_of_epochs(message, version, now)

    second.handlers[OFFSET_FOR_LEADER_EPOCH] = late
    subscription = reading.fetcher.subscription
    subscription.state(T0).seek(2, 5)
    subscription.assign(MANY[: CLOSE_BELOW - 1], reading.world.now)
    got: list[bytes | None] = []
    while len(got) < 6:
        got += reading.take().get(T0, ())
        second.append(0, [b"more"], partition_leader_epoch=6)
        reading.world.run(reading.world.now + 0.3)
    assert warnings == []
    assert got[:4] == [b"2", b"3", b"4", b"5"]


def test_a_partition_is_read_from_its_next_leader_while_the_last_one_hangs() -> None:
    first, second = EpochBroker(), EpochBroker()
    second.node_id = 1
    for broker in (first, second):
        broker.brokers, broker.topics, broker.logs = {0: A, 1: B}, {"t": [1]}, first.logs
    reading = Reading(first, {B: second}).assign(T0)
    first.append(0, [b"before"], partition_leader_epoch=5)
    assert reading.take() == {T0: [b"before"]}
    second.handlers[FETCH] = lambda message, version, now: None
    reading.world.run(lambda: reading.fetcher.subscription.state(T0).in_flight)
    for broker in (first, second):
        broker.topics, broker.epoch = {"t": [0]}, 6
        broker.ends[5] = 1
    first.append(0, [b"after"], partition_leader_epoch=6)
    reading.world.core.cluster.refresh(reading.world.now)
    begun = reading.world.now
    assert reading.take() == {T0: [b"after"]}
    assert reading.world.now - begun < 2.0
