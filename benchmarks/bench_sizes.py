"""Records of 10 bytes to 1 MB, 1 to 50,000 in a batch: which of them cost more than their neighbours in the table?

    python -m benchmarks.bench_sizes            the table: CPU ns per record
    python -m pytest benchmarks/bench_sizes.py  the same by pytest-benchmark

Each cell handles about the same number of records or bytes, in as many batches as that takes. Values are random, so
nothing is compressed; checksums are verified.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import pytest

from benchmarks.compare.contenders.columns import FOUR
from benchmarks.compare.contenders.meters import cpu_s_per_call
from benchmarks.compare.rows import BATCH_COUNTS, RECORD_SIZES
from kwire import records

MAX_BYTES = 32 << 20
MAX_RECORDS = 50_000
ROUND_S = 0.05


class Cell(NamedTuple):
    """Batches of `per_batch` records of `size` bytes."""

    size: int
    per_batch: int

    @property
    def batches(self) -> int:
        return max(1, min(MAX_RECORDS // self.per_batch, MAX_BYTES // 4 // (self.size * self.per_batch), 1_000))


CELLS = [Cell(size, count) for size in RECORD_SIZES for count in BATCH_COUNTS if size * count <= MAX_BYTES]


@cache
def values_of(size: int, count: int) -> list[bytes]:
    """That many values of that size, cut out of fewer random bytes."""
    pool = random.Random(size).randbytes(size + 1024)
    return [pool[i % 1024 : i % 1024 + size] for i in range(count)]


def encoded(cell: Cell) -> bytes:
    values = values_of(cell.size, cell.per_batch)
    items = [(value, b"%010d" % i, 1_700_000_000_000 + i, ()) for i, value in enumerate(values)]
    return b"".join(records.encode(items, base_offset=at * cell.per_batch) for at in range(cell.batches))


def append_all(cell: Cell) -> None:
    values = values_of(cell.size, cell.per_batch)
    for _ in range(cell.batches):
        builder = records.BatchBuilder()
        append = builder.append
        for value in values:
            append(value)
        builder.build()


READING: dict[str, Callable[[bytes], Any]] = {
    "index": records.decode,
    "values": lambda wire: records.decode(wire).values(),
    "columns": lambda wire: records.decode(wire).to_arrow(FOUR),
    "views": lambda wire: records.decode(wire).to_arrow(FOUR, binary_view=True),
}


@pytest.mark.parametrize("output", [*READING, "append"])
@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: f"{cell.size}x{cell.per_batch}")
def test_cell(benchmark: Any, output: str, cell: Cell) -> None:
    benchmark.extra_info["records"] = cell.batches * cell.per_batch
    run, data = (append_all, cell) if output == "append" else (READING[output], encoded(cell))
    benchmark.pedantic(run, (data,), rounds=5, warmup_rounds=1)


def costs_of(cell: Cell) -> list[float]:
    """CPU ns per record of each output of READING, then of append."""
    wire, count = encoded(cell), cell.batches * cell.per_batch
    seconds = [cpu_s_per_call(read, wire, ROUND_S) for read in READING.values()]
    seconds.append(cpu_s_per_call(append_all, cell, ROUND_S))
    return [each * 1e9 / count for each in seconds]


def main() -> None:
    """Prints the table."""
    print(
        f"{'bytes':>9} {'per batch':>10}" + "".join(f"{name:>10}" for name in (*READING, "append")) + "   ns per record"
    )
    for cell in CELLS:
        print(f"{cell.size:>9,} {cell.per_batch:>10,}" + "".join(f"{cost:>10,.0f}" for cost in costs_of(cell)))


if __name__ == "__main__":
    main()
