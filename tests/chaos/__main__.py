"""Runs schedules of faults over a real cluster, one after the other, until the time is over.

    python -m tests.chaos                      schedules of new seeds for ten minutes, or CHAOS_S seconds
    python -m tests.chaos --role sharer        those in which share groups take part, the others left out
    python -m tests.chaos --seed 17            the schedule of that seed (or CHAOS_SEED, which more follow)
    python -m tests.chaos --seed 17 --keep 0,3 the same clients under two of its faults
    python -m tests.chaos --seed 17 --show     what it would do

A schedule that breaks a promise is printed with the command to repeat it, and with fewer faults as far as they break
it, too. What each client did and saw is in the folder that is named: a JSON object a line (tests/chaos/history.py), and
the rules that are judged by are in tests/chaos/checker.py. The exit code is the number of schedules that failed.
"""

import argparse
import os
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path

from tests.chaos.cluster import ChaosCluster
from tests.chaos.run import Verdict, run
from tests.chaos.schedule import Schedule, draw
from tests.chaos.shrink import shrink


def main(arguments: list[str]) -> int:
    """How many schedules failed."""
    options = _options(arguments)
    if options.show:
        print(_described(_chosen(options, options.seed)))
        return 0
    folder = options.folder or Path(tempfile.mkdtemp(prefix="kwire-chaos-"))
    deadline = time.monotonic() + options.seconds
    failures = done = 0
    with ChaosCluster(options.seed or 0) as cluster:
        for seed in _seeds(options):
            failures += not _holds(cluster, _chosen(options, seed), folder / str(seed), options.shrink)
            done += 1
            if time.monotonic() > deadline:
                break
    print(f"{done} schedules, {failures} failed; histories in {folder}")
    return failures


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.chaos", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, help="run this schedule alone")
    parser.add_argument("--keep", type=_numbers, help="only these of its faults, by number; nothing for none")
    parser.add_argument("--show", action="store_true", help="print the schedule of the seed and end")
    parser.add_argument("--role", help="only schedules that have such a client: sharer, copier, transactor ...")
    parser.add_argument("--times", type=int, default=1, help="run the schedule of the seed so often")
    parser.add_argument("--shrink", type=int, default=6, metavar="TRIES", help="runs to look for fewer faults (6)")
    parser.add_argument("--seconds", type=float, default=float(os.environ.get("CHAOS_S", "420")), help="begin no more")
    parser.add_argument("--length", type=float, default=25.0, help="seconds of faults in a schedule (25)")
    parser.add_argument("--folder", type=Path, help="for the histories; a new temporary one by default")
    options = parser.parse_args(arguments)
    if options.seed is None and (options.show or options.keep is not None):
        parser.error("name the --seed")
    return options


def _numbers(text: str) -> list[int]:
    return [int(number) for number in text.split(",") if number]


def _seeds(options: argparse.Namespace) -> Iterator[int]:
    if options.seed is not None:
        return iter([options.seed] * options.times)
    seeds = count(int(os.environ.get("CHAOS_SEED", random.SystemRandom().randrange(1_000_000))))
    return (seed for seed in seeds if options.role is None or options.role in _roles(draw(seed, options.length)))


def _roles(schedule: Schedule) -> set[str]:
    return {client.role for client in schedule.clients}


def _chosen(options: argparse.Namespace, seed: int) -> Schedule:
    schedule = draw(seed, options.length)
    return schedule if options.keep is None else schedule.keeping(options.keep)


def _described(schedule: Schedule) -> str:
    lines = [
        f"seed {schedule.seed}, {schedule.seconds:g} s{schedule.logs_in and f', with logins by {schedule.logs_in}'}"
    ]
    lines += [
        f"    {client.name} ({client.form}) {' '.join(f'{key}={value}' for key, value in client.given.items())}"
        for client in schedule.clients
    ]
    lines += [f"{number:3} {fault}" for number, fault in enumerate(schedule.faults)]
    return "\n".join(lines)


def _holds(cluster: ChaosCluster, schedule: Schedule, folder: Path, tries: int) -> bool:
    """Whether no promise was broken; if one was, says how to see it again."""
    print(_described(schedule), flush=True)
    runs = count()

    def judged(numbers: list[int]) -> Verdict:
        while (place := folder / str(next(runs))).exists():
            pass
        begun = time.monotonic()
        verdict = run(cluster, schedule.keeping(numbers), place)
        counts = " ".join(f"{name}={number}" for name, number in sorted(verdict.counts.items()))
        print(f"    faults {numbers}, {time.monotonic() - begun:.0f} s, late {verdict.late_s:.1f} s: {counts}")
        for wrong in verdict.wrong:
            print(f"    WRONG {wrong}")
        sys.stdout.flush()
        return verdict

    everything = list(range(len(schedule.faults)))
    if not judged(everything).wrong:
        return True
    fewer = shrink(everything, lambda numbers: bool(judged(numbers).wrong), tries)
    command = f"python -m tests.chaos --seed {schedule.seed} --length {schedule.seconds:g}"
    print(f"FAILED seed {schedule.seed}; to see it again: {command}", flush=True)
    if len(fewer) < len(everything):
        print(f"    with fewer faults: {command} --keep {','.join(map(str, fewer))}", flush=True)
    return False


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
