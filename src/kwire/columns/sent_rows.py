"""Rows that go to a producer as columns: where to, and which of them failed. Layer 2: no client, no Arrow library."""

from __future__ import annotations

from kwire._typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kwire._codec import SentRows


class RowFailure(NamedTuple):
    """The first row that failed, where it was to go (partition -1 where that was not known), and how many failed."""

    row: int
    topic: str
    partition: int
    reason: Exception
    rows: int


def int32s(column: Any, first: int = 0) -> memoryview:
    """The numbers of an int32 array of pyarrow's, from row `first` on, as `SentRows` takes them; it has no nulls."""
    return memoryview(column.buffers()[1])[4 * (column.offset + first) : 4 * (column.offset + len(column))]


def first_failure(sent: Iterable[tuple[int, SentRows]]) -> RowFailure | None:
    """The first row that is known to have failed; `sent` has the number of the first row of each part."""
    count, row, first = 0, 0, None
    for start, rows in sent:
        failed, what = rows.failed()
        count += len(failed)
        if first is None and what is not None:
            row, first = start + failed[0], what
    return None if first is None else RowFailure(row, *first, count)
