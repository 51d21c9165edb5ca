"""Runs a stream for a while and says what came of it: the rows of each batch, and the offsets that Spark wrote down."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from tests.brokers.spark_jars import LIMITS_BATCHES, spark_is
from tests.spark.connector.outcome import Row, kind_of, rows_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import StreamingQuery

Offsets = dict[str, dict[str, int]]

_ENDS_WITHIN_S = 120


@dataclass
class Run:
    """One start of a query: the rows of each of its batches, and the kind of the error that ended it, if one did."""

    batches: dict[int, Counter[Row]] = field(default_factory=dict)
    error: str | None = None
    text: str = ""

    @property
    def rows(self) -> Counter[Row]:
        """The rows of all batches."""
        return sum(self.batches.values(), Counter())

    def then(self, again: Run) -> Run:
        """This start and the next one; a batch that was made again has the rows that it had."""
        for number in self.batches.keys() & again.batches.keys():
            assert again.batches[number] == self.batches[number], f"batch {number} has other rows now"
        return Run(self.batches | again.batches, again.error, again.text)


def run_stream(
    spark: SparkSession,
    source: str,
    options: Mapping[str, str],
    checkpoint: Path,
    meanwhile: Callable[[StreamingQuery], None] | None = None,
    through: Callable[[DataFrame], DataFrame] = lambda frame: frame,
) -> Run:
    """Reads all that is there and stops: by AvailableNow, or else after `meanwhile`, which is called with the query.

    The rows go `through` a function of the frame first. Where Spark limits no batches of sources in Python, neither
    source has a limit, and AvailableNow is run twice: of such a source it ends after one batch, maybe one made again.
    """
    if spark_is(LIMITS_BATCHES):
        return _run_once(spark, source, options, checkpoint, meanwhile, through)
    unlimited = {name: value for name, value in options.items() if name.lower() != "maxoffsetspertrigger"}
    run = _run_once(spark, source, unlimited, checkpoint, meanwhile, through)
    if meanwhile is None and run.error is None:
        return run.then(_run_once(spark, source, unlimited, checkpoint, None, through))
    return run


def _run_once(
    spark: SparkSession,
    source: str,
    options: Mapping[str, str],
    checkpoint: Path,
    meanwhile: Callable[[StreamingQuery], None] | None,
    through: Callable[[DataFrame], DataFrame],
) -> Run:
    run = Run()

    def keep(frame: DataFrame, number: int) -> None:
        run.batches[number] = rows_of(frame)

    try:
        stream = spark.readStream.format(source).options(**options).load()
        writer = through(stream).writeStream.foreachBatch(keep).option("checkpointLocation", str(checkpoint))
        query = (writer if meanwhile else writer.trigger(availableNow=True)).start()
        try:
            if meanwhile:
                meanwhile(query)
            elif not query.awaitTermination(_ENDS_WITHIN_S):
                raise TimeoutError(f"the stream did not end within {_ENDS_WITHIN_S} s: {query.status}")
        finally:
            query.stop()
    except (PySparkException, Py4JJavaError) as error:
        run.text = str(error)
        run.error = kind_of(run.text)
    return run


def process_all(query: StreamingQuery) -> None:
    """Lets a query without end read all that is there."""
    query.processAllAvailable()


def offset_log(checkpoint: Path) -> list[Offsets]:
    """Where each batch ended, as the checkpoint has it, without kwire's mark on a first batch."""
    numbers = sorted(int(path.name) for path in (checkpoint / "offsets").glob("[0-9]*"))
    log = [json.loads((checkpoint / "offsets" / str(number)).read_text().splitlines()[2]) for number in numbers]
    return [{topic: offsets for topic, offsets in each.items() if topic} for each in log]


def boundaries(checkpoint: Path, *, pinned: bool) -> list[Offsets]:
    """The offset log without batches that moved nothing: when those come depends on the clock.

    `pinned`: without a first batch that has no rows either, which only says where the stream began.
    """
    log = offset_log(checkpoint)
    return [each for number, each in enumerate(log) if (each != log[number - 1] if number else not pinned)]


def forget_last_commit(checkpoint: Path) -> int:
    """Leaves the checkpoint as a driver does that dies in its last batch; the number of that batch."""
    last = max(int(path.name) for path in (checkpoint / "commits").glob("[0-9]*"))
    for path in (checkpoint / "commits").glob(f"*{last}*"):
        if path.name in (str(last), f".{last}.crc"):
            path.unlink()
    return last


def as_places(rows: Counter[Row]) -> dict[Any, int]:
    """Rows by topic, partition and offset, for messages of tests."""
    return dict(Counter((row[2], row[3], row[4]) for row in rows.elements()))
