"""The partition log: offsets, segments, limits, retention, times."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwire import records
from kwire.errors import BrokerError
from kwire.errors import broker as codes
from kwire.testing.records.log import PartitionLog
from kwire.testing.records.record_sets import entries_of
from tests.testing.wire import batch, values


def filled(count: int, size: int = 5000, retention_bytes: int | None = None) -> PartitionLog:
    log = PartitionLog(retention_bytes)
    for n in range(count):
        log.append(entries_of(batch(b"%d" % n, b"." * size)))
    return log


def test_records_survive_the_borders_of_segments() -> None:
    log = filled(200)
    assert len(log.segment_starts()) > 2
    offset, seen = 0, []
    while offset < log.end_offset:
        found = records.decode(log.read(offset, 1 << 20, first_whole=True))
        seen += [record.value for record in found if record.value != b"." * 5000]
        offset = found[len(found) - 1].offset + 1
    assert seen == [b"%d" % n for n in range(200)]
    assert log.whole() == b"".join(bytes(log.read(start, 1 << 30, first_whole=True)) for start in log.segment_starts())


def test_bytes_given_out_stay_as_they_are() -> None:
    log = PartitionLog(retention_bytes=100_000)
    log.append(entries_of(batch(b"kept")))
    view = log.read(0, 1 << 20, first_whole=True)
    before = bytes(view)
    for n in range(100):
        log.append(entries_of(batch(b"%d" % n, b"." * 5000)))
    assert log.start_offset > 0
    assert bytes(view) == before


def test_retention_drops_whole_segments_from_the_start() -> None:
    log = filled(1000, retention_bytes=1_000_000)
    assert 1_000_000 <= log.size < 6_000_000
    assert log.start_offset > 0
    with pytest.raises(BrokerError) as refused:
        log.read(log.start_offset - 1, 100, first_whole=True)
    assert refused.value.code == codes.OFFSET_OUT_OF_RANGE.code
    assert values(log.read(log.start_offset, 1 << 20, first_whole=True))


def test_deleting_records_moves_the_start_within_a_batch() -> None:
    log = filled(3)
    log.delete_before(3)
    assert log.start_offset == 3
    assert records.decode(log.read(3, 1 << 20, first_whole=True))[0].offset == 2
    log.delete_before(6)
    assert (log.size, log.end_offset, len(log.read(6, 100, first_whole=True))) == (0, 6, 0)
    assert log.append(entries_of(batch(b"next"))) == 6
    for offset in (5, 8):
        with pytest.raises(BrokerError):
            log.delete_before(offset)


@given(st.lists(st.integers(1, 60), min_size=1, max_size=12), st.integers(0, 4000), st.data())
def test_a_read_is_whole_entries_within_the_limit(sizes: list[int], limit: int, data: st.DataObject) -> None:
    log, entries = PartitionLog(), []
    for size in sizes:
        log.append(entries_of(batch(*[b"v"] * size)))
        entries.append((log.end_offset, len(log.whole()) - sum(length for _, length in entries)))
    offset = data.draw(st.integers(0, log.end_offset - 1))
    ahead = [length for end, length in entries if end > offset]
    assert log.available(offset) == sum(ahead)
    whole, total = 0, 0
    while whole < len(ahead) and total + ahead[whole] <= limit:
        total += ahead[whole]
        whole += 1
    assert len(log.read(offset, limit, first_whole=False)) == total
    assert len(log.read(offset, limit, first_whole=True)) == (total or ahead[0])


@given(st.lists(st.lists(st.integers(0, 40), min_size=1, max_size=4), min_size=1, max_size=8), st.integers(0, 45))
def test_times_are_found_as_a_plain_search_finds_them(batches: list[list[int]], asked: int) -> None:
    log, flat = PartitionLog(), []
    for times in batches:
        log.append(entries_of(records.encode([(b"v", None, stamp) for stamp in times])))
        flat += times
    expected = next(((stamp, offset) for offset, stamp in enumerate(flat) if stamp >= asked), None)
    assert log.offset_for_timestamp(asked) == expected
    assert log.offset_of_max_timestamp() == (max(flat), flat.index(max(flat)))


@pytest.mark.parametrize("magic", [0, 1, 2])
@pytest.mark.parametrize("compression", ["none", "gzip", "snappy", "lz4"])
def test_offsets_are_given_in_every_format(magic: int, compression: str) -> None:
    log = PartitionLog()
    for n in range(3):
        record_set = records.encode([(b"%d-a" % n, b"k"), (b"%d-b" % n, None)], magic=magic, compression=compression)
        assert log.append(entries_of(record_set), leader_epoch=4) == 2 * n
    found = records.decode(log.whole())
    assert [(record.offset, record.key, record.value) for record in found] == [
        (2 * n + m, (b"k", None)[m], b"%d-%c" % (n, b"ab"[m])) for n in range(3) for m in range(2)
    ]


@pytest.mark.parametrize("magic", [1, 2])
@pytest.mark.parametrize("compression", ["none", "gzip"])
def test_append_time_is_stamped_under_a_right_checksum(magic: int, compression: str) -> None:
    log = PartitionLog()
    log.append(entries_of(batch(b"a", b"b", magic=magic, compression=compression)), append_time=123456)
    assert [(r.timestamp, r.timestamp_type) for r in records.decode(log.whole())] == [(123456, 1)] * 2
    assert log.offset_for_timestamp(123456) == (123456, 0)
