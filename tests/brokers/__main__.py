"""Real Apache Kafka from the shell.

python -m tests.brokers RELEASE              starts one, prints its address, ends it on Ctrl-C
python -m tests.brokers --resolve [RELEASE]  only fetches the jars of broker and tools ("all" for the matrix, the
                                             releases of every run if none is named)
python -m tests.brokers --list               the matrix
"""

import argparse
import signal
import sys
import time

from tests.brokers import EVERY_RUN, RELEASES, BrokerError, Cluster, find_release
from tests.brokers.maven import resolve_clients, resolve_release, resolve_tools
from tests.brokers.releases import CLIENTS_OF_EVERY_RUN


def main(arguments: list[str]) -> int:
    """Runs the command; 0 when it did what was asked."""
    parser = argparse.ArgumentParser(prog="python -m tests.brokers", description="Real Apache Kafka on loopback.")
    parser.add_argument("releases", nargs="*", metavar="RELEASE")
    parser.add_argument("--resolve", action="store_true", help="fetch the jars and start nothing")
    parser.add_argument("--list", action="store_true", help="print the matrix")
    parser.add_argument("--nodes", type=int, default=1, help="how many nodes (default 1)")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a property of the broker")
    options = parser.parse_args(arguments)
    if options.list:
        for release in RELEASES:
            print(f"{release.name:16} {release.mode:10} {'every run' if release.name in EVERY_RUN else ''}".rstrip())
        return 0
    try:
        if options.resolve:
            names = [release.name for release in RELEASES] if options.releases == ["all"] else options.releases
            for version in () if options.releases else CLIENTS_OF_EVERY_RUN:
                print(f"Kafka's clients {version}: {resolve_clients(version)}", flush=True)
            return _resolve(names or list(EVERY_RUN))
        if len(options.releases) != 1:
            parser.error("name one RELEASE")
        overrides = dict(pair.split("=", 1) for pair in options.set)
        return _serve(Cluster(options.releases[0], nodes=options.nodes, overrides=overrides))
    except (BrokerError, ValueError) as error:
        print(error, file=sys.stderr)
        return 1


def _resolve(names: list[str]) -> int:
    for name in names:
        started = time.monotonic()
        folder = resolve_release(find_release(name))
        resolve_tools(find_release(name))
        print(f"Kafka {name}: {folder} ({time.monotonic() - started:.1f} s)", flush=True)
    return 0


def _serve(cluster: Cluster) -> int:
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    started = time.monotonic()
    try:
        with cluster:
            seconds = time.monotonic() - started
            print(cluster.bootstrap_servers, flush=True)
            print(f"Kafka {cluster.release.name}, up in {seconds:.1f} s; Ctrl-C ends it", file=sys.stderr, flush=True)
            signal.pause()
    except KeyboardInterrupt:
        print("ended", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
