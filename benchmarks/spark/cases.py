"""The work: what each contender does for a row, as functions of the context that return a number of rows or a cost.

`kafka` is Spark's own connector with its default settings, as a job has it that does not tune it.
"""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from statistics import median
from typing import Any

import pyarrow as pa

from benchmarks.spark.session import Context, Cost
from benchmarks.spark.topics import AVRO_SCHEMA, ORDER_DDL, TOPICS

Work = Callable[[Context, int], Cost]
"""(context, records) -> cost"""

KAFKA, KWIRE, READY = "kafka", "kwire", "ready-batches"
RECEIVED = "ready-batches, bytes received"
_TRIGGER_LIMIT_S = 120.0


def read(source: str, topic: str, **options: str) -> Work:
    """A batch read of a whole topic into nothing."""

    def work(context: Context, records: int) -> Cost:
        return context.cost_of(lambda: _to_nothing(context.read(source, topic, **options), records))

    return work


def ready(size: int = 100, columns: str | None = None, receive: str | None = None) -> Work:
    """As many rows of ready batches; with `receive` the bytes of that topic are received meanwhile."""

    def work(context: Context, records: int) -> Cost:
        return context.cost_of(lambda: _to_nothing(_ready(context, records, size, columns, receive), records))

    return work


def _ready(context: Context, records: int, size: int, columns: str | None, receive: str | None) -> Any:
    options = {"rows": str(records), "size": str(size)}
    options |= {"columns": columns} if columns else {}
    if receive:
        options |= {"kafka.bootstrap.servers": context.servers, "receive": receive}
        options["partitions"] = str(TOPICS[receive].partitions)
    return context.spark.read.format(READY).options(**options).load()


def sum_of_lengths(source: str, topic: str, **options: str) -> Work:
    """sum(length(value)) over a topic."""

    def work(context: Context, records: int) -> Cost:
        return context.cost_of(lambda: _sum_of_lengths(context.read(source, topic, **options), records))

    return work


def sum_of_ready(receive: str | None = None) -> Work:
    """The same over as many ready values."""

    def work(context: Context, records: int) -> Cost:
        def run() -> int:
            return _sum_of_lengths(_ready(context, records, 100, "value BINARY", receive), records)

        return context.cost_of(run)

    return work


def _sum_of_lengths(frame: Any, records: int) -> int:
    assert frame.selectExpr("sum(length(value)) AS bytes").collect()[0].bytes == records * 100
    return records


def json_in_map_in_arrow(source: str, topic: str, **options: str) -> Work:
    """The three fields of JSON values by pyarrow's own reader of JSON, in `mapInArrow` after the source."""

    def work(context: Context, records: int) -> Cost:
        def run() -> int:
            values = context.read(source, topic, **options).select("value")
            return _to_nothing(values.mapInArrow(_parse_json, ORDER_DDL), records)

        return context.cost_of(run)

    return work


def from_json(source: str, topic: str) -> Work:
    """The same by Spark's `from_json`, in the JVM."""

    def work(context: Context, records: int) -> Cost:
        expression = f"from_json(CAST(value AS STRING), '{ORDER_DDL}') AS o"
        frame = context.read(source, topic).selectExpr(expression).select("o.*")
        return context.cost_of(lambda: _to_nothing(frame, records))

    return work


def from_avro(source: str, topic: str) -> Work:
    """Three fields of Avro by Spark's `from_avro`, in the JVM."""

    def work(context: Context, records: int) -> Cost:
        from pyspark.sql.avro.functions import from_avro as decoded

        frame = context.read(source, topic).select(decoded("value", AVRO_SCHEMA).alias("o")).select("o.*")
        return context.cost_of(lambda: _to_nothing(frame, records))

    return work


