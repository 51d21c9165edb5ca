r"""Writes exactly once while Spark runs a task twice: a batch write, or a stream; on a Spark with two hosts.

    python -m tests.spark.exactly_once.speculation_program \
        '{"master": "spark://...", "servers": "...", "loser": "first", ...}'

Both attempts of the first task of each batch write rows. `loser` says what becomes of the two: the first one, or the
second one, waits until Spark kills it, or the first one goes on just when the second one has no more rows ("neither").
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from tests.spark.session import start_session

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

_SPECULATION = {
    "spark.speculation": "true",
    "spark.speculation.interval": "50ms",
    "spark.speculation.multiplier": "1.01",
    "spark.speculation.quantile": "0.3",
    "spark.speculation.minTaskRuntime": "50ms",
    "spark.executor.memory": "512m",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "50",
}


def main(given: dict[str, str]) -> None:
    spark = start_session(given["master"], _SPECULATION)
    read = {"kafka.bootstrap.servers": given["servers"], "subscribe": given["source"], "maxTasks": "0"}
    write = {
        "kafka.bootstrap.servers": given["servers"],
        "topic": given["target"],
        "deliveryGuarantee": "exactly-once",
        "transactionalIdPrefix": given["target"],
    }
    if given["kind"] == "stream":
        limits = {"startingOffsets": "earliest", "maxOffsetsPerTrigger": given["rows"]}
        rows = run_twice(spark.readStream.format("kwire").options(**read, **limits).load(), given)
        query = rows.writeStream.format("kwire").options(**write).option("checkpointLocation", given["checkpoint"])
        query.trigger(availableNow=True).start().awaitTermination()
    else:
        rows = run_twice(spark.read.format("kwire").options(**read).load(), given)
        rows.write.format("kwire").options(**write).mode("append").save()
    print("all is written", flush=True)
    spark.stop()


def run_twice(frame: DataFrame, given: dict[str, str]) -> DataFrame:
    """The values; the first task stops when some of its rows have gone on, until the second attempt is that far, too.

    It leaves a file for each second attempt: {batch}-second.
    """
    loser, folder = given["loser"], given["folder"]

    def drag(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import os
        import time

        from pyspark import TaskContext

        def wait_for(path: str) -> None:
            deadline = time.monotonic() + 60
            while not os.path.exists(path):
                assert time.monotonic() < deadline, f"there is no {path}"
                time.sleep(0.01)

        task = TaskContext.get()
        attempt = task.attemptNumber()
        place = f"{folder}/{task.getLocalProperty('streaming.sql.batchId') or 0}"
        for number, batch in enumerate(batches):
            if task.partitionId() == 0 and number == 4:
                if attempt == 0:
                    wait_for(f"{place}-{'never' if loser == 'first' else 'second'}")
                elif loser == "second":
                    open(f"{place}-second", "w").close()
                    wait_for(f"{place}-never")
            yield batch
        if task.partitionId() == 0 and attempt:
            open(f"{place}-second", "w").close()

    return frame.select("value").mapInArrow(drag, "value binary")


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
