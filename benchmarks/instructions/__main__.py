"""Counts the instructions of the hot loops and compares them with `counts.json`; `--help` says how."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from benchmarks.instructions import callgrind, verdict
from benchmarks.instructions.environment import environment
from benchmarks.instructions.loops import every_loop

COMMITTED = Path(__file__).with_name("counts.json")
_EPILOG = f"""\
A count is instructions per record (per message, per frame), by valgrind's callgrind. It does not depend on how busy the
machine is. A loop fails that takes {verdict.STRICT:.0%} more than the committed count: {verdict.UNSTEADY:.0%} where a
large message is encoded, {verdict.LOOSE:.0%} where interpreter, compilers or pyarrow are not those of the committed
counts. The extension must be built as `make build` does (-O2).

examples:
  python -m benchmarks.instructions                     all loops: about fifteen seconds
  python -m benchmarks.instructions values 'columns, 4'  these two
  python -m benchmarks.instructions --update            a change is meant: its counts become the committed ones
"""


def main(arguments: list[str]) -> int:
    """1 when a loop takes too many instructions, 2 when nothing could be counted (0 with --optional)."""
    options = _parser().parse_args(arguments)
    loops = every_loop()
    if unknown := set(options.names) - set(loops):
        print(f"no such loop: {', '.join(sorted(unknown))}; there are: {'; '.join(loops)}", file=sys.stderr)
        return 2
    try:
        here = environment()
        totals = callgrind.totals(options.names)
    except callgrind.CannotCountError as reason:
        print(f"instructions were not counted: {reason}", file=sys.stderr)
        return 0 if options.optional else 2
    counted = {
        name: round(callgrind.per_unit(totals[name], loop.units), 1) for name, loop in loops.items() if name in totals
    }
    if options.update:
        _commit(here, counted, whole=not options.names)
        return 0
    unsteady = [name for name, loop in loops.items() if not loop.steady]
    return _judge(here, counted, options.names, unsteady)


def _judge(here: dict[str, str], counted: dict[str, float], names: list[str], unsteady: list[str]) -> int:
    committed = _committed()
    others = verdict.differences(here, committed["environment"])
    tolerance = dict.fromkeys(counted, verdict.LOOSE) if others else dict.fromkeys(unsteady, verdict.UNSTEADY)
    expected = {name: count for name, count in committed["counts"].items() if not names or name in names}
    every = verdict.lines(counted, expected, tolerance)
    print(verdict.table(every))
    if others:
        print(f"compared loosely (+{verdict.LOOSE:.0%}), the committed counts were made elsewhere: {'; '.join(others)}")
    if here["machine"] != committed["environment"].get("machine"):
        print(f"nothing is judged: there are no committed counts for {here['machine']}")
        return 0
    failed = [line.name for line in every if line.fails]
    if failed:
        print(f"more instructions than committed: {'; '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


def _committed() -> dict[str, Any]:
    if not COMMITTED.exists():
        return {"environment": {}, "counts": {}}
    found: dict[str, Any] = json.loads(COMMITTED.read_text(encoding="utf-8"))
    return found


def _commit(here: dict[str, str], counted: dict[str, float], *, whole: bool) -> None:
    """Writes the counts. Those of some loops join the others if all were counted in the same environment."""
    before = _committed()
    if not whole and before["environment"] != here:
        raise SystemExit("the other loops were counted in another environment: --update without names counts all")
    counts = counted if whole else {**before["counts"], **counted}
    COMMITTED.write_text(json.dumps({"environment": here, "counts": counts}, indent=1) + "\n", encoding="utf-8")
    print(verdict.table(verdict.lines(counted, before["counts"], {})))
    print(f"written: {COMMITTED}", file=sys.stderr)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.instructions",
        description="Instructions of the hot loops, against committed counts.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", metavar="LOOP", help="loops to count (default: all)")
    parser.add_argument("--update", action="store_true", help="write counts.json instead of comparing with it")
    parser.add_argument("--optional", action="store_true", help="without valgrind, say so and succeed")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
