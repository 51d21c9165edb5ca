"""One checkpoint in the hands of Spark's connector and of kwire in turn: no row is lost or doubled on the way."""

from __future__ import annotations

import random
import shutil
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.brokers import Cluster
from tests.spark.connector.option_sets import QUICK, Options
from tests.spark.connector.outcome import Row
from tests.spark.connector.streaming import Run, as_places, forget_last_commit, run_stream
from tests.spark.foreign import ForeignClient
from tests.thorough import SOAK, THOROUGH, seeds

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming import StreamingQuery

SWAPS = 24 if SOAK else 3 if THOROUGH else 2
PARTITIONS = 3
SOURCES = ("kafka", "kwire")
# The connector of 4.1 has no metrics of a batch made again, and ends the query when it is asked for them.
_NO_METRICS_OF_THE_CONNECTOR = 'because the return value of "scala.Option.get()" is null'


class Swapped:
    """A topic, a checkpoint, and the rows of the batches of all runs: a batch made again counts once."""

    def __init__(self, spark: SparkSession, cluster: Cluster, topic: str, checkpoint: Path, **options: str) -> None:
        self._spark = spark
        self._client = ForeignClient(cluster.bootstrap_servers)
        self._topic = topic
        self._options: Options = {
            **QUICK,
            "kafka.bootstrap.servers": cluster.bootstrap_servers,
            "subscribe": topic,
            **options,
        }
        self.checkpoint = checkpoint
        self.batches: dict[int, Counter[Row]] = {}
        self.written: Counter[tuple[str, int, int]] = Counter()
        self._client.create_topic(topic, PARTITIONS)

    def write(self, dice: random.Random, *, seen: bool = True) -> None:
        """Writes some records, which the stream is to see."""
        items = [
            (number, dice.randbytes(20), None, int(time.time() * 1000), ())
            for number in range(PARTITIONS)
            for _ in range(dice.choice((0, 5, 30)) + 1)
        ]
        sent = self._client.produce(self._topic, items)
        if seen:
            self.written.update((self._topic, record.partition, record.offset) for record in sent)

    def run(self, source: str, meanwhile: Callable[[StreamingQuery], None] | None = None, **more: str) -> Run:
        """Runs one of the two sources on the checkpoint. A batch made again must have the rows that it had."""
        run = run_stream(self._spark, source, {**self._options, **more}, self.checkpoint, meanwhile)
        if _NO_METRICS_OF_THE_CONNECTOR in run.text:
            run = run.then(run_stream(self._spark, source, {**self._options, **more}, self.checkpoint, meanwhile))
        assert run.error is None, run.text
        for number, rows in run.batches.items():
            assert self.batches.setdefault(number, rows) == rows, f"batch {number} by {source} has other rows now"
        return run

    def check(self) -> None:
        """All that was written was read once."""
        found: Counter[Row] = sum(self.batches.values(), Counter())
        assert as_places(found) == self.written

    def pretend_first_batch(self) -> None:
        """Makes all batches so far the first one, and leaves that without its commit."""
        offsets, commits = self.checkpoint / "offsets", self.checkpoint / "commits"
        last = max(int(path.name) for path in offsets.glob("[0-9]*"))
        text = (offsets / str(last)).read_text()
        for folder in (offsets, commits):
            shutil.rmtree(folder)
            folder.mkdir()
        (offsets / "0").write_text(text)
        self.batches = {0: sum(self.batches.values(), Counter())}


def stop_early(query: StreamingQuery) -> None:
    """Stops a query after its first batches, wherever it is."""
    while query.lastProgress is None and query.isActive:
        query.awaitTermination(0.01)


@pytest.mark.parametrize("seed", seeds(SWAPS))
def test_swapped_in_mid_stream(seed: int, spark: SparkSession, cluster: Cluster, tmp_path: Path) -> None:
    dice = random.Random(f"swaps {seed}")
    start = dice.choice(("earliest", "latest"))
    stream = Swapped(spark, cluster, f"swaps_{seed}", tmp_path / "checkpoint", startingOffsets=start)
    stream.write(dice, seen=start == "earliest")
    sources = [SOURCES[seed % 2], *dice.choices(SOURCES, k=2), SOURCES[(seed + 1) % 2]]
    stream.run(sources[0])
    for source in sources[1:]:
        stream.write(dice)
        # The first batch of a start that moves is a matter of its own: see below.
        if dice.random() < 0.6 and (start == "earliest" or len(stream.batches) > 1):
            forget_last_commit(stream.checkpoint)
        stream.run(source, stop_early if dice.random() < 0.4 else None, maxOffsetsPerTrigger=str(dice.choice((10, 40))))
    stream.run(SOURCES[seed % 2])
    stream.check()


@pytest.mark.parametrize("start", ["earliest", "latest"])
@pytest.mark.parametrize(("first", "second"), [("kafka", "kwire"), ("kwire", "kafka"), ("kwire", "kwire")])
def test_killed_in_the_first_batch(
    first: str, second: str, start: str, spark: SparkSession, cluster: Cluster, tmp_path: Path
) -> None:
    dice = random.Random(f"{first} {second} {start}")
    name = f"first_{first}_{second}_{start}"
    stream = Swapped(spark, cluster, name, tmp_path / "checkpoint", startingOffsets=start)
    stream.write(dice, seen=start == "earliest")
    stream.run(first)
    forget_last_commit(stream.checkpoint)
    stream.write(dice)
    options: dict[str, str] = {}
    if (first, second, start) == ("kwire", "kafka", "latest"):
        options["failOnDataLoss"] = "false"  # without its own file of the start it takes the moved one for a loss
    if (first, second, start) == ("kafka", "kwire", "latest"):
        with pytest.raises(Exception, match="start once with the option startingOffsets"):
            stream.run(second)
        options["startingOffsets"] = (tmp_path / "checkpoint" / "sources" / "0" / "0").read_text().splitlines()[1]
    stream.run(second, None, **options)
    stream.run(first)
    stream.check()


def test_killed_in_the_first_batch_of_the_connector_from_latest(
    spark: SparkSession, cluster: Cluster, tmp_path: Path
) -> None:
    """Only the connector's own file in the checkpoint says where that batch began: it is kwire's start for once."""
    dice = random.Random("pretended")
    stream = Swapped(spark, cluster, "first_pretended", tmp_path / "checkpoint", startingOffsets="latest")
    stream.write(dice, seen=False)
    stream.run("kafka")
    stream.write(dice)
    stream.run("kafka")
    stream.pretend_first_batch()
    stream.write(dice)
    began = (tmp_path / "checkpoint" / "sources" / "0" / "0").read_text().splitlines()[1]
    stream.run("kwire", startingOffsets=began)
    stream.run("kwire")
    stream.check()
