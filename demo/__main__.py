"""Runs the demonstration, stage by stage, and ends with exit code 1 if any total differs from what was written."""

from __future__ import annotations

import argparse
import os
import platform
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from examples.spark import story

import kwire
from demo import serving
from demo.orders import PARTITIONS, Totals, make_orders
from demo.report import Progress, Stage, table
from demo.spark_process import SparkProcess
from kwire import Admin, Consumer, Producer

TOPIC = "orders"
STREAMED_ORDERS = 40_000
_DELIVERED_WITHIN_S = 120.0
_SILENCE_S = 30.0
_SPARK_WITHIN_S = 600.0


class MismatchError(Exception):
    """A stage found other records than were written."""


class SparkAnswer(NamedTuple):
    """The version that ran, the rows of the last job, and what each job took."""

    version: str
    rows: list[dict[str, Any]]
    stages: list[Stage]


def produce(servers: str, count: int, totals: Totals) -> Stage:
    """Sends the orders; the clock runs only while the producer works, not while orders are made up."""
    seconds = 0.0
    progress = Progress("kwire.Producer, lz4", count)
    with Producer(servers, compression="lz4", linger_ms=20, batch_size=262_144) as producer:
        for chunk in make_orders(count, totals):
            began = time.perf_counter()
            producer.send_many(TOPIC, chunk)
            seconds += time.perf_counter() - began
            progress.show(totals.records)
        began = time.perf_counter()
        producer.flush(timeout=_DELIVERED_WITHIN_S)
        seconds += time.perf_counter() - began
    progress.finish(totals.records)
    return Stage("produced by kwire.Producer, lz4", totals.records, totals.bytes, seconds)


def consume(servers: str, written: Totals) -> Stage:
    """Reads everything back as Arrow columns, adds them up column by column and compares."""
    found = Totals()
    timestamps: list[int] = []
    progress = Progress("kwire.Consumer, columns", written.records)
    began = time.perf_counter()
    with Consumer(servers, auto_offset_reset="earliest") as consumer:
        consumer.assign([(TOPIC, partition) for partition in range(PARTITIONS)])
        last_heard = began
        while found.records < written.records:
            polled = consumer.poll(timeout=1.0)
            now = time.perf_counter()
            if len(polled):
                last_heard = now
                timestamps += add_up(polled.to_arrow(), found)
                progress.show(found.records)
            elif now - last_heard > _SILENCE_S:
                raise MismatchError(f"only {found.records:,} of {written.records:,} records came back")
    seconds = time.perf_counter() - began
    progress.finish(found.records)
    found.first_timestamp, found.last_timestamp = min(timestamps), max(timestamps)
    for name in ("records", "bytes", "with_headers", "first_timestamp", "last_timestamp"):
        expect(f"consumed {name}", getattr(found, name), getattr(written, name))
    return Stage("consumed by kwire.Consumer", found.records, found.bytes, seconds)


def add_up(columns: pa.RecordBatch, found: Totals) -> list[int]:
    """Counts a batch of columns into `found`; gives its smallest and its largest timestamp."""
    found.records += columns.num_rows
    found.bytes += pc.sum(pc.binary_length(columns.column("value"))).as_py()
    found.with_headers += pc.sum(pc.greater(pc.list_value_length(columns.column("headers")), 0)).as_py() or 0
    edges = pc.min_max(columns.column("timestamp").cast(pa.int64())).as_py()
    return [edges["min"], edges["max"]]


def run_spark(servers: str, written: Totals) -> SparkAnswer:
    """Has Spark read the topic in a process of its own, and compares the rows of each job with what was written."""
    with SparkProcess([servers, TOPIC], _SPARK_WITHIN_S) as spark:
        print("  Spark starts ...", end="", flush=True)
        started = spark.next_message()
        print(f" {started['seconds']:.1f} s")
        stages = []
        for name in ("first job", "again"):
            print(f"  Spark reads and adds up by country, {name} ...", end="", flush=True)
            job = spark.next_message()
            print(f" {job['seconds']:.1f} s")
            rows = job["rows"]
            expect("orders by country", {row["country"]: row["orders"] for row in rows}, dict(written.orders))
            expect("cents by country", {row["country"]: row["cents"] for row in rows}, dict(written.cents))
            expect("orders with headers", sum(row["with_headers"] for row in rows), written.with_headers)
            stages.append(Stage(f'format("kwire"), {name}', written.records, written.bytes, job["seconds"]))
    return SparkAnswer(started["version"], rows, stages)


def expect(what: str, found: object, written: object) -> None:
    if found != written:
        raise MismatchError(f"{what}: found {found}, written {written}")


def summary(broker: str, stages: list[Stage], spark: SparkAnswer) -> str:
    heads = ["stage", "records", "MB", "seconds", "records/s"]
    python = f"Python {platform.python_version()}, {os.cpu_count()} CPUs"
    rows = [
        [
            row["country"],
            f"{row['orders']:,}",
            f"{row['with_headers']:,}",
            f"{row['pieces']:,}",
            f"{row['cents'] / 100:,.2f}",
        ]
        for row in spark.rows
    ]
    return "\n".join(
        [
            "",
            f"  {broker}; kwire {kwire.__version__}, PySpark {spark.version}, {python}",
            "",
            table(heads, [stage.cells() for stage in (*stages, *spark.stages)]),
            "",
            "  The producer's seconds leave out making up the orders. Nearly all of the first Spark job's are those of",
            "  a JVM that loads some 9,000 classes and compiles what it runs; the second job shows the source.",
            "",
            "  Spark's answer, equal to what was written:",
            "",
            table(["country", "orders", "with headers", "pieces", "EUR"], rows),
            "",
        ]
    )


def run(broker: str, count: int) -> None:
    start = {"embedded": serving.embedded, "kafka": serving.kafka}[broker]
    written = Totals()
    with start() as (servers, name):
        print(f"\n  {count:,} orders through {name} at {servers}, topic '{TOPIC}', {PARTITIONS} partitions\n")
        with Admin(servers) as admin:
            admin.create_topics({TOPIC: PARTITIONS})
        stages = [produce(servers, count, written), consume(servers, written)]
        print(summary(name, stages, run_spark(servers, written)))
        tell_the_rest(servers)


def tell_the_rest(servers: str) -> None:
    """The short form of examples/spark: a streaming job that is killed and started again."""
    print("  Streaming: JSON orders to revenue by minute and country, in Parquet and back in Kafka\n")
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        if not story.tell_story(servers, Path(folder), STREAMED_ORDERS):
            raise MismatchError("the stream's results differ from the orders that were written")
    print()


def main() -> int:
    parser = argparse.ArgumentParser(prog="demo", description=__doc__)
    parser.add_argument("--broker", choices=("embedded", "kafka"), default="embedded")
    parser.add_argument("--records", type=int, default=1_000_000)
    arguments = parser.parse_args()
    if arguments.records < 1:
        parser.error("--records must be at least 1")
    try:
        run(arguments.broker, arguments.records)
    except (MismatchError, RuntimeError, kwire.KafkaError) as failure:
        print(f"\n  The demonstration failed: {failure}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
