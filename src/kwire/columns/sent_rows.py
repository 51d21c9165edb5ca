"""Rows that went to a producer as columns: which of them failed. Layer 2: no client, no Arrow library."""

from __future__ import annotations

from kwire._typing import TYPE_CHECKING, NamedTuple

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


def first_failure(sent: Iterable[tuple[int, SentRows]]) -> RowFailure | None:
    """The first row that is known to have failed; `sent` has the number of the first row of each part."""
    count, row, first = 0, 0, None
    for start, rows in sent:
        failed, what = rows.failed()
        count += len(failed)
        if first is None and what is not None:
            row, first = start + failed[0], what
    return None if first is None else RowFailure(row, *first, count)
