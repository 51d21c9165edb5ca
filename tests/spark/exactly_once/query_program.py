"""A query that copies a topic exactly once, as a process of its own: to be killed, and started again.

python -m tests.spark.exactly_once.query_program SERVERS SOURCE TARGET CHECKPOINT [MASTER or URL of Spark Connect]

With `KWIRE_TEST_DEATH` in the environment it dies by itself: see `dying_source.py`.
"""

from __future__ import annotations

import os
import sys

from pyspark.sql import SparkSession

from tests.spark.connect_server import SCHEME
from tests.spark.exactly_once.dying_source import DEATH, NAME, DyingSource


def main(servers: str, source: str, target: str, checkpoint: str, master: str = "local[2,4]") -> None:
    session = session_at(master)
    read = {
        "kafka.bootstrap.servers": servers,
        "subscribe": source,
        "startingOffsets": "earliest",
        "maxOffsetsPerTrigger": "40",
    }
    write = {
        "kafka.bootstrap.servers": servers,
        "topic": target,
        "deliveryGuarantee": "exactly-once",
        "transactionalIdPrefix": "copy",
        "checkpointLocation": checkpoint,
    }
    if DEATH in os.environ:
        session.dataSource.register(DyingSource)
    sink = NAME if DEATH in os.environ else "kwire"
    rows = session.readStream.format("kwire").options(**read).load().select("key", "value").repartition(3)
    query = rows.writeStream.format(sink).options(**write).trigger(availableNow=True).start()
    query.awaitTermination()
    print("the query has ended", flush=True)


def session_at(master: str) -> SparkSession:
    """Of a driver that is this process, or at a server of Spark Connect."""
    if master.startswith(SCHEME):
        return SparkSession.builder.remote(master).getOrCreate()
    session = (
        SparkSession.builder.master(master)
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.memory", "1g")
        .config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
        .config("spark.executor.memory", "512m")
        .config("spark.executor.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
        .config("spark.sql.shuffle.partitions", "3")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    return session


if __name__ == "__main__":
    main(*sys.argv[1:])
