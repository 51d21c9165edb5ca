"""Whole producers with a switch of threads at every allocation: topics appear, grow and vanish, batches are split."""

from __future__ import annotations

import random
import threading
import time
from typing import Any

import pytest

from kwire import Delivery, Producer, testing
from kwire.errors import ConfigError, DeliveryError, KafkaTimeoutError
from tests.at_collections import threads_that_switch_at_allocations
from tests.thorough import SOAK

SECONDS = 60.0 if SOAK else 1.5
STEADY = 3
MOST_PARTITIONS = 4
NARROW = {"max.message.bytes": "300"}


def flush(producer: Producer) -> None:
    try:
        producer.flush(60)
    except DeliveryError:
        pass  # of records of topics that vanished


class Crew:
    """Threads that repeat a step until the time is over; what they raise is raised at the end."""

    def __init__(self) -> None:
        self.until = time.monotonic() + SECONDS
        self.faults: list[BaseException] = []
        self.threads: list[threading.Thread] = []

    def add(self, member: Member) -> None:
        self.threads.append(threading.Thread(target=self._work, args=(member,), daemon=True))

    def _work(self, member: Member) -> None:
        try:
            turn = 0
            while time.monotonic() < self.until:
                member.step(turn)
                turn += 1
        except BaseException as fault:
            self.faults.append(fault)

    def run(self) -> None:
        for thread in self.threads:
            thread.start()
        for thread in self.threads:
            thread.join()
        if self.faults:
            raise self.faults[0]


class Member:
    """One thread, and what it sent: (topic, partition, value, Delivery), in order."""

    def __init__(self, producer: Producer, broker: testing.Broker, number: int) -> None:
        self.producer = producer
        self.broker = broker
        self.number = number
        self.chance = random.Random(number)
        self.sent: list[tuple[str, int, bytes, Delivery]] = []

    def step(self, turn: int) -> None:
        raise NotImplementedError

    def send(self, topic: str, partition: int) -> Delivery:
        value = b"%d-%d" % (self.number, len(self.sent))
        delivery = self.producer.send(topic, value, partition=partition)
        self.sent.append((topic, partition, value, delivery))
        return delivery


class Steady(Member):
    """Sends to topics that stay; awaits some records, and is called back for others."""

    def __init__(self, producer: Producer, broker: testing.Broker, number: int) -> None:
        super().__init__(producer, broker, number)
        self.to_be_told: list[Delivery] = []
        self.told: list[Delivery] = []

    def step(self, turn: int) -> None:
        try:
            delivery = self.send("steady" if turn % 3 else "narrow", self.number)
        except KafkaTimeoutError:
            return  # no room so far: it was not taken
        if self.chance.random() < 0.1:
            self.to_be_told.append(delivery)
            delivery.add_done_callback(self.told.append)
        if self.chance.random() < 0.1:
            delivery.result(30)
        if self.chance.random() < 0.01:
            flush(self.producer)


class Pioneer(Member):
    """Sends to topics that are new, among them to partitions that are still to be made."""

    def step(self, turn: int) -> None:
        delivery = self.send(f"new-{turn // 20}", self.chance.randrange(MOST_PARTITIONS))
        if turn % 20 == 0:
            delivery.exception(30)


class Maker(Member):
    """Makes more partitions, and deletes topics."""

    def step(self, turn: int) -> None:
        topics = [name for name in self.broker.topics() if name.startswith("new-")]
        if topics:
            name = self.chance.choice(topics)
            self.broker.delete_topic(name)
            try:
                self.broker.create_topic(name, self.chance.randint(1, MOST_PARTITIONS))
            except ConfigError:
                pass  # the producer's metadata request has made it
        time.sleep(0.002)


@pytest.mark.parametrize(
    ("threshold", "settings"),
    [(1, {}), (2, {"compression": "gzip", "linger_ms": 1}), (3, {"buffer_memory": 20_000, "linger_ms": 2})],
)
def test_threads_send_while_topics_come_and_go(threshold: int, settings: dict[str, Any]) -> None:
    with testing.Broker(topics={"steady": STEADY}, num_partitions=2) as broker:
        broker.create_topic("narrow", STEADY, settings=NARROW)
        with Producer(
            broker.bootstrap_servers, batch_size=500, max_request_size=10_000, max_block_ms=500, **settings
        ) as producer:
            members = [Steady(producer, broker, number) for number in range(STEADY)]
            strangers = [Pioneer(producer, broker, number) for number in range(2)]
            crew = Crew()
            with threads_that_switch_at_allocations(threshold):
                for member in (*members, *strangers, Maker(producer, broker, 0)):
                    crew.add(member)
                crew.run()
                flush(producer)
            assert not producer._accumulator.pending
            assert producer._accumulator.used == 0
            for member in (*members, *strangers):
                assert all(delivery.done() for *_, delivery in member.sent)
        for member in members:
            assert len(member.told) == len(member.to_be_told)
            assert set(member.told) == set(member.to_be_told)
            for topic in ("steady", "narrow"):
                own = [(value, delivery.result()) for name, _, value, delivery in member.sent if name == topic]
                assert broker.values(topic, partition=member.number) == [value for value, _ in own]
                assert [place.offset for _, place in own] == list(range(len(own)))
