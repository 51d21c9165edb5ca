"""Records of 10 bytes to 1 MB, 1 to 50,000 in a batch: where does a record cost more than its neighbours in the table?

    python -m benchmarks.bench_sizes            the table: CPU ns per record and, where bytes rule, per KiB
    python -m pytest benchmarks/bench_sizes.py  the same by pytest-benchmark

Each cell reads, or writes, about the same number of records or bytes, as many batches as that takes. Values are random,
so nothing is compressed; checksums are verified.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from kwire import records

SIZES = (10, 100, 1_000, 10_000, 100_000, 1_000_000)
PER_BATCH = (1, 10, 100, 1_000, 10_000, 50_000)
MOST_BYTES = 32 << 20
MOST_RECORDS = 50_000
FOUR = ["offset", "timestamp", "key", "value"]
ROUNDS = 5


def cells() -> list[tuple[int, int]]:
    """(size, records per batch) of all batches that stay within MOST_BYTES."""
    return [(size, count) for size in SIZES for count in PER_BATCH if size * count <= MOST_BYTES]


@cache
def values_of(size: int, count: int) -> list[bytes]:
    """That many values of that size, cut out of fewer random bytes."""
    pool = random.Random(size).randbytes(size + 1024)
    return [pool[i % 1024 : i % 1024 + size] for i in range(count)]


def batches_of(size: int, per_batch: int) -> int:
    """How many batches a cell has."""
    return max(1, min(MOST_RECORDS // per_batch, MOST_BYTES // 4 // (size * per_batch), 1_000))


def wire_of(size: int, per_batch: int) -> tuple[bytes, int]:
    """The bytes that a cell reads, and how many records they hold."""
    number = batches_of(size, per_batch)
    items = [(value, b"%010d" % i, 1_700_000_000_000 + i, ()) for i, value in enumerate(values_of(size, per_batch))]
    return b"".join(records.encode(items, base_offset=at * per_batch) for at in range(number)), number * per_batch


def written(values: list[bytes]) -> bytes:
    """A batch, record by record."""
    builder = records.BatchBuilder()
    append = builder.append
    for value in values:
        append(value)
    return builder.build()


READING: dict[str, Callable[[bytes], Any]] = {
    "index": records.decode,
    "values": lambda wire: records.decode(wire).values(),
    "columns": lambda wire: records.decode(wire).to_arrow(FOUR),
    "views": lambda wire: records.decode(wire).to_arrow(FOUR, binary_view=True),
}


@pytest.mark.parametrize("work", READING)
@pytest.mark.parametrize(("size", "per_batch"), cells())
def test_read(benchmark: Any, work: str, size: int, per_batch: int) -> None:
    wire, count = wire_of(size, per_batch)
    benchmark.extra_info["records"] = count
    benchmark.pedantic(READING[work], (wire,), rounds=ROUNDS, warmup_rounds=1)


@pytest.mark.parametrize(("size", "per_batch"), cells())
def test_append(benchmark: Any, size: int, per_batch: int) -> None:
    values = values_of(size, per_batch)
    benchmark.extra_info["records"] = per_batch
    benchmark.pedantic(written, (values,), rounds=ROUNDS, iterations=batches_of(size, per_batch), warmup_rounds=1)


def cost(work: Callable[[], Any], count: int) -> float:
    """The least CPU ns per record of several rounds."""
    work()
    best = float("inf")
    for _ in range(ROUNDS):
        begun = time.process_time_ns()
        work()
        best = min(best, (time.process_time_ns() - begun) / count)
    return best


def costs_of(size: int, per_batch: int) -> list[float]:
    """What each work costs in one cell, in the order of READING, then append."""
    wire, count = wire_of(size, per_batch)
    found = [cost(lambda work=work: work(wire), count) for work in READING.values()]  # type: ignore[misc]
    values = values_of(size, per_batch)
    number = batches_of(size, per_batch)
    found.append(cost(lambda: [written(values) for _ in range(number)], number * per_batch))
    return found


def main() -> None:
    """Prints the table."""
    names = [*READING, "append"]
    print(f"{'bytes':>9} {'per batch':>10}" + "".join(f"{name:>10}" for name in names) + "   ns per record")
    for size, per_batch in cells():
        found = costs_of(size, per_batch)
        print(f"{size:>9,} {per_batch:>10,}" + "".join(f"{each:>10,.0f}" for each in found))


if __name__ == "__main__":
    main()
