"""Batch reads with random options: kwire has the rows of Spark's connector, or fails for the same reason."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.brokers import Cluster
from tests.spark.connector.filled import Topic
from tests.spark.connector.option_sets import draw_options
from tests.spark.connector.outcome import read_batch
from tests.spark.connector.shapes import draw_shape
from tests.thorough import SOAK, THOROUGH, seeds

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SETS = 300 if SOAK else 40 if THOROUGH else 12


@pytest.mark.parametrize("seed", seeds(SETS))
def test_random_options(seed: int, spark: SparkSession, cluster: Cluster, topics: list[Topic]) -> None:
    options = draw_options(seed, topics) | {"kafka.bootstrap.servers": cluster.bootstrap_servers}
    expected, found = (read_batch(spark, source, options, draw_shape(seed)) for source in ("kafka", "kwire"))
    assert found.agrees_with(expected), f"seed {seed}: {expected.difference(found)}\n{options}"
