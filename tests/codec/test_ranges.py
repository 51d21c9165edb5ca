"""Records of several ranges of offsets, as a broker hands them out to a share consumer."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwire import errors, records
from kwire._codec import scan_records


def log(magic: int, counts: list[int], compression: str = "none") -> bytes:
    """Batches of so many records each, whose values are their offsets."""
    data, base = b"", 0
    for count in counts:
        values = [b"%d" % number for number in range(base, base + count)]
        data += records.encode(values, magic=magic, base_offset=base, compression=compression)
        base += count
    return data


def kept(data: bytes, **more: object) -> list[int]:
    found, fault = scan_records(data, **more)  # type: ignore[arg-type]
    assert fault is None
    assert [record.offset for record in found] == [int(value or b"") for value in found.values()]
    return [record.offset for record in found]


@given(
    magic=st.sampled_from([0, 1, 2]),
    compression=st.sampled_from(["none", "gzip"]),
    counts=st.lists(st.integers(1, 8), max_size=6),
    edges=st.sets(st.integers(0, 50), max_size=10).map(sorted),
    low=st.integers(0, 20),
    high=st.integers(0, 50),
)
def test_records_in_any_of_the_ranges_are_kept(
    magic: int, compression: str, counts: list[int], edges: list[int], low: int, high: int
) -> None:
    ranges = list(zip(edges[::2], edges[1::2], strict=False))
    data = log(magic, counts, compression)
    expected = [
        offset
        for offset in range(sum(counts))
        if low <= offset < high and any(first <= offset <= last for first, last in ranges)
    ]
    assert kept(data, ranges=ranges, min_offset=low, end_offset=high) == expected


@pytest.mark.parametrize("magic", [0, 1, 2])
def test_a_range_ends_where_the_records_asked_for_do(magic: int) -> None:
    ranges = [(0, 2), (4, 5), (7, 12)]
    assert kept(log(magic, [10]), ranges=ranges, min_offset=1, end_offset=9) == [1, 2, 4, 5, 7, 8]
    assert kept(log(magic, [10]), ranges=[(0, 9)], min_offset=3, end_offset=6) == [3, 4, 5]


def test_no_range_keeps_nothing_and_none_keeps_all() -> None:
    data = log(2, [3])
    assert kept(data, ranges=[]) == []
    assert kept(data, ranges=None) == [0, 1, 2]


@pytest.mark.parametrize("ranges", [[(3, 2)], [(0, 5), (5, 6)], [(4, 5), (0, 1)]])
def test_ranges_that_do_not_ascend_are_refused(ranges: list[tuple[int, int]]) -> None:
    with pytest.raises(errors.ConfigError, match="does not ascend"):
        scan_records(log(2, [3]), ranges=ranges)
