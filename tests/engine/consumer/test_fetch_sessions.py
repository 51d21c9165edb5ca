"""Fetch sessions in virtual time, on the embedded broker: when there is one, what is named, and how it ends."""

from __future__ import annotations

import random
from typing import Any

import pytest

from kwire import protocol
from kwire.engine.common.addresses import TopicPartition
from kwire.engine.consumer.fetch_sessions import CLOSE_BELOW, OPEN_AT
from kwire.schema.api_keys import FETCH
from kwire.schema.error_codes import (
    FETCH_SESSION_ID_NOT_FOUND,
    FETCH_SESSION_TOPIC_ID_ERROR,
    INCONSISTENT_TOPIC_ID,
    INVALID_FETCH_SESSION_EPOCH,
)
from kwire.testing.serving.apis import Answer
from tests.engine.embedded_clients import EmbeddedProducer, EmbeddedReader
from tests.engine.embedded_world import EmbeddedWorld

MANY = 60


class Reading:
    """A reader of many partitions, and the Fetch requests that it sends."""

    def __init__(self, partitions: int = MANY, nodes: int = 1, release: str = "4.4.0", **settings: Any) -> None:
        self.world = EmbeddedWorld(nodes=nodes, topics={"t": partitions}, seed=3, release=release)
        self.producer = EmbeddedProducer(self.world, linger_ms=0)
        self.reader = EmbeddedReader(self.world, "t", **settings)
        self.fetches: list[protocol.FetchRequest] = []
        self.fetching: Any = None
        deliver = self.reader.deliver

        def noted(connection: Any, frame: bytes) -> None:
            if int.from_bytes(frame[4:6], "big") == FETCH:
                self.fetches.append(protocol.decode_request(frame)[1])
                self.fetching = connection
            deliver(connection, frame)

        self.reader.deliver = noted  # type: ignore[method-assign]
        self.code = 0
        send = self.reader.send_answer

        def failed(connection: Any, answer: Answer) -> None:
            data = b"".join(bytes(part) for part in answer.parts)
            if self.code and self.session.is_open and connection is self.fetching:
                version = self.reader.core.versions(1).newest_common(FETCH, 0, 18)
                response = protocol.FetchResponse(error_code=self.code)
                frame = protocol.encode_response(
                    response, version, correlation_id=int.from_bytes(data[4:8], "big", signed=True)
                )
                self.code, answer = 0, Answer([frame])
            send(connection, answer)

        self.reader.send_answer = failed  # type: ignore[method-assign]
        self.sent: dict[int, list[bytes]] = {}

    def send(self, partition: int, value: bytes) -> None:
        self.sent.setdefault(partition, []).append(value)
        self.producer.complete([self.producer.send("t", value, partition=partition)])

    def settle(self) -> None:
        """Polls until nothing more comes."""
        for _ in range(3):
            self.reader.poll(1.0)

    def check(self) -> None:
        """Everything that was sent was read, once and in order."""
        self.settle()
        read = {tp.partition: values for tp, values in self.reader.read.items()}
        assert read == self.sent

    @property
    def last(self) -> protocol.FetchRequest:
        return self.fetches[-1]

    @property
    def session(self) -> Any:
        [source] = self.reader.fetcher._sources.values()
        return source.session


def named(request: protocol.FetchRequest) -> list[int]:
    return [row.partition for topic in request.topics for row in topic.partitions]


def forgotten(request: protocol.FetchRequest) -> list[int]:
    return [partition for topic in request.forgotten_topics_data for partition in topic.partitions]


def test_idle_partitions_are_named_once() -> None:
    it = Reading()
    it.settle()
    stamps = [(request.session_id != 0, request.session_epoch) for request in it.fetches[:4]]
    assert stamps == [(False, -1), (False, 0), (True, 1), (True, 2)]
    assert [len(named(request)) for request in it.fetches[:4]] == [MANY, MANY, 0, 0]


def test_what_returned_records_is_named_at_its_new_offset() -> None:
    it = Reading()
    it.settle()
    it.send(7, b"a")
    before = len(it.fetches)
    it.reader.poll(1.0)
    it.reader.poll(0.1)
    [request] = it.fetches[before : before + 1]
    assert [(row.partition, row.fetch_offset) for row in request.topics[0].partitions] == [(7, 1)]
    it.check()


@pytest.mark.parametrize("partitions", [1, OPEN_AT - 1])
def test_few_partitions_have_no_session(partitions: int) -> None:
    it = Reading(partitions)
    it.settle()
    assert {(request.session_id, request.session_epoch) for request in it.fetches} == {(0, -1)}


@pytest.mark.parametrize("release", ["0.11.0.3", "1.0.2"])
def test_releases_before_1_1_have_none(release: str) -> None:
    it = Reading(release=release)
    it.send(3, b"a")
    it.settle()
    assert all(len(named(request)) == MANY for request in it.fetches[:3])
    it.check()


