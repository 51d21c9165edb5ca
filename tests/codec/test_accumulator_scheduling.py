"""Threads that send while one drives, with a switch at every allocation: each record is in one place, and in order."""

from __future__ import annotations

import random
import threading
import time
from typing import Any

import pytest

from kwire._codec import Batch, Delivery, PartitionQueue, TopicQueue
from tests.at_collections import threads_that_switch_at_allocations
from tests.codec.test_accumulator import Path, read
from tests.thorough import SOAK

SECONDS = 60.0 if SOAK else 1.0
SENDERS = 3
TURNS_OF_A_TOPIC = 20
PARTITIONS = 5
GZIP = 1
BUFFER_MEMORY = 20_000
ENOUGH = 3000

Sent = tuple[str, "int | None", bytes, Delivery]


class Play:
    """One accumulator, its senders, and what its driver wrote to the partitions."""

    def __init__(self, seed: int) -> None:
        self.path = Path(batch_size=150, buffer_memory=BUFFER_MEMORY)
        self.path.accumulator.wait_for_room = lambda size, since: time.sleep(0.0001)
        self.random = random.Random(seed)
        self.until = time.monotonic() + SECONDS
        self.faults: list[BaseException] = []
        self.sent: list[list[Sent]] = [[] for _ in range(SENDERS)]
        self.logs: dict[tuple[str, int], list[Any]] = {}
        self.line: dict[PartitionQueue, None] = {}

    def run(self) -> None:
        threads = [threading.Thread(target=self.send, args=(number,), daemon=True) for number in range(SENDERS)]
        for thread in threads:
            thread.start()
        try:
            while any(thread.is_alive() for thread in threads):
                self.drive()
        finally:
            self.until = 0.0
        for thread in threads:
            thread.join()
        if self.faults:
            raise self.faults[0]
        self.finish()

    def send(self, number: int) -> None:
        """Numbers its records; those that name a partition go to the sender's own, so that their order is known."""
        chance = random.Random(number)
        turn = 0
        try:
            while time.monotonic() < self.until:
                while turn % TURNS_OF_A_TOPIC == 0 and self.path.accumulator.used > ENOUGH:
                    time.sleep(0.0001)
                topic = f"t-{turn // TURNS_OF_A_TOPIC}"
                partition = number if turn % 3 else None
                value = b"%d-%d" % (number, turn)
                timestamp = 1_700_000_000_000 if chance.random() < 0.2 else None
                delivery = self.path.send(topic, value, partition=partition, timestamp=timestamp)
                self.sent[number].append((topic, partition, value, delivery))
                turn += 1
        except BaseException as fault:
            self.faults.append(fault)

    # -- the driver -------------------------------------------------------------------------------------------------

    def drive(self) -> None:
        accumulator = self.path.accumulator
        for topic in {*list(accumulator.topics.values())[-3:], *[batch.queue.topic for batch in accumulator.pending]}:
            if self.random.random() < (0.5 if topic.has_unassigned else 0.1):
                self.learn(topic)
        if self.random.random() < 0.5:
            accumulator.make_all_due()
        self.line.update(dict.fromkeys(accumulator.route_ready()))
        for queue in list(self.line):
            while queue.partition < queue.topic.known and queue.head is not None and self.random.random() < 0.9:
                self.take(queue)
            if queue.partition >= queue.topic.known or queue.head is None:
                del self.line[queue]

    def learn(self, topic: TopicQueue) -> None:
        """What metadata says of a topic: more partitions, other ones, or nothing."""
        anew = topic.known > 0 and self.random.random() < 0.3
        count = self.random.randint(1 if anew else max(topic.known, 1), PARTITIONS)
        if self.random.random() < 0.3:
            self.path.accumulator.forget_partitions(topic)
        else:
            self.path.accumulator.update_partitions(topic, count, range(count), anew=anew)
        if anew:
            self.path.accumulator.unroute_all()

    def take(self, queue: PartitionQueue) -> None:
        batch = queue.take([])
        chance = self.random.random()
        if chance < 0.2:
            batch.seal(2, GZIP, None)
            queue.reenqueue(batch)
        elif chance > 0.3 or not self.path.accumulator.split(batch):
            self.deliver(batch)

    def deliver(self, batch: Batch) -> None:
        log = self.logs.setdefault((batch.topic, batch.partition), [])
        values = read(batch).values()
        self.path.accumulator.complete(batch, len(log), -1, None)
        log += values

    # -- what is expected -------------------------------------------------------------------------------------------

    def finish(self) -> None:
        accumulator = self.path.accumulator
        for topic in accumulator.topics.values():
            accumulator.update_partitions(topic, PARTITIONS, range(PARTITIONS))
        accumulator.unroute_all()
        accumulator.make_all_due()
        while line := accumulator.route_ready():
            for queue in line:
                while queue.head is not None:
                    self.take(queue)
        assert not accumulator.pending
        assert accumulator.used == 0

    def check(self) -> None:
        for number, sent in enumerate(self.sent):
            assert sent
            for topic, partition, value, delivery in sent:
                place = delivery.result()
                assert place.partition == partition if partition is not None else place.partition >= 0
                assert self.logs[topic, place.partition][place.offset] == value
            own: dict[str, list[bytes]] = {}
            for topic, partition, value, _ in sent:
                if partition is not None:
                    own.setdefault(topic, []).append(value)
            for topic, values in own.items():
                named = set(values)
                assert [value for value in self.logs[topic, number] if value in named] == values
        written = [value for log in self.logs.values() for value in log]
        assert len(written) == len(set(written)) == sum(map(len, self.sent))


@pytest.mark.parametrize("threshold", [1, 2, 3])
def test_threads_send_while_one_drives(threshold: int) -> None:
    play = Play(seed=threshold)
    with threads_that_switch_at_allocations(threshold):
        play.run()
    play.check()
