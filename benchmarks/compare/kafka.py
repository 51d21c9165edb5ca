"""Apache Kafka for the comparison, one node: `python -m benchmarks.compare.kafka 4.4.0`.

Prints one line once it is up: its address, its address with TLS, and the file with the certificate to trust. It ends
with its standard input.
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.brokers.keys import Keys
from tests.brokers.secure_cluster import SecureCluster


class _BenchmarkCluster(SecureCluster):
    """Its JVM compiles as it does by default. With the tests' flags, for brokers that live for seconds, it would
    encrypt a tenth as fast as a broker in use."""

    def _prepare(self) -> None:
        super()._prepare()
        self._jvm_flags = [*self._jvm_flags, "-XX:TieredStopAtLevel=4"]


def main(release: str) -> None:
    """Runs that release until the end of the input."""
    with TemporaryDirectory() as folder, _BenchmarkCluster(release, Keys(Path(folder) / "keys"), None) as cluster:
        print(cluster.bootstrap_servers, cluster.listeners["SSL"].address, cluster.keys.ca, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main(*sys.argv[1:])
