"""Streams over topics that change between their runs: kwire reads the rows of Spark's connector, batch by batch."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.brokers import Cluster
from tests.spark.connector.stream_plans import Stage, StreamPlan
from tests.spark.connector.streaming import Run, as_places, boundaries, process_all, run_stream
from tests.spark.foreign import ForeignClient
from tests.thorough import SOAK, THOROUGH, seeds

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PLANS = 60 if SOAK else 8 if THOROUGH else 3
# Two of its tasks share a consumer at times when records are lost.
_RACE_OF_THE_CONNECTOR = "ConcurrentModificationException"
SOURCES = ("kafka", "kwire")


@pytest.mark.parametrize("seed", seeds(PLANS))
def test_random_plan(seed: int, spark: SparkSession, cluster: Cluster, tmp_path: Path) -> None:
    plan = StreamPlan(seed, f"stream_{seed}", ForeignClient(cluster.bootstrap_servers))
    pinned = dict.fromkeys(SOURCES, False)
    for number, stage in enumerate(plan.stages()):
        expected, found = (_run(spark, source, stage, cluster, tmp_path / source) for source in SOURCES)
        place = f"seed {seed}, stage {number}, {stage}\n{expected.text[:2000]}\n{found.text[:3000]}"
        assert found.error == expected.error, place
        assert as_places(found.rows) == as_places(expected.rows), place
        assert found.rows == expected.rows, place
        if number == 0:
            # kwire writes down a start that would be another one later in a batch of its own.
            pinned = {source: not run.batches.get(0) for source, run in zip(SOURCES, (expected, found), strict=True)}
        ends = [boundaries(tmp_path / source, pinned=pinned[source]) for source in SOURCES]
        assert ends[1] == ends[0], place
        if expected.error:
            return


def _run(spark: SparkSession, source: str, stage: Stage, cluster: Cluster, checkpoint: Path) -> Run:
    options = {**stage.options, "kafka.bootstrap.servers": cluster.bootstrap_servers}
    run = run_stream(spark, source, options, checkpoint, None if stage.available_now else process_all)
    while _RACE_OF_THE_CONNECTOR in run.text:
        run = run.then(run_stream(spark, source, options, checkpoint, None if stage.available_now else process_all))
    return run
