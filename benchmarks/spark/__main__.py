"""The command line: `python -m benchmarks.spark --help`."""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.compare.measure import rotated
from benchmarks.compare.report import missed_table
from benchmarks.spark import report, topics
from benchmarks.spark.broker import BenchmarkCluster
from benchmarks.spark.report import Result
from benchmarks.spark.rows import NAMES, ROWS, Row
from benchmarks.spark.session import Context, running_session

_ROUNDS = 5
_WARM_UPS = 2
_EPILOG = f"""\
Needs Java, Maven and Linux. One session of Spark and one broker of Apache Kafka serve all contenders, which follow each
other at once in an order that rotates from round to round; a ratio divides costs of the same round. Each contender runs
twice before the rounds of a row. CPU is that of the JVM and all Python processes that it started.

rows: {", ".join(NAMES)}

examples:
  python -m benchmarks.spark                    all rows, five rounds: about half an hour
  python -m benchmarks.spark --quick plain json   two rows, one round of fewer records
  python -m benchmarks.spark --show benchmarks/results/spark.jsonl
"""


def main(arguments: Sequence[str]) -> int:
    """Measures, prints and publishes; returns 1 when a contender failed."""
    options = _parser().parse_args(arguments)
    path = options.show or _measure(options)
    about, results = report.load(path)
    print(report.table(results) + "\n\n" + missed_table(about, report.judge(results)))
    for line in report.failures(results):
        print(f"failed: {line}", file=sys.stderr)
    if options.publish:
        if path.resolve() != report.PUBLISHED:
            shutil.copyfile(path, report.PUBLISHED)
        report.write_page(about, results)
    return 1 if report.failures(results) else 0


def _measure(options: argparse.Namespace) -> Path:
    """Returns the data file."""
    rounds = options.rounds or (1 if options.quick else _ROUNDS)
    rows = [row for row in ROWS if not options.rows or row.name in options.rows]
    about = report.about_this_run(rounds, quick=options.quick)
    about["java"] = options.java
    path = report.PUBLISHED.with_name(f"spark-{datetime.now(UTC):%Y%m%dT%H%M%S}.jsonl")
    report.save(path, about, _results(rows, rounds, options.java, quick=options.quick))
    return path


def _results(rows: Sequence[Row], rounds: int, java: str, *, quick: bool) -> Iterator[Result]:
    with BenchmarkCluster() as cluster:
        servers = cluster.bootstrap_servers
        for name in dict.fromkeys(row.topic for row in rows):
            topic = topics.TOPICS[name]
            _tell(f"topic {name}")
            topics.fill(servers, topic, max(_filled(row, quick=quick) for row in rows if row.topic == name))
        with running_session(servers, cluster.broker(), cluster.data_folder, java, quick=quick) as context:
            for row in rows:
                yield from _rounds_of(row, min(rounds, row.max_rounds or rounds), context)


def _filled(row: Row, *, quick: bool) -> int:
    return 0 if row.records else row.count(quick=quick)


def _rounds_of(row: Row, rounds: int, context: Context) -> Iterator[Result]:
    names = list(row.contenders)
    if row.warm_up:
        for name in names * _WARM_UPS:
            _run(row, name, -1, context)
    for number in range(rounds):
        for name in rotated(names, number):
            yield _run(row, name, number, context)


def _run(row: Row, contender: str, number: int, context: Context) -> Result:
    """A failure is a result too: the other rows go on."""
    _tell(f"{row.name}, {'warm-up' if number < 0 else f'round {number + 1}'}: {contender}")
    try:
        cost = row.contenders[contender](context, row.count(quick=context.quick))
    except Exception as error:  # whatever Spark raises
        return Result(row.name, contender, number, None, f"{type(error).__name__}: {str(error)[:500]}")
    return Result(row.name, contender, number, cost)


def _tell(text: str) -> None:
    print(f"[{time.strftime('%H:%M:%S')}] {text}", file=sys.stderr, flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.spark",
        description="The same Spark jobs through kwire and through Spark's own Kafka connector.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("rows", nargs="*", metavar="ROW", choices=[[], *NAMES], help="rows (default: all)")
    parser.add_argument("--quick", action="store_true", help="one round of a quarter of the records")
    parser.add_argument("--rounds", type=int, help="how many rounds (default: 5; 1 with --quick)")
    parser.add_argument("--java", default="", metavar="OPTIONS", help="more options for the JVM of the session")
    parser.add_argument("--publish", action="store_true", help="the data file and the table of docs/spark.md")
    parser.add_argument("--show", type=Path, metavar="FILE", help="measure nothing, show an earlier run")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
