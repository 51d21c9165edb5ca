"""Tells in which Python the tasks of a read run, and what is said of it; for a session that its environment configures.

python -m tests.spark.workers.which_python_program SERVERS TOPIC
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def runner(batch: pa.RecordBatch) -> pa.RecordBatch:
    """A decoder: who runs it."""
    return pa.RecordBatch.from_pydict({"runner": [os.environ["TEST_PYTHON"]] * batch.num_rows})


def read(spark: SparkSession, servers: str, topic: str) -> str:
    source = spark.read.format("kwire").option("kafka.bootstrap.servers", servers).option("subscribe", topic)
    source = source.option("decoder", "tests.spark.workers.which_python_program:runner").option(
        "decoder.schema", "runner STRING"
    )
    return str(source.option("columns", "runner").load().head()[0])


def main(servers: str, topic: str) -> None:
    from pyspark.sql import SparkSession

    from kwire.spark import KwireDataSource

    spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    print("found:", read(spark, servers, topic), flush=True)
    spark.dataSource.register(KwireDataSource)
    print("registered:", read(spark, servers, topic), flush=True)
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
