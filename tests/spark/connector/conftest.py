"""One broker with the topics that both sources read, for each test process."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.brokers import Cluster
from tests.brokers.spark_jars import OLDEST_SPARK
from tests.spark.connector.filled import BROKER, Filler, Topic

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RELEASE = "4.4.0"


@pytest.fixture(scope="session")
def spark_of_both(spark: SparkSession) -> SparkSession:
    """The session, where it has Spark's own connector beside kwire."""
    if tuple(int(part) for part in spark.version.split(".")[:2]) < OLDEST_SPARK:
        pytest.skip("Spark's connector that the tests have is for newer releases of Spark")
    return spark


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    with Cluster(RELEASE, overrides=BROKER) as running:
        yield running


@pytest.fixture(scope="session")
def topics(cluster: Cluster) -> Iterator[list[Topic]]:
    """The filled topics; nobody writes to them any more."""
    filler = Filler(cluster.bootstrap_servers)
    yield filler.fill()
    filler.close()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "cluster" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.kafka)
