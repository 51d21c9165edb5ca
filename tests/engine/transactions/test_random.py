"""Transactions while nodes die, leaders and coordinators move, and answers are lost: random, by seed.

Whatever happens, a read_committed reader gets each record of each committed transaction once, in order, and nothing of
the others. Each seed draws the brokers' release, too: KINDS has one of each that differs in what it does.
"""

from __future__ import annotations

import random
from collections import Counter

import pytest

from kwire._codec import Delivery
from kwire.engine.calls.lookup import GROUP, TRANSACTION
from kwire.errors import KafkaError, ProducerFencedError, TransactionError
from kwire.schema.api_keys import ADD_PARTITIONS_TO_TXN, END_TXN, PRODUCE
from tests.engine.transactions.world import NOBODY, TransactionalProducer, TransactionWorld
from tests.thorough import THOROUGH, seeds

SEEDS = seeds(240 if THOROUGH else 24)
CODES = [-1, 3, 6, 7, 10, 14, 15, 16, 20, 29, 45, 46, 47, 48, 49, 51, 53, 56, 59, 87, 90, 120]
APIS = ["Produce", "EndTxn", "AddPartitionsToTxn", "AddOffsetsToTxn", "TxnOffsetCommit", "InitProducerId"]

KINDS = [
    ("4.4.0", 2),  # topics by their ids
    ("4.0.2", 2),  # KIP-890: leaders add partitions, each end raises the epoch
    ("4.4.0", 1),
    ("3.9.2", 1),  # TRANSACTION_ABORTABLE
    ("3.6.2", 1),  # leaders ask whether a partition is part of the transaction
    ("3.5.2", 1),
    ("2.8.2", 1),  # PRODUCER_FENCED
    ("2.5.1", 1),  # KIP-360: the epoch can be raised; producers that a log does not know begin anywhere
    ("2.4.1", 1),
    ("2.0.1", 1),  # batches need a transactional id
    ("1.1.1", 1),  # UNKNOWN_PRODUCER_ID
    ("0.11.0.3", 1),
]

MOST_PARTITIONS = 6
MOST_REQUESTS = 250
"""In a second, of one producer."""


