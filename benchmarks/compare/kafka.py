"""Apache Kafka for the comparison, of so many nodes: `python -m benchmarks.compare.kafka 4.4.0 1`.

Prints one line once it is up: its addresses, an address with TLS, and the file with the certificate to trust. It ends
with its standard input.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.brokers.keys import Keys
from tests.brokers.secure_cluster import SecureCluster

_IN_MEMORY = Path("/dev/shm")
"""For the data, where it is there: a log is created with several writes that wait for the disk."""
_PATIENT = {"broker.session.timeout.ms": "9000"}
"""Nodes stay in while their JVMs compile and the clients have the cores."""


class _BenchmarkCluster(SecureCluster):
    """Its JVM compiles as it does by default. With the tests' flags, for brokers that live for seconds, it would
    encrypt a tenth as fast as a broker in use."""

    def _prepare(self) -> None:
        super()._prepare()
        self._jvm_flags = [*self._jvm_flags, "-XX:TieredStopAtLevel=4"]


def main(release: str, nodes: str) -> None:
    """Runs that release until the end of the input."""
    tempfile.tempdir = str(_IN_MEMORY) if _IN_MEMORY.is_dir() else None
    with TemporaryDirectory() as folder:
        keys = Keys(Path(folder) / "keys")
        with _BenchmarkCluster(release, keys, None, nodes=int(nodes), overrides=_PATIENT) as cluster:
            print(cluster.bootstrap_servers, cluster.listeners["SSL"].address, cluster.keys.ca, flush=True)
            sys.stdin.read()


if __name__ == "__main__":
    main(*sys.argv[1:])
