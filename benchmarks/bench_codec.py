"""The codec alone, by pytest-benchmark: `make bench-codec`. Every case of every contender of `compare/contenders`.

One call of a benchmark handles a batch of 10,000 records of 100 bytes, unless its name says otherwise, or one message;
it is the same work for all contenders of a group. Only ratios within one run travel from machine to machine.
"""

from __future__ import annotations

import threading
from importlib import import_module
from typing import Any

import pytest

from benchmarks.compare.contenders import inputs, kwire_codec
from benchmarks.compare.contenders.meters import Case, Cases
from benchmarks.compare.rows import choose
from benchmarks.instructions.loops import COUNT, send_to

CASES: dict[str, Cases] = {
    name: import_module(f"benchmarks.compare.contenders.{name}_codec").cases()
    for name in ("kwire", "aiokafka", "kafka_python", "kio")
}
SWEEP = {row.name for row in choose(["sweep"])}
"""Is in `bench_sizes.py`."""
NAMES = dict.fromkeys(name for cases in CASES.values() for name in cases if name not in SWEEP)
THREAD_CALLS = 100


@pytest.mark.parametrize(
    ("name", "contender"), [(name, contender) for name in NAMES for contender in CASES if name in CASES[contender]]
)
def test_codec(benchmark: Any, name: str, contender: str) -> None:
    run, setup, records = CASES[contender][name]
    total = max(cases[name].records for cases in CASES.values() if name in cases)
    data, calls = setup(), range(total // records)

    def handle_all() -> None:
        for _ in calls:
            run(data)

    benchmark.group = name
    benchmark.extra_info["records"] = total
    if total == 1:
        benchmark(run, data)
        return
    rounds, iterations = {"kwire": (7, 10), "aiokafka": (7, 1)}.get(contender, (3, 1))
    benchmark.pedantic(handle_all, rounds=rounds, iterations=iterations, warmup_rounds=1)


def test_send(benchmark: Any) -> None:
    """send() up to the batch, to 32 known partitions; nothing leaves."""
    values = [value for value, _, _ in inputs.items(count=COUNT)]
    benchmark.extra_info["records"] = COUNT
    benchmark.pedantic(send_to(32, values), rounds=7, iterations=10, warmup_rounds=1)


@pytest.mark.parametrize("number", [1, 2])
def test_columns_in_threads(benchmark: Any, number: int) -> None:
    """Two threads do twice the work, and take at most 2 / 1.7 of the time of one."""
    benchmark.pedantic(together, (kwire_codec.cases()["columns"], number), rounds=7, warmup_rounds=1)


def together(case: Case, number: int) -> None:
    data = case.setup()

    def repeat() -> None:
        for _ in range(THREAD_CALLS):
            case.run(data)

    threads = [threading.Thread(target=repeat) for _ in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
