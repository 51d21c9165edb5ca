"""The accumulator where another thread comes in at an allocation: it sees nothing half done, and no record is lost."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

from kwire import errors
from kwire._codec import Batch, Delivery, TopicQueue
from tests.at_collections import ALLOCATIONS, at_allocation, at_allocations
from tests.codec.test_accumulator import TOPIC, Path, read
from tests.each import each
from tests.thorough import THOROUGH


def deliver(path: Path) -> dict[int, list[Any]]:
    """Completes all that can be taken; what was written to each partition, in order."""
    logs: dict[int, list[Any]] = {}
    while taken := path.drain():
        for batch in taken:
            log = logs.setdefault(batch.partition, [])
            values = read(batch).values()
            path.accumulator.complete(batch, len(log), -1, None)
            log += values
    assert not path.accumulator.pending
    assert path.accumulator.used == 0
    return logs


def begun() -> Path:
    """Of the topic, partition 0 is known."""
    path = Path()
    path.send(TOPIC, b"first", partition=0)
    path.know(1)
    return path


@each("number", ALLOCATIONS)
def test_partitions_appear_while_a_batch_is_opened(number: int) -> None:
    path = Path()

    def appear() -> None:
        if path.accumulator.pending:
            path.know()

    with at_allocation(number, appear):
        delivery = path.send(TOPIC, b"v", partition=1)
    path.know()
    assert deliver(path) == {1: [b"v"]}
    assert delivery.result().partition == 1


@each("number", ALLOCATIONS)
@pytest.mark.parametrize("partition", [0, None])
def test_records_are_sent_while_others_are_placed(number: int, partition: int | None) -> None:
    path = Path(batch_size=100)
    sent: list[Delivery] = []

    def send() -> None:
        sent.append(path.send(TOPIC, b"%d" % len(sent), partition=partition, key=b"k"))

    for _ in range(20):
        send()
    with at_allocation(number, send):
        path.know()
    send()
    [log] = deliver(path).values()
    assert log == [b"%d" % place for place in range(len(sent))]
    assert [delivery.result().offset for delivery in sent] == list(range(len(sent)))


@each("number", ALLOCATIONS)
def test_a_partition_is_sent_to_while_it_appears(number: int) -> None:
    path = begun()
    sent: list[Delivery] = []
    with at_allocation(number, lambda: sent.append(path.send(TOPIC, b"v", partition=2))):
        path.know(3)
    path.know(3)
    deliver(path)
    assert all(delivery.done() for delivery in sent)


@each("number", ALLOCATIONS)
def test_a_partition_appears_while_it_is_sent_to(number: int) -> None:
    path = begun()
    with at_allocation(number, lambda: path.know(3)):
        delivery = path.send(TOPIC, b"v", partition=2)
    path.know(3)
    assert [queue.partition for queue in path.accumulator.topics[TOPIC].queues] == [0, 1, 2, -1]
    deliver(path)
    assert delivery.done()


@each("number", ALLOCATIONS)
@pytest.mark.parametrize("partition", [0, None])
def test_partitions_are_sent_to_while_they_are_forgotten(number: int, partition: int | None) -> None:
    path = begun()
    deliver(path)
    sent: list[Delivery] = []
    with at_allocation(number, lambda: sent.append(path.send(TOPIC, b"v", partition=partition))):
        path.accumulator.forget_partitions(path.accumulator.topics[TOPIC])
    path.know(1)
    deliver(path)
    assert all(delivery.done() for delivery in sent)


@each("number", ALLOCATIONS)
def test_a_topic_that_two_threads_send_to_first_is_one(number: int) -> None:
    path = Path()
    sent: list[Delivery] = []
    with at_allocation(number, lambda: sent.append(path.send(TOPIC, b"v"))):
        sent.append(path.send(TOPIC, b"v"))
    topic = path.accumulator.topics[TOPIC]
    assert [waiting is topic for waiting in path.accumulator.unknown_topics] == [True]
    path.know()
    deliver(path)
    assert all(delivery.done() for delivery in sent)


@each("number", ALLOCATIONS)
def test_two_threads_give_timestamps_to_records_of_one_batch(number: int) -> None:
    path = begun()
    path.send(TOPIC, b"without", partition=0)
    sent: list[Delivery] = []

    def send() -> None:
        sent.append(path.send(TOPIC, b"with", partition=0, timestamp=1_700_000_000_000))

    with at_allocation(number, send):
        send()
    for batch in path.drain():
        path.accumulator.without_timestamps(batch, errors.KafkaError("the broker stores no timestamps"))
    assert deliver(path) == {0: [b"first", b"without"]}
    assert [str(delivery.exception()) for delivery in sent] == ["the broker stores no timestamps"] * len(sent)


@each("number", ALLOCATIONS)
def test_records_are_sent_while_a_batch_is_split(number: int) -> None:
    path = begun()
    path.send_many(TOPIC, [b"%d" % place for place in range(20)], partition=0)
    [batch] = path.drain()
    more: list[Delivery] = []
    with at_allocation(number, lambda: more.append(path.send(TOPIC, b"later", partition=0))):
        assert path.accumulator.split(batch)
    assert deliver(path) == {0: [b"first", *(b"%d" % place for place in range(20)), *[b"later"] * len(more)]}


@each("number", ALLOCATIONS)
def test_a_topic_is_sent_to_first_while_a_transaction_begins(number: int) -> None:
    path = begun()
    deliver(path)
    with at_allocation(number, lambda: path.send("another", b"v")):
        path.accumulator.begin_transaction(gated=True, anew=False)
    assert all(queue.blocked for queue in path.accumulator.topics[TOPIC].queues)


@each("number", ALLOCATIONS)
def test_the_driver_is_told_of_a_topic_that_it_missed_while_it_was_sent_to(number: int) -> None:
    path = Path()
    told: list[TopicQueue] = []
    path.accumulator.on_attention = lambda: told.extend(path.accumulator.unknown_topics)
    with at_allocation(number, path.accumulator.route_ready):
        path.send(TOPIC, b"v")
    assert told == [path.accumulator.topics[TOPIC]]


class Future:
    """What a task waits for, without a loop."""

    def __iter__(self) -> Iterator[Future]:
        yield self


@each("number", ALLOCATIONS)
@pytest.mark.parametrize("others_wait", [0, 1])
def test_a_record_is_delivered_while_a_task_begins_to_wait_for_it(number: int, others_wait: int) -> None:
    path = begun()
    settled: list[Any] = []
    path.accumulator.future_for = lambda delivery: Future()  # type: ignore[assignment, return-value]
    path.accumulator.settle_future = settled.append
    delivery = path.send(TOPIC, b"v", partition=0)
    others = [delivery.__await__() for _ in range(others_wait)]
    expected = [next(other) for other in others]  # type: ignore[call-overload]
    waiting = delivery.__await__()
    with at_allocation(number, lambda: deliver(path)):
        expected.append(next(waiting))  # type: ignore[call-overload]
    if not delivery.done():
        deliver(path)
    assert settled == expected


class Watched:
    """Plays events, and looks at every allocation whether each batch is in one place, with records.

    Then another thread may come in: any that sends, or the driver where none drives.
    """

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.path = Path(batch_size=150, linger=0.005, buffer_memory=10_000)
        self.flying: list[Batch] = []
        self.sent: list[Delivery] = []
        self.drives = False

    def meanwhile(self) -> None:
        self.look()
        if self.random.random() < 0.2:
            self.send() if self.drives else self.play()
            self.look()

    def look(self) -> None:
        places: list[Batch] = []
        for topic in self.path.accumulator.topics.values():
            queues = topic.queues
            assert len({queue.partition for queue in queues}) == len(queues)
            for queue in queues:
                assert all(len(batch) > 0 for batch in queue.everything)
                places += [*queue.everything, *queue.in_flight]
        assert len(places) == len(set(places))
        assert set(self.path.accumulator.pending) == set(places)

    def send(self) -> None:
        name = self.random.choice(["a", "b"])
        partition = self.random.choice([None, 0, 1, 2, 3])
        timestamp = self.random.choice([None, 1_700_000_000_000])
        try:
            self.sent.append(
                self.path.send(name, b"v", partition=partition, timestamp=timestamp, key=b"k", nowait=True)
            )
        except errors.BufferFull:
            pass

    def learn(self) -> None:
        for topic in self.path.accumulator.topics.values():
            anew = topic.known > 0 and self.random.random() < 0.3
            count = self.random.randint(1 if anew else max(topic.known, 1), 4)
            self.path.accumulator.update_partitions(topic, count, range(count), anew=anew)
            self.path.accumulator.unroute_all()

    def take(self) -> None:
        self.path.accumulator.make_all_due()
        for queue in self.path.accumulator.route_ready():
            while queue.head is not None:
                queue.take(self.flying)

    def end(self) -> None:
        if self.flying:
            batch = self.flying.pop(self.random.randrange(len(self.flying)))
            event = self.random.choice(["complete", "fail", "split", "back", "sealed", "plain"])
            if event == "sealed":
                batch.seal(2, 1, None)
            if event == "plain":
                self.path.accumulator.without_timestamps(batch, errors.KafkaError("no timestamps"))
            elif event in ("complete", "fail"):
                self.path.accumulator.complete(batch, 0, -1, errors.KafkaError("as asked") if event == "fail" else None)
            elif event != "split" or not self.path.accumulator.split(batch):
                batch.queue.reenqueue(batch)

    def forget(self) -> None:
        for topic in self.path.accumulator.topics.values():
            self.path.accumulator.forget_partitions(topic)

    def play(self) -> None:
        event = self.random.choice([self.send] * 12 + [self.end] * 4 + [self.take, self.learn, self.forget])
        before = self.drives
        self.drives = event != self.send
        event()
        self.drives = before

    def finish(self) -> None:
        for batch in self.flying:
            batch.queue.reenqueue(batch)
        for topic in self.path.accumulator.topics.values():
            self.path.accumulator.update_partitions(topic, 4, range(4))
        self.path.accumulator.unroute_all()
        deliver(self.path)
        assert all(delivery.done() for delivery in self.sent)


@pytest.mark.parametrize("seed", range(100 if THOROUGH else 10))
def test_each_batch_is_in_one_place_at_every_allocation(seed: int) -> None:
    watched = Watched(seed)
    for _ in range(200):
        with at_allocations(watched.meanwhile):
            watched.play()
    watched.finish()
