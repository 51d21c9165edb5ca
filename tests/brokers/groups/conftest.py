"""Clusters for groups: members that are killed are soon gone."""

from collections.abc import Callable, Iterator

import pytest

from tests.brokers import Cluster
from tests.brokers.groups.members import PARTITIONS, QUICK_GROUPS


@pytest.fixture(scope="package")
def groups_cluster() -> Iterator[Callable[[str], Cluster]]:
    """A function from a release's name to a running cluster of it; the one before ends."""
    running: list[Cluster] = []

    def start(release: str) -> Cluster:
        if not running or running[0].release.name != release:
            while running:
                running.pop().stop()
            cluster = Cluster(release, overrides={**QUICK_GROUPS, "num.partitions": str(PARTITIONS)})
            cluster.start()
            running.append(cluster)
        return running[0]

    yield start
    for cluster in running:
        cluster.stop()
