"""The Spark half: orders and revenue by country, read by `format("kwire")`. A program of its own, so that the JVM's
words go to a log instead of the demonstration's page, and so that it can be ended whatever it does.

    python -m demo.spark_job SERVERS TOPIC      prints JSON, one line when Spark runs and one for each job
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

from examples.spark.kept_query import STARTS, spark_gave_up
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as fn

Rows = list[dict[str, Any]]

_ORDER = "country STRING, quantity INT, cents BIGINT"

# The first job of a session pays for compiling and for starting Python workers; the second shows the source.
JOBS = 2


def session() -> SparkSession:
    return (
        SparkSession.builder.master("local[2]")
        .appName("kwire-demo")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.memory", "1g")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.python.unix.domain.socket.enabled", "true")
        .getOrCreate()
    )


def by_country(spark: SparkSession, servers: str, topic: str) -> Rows:
    """One row for each country: its orders, how many of them had headers, pieces and cents."""
    records = (
        spark.read.format("kwire")
        .option("kafka.bootstrap.servers", servers)
        .option("subscribe", topic)
        .option("columns", "value,headers")
        .load()
    )
    order = fn.from_json(fn.col("value").cast("string"), _ORDER)
    totals = (
        records.select(order.alias("order"), fn.col("headers"))
        .groupBy("order.country")
        .agg(
            fn.count("*").alias("orders"),
            fn.count("headers").alias("with_headers"),
            fn.sum("order.quantity").alias("pieces"),
            fn.sum("order.cents").alias("cents"),
        )
        .orderBy(fn.desc("cents"))
    )
    return [row.asDict() for row in totals.collect()]


def main() -> None:
    servers, topic = sys.argv[1:]
    began = time.perf_counter()
    spark = session()
    try:
        tell(seconds=time.perf_counter() - began, version=spark.version)
        for _ in range(JOBS):
            began = time.perf_counter()
            rows = patiently(lambda: by_country(spark, servers, topic))
            tell(seconds=time.perf_counter() - began, rows=rows)
    finally:
        spark.stop()


def patiently(job: Callable[[], Rows]) -> Rows:
    """What the job returns; begun again where Spark gave up the start of a Python process, as on a busy machine."""
    for _ in range(STARTS - 1):
        try:
            return job()
        except (PySparkException, Py4JError) as failure:
            if not spark_gave_up(failure):
                raise
    return job()


def tell(**what: Any) -> None:
    print(json.dumps(what), flush=True)


if __name__ == "__main__":
    main()