class Story:
    """A producer that commits and aborts by chance, and what should be in the log after that.

    All of it is about topic "t"; "lost" is one that is deleted and made anew, and whose records may go with it.
    """

    def __init__(self, seed: int, *, hostile: bool = False, hangs: float = 0.0, kind: int | None = None) -> None:
        self.rng = random.Random(seed)
        self.hostile, self.hangs = hostile, hangs
        self.release, self.version = KINDS[(seed if kind is None else kind) % len(KINDS)]
        self.world = TransactionWorld(
            self.version,
            release=self.release,
            seed=seed,
            topics={"t": 3, "in": 1, "lost": 1},
            transaction_state_log_num_partitions=5,
        )
        self.world.cluster.transactions.markers_after_s = self.rng.choice([0.0, 0.01, 0.05])
        self.world.disturb(every=0.7, loss=0.02, keys=[(TRANSACTION, "tx"), (GROUP, "g")], hangs=hangs)
        self.world.outliving = frozenset(self.outliving())
        self.expected: list[tuple[int, bytes]] = []
        self.undecided: list[list[tuple[int, bytes]]] = []
        self.partitions = 3
        self.number = 0
        self.happened: Counter[str] = Counter()
        self.late: list[str] = []
        self.unanswered: set[bytes] = set()
        self.made: list[TransactionalProducer] = []
        self.producer = self.restart()

    def outliving(self) -> list[int]:
        """What Kafka tells from the next transaction's. An EndTxn of version 1 that comes late ends that one; a batch
        that comes late becomes part of it, where the epoch was raised and no leader asks (KIP-890)."""
        if self.version == 2:
            return [PRODUCE, ADD_PARTITIONS_TO_TXN, END_TXN]
        number = tuple(map(int, self.release.split(".")))
        return [ADD_PARTITIONS_TO_TXN] if (2, 5) <= number < (3, 6) else [PRODUCE, ADD_PARTITIONS_TO_TXN]

    @property
    def can_raise_epochs(self) -> bool:
        """Otherwise a producer ends with a batch of which nobody knows whether it is written (KIP-360)."""
        return tuple(map(int, self.release.split("."))) >= (2, 5)

    def restart(self) -> TransactionalProducer:
        self.world.faults.clear()
        self.unanswered.clear()
        producer = self.world.producer(
            linger_ms=self.rng.choice([0, 5]),
            delivery_timeout_ms=self.rng.choice([300, 2000]) if self.hostile else 30_000,
            request_timeout_ms=self.rng.choice([200, 1000]) if self.hostile else 30_000,
            transaction_timeout_ms=self.rng.choice([1000, 60_000]) if self.hostile else 600_000,
            metadata_max_age_ms=2_000,
        )
        producer.init()
        self.made.append(producer)
        return producer

    def torment(self) -> None:
        """Brokers answer with errors or not at all, topics change, or a twin takes over."""
        rng, faults, cluster = self.rng, self.world.faults, self.world.cluster
        chance = rng.random()
        if chance < 0.2:
            faults.error(rng.choice(APIS), rng.choice(CODES), times=rng.choice([1, 2, 20]))
        elif chance < 0.24:
            self.world.producer().manager.initialise(self.world.now)
        elif chance < 0.28:
            faults.delay(rng.choice(APIS), rng.choice([0.1, 0.5, 3.0]))
        elif chance < 0.32:
            faults.mute(rng.choice(APIS), after_effect=rng.random() < 0.5)
        elif chance < 0.36:
            faults.close(rng.choice(APIS), times=rng.choice([1, 5]), after_effect=rng.random() < 0.5)
        elif chance < 0.39:
            settings = cluster.settings_for({"max.message.bytes": rng.choice(["80", "150", "1000000"])})
            cluster.change_topic(cluster.topics["t"], settings)
        elif chance < 0.42 and self.partitions < MOST_PARTITIONS and len(list(cluster.nodes.alive)) == 3:
            self.partitions += 1
            cluster.add_partitions(cluster.topics["t"], 1)
        elif chance < 0.45 and "lost" in cluster.topics:
            cluster.delete_topic(cluster.topics["lost"])
            self.world.at(self.world.now + rng.choice([0.0, 0.3]), lambda: self.make_again("lost"))
        elif chance < 0.47:
            self.producer.core.recover(self.world.now)
            self.producer.open.clear()

    def make_again(self, topic: str) -> None:
        if topic not in self.world.cluster.topics:
            self.world.cluster.create_topic(topic, 1, replication_factor=1)

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
        chance = self.rng.random()
        if chance < 0.3:
            self.producer.abort()
        elif chance < 0.37:
            self.world.remove(self.producer)
            self.producer = self.restart()
        elif chance < 0.4 and self.hostile:
            self.close()
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
        assert not self.unanswered, f"committed without an answer to {self.unanswered}"
        self.expected += sent

    def close(self) -> None:
        """With a time-out: what is open then is aborted, or stays for the next producer to abort."""
        closing = self.producer.sender.close("closed", self.world.now)
        until = self.world.now + self.rng.choice([0.0, 0.01, 1.0])
        self.world.at(until, lambda: None)
        self.world.run(lambda: closing.is_done() or self.world.now >= until)
        closing.finish("closed")
        self.producer.core.close(self.world.now)
        self.world.play()
        assert not self.unanswered
        self.world.remove(self.producer)
        self.producer = self.restart()

    def end_after(self, error: KafkaError) -> None:
        """As a user would: aborts where that helps, else makes another producer."""
        try:
            if isinstance(error, TransactionError) and error.abortable:
                self.producer.abort()
                return
        except (TransactionError, ProducerFencedError) as another:
            self.happened["after abort: " + type(another).__name__] += 1
        assert self.producer.state == "fatal"
        assert self.hostile or (self.hangs and not self.can_raise_epochs), error
        self.world.remove(self.producer)
        self.producer = self.restart()

    def send(self, sent: list[tuple[int, bytes]]) -> None:
        value = b"%d" % self.number
        self.number += 1
        if self.hostile and self.rng.random() < 0.1:
            self.watch(value, self.producer.send("lost", value, partition=0))
        else:
            partition = self.rng.randrange(self.partitions)
            self.watch(value, self.producer.send("t", value, partition=partition))
            sent.append((partition, value))
        if self.rng.random() < 0.3:
            self.world.run(self.world.now + self.rng.uniform(0, 0.3))

    def watch(self, value: bytes, delivery: Delivery) -> None:
        """It has to end in time."""
        due = self.world.now + self.producer.sender._delivery_timeout + 0.001
        self.unanswered.add(value)

        def over(_: Delivery) -> None:
            self.unanswered.discard(value)
            if self.world.now > due:
                self.late.append(f"{value!r} by {self.world.now - due} s")

        delivery.add_done_callback(over)

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
        found: list[list[bytes]] = [[] for _ in range(self.partitions)]
        for value in got:
            assert value in places, f"{value!r} was not committed; {self.world.happened[-10:]}"
            found[places[value]].append(value)
        for partition in range(self.partitions):
            wanted = [value for where, value in self.expected if where == partition]
            assert found[partition] == sorted(wanted, key=int)
        assert not self.late
        assert max(max(producer.asked.values()) for producer in self.made) < MOST_REQUESTS


@pytest.mark.parametrize("seed", SEEDS)
def test_only_what_was_committed_is_read_once_and_in_order(seed: int) -> None:
    story = Story(seed)
    for _ in range(40):
        story.step()
    story.check()
    assert len(story.expected) > 40


@pytest.mark.parametrize("seed", SEEDS)
def test_the_same_while_nodes_hang_and_connections_are_half_open(seed: int) -> None:
    story = Story(seed, hangs=0.4)
    for _ in range(20):
        story.step()
    story.check()


@pytest.mark.parametrize("seed", SEEDS)
def test_only_what_was_committed_is_read_whatever_brokers_answer(seed: int) -> None:
    """Errors of every kind, batches that run out of time, transactions that time out, and twins that take over."""
    story = Story(seed, hostile=True)
    for _ in range(40):
        story.step()
    story.check()


@pytest.mark.parametrize("seed", SEEDS)
def test_offsets_are_committed_with_their_records(seed: int) -> None:
    """The group's position is always the number of records that were committed with it."""
    story = Story(seed)
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
