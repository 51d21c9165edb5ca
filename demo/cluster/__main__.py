"""Runs a streaming job on a Spark cluster that it starts and stops; exit code 1 if an order was lost or billed twice.

python -m demo.cluster                        the job, undisturbed: two to three minutes
python -m demo.cluster --kills 30 --seed 7    drivers, executors, Python workers and brokers are killed meanwhile
"""

from __future__ import annotations

import argparse
import platform
import signal
import sys
import time
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.brokers import BrokerError

import kwire
from demo.cluster.kafka import BILLS, MECHANISM, NODES, ORDERS
from demo.cluster.story import Outcome, cluster, undisturbed, with_kills
from demo.report import table


def tell(text: str) -> None:
    print(f"  {text}", flush=True)


def summary(outcome: Outcome, seconds: float) -> str:
    """What a person wants to know: where it ran, what each executor read, and whether all is right."""
    rows = sum(batch["rows"] for batch in outcome.batches)
    spark = outcome.about.get("spark", "?")
    lines = [
        "",
        f"  kwire {kwire.__version__}, PySpark {spark} standalone with two workers, Python {platform.python_version()}",
        f"  {NODES} brokers, SASL_SSL with {MECHANISM}; exactly once from '{ORDERS}' to '{BILLS}'",
        "",
        "  What executors read, by their log:",
        "",
        table(["worker", "executors", "ranges", "rows", "MB"], _by_host(outcome)),
        "",
    ]
    if outcome.kills:
        counts = Counter(kill.partition(" (")[0] for kill in outcome.kills)
        lines += [f"  Killed: {', '.join(f'{count} x {what}' for what, count in sorted(counts.items()))}", ""]
    busy = sum(batch["seconds"] for batch in outcome.batches)
    lines += [
        f"  {len(outcome.batches)} micro-batches, {rows:,} orders in {busy:.1f} s; {seconds:.0f} s in all",
        f"  {outcome.orders:,} orders, {outcome.bills.total():,} committed bills: {_verdict(outcome)}",
        "",
    ]
    return "\n".join(lines)


def _by_host(outcome: Outcome) -> list[list[str]]:
    cells = []
    for host in sorted({read.host for read in outcome.reads}):
        own = [read for read in outcome.reads if read.host == host]
        executors = len({(read.host, read.executor) for read in own})
        size = sum(read.size for read in own) / 1e6
        cells.append([host, str(executors), f"{len(own):,}", f"{sum(read.rows for read in own):,}", f"{size:.1f}"])
    return cells


def _verdict(outcome: Outcome) -> str:
    if outcome.is_right:
        return "each order once"
    missing, doubled = outcome.missing, outcome.doubled
    return f"{len(missing)} missing {missing[:5]}, {len(doubled)} doubled {doubled[:5]}"


def run(arguments: argparse.Namespace) -> bool:
    began = time.monotonic()
    with TemporaryDirectory(prefix="kwire-cluster-", ignore_cleanup_errors=True) as folder:
        with cluster(Path(folder), tell) as place:
            if arguments.kills:
                outcome = with_kills(place, arguments.kills, arguments.seed, tell)
            else:
                outcome = undisturbed(place, arguments.orders, tell)
        print(summary(outcome, time.monotonic() - began))
    return outcome.is_right


def main() -> int:
    parser = argparse.ArgumentParser(prog="demo.cluster", description="kwire on a Spark cluster, exactly once.")
    parser.add_argument("--orders", type=int, default=100_000, help="how many orders (default: %(default)s)")
    parser.add_argument("--kills", type=int, default=0, help="how many processes are killed (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="what is killed, and when (default: %(default)s)")
    arguments = parser.parse_args()
    if arguments.orders < 1 or arguments.kills < 0:
        parser.error("--orders must be at least 1, and --kills not negative")
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    print()
    try:
        return 0 if run(arguments) else 1
    except (RuntimeError, BrokerError, kwire.KafkaError) as failure:
        print(f"\n  The demonstration failed: {failure}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
