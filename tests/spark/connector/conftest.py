"""One broker with the topics that both sources read, for each test process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.brokers import Cluster
from tests.spark.connector.filled import BROKER, Filler, Topic

RELEASE = "4.4.0"


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
