"""What happens to the topics of a stream, by seed: records, transactions, new partitions and topics, lost heads.

A plan is a list of stages. Before each the topics change, and at times the options, then the stream runs on its
checkpoint until it has read all.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from confluent_kafka import TopicPartition
from confluent_kafka.admin import NewPartitions

from tests.spark.connector.option_sets import QUICK, Options, respelled
from tests.spark.foreign import WITHIN_S, ForeignClient, Item

# Kafka deletes what is older than a week.
_BASE_MS: Final = int(time.time() * 1000) - 3_600_000


@dataclass(frozen=True)
class Stage:
    """The options of one run, and whether it ends by AvailableNow or runs until all is read."""

    options: Options
    available_now: bool


class StreamPlan:
    """One seed's topics, which begin with `name`, and the stages of the stream that reads them."""

    def __init__(self, seed: int, name: str, client: ForeignClient) -> None:
        self._dice = random.Random(f"stream {seed}")
        self._client = client
        self._name = name
        self._partitions: dict[str, int] = {}
        self._latest: dict[tuple[str, int], int] = {}
        self._written = 0
        self._selection = self._dice.choice(("subscribe", "subscribe", "subscribePattern", "assign"))
        self._transactional = self._dice.random() < 0.3
        self._lenient = self._dice.random() < 0.5

    def stages(self) -> Iterator[Stage]:
        """Changes the topics before each stage that it yields."""
        dice = self._dice
        for number in range(dice.randint(1, 2)):
            self._create(f"{self._name}_{number}")
        self._write()
        common = {**self._common_options(), **self._start()}
        for number in range(dice.randint(2, 3)):
            if number:
                self._change()
                common |= self._changed_options(common)
            yield Stage(respelled(dice, {**common, **self._limits()}), dice.random() < 0.6)

    def _create(self, topic: str) -> None:
        self._partitions[topic] = self._dice.randint(1, 4)
        self._client.create_topic(topic, self._partitions[topic])

    def _common_options(self) -> Options:
        options = {**QUICK, "includeHeaders": "true", **self._selected()}
        if self._transactional:
            options["kafka.isolation.level"] = "read_committed"
        if self._lenient:
            options["failOnDataLoss"] = "false"
        if self._dice.random() < 0.3:
            options["minPartitions"] = str(self._dice.randint(2, 6))
        if self._dice.random() < 0.2:
            options["maxRecordsPerPartition"] = str(self._dice.randint(60, 150))
        return options

    def _selected(self) -> Options:
        if self._selection == "assign":
            return {"assign": json.dumps({topic: list(range(count)) for topic, count in self._partitions.items()})}
        if self._selection == "subscribe":
            return {"subscribe": ",".join(self._partitions)}
        return {"subscribePattern": f"^{self._name}_.*"}

    def _changed_options(self, options: Options) -> Options:
        """What the next start of the query says otherwise: the same topics in other words, a start that no longer
        counts, other tasks. `options` loses what is said in other words.
        """
        changed: Options = {}
        if self._dice.random() < 0.4:
            del options[self._selection]
            self._selection = self._dice.choice(("subscribe", "subscribePattern", "assign"))
            changed |= self._selected()
        if self._dice.random() < 0.4:
            changed["startingOffsets"] = self._dice.choice(("earliest", "latest", '{"elsewhere": {"0": 7}}'))
        if self._dice.random() < 0.3:
            changed["minPartitions"] = str(self._dice.randint(1, 6))
        return changed

    def _start(self) -> Options:
        kind = self._dice.choice(("earliest", "earliest", "json", "json", "latest", "time", "none"))
        if kind in ("earliest", "latest"):
            return {"startingOffsets": kind}
        if kind == "json":
            offsets = {
                topic: {
                    str(number): self._dice.choice((-2, -1, self._dice.randint(0, self._latest[topic, number])))
                    for number in range(count)
                }
                for topic, count in self._partitions.items()
            }
            return {"startingOffsets": json.dumps(offsets)}
        if kind == "time":
            time_ms = _BASE_MS + self._dice.randint(0, 60_000)
            return {"startingTimestamp": str(time_ms), "startingOffsetsByTimestampStrategy": "latest"}
        return {}

    def _limits(self) -> Options:
        """Rate limits that make a few batches of what was written since the last stage."""
        written, self._written = self._written, 0
        if self._dice.random() < 0.3:
            return {}
        return {"maxOffsetsPerTrigger": str(max(10, written // self._dice.randint(1, 4)))}

    def _change(self) -> None:
        self._write()
        if self._selection != "assign" and self._dice.random() < 0.4:
            self._add_partitions()
        if self._selection == "subscribePattern" and self._dice.random() < 0.4:
            self._create(f"{self._name}_{len(self._partitions)}")
            self._write()
        if self._lenient and self._dice.random() < 0.3:
            self._delete_heads()

    def _write(self) -> None:
        for topic, count in self._partitions.items():
            if self._transactional:
                self._transact(topic, count)
            items = [item for number in range(count) for item in self._items(number)]
            self._dice.shuffle(items)
            codec = self._dice.choice(("none", "lz4", "zstd"))
            sent = self._client.produce(topic, items, codec)
            self._written += len(sent)
            for record in sent:
                self._latest[topic, record.partition] = record.offset + 1
            for number in range(count):
                self._latest.setdefault((topic, number), 0)

    def _items(self, partition: int) -> Iterator[Item]:
        for number in range(self._dice.choice((0, 3, 20, 60, 150))):
            value = self._dice.randbytes(self._dice.choice((0, 10, 60)))
            yield partition, value, None, _BASE_MS + number * 500, [("h", b"1")] if number % 7 == 0 else []

    def _transact(self, topic: str, count: int) -> None:
        producer = self._client.transactional_producer(topic)
        for _ in range(self._dice.randint(1, 3)):
            producer.begin_transaction()
            records = self._dice.randint(1, 20)
            self._written += records
            for number in range(records):
                producer.produce(topic, b"%d" % number, partition=self._dice.randrange(count))
            assert producer.flush(WITHIN_S) == 0
            (producer.commit_transaction if self._dice.random() < 0.6 else producer.abort_transaction)(WITHIN_S)

    def _add_partitions(self) -> None:
        topic = self._dice.choice(sorted(self._partitions))
        self._partitions[topic] += self._dice.randint(1, 2)
        new = NewPartitions(topic, self._partitions[topic])
        self._client.admin.create_partitions([new])[topic].result(WITHIN_S)
        self._client.wait_for_leaders(topic, self._partitions[topic])
        self._write()

    def _delete_heads(self) -> None:
        topic = self._dice.choice(sorted(self._partitions))
        cut = [
            TopicPartition(topic, number, self._dice.randint(0, self._latest[topic, number]))
            for number in range(self._partitions[topic])
        ]
        for future in self._client.admin.delete_records(cut).values():
            future.result(WITHIN_S)
