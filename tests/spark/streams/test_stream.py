"""`readStream.format("kwire")` in Spark: rows, checkpoints and errors as a user sees them."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import kwire
from kwire.spark import LagListener, lag
from kwire.testing import Broker
from tests.brokers.spark_jars import LIMITS_BATCHES, spark_is

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import StreamingQuery

WITHIN_S = 60
Place = tuple[int, int]


@pytest.fixture(scope="module")
def servers() -> Iterator[str]:
    with Broker() as broker:
        yield broker.bootstrap_servers


class Stream:
    """A topic of three partitions, and queries over one checkpoint; `batches` are the places of their rows."""

    def __init__(self, spark: SparkSession, servers: str, topic: str, checkpoint: Path) -> None:
        self.spark = spark
        self.servers = servers
        self.topic = topic
        self.checkpoint = checkpoint
        self.batches: list[list[Place]] = []
        with kwire.Admin(servers) as admin:
            admin.create_topics({topic: 3})

    def write(self, count: int) -> None:
        """So many records to each partition."""
        with kwire.Producer(self.servers) as producer:
            for number in range(3 * count):
                producer.send(self.topic, b"%d" % number, partition=number % 3)

    def start(self, trigger: dict[str, Any] | None = None, source: str = "kwire", **options: str) -> StreamingQuery:
        stream = self.spark.readStream.format(source).option("kafka.bootstrap.servers", self.servers)
        frame = stream.option("subscribe", self.topic).options(**options).load()
        writer = frame.writeStream.foreachBatch(self._take).option("checkpointLocation", str(self.checkpoint))
        return writer.trigger(**(trigger or {"availableNow": True})).start()

    def run(self, source: str = "kwire", **options: str) -> StreamingQuery:
        """Reads what there is."""
        query = self.start(None, source, **options)
        assert query.awaitTermination(WITHIN_S), "the query goes on"
        return query

    def offsets(self, batch: int) -> str:
        """The line of the checkpoint."""
        return (self.checkpoint / "offsets" / str(batch)).read_text().splitlines()[-1]

    def cut_to_batch_0(self) -> None:
        """Leaves the checkpoint as a driver does that dies within its first batch."""
        for file in self.checkpoint.glob("commits/*"):
            file.unlink()
        for file in self.checkpoint.glob("offsets/*"):
            if file.name.removeprefix(".").removesuffix(".crc") != "0":
                file.unlink()

    def rows(self) -> list[Place]:
        """The places of all rows since the last call, batch after batch."""
        found = [place for batch in self.batches for place in batch]
        self.batches.clear()
        return found

    def _take(self, frame: DataFrame, _: int) -> None:
        self.batches.append(sorted((row.partition, row.offset) for row in frame.collect()))


@pytest.fixture
def stream(spark: SparkSession, servers: str, tmp_path: Path, request: pytest.FixtureRequest) -> Stream:
    topic = re.sub(r"\W", "-", request.node.name)
    return Stream(spark, servers, topic, tmp_path / "checkpoint")


def places(first: int, last: int) -> list[Place]:
    """The offsets from `first` to before `last` in each of the three partitions."""
    return [(partition, offset) for partition in range(3) for offset in range(first, last)]


def fails(text: str, action: Callable[[], object]) -> None:
    with pytest.raises(Exception, match=re.escape(text)):
        action()


def test_each_run_reads_what_the_last_one_has_not(stream: Stream) -> None:
    stream.write(3)
    stream.run()
    assert stream.batches == [[]], "a new query starts at the end, which an empty batch pins"
    stream.write(2)
    stream.run()
    stream.write(1)
    query = stream.run()
    assert stream.batches == [[], places(3, 5), places(5, 6)]
    assert json.loads(stream.offsets(2)) == {stream.topic: {"0": 6, "1": 6, "2": 6}}
    progress = query.lastProgress
    assert progress is not None
    assert json.loads(progress.json)["sources"][0]["latestOffset"] == {stream.topic: {"0": 6, "1": 6, "2": 6}}


def test_batches_are_limited(stream: Stream) -> None:
    stream.write(5)
    options = {"startingOffsets": "earliest", "maxOffsetsPerTrigger": "7"}
    if not spark_is(LIMITS_BATCHES):
        fails("maxOffsetsPerTrigger needs Spark 4.2 or newer", lambda: stream.run(**options))
        return
    stream.run(**options)
    assert stream.batches == [places(0, 2), places(2, 4), places(4, 5)]


@pytest.mark.skipif(not spark_is(LIMITS_BATCHES), reason="Spark tells the latest offset from 4.2 on")
def test_a_listener_hears_how_far_a_stream_is_behind(spark: SparkSession, stream: Stream) -> None:
    stream.write(5)
    heard: list[tuple[str, dict[str, float]]] = []
    listener = LagListener(lambda query, metrics: heard.append((query, dict(metrics))))
    spark.streams.addListener(listener)
    try:
        query = stream.run(startingOffsets="earliest", maxOffsetsPerTrigger="6")
        ends_at = time.monotonic() + WITHIN_S
        while len(heard) < 3 and time.monotonic() < ends_at:
            time.sleep(0.05)
    finally:
        spark.streams.removeListener(listener)
    assert {name for name, _ in heard} == {str(query.id)}
    assert [metrics["maxOffsetsBehindLatest"] for _, metrics in heard][:3] == [3, 1, 0]
    assert [sum(lag(progress).values()) for progress in query.recentProgress][:3] == [9, 3, 0]


@pytest.mark.skipif(not spark_is(LIMITS_BATCHES), reason="needs Spark 4.2")
@pytest.mark.parametrize("limits", [{"minOffsetsPerTrigger": "9"}, {"maxBytesPerTrigger": "1000000"}], ids=str)
def test_each_kind_of_limit_goes_through_spark(stream: Stream, limits: dict[str, str]) -> None:
    stream.write(3)
    stream.run(startingOffsets="earliest", **limits)
    assert stream.batches == [places(0, 3)]


def test_values_are_decoded(stream: Stream) -> None:
    with kwire.Producer(stream.servers) as producer:
        producer.send(stream.topic, b'{"a": 7, "b": "x"}', partition=1)
    source = stream.spark.readStream.format("kwire").option("kafka.bootstrap.servers", stream.servers)
    source = source.option("subscribe", stream.topic).option("startingOffsets", "earliest")
    frame = source.options(**{"decoder": "json", "decoder.schema": "a INT, b STRING"}).load()
    rows: list[tuple[int, str, int]] = []
    writer = frame.writeStream.foreachBatch(lambda batch, _: rows.extend(batch.select("a", "b", "partition").collect()))
    query = writer.option("checkpointLocation", str(stream.checkpoint)).trigger(availableNow=True).start()
    assert query.awaitTermination(WITHIN_S)
    assert rows == [(7, "x", 1)]


def test_first_batch_cut_off_loses_nothing(stream: Stream) -> None:
    stream.write(1)
    stream.run()
    stream.write(2)
    stream.run()
    stream.cut_to_batch_0()
    stream.write(1)
    stream.batches.clear()
    stream.run()
    stream.run()  # Spark 4.0 and 4.1 end Trigger.AvailableNow after one batch, here the one made again
    assert sorted(stream.rows()) == places(1, 4)


@pytest.mark.parametrize("first", ["kafka", "kwire"])
@pytest.mark.parametrize("start", ["earliest", "latest"])
def test_checkpoint_goes_to_sparks_own_source_and_back(stream: Stream, start: str, first: str) -> None:
    if start == "latest":
        stream.run(first, startingOffsets="latest")
    stream.write(2)
    for number, source in enumerate(("kafka", "kwire", "kafka", "kwire")):
        stream.run(source, startingOffsets=start)
        assert stream.rows() == places(2 * number, 2 * number + 2)
        stream.write(2)


def test_faults_of_the_options_are_told(stream: Stream) -> None:
    fails('startingOffsets: Expected e.g. {"topicA"', lambda: stream.run(startingOffsets="zzz"))
    fails("ending offset not valid in streaming queries", lambda: stream.run(endingOffsets="latest"))
    fails(
        "Unknown option 'maxoffsetpertrigger'; did you mean 'maxOffsetsPerTrigger'",
        lambda: stream.run(maxOffsetPerTrigger="1"),
    )
