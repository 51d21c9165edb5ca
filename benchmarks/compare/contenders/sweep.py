"""The same records in all sizes, and in batches of all sizes: is there a size from which a codec gets slow?"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from benchmarks.compare.contenders import inputs
from benchmarks.compare.contenders.codec_loop import Piece, Pieces

SIZES = (10, 100, 1_000, 10_000, 100_000, 1_000_000)
BATCHES = (1, 10, 100, 1_000, 10_000, 50_000)
_MOST_BYTES = 2_000_000
_MOST_RECORDS = 10_000
_FEWEST_IN_BATCHES = 2_000


def size_name(size: int, shape: str) -> str:
    """The work of records of that size."""
    return f"size-{size}-{shape}"


def batch_name(count: int, shape: str) -> str:
    """The work of so many records per batch."""
    return f"batch-{count}-{shape}"


def sweep(shapes: dict[str, Callable[[bytes], Any]]) -> Pieces:
    """The works of all sizes; `shapes` has what "values" and "columns" are made by from a record set."""
    pieces = {}
    for shape, make in shapes.items():
        for size in SIZES:
            count = max(min(_MOST_BYTES // size, _MOST_RECORDS), 2)
            pieces[size_name(size, shape)] = Piece(make, partial(inputs.batch, size=size, count=count), count)
        for per_batch in BATCHES:
            count = max(per_batch, _FEWEST_IN_BATCHES)
            pieces[batch_name(per_batch, shape)] = Piece(make, partial(inputs.in_batches, per_batch, count), count)
    return pieces
