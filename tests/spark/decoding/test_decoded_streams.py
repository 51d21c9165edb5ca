"""Decoded streams over restarts from a checkpoint: each decoder mode with a bad record, and no record lost or twice."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kwire import Producer
from kwire.testing import Broker
from tests.reference.primitives import uvarint, zigzag

if TYPE_CHECKING:
    from pyspark.sql import Row, SparkSession

_WITHIN_S = 120
_AVRO = json.dumps({"type": "record", "name": "Order", "fields": [{"name": "id", "type": ["null", "long"]}]})
_BAD = b"\x7f no value"


def avro(number: int) -> bytes:
    return b"\x02" + uvarint(zigzag(number))


class Orders:
    """A topic, and one query that writes what it reads of it to files, run after run."""

    def __init__(self, spark: SparkSession, folder: Path, servers: str, options: dict[str, str]) -> None:
        self._spark = spark
        self._folder = folder
        self._options = {"kafka.bootstrap.servers": servers, "subscribe": "orders", "startingOffsets": "earliest"}
        self._options |= options
        self._servers = servers

    def write(self, *values: bytes | None) -> None:
        with Producer(self._servers) as producer:
            for value in values:
                producer.send("orders", value, partition=0)
            producer.flush(timeout=30)

    def run(self, mode: str, columns: str = "offset,id") -> None:
        """To the end of the topic, with the checkpoint of the runs before."""
        frame = self._spark.readStream.format("kwire").options(**self._options)
        query = (
            frame.option("decoder.mode", mode)
            .option("columns", columns)
            .load()
            .writeStream.format("parquet")
            .option("checkpointLocation", str(self._folder / "checkpoint"))
            .trigger(availableNow=True)
            .start(str(self._folder / "rows"))
        )
        assert query.awaitTermination(_WITHIN_S)

    def rows(self) -> list[Row]:
        """All rows of all runs by offset."""
        schema = "offset BIGINT, id BIGINT, _corrupt BINARY"
        read = self._spark.read.schema(schema).parquet(str(self._folder / "rows"))
        rows: list[Row] = read.orderBy("offset").collect()
        return rows


@pytest.mark.parametrize(
    ("options", "encoded"),
    [
        ({"decoder": "json", "decoder.schema": "id BIGINT"}, lambda number: b'{"id": %d}' % number),
        ({"decoder": "avro", "decoder.schema": _AVRO}, avro),
    ],
    ids=["json", "avro"],
)
def test_a_bad_record_in_each_mode_over_restarts(
    spark: SparkSession, tmp_path: Path, options: dict[str, str], encoded: Callable[[int], bytes]
) -> None:
    with Broker(topics={"orders": 1}) as broker:
        orders = Orders(spark, tmp_path, broker.bootstrap_servers, options)
        orders.write(encoded(0), _BAD, encoded(2))
        with pytest.raises(
            Exception, match=f"value of orders-0 at offset 1 cannot be decoded as {options['decoder']}: "
        ):
            orders.run("fail")
        assert not list((tmp_path / "rows").glob("*.parquet"))
        orders.run("drop")
        orders.write(encoded(3), _BAD, None)
        orders.run("null")
        orders.write(_BAD, encoded(7))
        orders.run("column", "offset,id,_corrupt")
        assert [(row.offset, row.id, row._corrupt and bytes(row._corrupt)) for row in orders.rows()] == [
            (0, 0, None),
            (2, 2, None),
            (3, 3, None),
            (4, None, None),
            (5, None, None),
            (6, None, _BAD),
            (7, 7, None),
        ]
