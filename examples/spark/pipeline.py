"""A streaming job: JSON orders from Kafka, revenue by minute and country, to Parquet and back to Kafka.

    python -m examples.spark.pipeline --servers localhost:9092 --folder /tmp/revenue

Ctrl-C ends it; so does a power cut. Started again with the same folder it goes on where it was: no order is lost and
none counts twice, in Parquet and in the topic 'shop-revenue' alike (read it with isolation.level=read_committed).
Ctrl-D ends it when all orders that are there have been read.
"""

from __future__ import annotations

import argparse
import os
import sys
import threading
from functools import partial
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as fn
from pyspark.sql.streaming.query import StreamingQuery

from examples.spark.kept_query import KeptQuery
from examples.spark.progress import Progress
from examples.spark.shop import TOPIC
from kwire.spark import register

ORDER = "order BIGINT, at TIMESTAMP, country STRING, cents BIGINT"
RESULT_TOPIC = "shop-revenue"
_LATE = "30 minutes"
_LOOK_S = 0.2


def orders(spark: SparkSession, servers: str, per_batch: int) -> DataFrame:
    """The topic as a stream of columns: the JSON is decoded while it is read."""
    return (
        spark.readStream.format("kwire")
        .option("kafka.bootstrap.servers", servers)
        .option("subscribe", TOPIC)
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", str(per_batch))
        .option("decoder", "json")
        .option("decoder.schema", ORDER)
        .option("columns", "at,country,cents")
        .load()
    )


def revenue(stream: DataFrame) -> DataFrame:
    """Orders and cents of each minute and country, once the minute is over."""
    return (
        stream.withWatermark("at", _LATE)
        .groupBy(fn.window("at", "1 minute").alias("minute"), "country")
        .agg(fn.count("*").alias("orders"), fn.sum("cents").alias("cents"))
        .select(fn.date_format("minute.start", "HH:mm").alias("minute"), "country", "orders", "cents")
    )


def to_parquet(frame: DataFrame, folder: Path) -> StreamingQuery:
    """Spark's own file sink, which writes each micro-batch exactly once."""
    return (
        frame.writeStream.format("parquet")
        .queryName("parquet")
        .option("path", str(folder / "parquet"))
        .option("checkpointLocation", str(folder / "checkpoint-parquet"))
        .outputMode("append")
        .start()
    )


def to_kafka(frame: DataFrame, servers: str, folder: Path) -> StreamingQuery:
    """kwire's sink, which writes each micro-batch exactly once in transactions."""
    rows = frame.select(fn.col("country").alias("key"), fn.to_json(fn.struct("*")).alias("value"))
    return (
        rows.writeStream.format("kwire")
        .queryName("kafka")
        .option("kafka.bootstrap.servers", servers)
        .option("topic", RESULT_TOPIC)
        .option("deliveryGuarantee", "exactly-once")
        .option("transactionalIdPrefix", RESULT_TOPIC)
        .option("checkpointLocation", str(folder / "checkpoint-kafka"))
        .outputMode("append")
        .start()
    )


def session() -> SparkSession:
    # Spark starts its workers with the Python that PYSPARK_PYTHON names: here the one that runs this.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    spark = (
        SparkSession.builder.master("local[2]")
        .appName("revenue")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.python.unix.domain.socket.enabled", "true")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    register(spark)  # two queries over a source that Spark has found by itself break each other if they start at once
    return spark


def run(servers: str, folder: Path, per_batch: int) -> None:
    """Runs both queries until standard input ends, then finishes what is there."""
    spark = session()
    result = revenue(orders(spark, servers, per_batch))
    # One after the other: a machine that starts two Python processes at once starts both more slowly.
    queries = [KeptQuery(partial(to_parquet, result, folder)), KeptQuery(partial(to_kafka, result, servers, folder))]
    finish = threading.Event()
    threading.Thread(target=_wait_for_end_of_input, args=(finish,), daemon=True).start()
    progress = Progress(folder / "progress.jsonl")
    while not finish.wait(_LOOK_S):
        for each in queries:
            each.keep()
        progress.show([each.query for each in queries])
    for each in queries:
        each.finish()
    progress.show([each.query for each in queries])
    for each in queries:
        each.query.stop()
    spark.stop()


def _wait_for_end_of_input(finish: threading.Event) -> None:
    sys.stdin.read()
    finish.set()


def main() -> None:
    parser = argparse.ArgumentParser(description="Revenue by minute and country: Kafka to Parquet and to Kafka.")
    parser.add_argument("--servers", default="localhost:9092", help="bootstrap servers (default: %(default)s)")
    parser.add_argument("--folder", type=Path, default=Path("revenue"), help="results and checkpoints (%(default)s)")
    parser.add_argument("--per-batch", type=int, default=20_000, help="most orders in a micro-batch (%(default)s)")
    arguments = parser.parse_args()
    try:
        run(arguments.servers, arguments.folder, arguments.per_batch)
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
