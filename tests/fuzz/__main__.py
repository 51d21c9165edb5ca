"""`python -m tests.fuzz`: fuzzes, reproduces a finding, keeps a corpus, or tells the coverage of all corpora."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from tests.fuzz import building, coverage, running
from tests.fuzz.targets import Target, all_targets

_EPILOG = """
examples
  python -m tests.fuzz                                 every target, ten minutes in all, in both builds
  python -m tests.fuzz --seconds 3600 records          an hour for a family, or for targets by their names
  python -m tests.fuzz --list                          the targets, and what each feeds
  python -m tests.fuzz --reproduce FILE messages       one input again, with the sanitizers' report
  python -m tests.fuzz --keep                          take what was found into tests/fuzz/corpus, minimised
  python -m tests.fuzz --coverage                      the lines of the extensions that the corpora reach

An input is a finding when a target raises what it does not document, takes more than a second of CPU or more memory
than its budget, or when a sanitizer reports. Write a test that fails with it, mend, and put the input into the corpus.
A new target is a function of bytes with `@target` in the file of its family (tests/fuzz/targets.py).
"""


def main() -> int:
    parser = argparse.ArgumentParser(
        "python -m tests.fuzz",
        description=__doc__,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="targets or families; all by default")
    parser.add_argument("--seconds", type=float, default=600, help="how long in all, on all processes (600)")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1, help="engines side by side")
    parser.add_argument("--build", choices=building.KINDS, action="append", help="only this build of the extensions")
    parser.add_argument("--list", action="store_true", help="show the targets")
    parser.add_argument("--sums", action="store_true", help="tell how many executions all runs here have made")
    parser.add_argument("--reproduce", type=Path, metavar="FILE", help="feed one input to the one target named")
    parser.add_argument("--keep", action="store_true", help="minimise corpus and found inputs into the corpus")
    parser.add_argument("--coverage", action="store_true", help="tell the lines that the corpora reach")
    parser.add_argument("--no-coverage", action="store_true", help="end without the coverage of the corpora")
    parser.add_argument("--missed", action="store_true", help="with --coverage: show the lines that are not reached")
    options = parser.parse_args()
    targets = _chosen(options.names, parser)
    kinds = options.build or list(building.KINDS)
    if options.list:
        print(running.table([(each.name, each.family, each.what) for each in targets]))
        return 0
    if options.sums:
        print(running.told_sums())
        return 0
    if options.coverage:
        return coverage.tell(targets, missed=options.missed)
    for kind in ("plain",) if options.keep else kinds:
        print(f"== build of the engine and the extensions: {kind}", flush=True)
        are_compiled = {each.is_compiled for each in targets}
        building.build(kind, extensions=False in are_compiled, targets=True in are_compiled)
    if options.reproduce:
        if len(targets) != 1:
            parser.error("--reproduce needs the name of one target")
        return max(abs(running.reproduce(targets[0], options.reproduce, kind)) for kind in kinds)
    if options.keep:
        for each in targets:
            print(f"{each.name}: {running.keep(each)} inputs", flush=True)
        return 0
    narrowed = bool(options.names or options.build or options.no_coverage)
    return _fuzz(targets, kinds, options.seconds, options.processes, narrowed=narrowed)


def _chosen(names: list[str], parser: argparse.ArgumentParser) -> list[Target]:
    every = all_targets()
    unknown = set(names) - set(every) - {target.family for target in every.values()}
    if unknown:
        parser.error(f"no target or family is called {', '.join(sorted(unknown))}; --list shows them")
    return [each for each in every.values() if not names or each.name in names or each.family in names]


def _fuzz(targets: list[Target], kinds: list[str], seconds: float, processes: int, *, narrowed: bool) -> int:
    print(f"== {len(targets)} targets, {seconds:.0f} s on {processes} processes", flush=True)
    results = running.run_all(targets, kinds, seconds, processes)
    print("\n" + running.table([running.HEAD, *(each.row for each in sorted(results, key=lambda each: each.target))]))
    slowest = max(results, key=lambda each: each.slowest_s)
    where = running.BUILD / "work" / f"{slowest.target}.{slowest.kind}" / "numbers.slowest"
    print(f"\n{sum(each.executions for each in results):,} executions; {running.told_sums()}")
    print(f"slowest input: {slowest.slowest_s * 1000:.0f} ms, {slowest.target} ({where})")
    if not narrowed:
        coverage.tell(targets, missed=False)
    findings = [each for each in results if each.finding]
    for each in findings:
        assert each.finding is not None
        print(f"finding; to reproduce: python -m tests.fuzz --build {each.kind} "
              f"--reproduce {os.path.relpath(each.finding)} {each.target}")  # fmt: skip
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
