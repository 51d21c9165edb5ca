"""The command line of the comparison: `python -m benchmarks.compare --help`."""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.compare import report
from benchmarks.compare.brokers import KAFKA_NODES, KINDS
from benchmarks.compare.measure import Plan, Result, measure
from benchmarks.compare.processes import ROOT
from benchmarks.compare.rows import CONTENDERS, GROUPS, KWIRE, ROWS, choose, left_out

_ROUNDS = 5
_PLOTS = ROOT / "docs" / "plots"
_EPILOG = f"""\
Every contender runs in a process of its own, in an order that rotates from round to round. CPU is user plus system time
of the whole process. A ratio is a peer's cost divided by kwire's in the same round; shown is the median of the rounds
and, in parentheses, the minimum and the maximum. Only ratios travel from machine to machine.

groups: {", ".join(GROUPS)}

Data files go to benchmarks/results, where git ignores them. Only --publish changes the tree (the published data file,
docs/plots, the README's table, docs/performance.md's of missed targets), and only after a whole run: all rows and
contenders, the mock cluster, five rounds or more.

examples:
  python -m benchmarks.compare                      everything, five rounds: about fifteen minutes
  python -m benchmarks.compare --quick              one round of fewer records: about a minute
  python -m benchmarks.compare produce consume-1k   one group and one row
  python -m benchmarks.compare produce --broker kafka     against Apache Kafka (needs Java and Maven)
  python -m benchmarks.compare consume --broker embedded  against kwire's own broker
  python -m benchmarks.compare codec --rounds 11 --only kwire aiokafka
  python -m benchmarks.compare --show benchmarks/results/published.jsonl   the tables of an earlier run
"""


def main(arguments: list[str]) -> int:
    """Measures, prints and publishes; returns 1 when a contender failed."""
    options = _parser().parse_args(arguments)
    if options.list:
        print("\n".join(f"{row.group:8} {row.name:24} {row.title} ({', '.join(row.records)})" for row in ROWS))
        return 0
    if options.publish and (why := _not_whole(options)):
        print(f"not to be published, the tree stays as it is: {why}", file=sys.stderr)
        options.publish = False
    path = options.show or _measure(options)
    about, results = report.load(path)
    print(report.heading(about) + "\n\n" + report.tables(results))
    if options.publish:
        _publish(path, about, results)
    return 1 if any(result.error for result in results) else 0


def _not_whole(options: argparse.Namespace) -> str:
    """Why this is less than a whole run; "" when it is one."""
    if options.show:
        about, _ = report.load(options.show)
        return "a quick run" if about["quick"] else ""
    lacks = {
        "a quick run": options.quick,
        "some rows only": options.rows,
        "another broker": options.broker != "mock",
        "some contenders only": set(options.only) != set(CONTENDERS),
        "fewer than five rounds": (options.rounds or _ROUNDS) < _ROUNDS,
    }
    return ", ".join(reason for reason, applies in lacks.items() if applies)


def _measure(options: argparse.Namespace) -> Path:
    """Returns the data file."""
    started = time.monotonic()

    def tell(text: str) -> None:
        print(f"[{time.monotonic() - started:5.0f} s] {text}", file=sys.stderr, flush=True)

    rounds = options.rounds or (1 if options.quick else _ROUNDS)
    plan = Plan(rounds, options.quick, options.broker, [KWIRE, *options.only], tell)
    rows = choose(options.rows, quick=options.quick)
    if not options.rows and shutil.which("java") is None:
        rows = [row for row in rows if row.broker not in KAFKA_NODES]
    missing = "" if options.rows else left_out(rows)
    if missing:
        tell(f"left out: {missing}")
    about = report.about_this_run(rounds, options.quick, missing)
    path = report.data_file(about)
    try:
        report.save(about, measure(rows, plan), path)
    except KeyboardInterrupt:
        print("cut short", file=sys.stderr)
        options.publish = False
    print(f"written: {path}", file=sys.stderr)
    return path


def _publish(path: Path, about: dict[str, Any], results: list[Result]) -> None:
    if path.resolve() != report.PUBLISHED:
        shutil.copyfile(path, report.PUBLISHED)
    report.write_readme(about, results)
    report.write_missed(about, results)
    print(f"written: {report.PUBLISHED}, {report.README}, {report.PERFORMANCE}", file=sys.stderr)
    try:
        from benchmarks.compare import plots
    except ImportError as missing:
        print(f"no plots: {missing} (pip install --group bench)", file=sys.stderr)
        return
    for picture in plots.draw(about, results, _PLOTS):
        print(f"written: {picture}", file=sys.stderr)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.compare",
        description="The same work done by kwire and its peers, side by side.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("rows", nargs="*", metavar="ROW", help="rows or groups (default: all)")
    parser.add_argument("--quick", action="store_true", help="one round of fewer records, without sweep and memory")
    parser.add_argument("--rounds", type=_positive, help="how many rounds (default: 5; 1 with --quick)")
    parser.add_argument("--broker", choices=KINDS, default="mock", help="what clients talk to (default: %(default)s)")
    parser.add_argument(
        "--only",
        nargs="+",
        choices=CONTENDERS,
        default=list(CONTENDERS),
        metavar="CONTENDER",
        help=f"compare kwire with these only ({', '.join(CONTENDERS[1:])})",
    )
    parser.add_argument(
        "--publish",
        action="store_true",
        help="after a whole run: data file, plots and the README's table go into the tree",
    )
    parser.add_argument("--show", type=Path, metavar="FILE", help="measure nothing, show an earlier run")
    parser.add_argument("--list", action="store_true", help="list the rows")
    return parser


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("from 1")
    return number


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except ValueError as error:
        sys.exit(str(error))
