"""Streams that are killed at any point and started again: each record is in one batch, and a batch that is made again
is the same.

Spark is played here: the order of its calls, its log of offsets and its log of commits are those of MicroBatchExecution
in 4.0 (offsets asked for without a start) and in 4.2.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewPartitions

import kwire
from kwire.spark.batch_reader import TaskPartition
from kwire.spark.options.stream import parse_stream_options
from kwire.spark.stream_reader import KwireStreamReader
from kwire.testing import Broker
from tests.thorough import SOAK

RUNS = 400 if SOAK else 24
STEPS = 25
Place = tuple[int, int]


class KilledError(Exception):
    """The driver is gone."""


class Checkpoint:
    """What is left when a driver is killed: both logs as text, and the places that each batch wrote to its sink."""

    def __init__(self) -> None:
        self.offsets: list[str] = []
        self.commits = 0
        self.sink: dict[int, set[Place]] = {}


class Driver:
    """One run of a query."""

    def __init__(
        self,
        checkpoint: Checkpoint,
        options: dict[str, str],
        chance: random.Random,
        meanwhile: Callable[[], None],
        *,
        old: bool,
    ) -> None:
        self._log = checkpoint
        self._meanwhile = meanwhile
        self._reader = KwireStreamReader(parse_stream_options(options), None)
        self._chance = chance
        self._old = old
        if old and checkpoint.offsets:
            seen = json.loads(checkpoint.offsets[-1])
            self._reader.partitions(seen, seen)
        try:
            if checkpoint.commits < len(checkpoint.offsets):
                self._run_batch()
        except KilledError:
            self.close()
            raise

    def step(self) -> None:
        """Makes the next batch, if there is something to read."""
        log = self._log
        start = json.loads(log.offsets[-1]) if log.offsets else None
        if self._old:
            end = self._reader.latestOffset()
        else:
            from pyspark.sql.streaming.datasource import ReadMaxRows

            begin = self._reader.initialOffset() if start is None else start
            self._meanwhile()
            end = self._reader.latestOffset(begin, ReadMaxRows(1))
        self._may_die()
        if log.offsets and json.dumps(end) == json.dumps(start):
            return
        log.offsets.append(json.dumps(end))
        self._may_die()
        if start is not None:
            self._reader.commit(start)
        self._run_batch()

    def close(self) -> None:
        self._reader.stop()

    def _run_batch(self) -> None:
        log, batch = self._log, self._log.commits
        start = json.loads(log.offsets[batch - 1]) if batch else self._reader.initialOffset()
        end = json.loads(log.offsets[batch])
        places = self._places(start, end) if start != end else set()
        assert log.sink.setdefault(batch, places) == places, f"batch {batch} was another one when it was made again"
        self._may_die()
        log.commits += 1
        self._may_die()

    def _places(self, start: dict[str, Any], end: dict[str, Any]) -> set[Place]:
        places: set[Place] = set()
        for partition in self._reader.partitions(start, end):
            assert isinstance(partition, TaskPartition)
            for each in partition.task:
                found = {(each.partition.partition, offset) for offset in range(each.start, each.end)}
                assert not found & places
                places |= found
        return places

    def _may_die(self) -> None:
        if self._chance.random() < 0.1:
            raise KilledError


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as broker:
        yield broker


@pytest.mark.parametrize("old", [True, False], ids=["spark-4.0", "spark-4.2"])
@pytest.mark.parametrize("start", ["latest", "earliest", "json", "time"])
@pytest.mark.parametrize("seed", range(RUNS // 8))
def test_each_record_is_read_once(broker: Broker, seed: int, start: str, old: bool) -> None:
    chance = random.Random(f"{seed} {start} {old}")
    topic = f"t-{seed}-{start}-{old}"
    options = {"kafka.bootstrap.servers": broker.bootstrap_servers, "subscribe": topic, **starting(start, topic)}
    if not old:
        pytest.importorskip("pyspark.sql.streaming.datasource", reason="PySpark 4.2 brought admission control")
        options["maxOffsetsPerTrigger"] = str(chance.choice([1, 3, 10, 1000]))
    checkpoint = Checkpoint()
    with kwire.Admin(broker.bootstrap_servers) as admin, kwire.Producer(broker.bootstrap_servers) as producer:
        admin.create_topics({topic: 2})
        producer.send(topic, b"x", partition=0)
        log = [1, 0]
        write(producer, topic, log, chance)

        def begin() -> Driver:
            return Driver(checkpoint, options, chance, meanwhile, old=old)

        def meanwhile() -> None:
            if writing:
                write(producer, topic, log, chance)

        driver: Driver | None = None
        writing = True
        for number in range(STEPS):
            if number == STEPS // 2 and checkpoint.offsets:
                add_partition(broker, topic, log)
            if chance.random() < 0.6:
                write(producer, topic, log, chance)
            driver = run_once(driver, begin)
        writing = False
        chance.random = lambda: 1.0  # type: ignore[method-assign]
        while checkpoint.commits < len(checkpoint.offsets) or driver is None or not is_read(checkpoint, log):
            driver = run_once(driver, begin)
        driver.close()
    places = [place for batch in checkpoint.sink.values() for place in batch]
    assert len(places) == len(set(places)), "a record was read twice"
    assert set(places) == expected(checkpoint, log, start)


def starting(start: str, topic: str) -> dict[str, str]:
    if start == "json":
        return {"startingOffsets": json.dumps({topic: {"0": 1, "1": -1}})}
    if start == "time":
        return {"startingTimestamp": "1", "startingOffsetsByTimestampStrategy": "latest"}
    return {"startingOffsets": start}


def write(producer: kwire.Producer, topic: str, log: list[int], chance: random.Random) -> None:
    for partition, count in enumerate(log):
        more = chance.randrange(4) if chance.random() < 0.7 else 0
        for _ in range(more):
            producer.send(topic, b"x", partition=partition)
        log[partition] = count + more
    producer.flush()


def add_partition(broker: Broker, topic: str, log: list[int]) -> None:
    client = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    client.create_partitions([NewPartitions(topic, len(log) + 1)])[topic].result(30)
    log.append(0)


def run_once(driver: Driver | None, start: Callable[[], Driver]) -> Driver | None:
    """The driver after one more step, or None where it was killed."""
    running = driver
    try:
        running = running or start()
        running.step()
    except KilledError:
        if running is not None:
            running.close()
        return None
    return running


def is_read(checkpoint: Checkpoint, log: list[int]) -> bool:
    if not checkpoint.offsets:
        return False
    partitions = list(json.loads(checkpoint.offsets[-1]).values())[-1]
    return [partitions.get(str(number)) for number in range(len(log))] == log


def expected(checkpoint: Checkpoint, log: list[int], start: str) -> set[Place]:
    """All places from the start on; where that moves it is what the first batch ended with."""
    first = list(json.loads(checkpoint.offsets[0]).values())[-1]
    everything = {(partition, offset) for partition, end in enumerate(log) for offset in range(end)}
    if start == "latest":
        return {(number, offset) for number, offset in everything if offset >= first.get(str(number), 0)}
    if start == "json":
        return {(n, offset) for n, offset in everything if offset >= {0: 1, 1: first["1"]}.get(n, 0)}
    return everything
