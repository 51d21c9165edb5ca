"""A consumer in virtual time against a cluster that misbehaves by a seed: nothing lost, doubled or out of order.

Leaders move with a new epoch, brokers answer with errors, cut connections, stay silent, hold answers back or send less
than they have; the user seeks, pauses, polls with limits, and loses what a poll handed out. Between two seeks each
partition must give its records one after the other.
"""

from __future__ import annotations

import os
import random
from typing import Any

import pytest

from kwire import errors, protocol
from kwire.engine.common.addresses import Address, TopicPartition
from tests.engine.consumer.test_fetcher import LogBroker, Reading
from tests.engine.world import HANG_UP, Answer
from tests.thorough import THOROUGH

SEEDS = int(os.environ.get("KWIRE_SEEDS", "200" if THOROUGH else "25"))
STEPS = 60
SILENT = 1000.0
PARTITIONS = 4
RECORDS = 200
NODES = [Address("n", 1 + number) for number in range(3)]
Logs = dict[int, list[tuple[int, int, bytes]]]
FETCH_CODES = (3, 5, 6, 9, 14, 56, 72, 74, 75, 100, 103)


class Shared:
    """What all brokers of the cluster have in common."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.leaders = [rng.randrange(len(NODES)) for _ in range(PARTITIONS)]
        self.epochs = [0] * PARTITIONS
        self.trouble = rng.choice([0.0, 0.05, 0.3])
        self.calm = False

    def happens(self, weight: float = 1.0) -> bool:
        return not self.calm and self.rng.random() < self.trouble * weight

    def move(self, partition: int) -> None:
        self.leaders[partition] = self.rng.randrange(len(NODES))
        self.epochs[partition] += 1


class Node(LogBroker):
    def __init__(
        self, number: int, shared: Shared, logs: dict[int, list[tuple[int, int, bytes]]], release: str
    ) -> None:
        super().__init__(release, number, NODES[number])
        self.shared = shared
        self.logs = logs
        self.brokers = dict(enumerate(NODES))
        self.long_poll = True

    def answer(self, frame: bytes, now: float) -> Answer:
        if frame[4:6] != b"\0\x12":
            if self.shared.happens(0.1):
                return HANG_UP
            if self.shared.happens(0.05):
                self.holds = SILENT
            if self.shared.happens(0.3):
                self.holds = self.shared.rng.random() * 3
        return super().answer(frame, now)

    def topic(self, name: str) -> Any:
        self.topics = {"t": list(self.shared.leaders)}
        row = super().topic(name)
        for part in row.partitions:
            part.leader_epoch = self.shared.epochs[part.partition_index]
        return row

    def refusal(self, partition: int, epoch: int) -> int:
        if self.shared.leaders[partition] != self.node_id:
            return 6
        if 0 <= epoch < self.shared.epochs[partition]:
            return 74
        if self.shared.happens():
            return self.shared.rng.choice(FETCH_CODES)
        return 0

    def fetch_one(self, part: Any, version: int) -> Any:
        if self.shared.happens(0.2):
            self.shared.move(part.partition)
        code = self.refusal(part.partition, part.current_leader_epoch if version >= 9 else -1)
        if code:
            made = protocol.FetchResponse.FetchableTopicResponse.PartitionData
            return made(partition_index=part.partition, error_code=code, high_watermark=-1)
        part.partition_max_bytes = min(part.partition_max_bytes, self.shared.rng.choice([1, 300, 5000, 1 << 20]))
        return super().fetch_one(part, version)

    def list_offsets(self, message: Any, version: int, now: float) -> Any:
        response = super().list_offsets(message, version, now)
        for topic, asked in zip(response.topics, message.topics, strict=True):
            for row, part in zip(topic.partitions, asked.partitions, strict=True):
                row.error_code = self.refusal(part.partition_index, part.current_leader_epoch if version >= 4 else -1)
        return response

    def end_of_epoch(self, part: Any) -> tuple[int, int]:
        return self.refusal(part.partition, part.current_leader_epoch), self.end(part.partition)


class Model:
    """The consumer, what it was given since the last seek, and what it has to be given next."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.shared = Shared(self.rng)
        release = self.rng.choice(["4.4.0", "2.3.1", "0.11.0.3", "0.10.2.2"])
        logs: Logs = {}
        nodes = [Node(number, self.shared, logs, release) for number in range(len(NODES))]
        for partition in range(PARTITIONS):
            while nodes[0].end(partition) < RECORDS:
                base = nodes[0].end(partition)
                more: dict[str, Any] = {"partition_leader_epoch": 0} if release > "0.11" or release[0] != "0" else {}
                count = min(self.rng.choice([1, 3, 50]), RECORDS - base)
                nodes[0].append(partition, [b"%d" % (base + n) for n in range(count)], **more)
        self.nodes = nodes
        others = {NODES[number]: nodes[number] for number in (1, 2)}
        settings = {"max_partition_fetch_bytes": self.rng.choice([100, 1 << 20]), "request_timeout_ms": 5000}
        self.reading = Reading(nodes[0], others, bootstrap_servers="n:1,n:2,n:3", **settings)
        self.world, self.fetcher = self.reading.world, self.reading.fetcher
        self.due = {TopicPartition("t", number): 0 for number in range(PARTITIONS)}
        self.fetcher.subscription.assign(self.due, self.world.now)

    def step(self) -> None:
        choice = self.rng.random()
        tp = self.rng.choice(list(self.due))
        state = self.fetcher.subscription.state(tp)
        if choice < 0.05:
            self.due[tp] = self.rng.randrange(RECORDS)
            state.seek(self.due[tp])
            self.fetcher.pump(self.world.now)
        elif choice < 0.1:
            state.paused = not state.paused
            self.fetcher.pump(self.world.now)
        elif choice < 0.2:
            self.shared.move(tp.partition)
        else:
            self.poll(self.rng.choice([1, 7, None]), arrives=choice < 0.95)

    def poll(self, max_records: int | None, *, arrives: bool) -> None:
        self.fetcher.settle()
        self.fetcher.pump_if_due(self.world.now)
        self.world.run(self.world.now + self.rng.random() * 2)
        try:
            taken = self.fetcher.take(max_records)
        except errors.ConnectError:
            return
        finally:
            self.fetcher.pump_if_due(self.world.now)
        self.fetcher.hand_out.arrived = arrives
        for tp, part in taken:
            expected = [b"%d" % (self.due[tp] + number) for number in range(len(part))]
            assert part.values() == expected, f"{tp}: {part.values()[:5]} where {expected[:5]} were due"
            assert [record.offset for record in part] == [int(value) for value in expected]
            if arrives:
                self.due[tp] += len(part)

    def finish(self) -> None:
        """With a cluster that behaves everything that is left comes."""
        self.shared.calm = True
        for state in self.fetcher.subscription.states.values():
            state.paused = False
        self.fetcher.settle()
        self.fetcher.pump(self.world.now)
        for _ in range(500):
            if set(self.due.values()) == {RECORDS}:
                return
            self.poll(None, arrives=True)
        raise AssertionError(f"stuck at {self.due}")


@pytest.mark.parametrize("seed", range(SEEDS))
def test_every_record_comes_once_and_in_order(seed: int) -> None:
    model = Model(seed)
    for _ in range(STEPS):
        model.step()
    model.finish()
