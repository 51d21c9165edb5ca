"""Hypothesis strategies for records, and the comparison of kwire's view of them with the plain one."""

from __future__ import annotations

from collections.abc import Iterable

from hypothesis import strategies as st

from kwire.records import Record
from tests.reference.records import PlainRecord

MOST_INT64 = (1 << 63) - 1

content = st.none() | st.binary(max_size=40) | st.binary(min_size=100, max_size=300)
timestamps = st.integers(0, 1 << 45) | st.just(-1)
headers = st.lists(st.tuples(st.binary(max_size=8), content), max_size=3).map(tuple)


@st.composite
def plain_records(draw: st.DrawFn, *, magic: int = 2, least: int = 1) -> list[PlainRecord]:
    """Records with rising offsets, gaps included, of a kind that the message format can carry."""
    offset = draw(st.integers(0, 1 << 40) | st.just(0))
    made = []
    for _ in range(draw(st.integers(least, 8))):
        made.append(
            PlainRecord(
                offset,
                draw(timestamps) if magic else -1,
                draw(content),
                draw(content),
                draw(headers) if magic == 2 else (),
                0 if magic else -1,
            )
        )
        offset += draw(st.just(1) | st.integers(1, 1000))
    return made


def plain(record: Record) -> PlainRecord:
    return PlainRecord(
        record.offset, record.timestamp, record.key, record.value, record.raw_headers, record.timestamp_type
    )


def all_plain(records: Iterable[Record]) -> list[PlainRecord]:
    return [plain(record) for record in records]
