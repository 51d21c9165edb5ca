"""The command line of the comparison: `python -m benchmarks.compare --help`."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from benchmarks.compare import publish, report, results
from benchmarks.compare.runner import Outcome, Plan, run
from benchmarks.compare.sinks import KINDS
from benchmarks.compare.work import CONTENDERS, KWIRE
from benchmarks.compare.works import GROUPS, WORKS, chosen, left_out

_ROUNDS = 5
_EPILOG = f"""\
Every contender runs in a process of its own, in an order that rotates from round to round. CPU is user plus system time
of the whole process. A ratio is a peer's cost by kwire's in the same round; shown is the median of the rounds and, in
parentheses, the least and the greatest. Only ratios travel from machine to machine.

groups: {", ".join(GROUPS)}

Data files go to .cache/compare; only --publish changes the tree (benchmarks/results, docs/plots, the README's table),
and only after a whole run: all works and contenders, the mock cluster, five rounds or more.

examples:
  python -m benchmarks.compare                      everything, five rounds: about five minutes
  python -m benchmarks.compare --quick              one round of fewer records: below a minute
  python -m benchmarks.compare produce consume-1k   one group and one work
  python -m benchmarks.compare produce --sink kafka     against Apache Kafka (needs Java and Maven)
  python -m benchmarks.compare consume --sink embedded  against kwire's own broker
  python -m benchmarks.compare codec --rounds 11 --only kwire aiokafka
  python -m benchmarks.compare --show benchmarks/results/FILE.jsonl     tables of an earlier run
  python -m benchmarks.compare --show FILE --plots /tmp/plots           and its plots
"""


def main(arguments: list[str]) -> int:
    """Runs what is asked; 1 when a contender failed."""
    options = _parser().parse_args(arguments)
    if options.list:
        print("\n".join(f"{work.group:8} {work.name:18} {work.title} ({', '.join(work.counts)})" for work in WORKS))
        return 0
    if options.publish and (why := _not_whole(options)):
        print(f"not to be published, the tree stays as it is: {why}", file=sys.stderr)
        options.publish = False
    about, outcomes = _loaded(options.show) if options.show else _measure(options)
    print(report.heading(about) + "\n\n" + report.tables(outcomes))
    if options.publish:
        publish.write_readme(about, outcomes)
        print(f"written: {publish.README}", file=sys.stderr)
    if options.plots or options.publish:
        _draw(about, outcomes, options.plots or results.PLOTS)
    return 1 if any(outcome.error for outcome in outcomes) else 0


def _not_whole(options: argparse.Namespace) -> str:
    """Why what is asked for is less than a whole run; "" when it is one."""
    if options.show:
        return ""
    lacks = {
        "a quick run": options.quick,
        "some works only": options.works,
        "another sink": options.sink != "mock",
        "some contenders only": set(options.only) != set(CONTENDERS),
        "fewer than five rounds": (options.rounds or _ROUNDS) < _ROUNDS,
    }
    return ", ".join(reason for reason, applies in lacks.items() if applies)


def _measure(options: argparse.Namespace) -> tuple[dict[str, object], list[Outcome]]:
    rounds = options.rounds or (1 if options.quick else _ROUNDS)
    started = time.monotonic()
    plan = Plan(
        rounds=rounds,
        quick=options.quick,
        sink=options.sink,
        contenders=[KWIRE, *options.only],
        tell=lambda text: print(f"[{time.monotonic() - started:5.0f} s] {text}", file=sys.stderr, flush=True),
    )
    works = chosen(options.works, quick=options.quick)
    missing = "" if options.works else left_out(works)
    if missing:
        plan.tell(f"left out: {missing}")
    about = results.about(rounds, options.quick, missing)
    path = options.output or results.default_path(about, published=options.publish)
    outcomes: list[Outcome] = []
    try:
        for outcome in results.recorded(about, run(works, plan), path):
            outcomes.append(outcome)
    except KeyboardInterrupt:
        print("cut short", file=sys.stderr)
    print(f"written: {path}", file=sys.stderr)
    return about, outcomes


def _loaded(paths: list[Path]) -> tuple[dict[str, object], list[Outcome]]:
    """Earlier runs as one; the first says about which machine."""
    files = [results.load(path) for path in paths]
    return files[0][0], [outcome for _, outcomes in files for outcome in outcomes]


def _draw(about: dict[str, object], outcomes: list[Outcome], folder: Path) -> None:
    try:
        from benchmarks.compare import plots
    except ImportError as missing:
        print(f"no plots: {missing} (pip install --group bench)", file=sys.stderr)
        return
    for path in plots.draw(about, outcomes, folder):
        print(f"written: {path}", file=sys.stderr)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.compare",
        description="The same work through kwire and its peers, side by side.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("works", nargs="*", metavar="WORK", help="works or groups (default: all)")
    parser.add_argument("--quick", action="store_true", help="one round of fewer records, without sizes and memory")
    parser.add_argument("--rounds", type=_positive, help="how many rounds (default: 5; 1 with --quick)")
    parser.add_argument("--sink", choices=KINDS, default="mock", help="whom clients talk to (default: %(default)s)")
    parser.add_argument(
        "--only",
        nargs="+",
        choices=CONTENDERS,
        default=list(CONTENDERS),
        metavar="CONTENDER",
        help=f"compare kwire with these only ({', '.join(CONTENDERS[1:-1])})",
    )
    parser.add_argument("--output", type=Path, help="the data file (default: .cache/compare/DATE.jsonl)")
    parser.add_argument(
        "--publish",
        action="store_true",
        help="after a whole run: data file, plots and the README's table go into the tree",
    )
    parser.add_argument("--plots", type=Path, metavar="FOLDER", help="draw PNG and SVG into this folder")
    parser.add_argument("--show", nargs="+", type=Path, metavar="FILE", help="measure nothing: show earlier runs")
    parser.add_argument("--list", action="store_true", help="name the works")
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
