"""Topics with all that makes reading a log hard, filled by confluent-kafka, and what a test must know about each.

The content depends on nothing but the topic's place in the list and the time of the run, so a seed that failed once
fails again.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from confluent_kafka import Consumer, IsolationLevel, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import OffsetSpec

from tests.spark.foreign import WITHIN_S, ForeignClient, Item

CODECS: Final = ("none", "gzip", "snappy", "lz4", "zstd")

BROKER: Final = {
    "log.cleaner.backoff.ms": "100",
    "log.retention.check.interval.ms": "300",
    "log.initial.task.delay.ms": "100",
    "transaction.max.timeout.ms": "7200000",
}
"""What the broker of these topics is told: compaction takes no minutes, a transaction may stay open for a whole run."""

_ROLL_MS: Final = 100
_MINUTE_MS: Final = 60_000


@dataclass(frozen=True, slots=True)
class Log:
    """A partition: offsets [earliest, latest), of which those from `stable` on belong to open transactions."""

    earliest: int
    latest: int
    stable: int


@dataclass(frozen=True, slots=True)
class Topic:
    """A filled topic, its partitions and the times between which its records were stamped."""

    name: str
    logs: Mapping[int, Log]
    first_ms: int
    last_ms: int
    transactional: bool = False


class Filler:
    """Fills the topics of one cluster. Close it when they are no longer read: a transaction stays open until then."""

    def __init__(self, bootstrap_servers: str) -> None:
        self._servers = bootstrap_servers
        self._client = ForeignClient(bootstrap_servers)
        self._base_ms = _now_ms() - 120 * _MINUTE_MS
        self._open: list[Producer] = []

    def fill(self) -> list[Topic]:
        """All the topics; their names share the beginning `diff_`."""
        makers: list[Callable[[random.Random], Topic]] = [
            *(lambda dice, codec=codec: self._plain(dice, codec) for codec in CODECS),
            self._transactional,
            self._left_open,
            self._compacted,
            self._compacted_transactions,
            self._stamped_by_the_broker,
            self._without_heads,
            self._mostly_empty,
        ]
        return [make(random.Random(f"topic {number}")) for number, make in enumerate(makers)]

    def close(self) -> None:
        """Aborts what was left open."""
        for producer in self._open:
            producer.abort_transaction(WITHIN_S)

    def _plain(self, dice: random.Random, codec: str) -> Topic:
        name, partitions = f"diff_{codec}", dice.randint(2, 5)
        self._client.create_topic(name, partitions)
        items = [
            item
            for partition in range(1, partitions)
            for item in self._items(dice, partition, dice.choice((0, 1, 10, 130, 400)))
        ]
        dice.shuffle(items)
        self._client.produce(name, [*self._items(dice, 0, 250), *items], codec)
        return self._facts(name, partitions)

    def _transactional(self, dice: random.Random) -> Topic:
        self._client.create_topic("diff_txn", 3)
        self._transact(dice, "diff_txn", 2, rounds=14)
        return self._facts("diff_txn", 3, transactional=True)

    def _left_open(self, dice: random.Random) -> Topic:
        """The last transaction has not ended, and others wrote after it."""
        name = "diff_open"
        self._client.create_topic(name, 2)
        self._transact(dice, name, 2, rounds=4)
        producer = self._client.transactional_producer(
            f"{name}-left", transaction_timeout_ms=int(BROKER["transaction.max.timeout.ms"])
        )
        producer.begin_transaction()
        self._send(producer, name, list(self._items(dice, 0, 7)))
        self._open.append(producer)
        self._client.produce(name, self._items(dice, 0, 20))
        return self._facts(name, 2, transactional=True)

    def _compacted(self, dice: random.Random) -> Topic:
        name = "diff_compacted"
        self._create_compacted(name)
        for number in range(6):
            self._client.produce(name, self._keyed(dice, 60, self._base_ms + number * _MINUTE_MS), dice.choice(CODECS))
        self._client.produce(name, self._keyed(dice, 4, self._base_ms + 6 * _MINUTE_MS))
        self._wait_until_compacted(name)
        return self._facts(name, 2)

    def _compacted_transactions(self, dice: random.Random) -> Topic:
        name = "diff_compacted_txn"
        self._create_compacted(name)
        started = _now_ms()
        producer = self._client.transactional_producer(name)
        for number in range(8):
            producer.begin_transaction()
            self._send(producer, name, list(self._keyed(dice, 30, _now_ms())))
            (producer.abort_transaction if number in (2, 5) else producer.commit_transaction)(WITHIN_S)
            # Markers are stamped by the broker's clock, so here the log rolls by that.
            time.sleep(2 * _ROLL_MS / 1000)
        self._client.produce(name, self._keyed(dice, 4, _now_ms()))
        self._wait_until_compacted(name)
        return self._facts(name, 2, transactional=True, times=(started, _now_ms()))

    def _stamped_by_the_broker(self, dice: random.Random) -> Topic:
        self._client.create_topic("diff_append", 2, message_timestamp_type="LogAppendTime")
        started = _now_ms()
        for codec in CODECS:
            self._client.produce("diff_append", self._items(dice, dice.randrange(2), 40), codec)
        return self._facts("diff_append", 2, times=(started, _now_ms()))

    def _without_heads(self, dice: random.Random) -> Topic:
        name = "diff_heads"
        self._client.create_topic(name, 3)
        for partition in range(3):
            self._client.produce(name, self._items(dice, partition, 120), "lz4")
        # The middle of a batch, a whole log, and nothing.
        cut = [TopicPartition(name, 0, 37), TopicPartition(name, 1, 120)]
        for future in self._client.admin.delete_records(cut).values():
            future.result(WITHIN_S)
        return self._facts(name, 3)

    def _mostly_empty(self, dice: random.Random) -> Topic:
        self._client.create_topic("diff_empty", 5)
        self._client.produce("diff_empty", self._items(dice, 3, 3))
        return self._facts("diff_empty", 5)

    def _items(self, dice: random.Random, partition: int, count: int) -> Iterator[Item]:
        """Records in no order of time, with nulls, empty bytes and doubled headers among them."""
        for number in range(count):
            value = None if dice.random() < 0.05 else dice.randbytes(dice.choice((0, 1, 40, 100, 300)))
            key = None if dice.random() < 0.3 else b"key-%d" % dice.randrange(40)
            yield partition, value, key, self._base_ms + number * 500 + dice.randint(-5000, 5000), _headers(dice)

    def _keyed(self, dice: random.Random, count: int, time_ms: int) -> Iterator[Item]:
        """Records of few keys in both partitions; a log rolls when their time goes on."""
        for number in range(count):
            partition, key = number % 2, b"k%d" % dice.randrange(12)
            yield partition, dice.randbytes(20), key, time_ms + number, ()

    def _transact(self, dice: random.Random, name: str, partitions: int, rounds: int) -> None:
        """Transactions of two producers in turn, committed and aborted, and plain records between them."""
        producers = [self._client.transactional_producer(f"{name}-{number}") for number in range(2)]
        for producer in producers:
            producer.begin_transaction()
        for _ in range(rounds):
            producer = dice.choice(producers)
            for _ in range(dice.randint(1, 3)):
                self._send(producer, name, list(self._items(dice, dice.randrange(partitions), dice.randint(1, 12))))
            if dice.random() < 0.4:
                self._client.produce(name, self._items(dice, dice.randrange(partitions), dice.randint(1, 5)))
            (producer.commit_transaction if dice.random() < 0.6 else producer.abort_transaction)(WITHIN_S)
            producer.begin_transaction()
        for producer in producers:
            producer.abort_transaction(WITHIN_S)

    def _send(self, producer: Producer, name: str, items: list[Item]) -> None:
        for partition, value, key, timestamp, headers in items:
            producer.produce(name, value, key, partition=partition, timestamp=timestamp, headers=list(headers) or None)
        assert producer.flush(WITHIN_S) == 0

    def _create_compacted(self, name: str) -> None:
        self._client.create_topic(
            name,
            2,
            cleanup_policy="compact",
            segment_ms=str(_ROLL_MS),
            min_cleanable_dirty_ratio="0.01",
            min_compaction_lag_ms="0",
            delete_retention_ms="0",
        )

    def _wait_until_compacted(self, name: str) -> None:
        """Waits until the number of records stands still below the number of offsets."""
        deadline, before = time.monotonic() + WITHIN_S, -1
        while time.monotonic() < deadline:
            time.sleep(0.6)
            counted = self._count(name)
            if counted == before and counted < sum(log.latest for log in self._logs(name, 2).values()) * 0.5:
                return
            before = counted
        raise TimeoutError(f"{name} was not compacted within {WITHIN_S:.0f} s")

    def _count(self, name: str) -> int:
        settings = {"bootstrap.servers": self._servers, "group.id": "counts", "enable.partition.eof": True}
        consumer = Consumer({**settings, "auto.offset.reset": "earliest", "enable.auto.commit": False})
        consumer.assign([TopicPartition(name, partition, 0) for partition in range(2)])
        counted, ended = 0, 0
        while ended < 2:
            for message in consumer.consume(500, 0.2):
                error = message.error()
                if error is None:
                    counted += 1
                elif error.code() == KafkaError._PARTITION_EOF:
                    ended += 1
        consumer.close()
        return counted

    def _facts(
        self, name: str, partitions: int, *, transactional: bool = False, times: tuple[int, int] | None = None
    ) -> Topic:
        first, last = times or (self._base_ms - 5000, self._base_ms + 400 * 500 + 5000)
        return Topic(name, self._logs(name, partitions), first, last, transactional)

    def _logs(self, name: str, partitions: int) -> dict[int, Log]:
        earliest = self._offsets(name, partitions, OffsetSpec.earliest())
        latest = self._offsets(name, partitions, OffsetSpec.latest())
        stable = self._offsets(name, partitions, OffsetSpec.latest(), committed=True)
        return {number: Log(earliest[number], latest[number], stable[number]) for number in range(partitions)}

    def _offsets(self, name: str, partitions: int, spec: OffsetSpec, *, committed: bool = False) -> dict[int, int]:
        level = IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED
        asked = {TopicPartition(name, number): spec for number in range(partitions)}
        found = self._client.admin.list_offsets(asked, isolation_level=level, request_timeout=WITHIN_S)
        try:
            return {place.partition: future.result(WITHIN_S).offset for place, future in found.items()}
        except KafkaException as error:
            # A broker lists a new partition a moment before it serves it.
            if error.args[0].code() != KafkaError.NOT_LEADER_FOR_PARTITION:
                raise
            time.sleep(0.1)
            return self._offsets(name, partitions, spec, committed=committed)


def _now_ms() -> int:
    return int(time.time() * 1000)


def _headers(dice: random.Random) -> list[tuple[str, bytes | None]]:
    if dice.random() < 0.7:
        return []
    names = ("a", "b", "", "trace-id")
    values = (None, b"", b"1", b"\xff\x00")
    return [(dice.choice(names), dice.choice(values)) for _ in range(dice.randint(1, 4))]
