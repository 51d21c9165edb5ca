"""Writes of random frames: kwire puts into Kafka what Spark's connector does, or refuses for the same reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from tests.brokers import Cluster
from tests.spark.connector.outcome import Row, kind_of, rows_of
from tests.spark.connector.write_plans import PARTITIONS, WritePlan, draw_write
from tests.spark.foreign import ForeignClient
from tests.thorough import SOAK, THOROUGH, seeds

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_ENDS_WITHIN_S = 120
FRAMES = 100 if SOAK else 12 if THOROUGH else 5


@pytest.mark.parametrize("seed", seeds(FRAMES))
def test_random_frame(seed: int, spark: SparkSession, cluster: Cluster, tmp_path: Path) -> None:
    plan = draw_write(seed)
    prefixes = {source: f"sink_{seed}_{source}_" for source in ("kafka", "kwire")}
    errors = {}
    for source, prefix in prefixes.items():
        client = ForeignClient(cluster.bootstrap_servers)
        for topic in "ab":
            client.create_topic(f"{prefix}{topic}", PARTITIONS)
        errors[source] = _write(spark, source, plan, prefix, cluster, tmp_path / source)
    how = f"in_a_stream={plan.in_a_stream}, exactly_once={plan.exactly_once}"
    texts = f"seed {seed}: {errors}\n{plan.ddl}, {plan.options}, {len(plan.rows)} rows, {how}"
    assert kind_of(errors["kwire"]) == kind_of(errors["kafka"]), texts
    if not errors["kafka"]:
        expected, found = (_written(spark, prefix, cluster) for prefix in prefixes.values())
        assert expected.total() == len(plan.rows), texts
        assert _keyed(found, plan) == _keyed(expected, plan), texts


def _write(spark: SparkSession, source: str, plan: WritePlan, prefix: str, cluster: Cluster, folder: Path) -> str:
    """Writes the frame; the text of the error, if it was refused."""
    options = {**plan.options_for(prefix), "kafka.bootstrap.servers": cluster.bootstrap_servers}
    if plan.exactly_once and source == "kwire":
        options |= {"deliveryGuarantee": "exactly-once", "transactionalIdPrefix": prefix}
    try:
        frame = spark.createDataFrame(plan.rows_for(prefix), plan.ddl)
        if plan.in_a_stream:
            _write_in_a_stream(frame, source, plan, options, folder)
        else:
            frame.repartition(plan.tasks).write.format(source).options(**options).mode("append").save()
    except (PySparkException, Py4JJavaError) as error:
        return str(error)
    return ""


def _write_in_a_stream(
    frame: DataFrame, source: str, plan: WritePlan, options: Mapping[str, str], folder: Path
) -> None:
    frame.write.parquet(str(folder / "rows"))
    rows = frame.sparkSession.readStream.schema(frame.schema).parquet(str(folder / "rows")).repartition(plan.tasks)
    writer = rows.writeStream.format(source).options(**options).trigger(availableNow=True)
    query = writer.option("checkpointLocation", str(folder / "checkpoint")).start()
    assert query.awaitTermination(_ENDS_WITHIN_S)


def _written(spark: SparkSession, prefix: str, cluster: Cluster) -> Counter[Row]:
    """What stands in the topics, as the connector reads it, with each topic's last letter as its name."""
    options: Mapping[str, str] = {
        "kafka.bootstrap.servers": cluster.bootstrap_servers,
        "subscribePattern": f"^{prefix}.$",
        "includeHeaders": "true",
        "kafka.isolation.level": "read_committed",
    }
    rows = rows_of(spark.read.format("kafka").options(**options).load())
    return Counter(
        (key, value, topic[-1], partition, headers)
        for key, value, topic, partition, _, _, _, headers in rows.elements()
    )


def _keyed(rows: Counter[Row], plan: WritePlan) -> Counter[tuple[Any, ...]]:
    """The rows with their partitions where these are not free: a row without a key may go anywhere."""
    fixed = "partition" in plan.columns and not any(row[plan.columns.index("partition")] is None for row in plan.rows)
    return Counter(
        (key, value, topic, partition if fixed or (key is not None and "partition" not in plan.columns) else None, head)
        for key, value, topic, partition, head in rows.elements()
    )
