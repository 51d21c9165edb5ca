"""The streaming job: orders in JSON are decoded while they are read, and written back as bills, exactly once.

    spark-submit --master spark://... --archives environment.tar.gz#environment demo/cluster/job.py job.json

It imports nothing but PySpark: kwire is in the environment that is shipped, and Spark finds `format("kwire")` there.
`job.json` has the settings of Kafka's clients, the trigger and the folder of the checkpoint. The job prints a line in
JSON for each micro-batch. With the trigger `processing-time` it runs until there is a file `finish` in that folder, and
then writes what is there.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as fn
from pyspark.sql.streaming.query import StreamingQuery

ORDER = "order BIGINT, at TIMESTAMP, country STRING, cents BIGINT"
_LOOK_S = 0.1


def start(spark: SparkSession, given: dict[str, Any]) -> StreamingQuery:
    client = {f"kafka.{name}": value for name, value in given["client"].items()}
    orders = (
        spark.readStream.format("kwire")
        .options(**client)
        .option("subscribe", given["source"])
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", given["per_batch"])
        .option("minPartitions", given["tasks"])
        .option("decoder", "json")
        .option("decoder.schema", ORDER)
        .option("logLevel", "info")
        .load()
    )
    bill = fn.struct("order", "country", "cents", fn.date_format("at", "HH:mm").alias("minute"))
    bills = orders.select(fn.col("country").alias("key"), fn.to_json(bill).alias("value"))
    writing = (
        bills.writeStream.format("kwire")
        .options(**client)
        .option("topic", given["target"])
        .option("deliveryGuarantee", "exactly-once")
        .option("transactionalIdPrefix", "bills")
        .option("logLevel", "info")
        .option("checkpointLocation", str(Path(given["folder"]) / "checkpoint"))
    )
    if given["trigger"] == "available-now":
        return writing.trigger(availableNow=True).start()
    return writing.trigger(processingTime="200 milliseconds").start()


class Teller:
    """Prints each micro-batch once."""

    def __init__(self) -> None:
        self._told = -1

    def tell(self, query: StreamingQuery) -> None:
        for batch in query.recentProgress:
            if batch["batchId"] > self._told and batch["numInputRows"]:
                self._told = batch["batchId"]
                seconds = batch["durationMs"]["triggerExecution"] / 1000
                line = {"batch": batch["batchId"], "rows": batch["numInputRows"], "seconds": seconds}
                print(json.dumps(line), flush=True)


def main(settings: str) -> None:
    given = json.loads(Path(settings).read_text(encoding="utf-8"))
    spark = SparkSession.builder.appName("bills").getOrCreate()
    spark.sparkContext.setLogLevel("WARN")
    print(json.dumps({"spark": spark.version, "executors": spark.sparkContext.defaultParallelism}), flush=True)
    query, teller = start(spark, given), Teller()
    finish = Path(given["folder"]) / "finish"
    while query.isActive and not finish.exists():
        teller.tell(query)
        time.sleep(_LOOK_S)
    if given["trigger"] == "available-now":
        query.awaitTermination()
    else:
        query.processAllAvailable()
        query.stop()
    teller.tell(query)
    if failure := query.exception():
        raise failure
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1])