def stream(source: str, topic: str, batches: int, without: int = 0) -> Work:
    """All of a topic in a stream of so many micro-batches, into nothing; `without` those in the beginning, while the
    processes of a query start.
    """

    def work(context: Context, records: int) -> Cost:
        limit = {"maxOffsetsPerTrigger": str(records // batches), "startingOffsets": "earliest"}
        limit |= {"rows": str(records)} if source == READY else {}
        with tempfile.TemporaryDirectory() as checkpoint:

            def begin() -> Any:
                writer = _stream_of(context, source, topic, **limit).writeStream.format("noop")
                query = writer.option("checkpointLocation", checkpoint).trigger(availableNow=True).start()
                while _rows_of(query) < without * (records // batches) and query.isActive:
                    time.sleep(0.02)
                return query

            running = begin() if without else None
            begun = _rows_of(running) if running else 0

            def end() -> int:
                query = running or begin()
                query.awaitTermination()
                found = _rows_of(query)
                assert found == records, f"{found} rows of {records}"
                return found - begun

            return context.cost_of(end)

    return work


def _rows_of(query: Any) -> int:
    return sum(progress["numInputRows"] for progress in query.recentProgress)


def trickle(source: str, topic: str, per_s: int, every: str = "0 seconds") -> Work:
    """A micro-batch while so many records come in a second: the CPU of one that has rows, with what the query does
    between two of them, and the median of their times. Of ready batches each has what comes in a second.
    """
    limit = {"rows": str(2**62), "maxOffsetsPerTrigger": str(per_s)} if source == READY else {}

    def work(context: Context, records: int) -> Cost:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as checkpoint, _trickling(context, topic, per_s):
            stream = _stream_of(context, source, topic, startingOffsets="latest", **limit)
            writer = stream.writeStream.format("noop").option("checkpointLocation", checkpoint)
            query = writer.trigger(processingTime=every).start()
            try:
                first = _trigger_seconds(query, 1)
                found: dict[int, float] = {}

                def run() -> int:
                    found.update(_trigger_seconds(query, len(first) + (3 if context.quick else 12)))
                    return len(found) - len(first)

                cost = context.cost_of(run)
            finally:
                query.stop()
        times = [seconds for number, seconds in found.items() if number not in first]
        return replace(cost, wall_s=median(times) * len(times))

    return work


def write(source: str, topic: str) -> Work:
    """Rows that Spark makes itself, to a topic, acks all."""

    def work(context: Context, records: int) -> Cost:
        frame = _rows_to_write(context, records)

        def run() -> int:
            writer = frame.write.format(source).option("kafka.bootstrap.servers", context.servers)
            writer.option("topic", topic).mode("append").save()
            return records

        return context.cost_of(run)

    return work


def made_rows() -> Work:
    """The rows of `write`, to nothing: what they cost themselves."""

    def work(context: Context, records: int) -> Cost:
        frame = _rows_to_write(context, records)
        return context.cost_of(lambda: _to_nothing(frame, records))

    return work


def segments(folder: Callable[[Context], str]) -> Work:
    """The log segments of a topic, as the broker wrote them, into nothing."""

    def work(context: Context, records: int) -> Cost:
        path = folder(context)
        return context.cost_of(lambda: _to_nothing(context.spark.read.format("kwire-log").load(path), records))

    return work


def _rows_to_write(context: Context, records: int) -> Any:
    return context.spark.range(0, records, 1, 2).selectExpr(
        "CAST(format_string('key-%012d', id) AS BINARY) AS key",
        "CAST(rpad(CAST(id AS STRING), 100, 'v') AS BINARY) AS value",
    )


def _to_nothing(frame: Any, records: int) -> int:
    frame.write.format("noop").mode("overwrite").save()
    return records


def _parse_json(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa
    from pyarrow import json

    schema = pa.schema([("id", pa.int64()), ("price", pa.float64()), ("name", pa.string())])
    options = json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")
    for batch in batches:
        lines = b"\n".join(batch.column(0).to_pylist())
        table = json.read_json(pa.BufferReader(lines), parse_options=options)
        yield from table.to_batches()


def _stream_of(context: Context, source: str, topic: str, **options: str) -> Any:
    reader = context.spark.readStream.format(source).options(**options).option("subscribe", topic)
    return reader.option("kafka.bootstrap.servers", context.servers).load()


class _trickling:  # noqa: N801 - reads as a word in a with statement
    """Sends so many records a second in the background, a few at a time over all partitions, to a topic that it makes
    where needed.
    """

    def __init__(self, context: Context, topic: str, per_s: int) -> None:
        self._servers, self._topic, self._per_s = context.servers, topic, per_s
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._send, daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *exception: object) -> None:
        self._ended.set()
        self._thread.join()

    def _send(self) -> None:
        from kwire import Producer

        partitions = TOPICS[self._topic].partitions
        at_once = max(self._per_s // 20, 1)
        with Producer(self._servers, linger_ms=0) as producer:
            number = 0
            while not self._ended.wait(at_once / self._per_s):
                for _ in range(at_once):
                    producer.send(self._topic, b"v" * 100, partition=number % partitions)
                    number += 1


def _trigger_seconds(query: Any, wanted: int) -> dict[int, float]:
    """How long the triggers took that had rows, by the numbers of their batches: of so many, or fewer where they take
    too long, but of two at least.
    """
    found: dict[int, float] = {}
    give_up = time.monotonic() + _TRIGGER_LIMIT_S
    while len(found) < wanted and (time.monotonic() < give_up or len(found) < min(wanted, 2)):
        for progress in query.recentProgress:
            if progress["numInputRows"]:
                found[progress["batchId"]] = progress["durationMs"]["triggerExecution"] / 1000
        if query.exception() is not None:
            raise RuntimeError(str(query.exception()))
        time.sleep(0.05)
    return found
