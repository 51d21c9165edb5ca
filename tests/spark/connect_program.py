"""A client of Spark Connect, in a process of its own, that does with kwire what docs/spark.md says works there.

`python -m tests.spark.connect_program URL SERVERS FOLDER` prints what it found as JSON, after the word FOUND.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from kwire.spark import decode_record_sets, encode_record_sets, register, register_udtfs

WITHIN_S = 120


def main(url: str, servers: str, folder: Path) -> None:
    """Each result under the name of what it is of."""
    spark = SparkSession.builder.remote(url).getOrCreate()
    where = {"kafka.bootstrap.servers": servers}
    orders = spark.read.format("kwire").options(**where, subscribe="orders").load()
    found: dict[str, Any] = {"read": _values(orders)}

    decoder = {"decoder": "json", "decoder.schema": "id BIGINT, note STRING", "columns": "id,note"}
    decoded = spark.read.format("kwire").options(**where, **decoder, subscribe="json").load()
    found["decoded"] = sorted((row.id, row.note) for row in decoded.collect())

    orders.select("value").write.format("kwire").mode("append").options(**where, topic="copied").save()

    spark.sql(f"CREATE TEMPORARY VIEW v USING kwire OPTIONS (kafka.bootstrap.servers '{servers}', subscribe 'orders')")
    found["view"] = spark.sql("SELECT count(*) AS n FROM v").collect()[0].n

    sets = encode_record_sets(orders.select("value"))
    found["record sets"] = _values(decode_record_sets(sets, "record_set", columns=["value"]))
    register_udtfs(spark)
    sets.createOrReplaceTempView("sets")
    found["udtf"] = _values(spark.sql("SELECT value FROM decode_record_sets(TABLE(sets))"))

    for name, options in _SINKS.items():
        register(spark)
        source = spark.readStream.format("kwire").options(**where, subscribe="orders", startingOffsets="earliest")
        rows = source.load().select("value")
        writer = rows.writeStream.format("kwire").options(**where, **options, topic=name)
        _run(writer, folder / name)
    source = spark.readStream.format("kwire").options(**where, subscribe="orders", startingOffsets="earliest")
    _run(source.load().select("value").writeStream.foreachBatch(_into("by-batch", servers)), folder / "by-batch")
    print("FOUND" + json.dumps(found))
    spark.stop()


_SINKS = {
    "at-least-once": {},
    "exactly-once": {"deliveryGuarantee": "exactly-once", "transactionalIdPrefix": "connect"},
}


def _values(frame: Any) -> list[str]:
    return sorted(bytes(row.value).decode() for row in frame.collect())


def _into(topic: str, servers: str) -> Any:
    """A function without a module, as a notebook has it: the server knows nothing of this file."""

    def write(rows: Any, _: int) -> None:
        writer = rows.write.format("kwire").mode("append").option("kafka.bootstrap.servers", servers)
        writer.option("topic", topic).save()

    return write


def _run(writer: Any, checkpoint: Path) -> None:
    query = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start()
    assert query.awaitTermination(WITHIN_S), query.status
    assert query.exception() is None, query.exception()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
