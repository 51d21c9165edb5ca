"""Real Apache Kafka from the shell.

python -m tests.brokers RELEASE              starts one, prints its address, ends it on Ctrl-C
python -m tests.brokers RELEASE --secure     the same with TLS and SASL: prints every listener, the users and the files
python -m tests.brokers --resolve [RELEASE]  only fetches the jars of broker and tools ("all" for the matrix; if
                                             none is named, all that every run needs)
python -m tests.brokers --list               the matrix
"""

import argparse
import signal
import sys
import time
from collections.abc import Callable

from tests.brokers import EVERY_RUN, RELEASES, BrokerError, Cluster, find_release
from tests.brokers.maven import resolve_clients, resolve_release, resolve_tools
from tests.brokers.releases import CLIENTS_OF_EVERY_RUN
from tests.brokers.spark_jars import resolve_spark_jars


def main(arguments: list[str]) -> int:
    """Runs the command; 0 when it did what was asked."""
    parser = argparse.ArgumentParser(prog="python -m tests.brokers", description="Real Apache Kafka on loopback.")
    parser.add_argument("releases", nargs="*", metavar="RELEASE")
    parser.add_argument("--resolve", action="store_true", help="fetch the jars and start nothing")
    parser.add_argument("--list", action="store_true", help="print the matrix")
    parser.add_argument("--nodes", type=int, default=1, help="how many nodes (default 1)")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a property of the broker")
    parser.add_argument("--secure", action="store_true", help="open listeners with TLS and SASL")
    options = parser.parse_args(arguments)
    if options.list:
        for release in RELEASES:
            print(f"{release.name:16} {release.mode:10} {'every run' if release.name in EVERY_RUN else ''}".rstrip())
        return 0
    try:
        if options.resolve:
            names = [release.name for release in RELEASES] if options.releases == ["all"] else options.releases
            if not options.releases:
                _resolve_others()
            return _resolve(names or list(EVERY_RUN))
        if len(options.releases) != 1:
            parser.error("name one RELEASE")
        overrides = dict(pair.split("=", 1) for pair in options.set)
        if options.secure:
            from tests.brokers.secure_listeners import listening  # only here: the demonstration has no package for keys

            with listening(options.releases[0], options.nodes, overrides) as (cluster, describe):
                return _serve(cluster, describe)
        return _serve(Cluster(options.releases[0], nodes=options.nodes, overrides=overrides))
    except (BrokerError, ValueError) as error:
        print(error, file=sys.stderr)
        return 1


def _resolve_others() -> None:
    for version in CLIENTS_OF_EVERY_RUN:
        print(f"Kafka's clients {version}: {resolve_clients(version)}", flush=True)
    for jar in resolve_spark_jars():
        print(f"Spark's jar: {jar}", flush=True)


def _resolve(names: list[str]) -> int:
    for name in names:
        started = time.monotonic()
        folder = resolve_release(find_release(name))
        resolve_tools(find_release(name))
        print(f"Kafka {name}: {folder} ({time.monotonic() - started:.1f} s)", flush=True)
    return 0


def _serve(cluster: Cluster, describe: Callable[[], None] = lambda: None) -> int:
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    started = time.monotonic()
    try:
        with cluster:
            seconds = time.monotonic() - started
            print(cluster.bootstrap_servers, flush=True)
            describe()
            print(f"Kafka {cluster.release.name}, up in {seconds:.1f} s; Ctrl-C ends it", file=sys.stderr, flush=True)
            signal.pause()
    except KeyboardInterrupt:
        print("ended", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
