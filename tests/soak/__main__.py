"""Runs the mixed load of `load.py` and measures this process once a second; fails where something grows.

    python -m tests.soak                   for an hour, or so many --seconds, against the embedded broker
    python -m tests.soak --broker kafka    against one node of Apache Kafka

The first part of the time is warm-up. The exit code is 1 where a gauge leaks (`judge.py`, `gauges.py`), where a program
of the load ends by an error that is none of the package's, or where one of them gets nothing done.
"""

import argparse
import json
import logging
import subprocess
import sys
import threading
import time
from array import array
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

import kwire
from tests.brokers.cluster import Cluster
from tests.soak.gauges import GAUGES, census, row
from tests.soak.judge import WINDOWS, slope_of
from tests.soak.load import PROGRAMS, TOPICS, Load
from tests.soak.report import table

RELEASE = "4.4.0"
WARM_UP_S = 1_200.0
_WARM_UP_SHARE = 0.3
_SAMPLES = 900
_GREW_MOST = 12
_RETENTION = {"retention.bytes": "8000000", "segment.bytes": "2000000"}
_ENDS_WITHIN_S = 60.0


def main(arguments: list[str]) -> int:
    """0 where nothing grows."""
    options = _options(arguments)
    logging.getLogger("kwire").setLevel(logging.ERROR)  # broken connections are the point
    with _environment(options.broker) as (servers, registry):
        load = Load(servers, registry)
        _prepare(servers, options.broker)
        threads = [threading.Thread(target=load.run, args=(each,), name=each.__name__) for each in PROGRAMS]
        for thread in threads:
            thread.start()
        try:
            samples, before, after = _measure(load, options.seconds)
        finally:
            load.over.set()
            for thread in threads:
                thread.join(_ENDS_WITHIN_S)
        load.crashes += [f"{thread.name} has not ended" for thread in threads if thread.is_alive()]
    return _report(load, samples, after - before, options.seconds)


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.soak", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=3600.0, help="how long (3600)")
    parser.add_argument("--broker", choices=("embedded", "kafka"), default="embedded")
    options = parser.parse_args(arguments)
    if options.seconds * (1 - _WARM_UP_SHARE) < 5 * WINDOWS:
        parser.error("that is too short to tell a slope from noise")
    return options


@contextmanager
def _environment(kind: str) -> Iterator[tuple[str, str]]:
    """Addresses of brokers and of a registry."""
    with ExitStack() as started:
        servers = started.enter_context(Cluster(RELEASE)).bootstrap_servers if kind == "kafka" else ""
        command = [sys.executable, "-m", "tests.soak.server", "registry" if servers else "embedded"]
        child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        started.enter_context(child)
        assert child.stdin is not None
        assert child.stdout is not None
        started.callback(child.stdin.close)
        said = json.loads(child.stdout.readline())
        yield servers or said["servers"], said["registry"]


def _prepare(servers: str, kind: str) -> None:
    with kwire.Admin(servers) as admin:
        configs = _RETENTION if kind == "kafka" else {}
        admin.create_topics({name: {"num_partitions": number, "configs": configs} for name, number in TOPICS.items()})
        for group in ("sharers", "looped-sharers"):
            admin.incremental_alter_configs({("group", group): {"share.auto.offset.reset": "earliest"}})


class Samples:
    """Moments and what the gauges showed then, in arrays: a float each would be a block that this process has more."""

    def __init__(self) -> None:
        self.moments = array("d")
        self.series = {name: array("d") for name in GAUGES}

    def add(self, moment: float, shown: Mapping[str, float]) -> None:
        self.moments.append(moment)
        for name, values in self.series.items():
            values.append(shown[name])


def _measure(load: Load, seconds: float) -> tuple[Samples, Counter[str], Counter[str]]:
    """Samples, and the census after the warm-up and in the end."""
    begun = time.monotonic()
    warm_up, every = min(WARM_UP_S, seconds * _WARM_UP_SHARE), max(1.0, seconds / _SAMPLES)
    samples = Samples()
    before: Counter[str] | None = None
    while (now := time.monotonic() - begun) < seconds and not load.crashes:
        samples.add(now, row(list(load.clients)))
        if before is None and now >= warm_up:
            before = census()
        time.sleep(max(0.0, begun + now + every - time.monotonic()))
    return samples, before or census(), census()


def _report(load: Load, samples: Samples, grown: Counter[str], seconds: float) -> int:
    print("  ".join(f"{name}: {number}" for name, number in sorted(load.done.items())))
    print("errors, as connections are broken:", "  ".join(f"{name}: {n}" for name, n in load.errors.most_common()))
    for crash in load.crashes:
        print(crash)
    if load.crashes:
        return 1
    moments = samples.moments
    warm = next(place for place, moment in enumerate(moments) if moment >= min(WARM_UP_S, seconds * _WARM_UP_SHARE))
    half = (warm + len(moments)) // 2
    slopes = {name: slope_of(moments[warm:], values[warm:]) for name, values in samples.series.items()}
    late = {name: slope_of(moments[half:], values[half:]) for name, values in samples.series.items()}
    print(f"{len(moments)} samples in {moments[-1]:.0f} s; slopes without the first {moments[warm]:.0f} s")
    print(table(slopes, late, GAUGES, samples.series))
    leaks = [name for name, slope in slopes.items() if slope.is_leak(GAUGES[name])]
    print("classes that have more objects now:", dict(grown.most_common(_GREW_MOST)))
    idle = [what for what in _expected() if not load.done[what]]
    if idle:
        print("nothing was", ", ".join(idle))
    return 1 if leaks or idle else 0


def _expected() -> tuple[Any, ...]:
    """What each program counts."""
    return (
        "written",
        "read by the classic group",
        "read by members that leave",
        "copied",
        "shared",
        "admin calls",
        "values read",
        "metrics",
        "connections cut",
        "written on the loop",
        "read on the loop",
        "clients come and gone on the loop",
        "topics passed",
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
