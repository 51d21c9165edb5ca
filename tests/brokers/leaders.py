"""Who leads a partition, and waits for what follows the death of a node."""

import time
from collections.abc import Sequence

import kwire
from tests.brokers.cluster import Cluster

_WITHIN_S = 120.0
_PAUSE_S = 0.05


def leaders(cluster: Cluster, topic: str) -> dict[int, int]:
    """The leader of each partition; -1 where there is none."""
    with kwire.Admin(cluster.bootstrap_servers) as admin:
        rows = admin.describe_topics([topic])[topic].partitions
    return {partition: row.leader for partition, row in rows.items()}


def wait_for_another_leader(cluster: Cluster, topic: str, partition: int, gone: int) -> None:
    """Until the partition has a leader that is not the node that is gone."""
    deadline = time.monotonic() + _WITHIN_S
    while leaders(cluster, topic)[partition] in (gone, -1):
        assert time.monotonic() < deadline, f"partition {partition} got no leader after the death of node {gone}"
        time.sleep(_PAUSE_S)


def wait_for_replicas(cluster: Cluster, topics: Sequence[str]) -> None:
    """Until all three replicas of each partition are in sync."""
    deadline = time.monotonic() + _WITHIN_S
    with kwire.Admin(cluster.bootstrap_servers) as admin:
        while True:
            found = admin.describe_topics(topics)
            if all(len(row.isr) == 3 for about in found.values() for row in about.partitions.values()):
                return
            assert time.monotonic() < deadline, f"not all replicas came back into sync: {found}"
            time.sleep(_PAUSE_S)