@pytest.mark.parametrize("release", ["1.1.1", "2.8.2", "3.9.2"])
def test_topics_by_name_and_by_id(release: str) -> None:
    it = Reading(release=release)
    for number in range(10):
        it.send(number * 3, b"%d" % number)
        it.reader.poll(0.2)
    it.check()
    assert it.session.is_open


def test_a_session_in_which_few_rest_ends() -> None:
    it = Reading()
    it.settle()
    few = [TopicPartition("t", number) for number in range(CLOSE_BELOW - 1)]
    it.reader.fetcher.subscription.assign(few, it.reader.now)
    it.settle()
    [closing] = [request for request in it.fetches if request.session_epoch == -1 and request.session_id]
    assert sorted(named(closing)) == list(range(CLOSE_BELOW - 1))
    assert (it.last.session_id, it.last.session_epoch) == (0, -1)
    it.send(1, b"a")
    it.check()


def test_a_pause_forgets_and_a_resume_names_again() -> None:
    it = Reading()
    it.settle()
    state = it.reader.fetcher.subscription.state(TopicPartition("t", 5))
    state.paused = True
    it.reader.fetcher.pump(it.reader.now)
    it.settle()
    assert [forgotten(request) for request in it.fetches if forgotten(request)] == [[5]]
    it.send(5, b"a")
    it.settle()
    assert it.reader.read == {}
    state.paused = False
    it.reader.fetcher.pump(it.reader.now)
    it.check()


def test_a_seek_is_followed() -> None:
    it = Reading()
    it.send(5, b"a")
    it.settle()
    it.reader.fetcher.subscription.state(TopicPartition("t", 5)).seek(0)
    it.reader.fetcher.pump(it.reader.now)
    it.sent[5] = [b"a", b"a"]
    it.check()


def test_partitions_that_are_not_read_any_more_are_forgotten() -> None:
    it = Reading()
    it.settle()
    kept = [TopicPartition("t", number) for number in range(1, MANY)]
    it.reader.fetcher.subscription.assign(kept, it.reader.now)
    it.settle()
    assert [forgotten(request) for request in it.fetches if forgotten(request)] == [[0]]
    it.send(0, b"a")
    it.send(1, b"b")
    it.settle()
    assert it.reader.read == {TopicPartition("t", 1): [b"b"]}


@pytest.mark.parametrize(
    "code",
    [FETCH_SESSION_ID_NOT_FOUND, INVALID_FETCH_SESSION_EPOCH, FETCH_SESSION_TOPIC_ID_ERROR, INCONSISTENT_TOPIC_ID],
)
def test_a_session_that_the_broker_does_not_know_is_begun_anew(code: int) -> None:
    it = Reading()
    it.settle()
    it.code = code
    it.send(4, b"a")
    it.settle()
    anew = [request for request in it.fetches if request.session_id and request.session_epoch == 0]
    assert len(anew) == 1
    assert len(named(anew[0])) == MANY
    it.check()


def test_a_lost_connection_loses_nothing() -> None:
    it = Reading()
    it.settle()
    for number in range(5):
        it.reader.lose_all(it.world.addresses[1])
        it.send(number, b"a")
        it.settle()
    it.check()


def test_a_topic_made_anew_ends_the_session() -> None:
    it = Reading()
    it.settle()
    it.world.cluster.delete_topic(it.world.cluster.topics["t"])
    it.world.cluster.create_topic("t", MANY)
    it.sent.clear()
    it.reader.read.clear()
    it.reader.core.cluster.refresh(it.reader.now)
    it.world.run(it.world.now + 5)
    it.producer.core.cluster.refresh(it.producer.now)
    it.world.run(it.world.now + 5)
    before = len(it.fetches)
    it.settle()
    assert len(it.fetches) - before < 12


@pytest.mark.parametrize("seed", range(12))
def test_records_come_once_and_in_order_whatever_happens(seed: int) -> None:
    rng = random.Random(seed)
    it = Reading(nodes=3)
    it.world.disturb(every=1.0, loss=0.02)
    states = it.reader.fetcher.subscription.states
    for number in range(150):
        partition = rng.randrange(MANY) if rng.random() < 0.5 else rng.randrange(4)
        it.send(partition, b"%d" % number)
        if rng.random() < 0.3:
            it.reader.poll(rng.random())
        if rng.random() < 0.1:
            state = states[TopicPartition("t", rng.randrange(MANY))]
            state.paused = not state.paused
            it.reader.fetcher.pump(it.reader.now)
    it.world.calm()
    for state in states.values():
        state.paused = False
    it.reader.fetcher.pump(it.reader.now)
    for _ in range(20):
        it.reader.poll(1.0)
    it.check()
