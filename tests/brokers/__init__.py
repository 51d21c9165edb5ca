"""Real Apache Kafka for the tests: resolved by Maven, started on loopback, killed by process id.

    with Cluster("0.9.0.1") as cluster:
        cluster.bootstrap_servers      # "127.0.0.1:port"

The same from the shell: `python -m tests.brokers 0.9.0.1`. README.md tells the rest. What starts and watches brokers
does not import kwire, so that what it says about one is not what kwire believes about it. Standard library
only, but for keys.py.
"""

from tests.brokers.cluster import Cluster
from tests.brokers.failures import BrokerError
from tests.brokers.releases import EVERY_RUN, RELEASES, Release, find_release

__all__ = ["EVERY_RUN", "RELEASES", "BrokerError", "Cluster", "Release", "find_release"]
