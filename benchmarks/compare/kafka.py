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


def main(release: str) -> None:
    """Runs that release until the end of the input."""
    with TemporaryDirectory() as folder, SecureCluster(release, Keys(Path(folder) / "keys"), None) as cluster:
        print(cluster.bootstrap_servers, cluster.listeners["SSL"].address, cluster.keys.ca, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main(*sys.argv[1:])
