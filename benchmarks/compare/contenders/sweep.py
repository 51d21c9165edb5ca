"""The same records in all sizes, and in batches of all sizes: is there a size from which a codec gets slow?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from benchmarks.compare.contenders import inputs
from benchmarks.compare.contenders.codec_loop import Works
from kwire import records

SIZES = (10, 100, 1_000, 10_000, 100_000, 1_000_000)
BATCHES = (1, 10, 100, 1_000, 10_000, 50_000)
_MOST_BYTES = 2_000_000
_MOST_RECORDS = 10_000


def size_name(size: int, shape: str) -> str:
    """The work of records of that size."""
    return f"size-{size}-{shape}"


def batch_name(count: int, shape: str) -> str:
    """The work of so many records per batch."""
    return f"batch-{count}-{shape}"


def sweep(shapes: dict[str, Callable[[bytes], Any]], wanted: Sequence[str]) -> Works:
    """The wanted works of all sizes; `shapes` has what "values" and "columns" are made by from a record set."""
    works: dict[str, Any] = {}
    for shape, make in shapes.items():
        for size in SIZES:
            if size_name(size, shape) in wanted:
                works[size_name(size, shape)] = _work(make, *_of_size(size))
        for count in BATCHES:
            if batch_name(count, shape) in wanted:
                works[batch_name(count, shape)] = _work(make, *_in_batches(count))
    return works


def _work(make: Callable[[bytes], Any], data: bytes, count: int) -> tuple[Callable[[], Any], int]:
    return (lambda: make(data)), count


@cache
def _of_size(size: int) -> tuple[bytes, int]:
    """One batch of records of that size, and how many there are in it."""
    count = max(min(_MOST_BYTES // size, _MOST_RECORDS), 2)
    return inputs.batch(size=size, count=count), count


@cache
def _in_batches(size: int) -> tuple[bytes, int]:
    """100-byte records in batches of so many, and how many records there are."""
    count = max(size, 2_000)
    every = inputs.items(count=count)
    return b"".join(
        records.encode([(v, k, t, ()) for v, k, t in every[at:at + size]], base_offset=at)
        for at in range(0, count, size)), count
