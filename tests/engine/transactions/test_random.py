"""Transactions while nodes die, leaders and coordinators move, and answers are lost: random, by seed.

Whatever happens, a read_committed reader gets each record of each committed transaction once, in order, and nothing of
the others.
"""

from __future__ import annotations

import random
from collections import Counter

import pytest

from kwire.engine.calls.lookup import GROUP, TRANSACTION
from kwire.errors import KafkaError, ProducerFencedError, TransactionError
from tests.engine.transactions.world import NOBODY, TransactionalProducer, TransactionWorld
from tests.thorough import THOROUGH

SEEDS = range(30 if THOROUGH else 8)
CODES = [-1, 3, 6, 7, 10, 14, 15, 16, 20, 29, 45, 47, 48, 49, 51, 53, 56, 59, 87, 90, 120]
APIS = ["Produce", "EndTxn", "AddPartitionsToTxn", "AddOffsetsToTxn", "TxnOffsetCommit", "InitProducerId"]


class Story:
    """A producer that commits and aborts by chance, and what should be in the log after that."""

    def __init__(self, version: int, seed: int, *, hostile: bool = False, hangs: float = 0.0) -> None:
        self.rng = random.Random(seed)
        self.hostile = hostile
        self.world = TransactionWorld(
            version, seed=seed, topics={"t": 3, "in": 1}, transaction_state_log_num_partitions=5
        )
        self.world.cluster.transactions.markers_after_s = self.rng.choice([0.0, 0.01, 0.05])
        self.world.disturb(every=0.7, loss=0.02, keys=[(TRANSACTION, "tx"), (GROUP, "g")], hangs=hangs)
        self.expected: list[tuple[int, bytes]] = []
        self.undecided: list[list[tuple[int, bytes]]] = []
        self.number = 0
        self.happened: Counter[str] = Counter()
        self.producer = self.restart()

    def restart(self) -> TransactionalProducer:
        self.world.faults.clear()
        producer = self.world.producer(
            linger_ms=self.rng.choice([0, 5]),
            delivery_timeout_ms=self.rng.choice([300, 2000]) if self.hostile else 30_000,
            transaction_timeout_ms=self.rng.choice([1000, 60_000]) if self.hostile else 60_000,
        )
        producer.init()
        return producer

    def torment(self) -> None:
        """Brokers answer with errors, or a twin takes over."""
        if self.rng.random() < 0.2:
            self.world.faults.error(self.rng.choice(APIS), self.rng.choice(CODES), times=self.rng.choice([1, 2, 20]))
        elif self.rng.random() < 0.05:
            self.world.producer().manager.initialise(self.world.now)

    def step(self) -> None:
        """One transaction, with whatever it ends in."""
        sent: list[tuple[int, bytes]] = []
        try:
            self.transact(sent)
        except KafkaError as error:
            self.happened[type(error).__name__] += 1
            self.end_after(error)

    def transact(self, sent: list[tuple[int, bytes]]) -> None:
        self.producer.begin()
        if self.hostile:
            self.torment()
        for _ in range(self.rng.randrange(12)):
            self.send(sent)
        if self.rng.random() < 0.3:
            self.producer.abort()
        elif self.rng.random() < 0.1:
            self.world.remove(self.producer)
            self.producer = self.restart()
        else:
            self.commit(sent)

    def commit(self, sent: list[tuple[int, bytes]]) -> None:
        """A producer that was fenced by the answer to a repeated EndTxn cannot know what the first one did."""
        try:
            self.producer.commit()
        except KafkaError:
            if self.producer.state == "fatal":
                self.undecided.append(sent)
            raise
        self.expected += sent

    def end_after(self, error: KafkaError) -> None:
        """As a user would: aborts where that helps, else makes another producer."""
        try:
            if isinstance(error, TransactionError) and error.abortable:
                self.producer.abort()
                return
        except (TransactionError, ProducerFencedError) as another:
            self.happened["after abort: " + type(another).__name__] += 1
        assert self.producer.state == "fatal"
        assert self.hostile, error
        self.world.remove(self.producer)
        self.producer = self.restart()

    def send(self, sent: list[tuple[int, bytes]]) -> None:
        partition = self.rng.randrange(3)
        value = b"%d" % self.number
        self.number += 1
        self.producer.send("t", value, partition=partition)
        sent.append((partition, value))
        if self.rng.random() < 0.3:
            self.world.run(self.world.now + self.rng.uniform(0, 0.3))

    def check(self) -> None:
        self.world.calm()
        self.world.faults.clear()
        if self.producer.state == "open":
            self.producer.abort()
        got = self.world.committed()
        for transaction in self.undecided:
            present = [value in got for _, value in transaction]
            assert all(present) or not any(present), f"half of a transaction: {transaction}"
            self.expected += transaction if any(present) else []
        places = {value: partition for partition, value in self.expected}
        found: list[list[bytes]] = [[], [], []]
        for value in got:
            assert value in places, f"{value!r} was not committed; {self.world.happened[-10:]}"
            found[places[value]].append(value)
        for partition in range(3):
            wanted = [value for where, value in self.expected if where == partition]
            assert found[partition] == sorted(wanted, key=int)


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("seed", SEEDS)
def test_only_what_was_committed_is_read_once_and_in_order(version: int, seed: int) -> None:
    story = Story(version, seed)
    for _ in range(40):
        story.step()
    story.check()
    assert len(story.expected) > 40


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("seed", SEEDS)
def test_the_same_while_nodes_hang_and_connections_are_half_open(version: int, seed: int) -> None:
    story = Story(version, seed, hangs=0.4)
    for _ in range(20):
        story.step()
    story.check()


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("seed", SEEDS)
def test_only_what_was_committed_is_read_whatever_brokers_answer(version: int, seed: int) -> None:
    """Errors of every kind, batches that run out of time, transactions that time out, and twins that take over."""
    story = Story(version, seed, hostile=True)
    for _ in range(40):
        story.step()
    story.check()


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("seed", SEEDS)
def test_offsets_are_committed_with_their_records(version: int, seed: int) -> None:
    """The group's position is always the number of records that were committed with it."""
    story = Story(version, seed)
    world, position = story.world, 0
    for _ in range(25):
        producer = story.producer
        try:
            producer.begin()
            count = story.rng.randrange(1, 5)
            producer.send_all(*(b"%d" % (position + i) for i in range(count)), partition=0)
            producer.send_offsets({("in", 0): position + count}, NOBODY)
            if story.rng.random() < 0.3:
                producer.abort()
                continue
            producer.commit()
            position += count
        except TransactionError:
            producer.abort()
    world.calm()
    assert world.committed() == [b"%d" % i for i in range(position)]
    offset = world.cluster.groups.offsets.of("g")[("in", 0)].offset if position else 0
    assert offset == position
