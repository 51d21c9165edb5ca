"""The broker of the benchmark: Apache Kafka, one node, with a heap for thousands of partitions and its compilers on."""

from __future__ import annotations

from pathlib import Path

from tests.brokers import Cluster

_RELEASE = "4.4.0"


class BenchmarkCluster(Cluster):
    """Unlike in tests, the broker's speed counts here."""

    def __init__(self) -> None:
        super().__init__(_RELEASE, overrides={"log.retention.ms": "-1"})
        self._jvm_flags += ["-Xmx2g", "-XX:TieredStopAtLevel=4"]

    @property
    def data_folder(self) -> Path:
        """Where the partitions have their folders."""
        return self._places[0].data
