"""Reading records: drawn ones against the plain codec of tests/reference, and what foreign producers build."""

from __future__ import annotations

from dataclasses import replace

import pytest
from aiokafka.record.default_records import DefaultRecordBatchBuilder
from aiokafka.record.legacy_records import LegacyRecordBatchBuilder
from hypothesis import given, settings
from hypothesis import strategies as st
from kafka.record.memory_records import MemoryRecordsBuilder

from kwire import _codec, records
from kwire.errors import CodecError
from tests.codec.record_strategies import MOST_INT64, all_plain, plain_records
from tests.reference import records as reference
from tests.reference.compression import compress
from tests.reference.records import BatchFields, PlainRecord

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


@settings(deadline=None)
@given(drawn=plain_records(), codec=st.sampled_from(CODECS))
def test_record_batches_read_as_they_were_written(drawn: list[PlainRecord], codec: str) -> None:
    data = reference.encode_batch(drawn, BatchFields(codec=codec))
    assert all_plain(records.decode(data)) == drawn == reference.decode(data)


@settings(deadline=None)
@given(data=st.data(), magic=st.sampled_from([0, 1]), codec=st.sampled_from(CODECS[:4]))
def test_message_sets_read_as_they_were_written(data: st.DataObject, magic: int, codec: str) -> None:
    drawn = data.draw(plain_records(magic=magic))
    wire = reference.encode_message_set(drawn, magic, codec)
    assert all_plain(records.decode(wire)) == reference.decode(wire) == drawn


@settings(deadline=None)
@given(data=st.data())
def test_all_formats_in_one_buffer(data: st.DataObject) -> None:
    wire, expected = b"", []
    for magic in data.draw(st.lists(st.sampled_from([0, 1, 2]), max_size=6)):
        drawn = data.draw(plain_records(magic=magic))
        codec = data.draw(st.sampled_from(CODECS if magic == 2 else CODECS[:4]))
        fields = BatchFields(codec=codec)
        wire += (
            reference.encode_batch(drawn, fields) if magic == 2 else reference.encode_message_set(drawn, magic, codec)
        )
        expected += drawn
    read = records.decode(wire)
    assert all_plain(read) == expected
    assert read.consumed == len(wire)
    assert read.needed == 0


@settings(deadline=None)
@given(data=st.data(), magic=st.sampled_from([0, 1, 2]))
def test_every_cut_leaves_the_whole_batches(data: st.DataObject, magic: int) -> None:
    first, second = data.draw(plain_records(magic=magic)), data.draw(plain_records(magic=magic))
    if magic == 2:
        parts = [reference.encode_batch(first), reference.encode_batch(second, BatchFields(codec="zstd"))]
    else:
        parts = [reference.encode_message_set(first, magic, "gzip"), reference.encode_message_set(second, magic, "lz4")]
    wire = b"".join(parts)
    for cut in range(len(wire)):
        read = records.decode(wire[:cut])
        whole = cut >= len(parts[0])
        assert read.consumed == (len(parts[0]) if whole else 0)
        assert all_plain(read) == (first if whole else [])
        begun = cut - read.consumed
        if begun == 0:
            assert read.needed == 0
        else:
            assert read.needed == (12 if begun < 12 else len(parts[1] if whole else parts[0]))


WIDTHS = (0, 63, 64, 8191, 8192, 2**20 - 1, 2**20, 2**27 - 1, 2**27)
"""Where a varint takes a byte more: the last of each width, and the first of the next."""


@pytest.mark.parametrize("delta", WIDTHS)
def test_deltas_of_every_width(delta: int) -> None:
    drawn = [
        PlainRecord(7, 2**40, b"k", b"v"),
        PlainRecord(8 + delta, 2**40 + delta, b"", None),
        PlainRecord(9 + delta, 2**40 - delta, None, b"w"),
    ]
    assert all_plain(records.decode(reference.encode_batch(drawn))) == drawn


@pytest.mark.parametrize("size", WIDTHS[:7])
@pytest.mark.parametrize("last", [b"v", None])
def test_sizes_of_every_width(size: int, last: bytes | None) -> None:
    drawn = [
        PlainRecord(0, 1, b"k" * size, None),
        PlainRecord(1, 1, b"k" * size, b"v" * size, ((b"h" * size, b""),)),
        PlainRecord(2, 1, None, b"v" * size),
        PlainRecord(3, 1, b"k", last),
    ]
    assert all_plain(records.decode(reference.encode_batch(drawn))) == drawn


@pytest.mark.parametrize("followers", [0, 1])
@pytest.mark.parametrize("width", [2, 3, 4, 5])
@pytest.mark.parametrize("place", range(6))
def test_varints_may_be_wider_than_they_need(place: int, width: int, followers: int) -> None:
    timestamp, offset, key_size, value_size, headers = (reference.varint(value) for value in (0, 0, 1, 1, 0))
    fields = [timestamp, offset, key_size, value_size, headers]
    if place:
        fields[place - 1] = wider(fields[place - 1], width)
    body = b"\0" + b"".join([*fields[:3], b"k", fields[3], b"v", fields[4]])
    length = reference.varint(len(body)) if place else wider(reference.varint(len(body)), width)
    expected = [PlainRecord(at, 5, b"k", b"v") for at in range(1 + followers)]
    follower = b"".join(reference.record_bytes(record, 0, 5) for record in expected[1:])
    wire = reference.batch_of_content(length + body + follower, len(expected), 5, BatchFields(last_offset=followers))
    assert all_plain(records.decode(wire)) == expected


def wider(varint: bytes, width: int) -> bytes:
    """The same number in `width` bytes."""
    return varint[:-1] + bytes([varint[-1] | 0x80]) + b"\x80" * (width - len(varint) - 1) + b"\0"


def test_records_cut_anywhere_are_refused() -> None:
    drawn = [
        PlainRecord(0, 5, b"k" * 70, b"v" * 9000, ((b"h", b"x"),)),
        PlainRecord(1, 10**7, None, b"v" * 64),
        PlainRecord(2, 6, b"k", None),
    ]
    content = b"".join(reference.record_bytes(record, 0, 5) for record in drawn)
    for cut in {*range(300), *range(8900, len(content))}:
        wire = reference.batch_of_content(content[:cut], len(drawn), 5, BatchFields(last_offset=2))
        with pytest.raises(CodecError):
            records.decode(wire)
    assert all_plain(records.decode(reference.encode_batch(drawn))) == drawn


def test_log_append_time_of_a_batch_overrides_its_records() -> None:
    drawn = [PlainRecord(5, 1000, b"k", b"v"), PlainRecord(6, 2000, None, b"w")]
    wire = reference.encode_batch(drawn, BatchFields(attributes=8, max_timestamp=9999))
    assert [(r.timestamp, r.timestamp_type) for r in records.decode(wire)] == [(9999, 1), (9999, 1)]


def test_log_append_time_of_a_wrapper_overrides_what_is_inside() -> None:
    drawn = [PlainRecord(5, 1000, b"k", b"v"), PlainRecord(6, 2000, None, b"w")]
    wire = reference.encode_message_set(drawn, 1, "snappy", append_time=7777)
    assert [(r.offset, r.timestamp, r.timestamp_type) for r in records.decode(wire)] == [(5, 7777, 1), (6, 7777, 1)]


def test_inner_messages_may_have_another_format_than_their_wrapper() -> None:
    inner = reference.message(0, b"a", b"1", magic=0) + reference.message(1, b"b", b"2", magic=1, timestamp=55)
    wrapper = reference.message(41, None, compress("gzip", inner), magic=1, attributes=1, timestamp=99)
    read = records.decode(wrapper)
    assert [(r.offset, r.timestamp, r.timestamp_type) for r in read] == [(40, -1, -1), (41, 55, 0)]
    assert len(read.batches) == 1
    assert read.batches[0].count == 2


def test_a_wrapper_without_an_offset_keeps_the_inner_ones() -> None:
    inner = reference.plain_set([PlainRecord(i, 1, None, b"v") for i in range(3)], 1)
    wrapper = reference.message(0, None, compress("gzip", inner), magic=1, attributes=1, timestamp=1)
    assert [r.offset for r in records.decode(wrapper)] == [0, 1, 2]


def test_batches_say_what_their_headers_say() -> None:
    drawn = [PlainRecord(100, 5, b"k", b"v"), PlainRecord(107, 9, b"k", b"v")]
    fields = BatchFields(
        codec="lz4",
        attributes=0x10,
        producer_id=77,
        producer_epoch=3,
        base_sequence=12,
        leader_epoch=4,
        last_offset=110,
    )
    wire = reference.encode_batch(drawn, fields) + reference.encode_message_set(drawn, 0)
    batch, message_set = records.decode(wire).batches
    assert (batch.base_offset, batch.last_offset, batch.count, batch.magic) == (100, 110, 2, 2)
    assert (batch.compression, batch.timestamp_type, batch.max_timestamp) == ("lz4", 0, 9)
    assert (batch.is_transactional, batch.is_control, batch.delete_horizon) == (True, False, None)
    assert (batch.producer_id, batch.producer_epoch, batch.base_sequence, batch.partition_leader_epoch) == (
        77,
        3,
        12,
        4,
    )
    assert (message_set.base_offset, message_set.last_offset, message_set.count, message_set.magic) == (100, 107, 2, 0)
    assert (message_set.compression, message_set.timestamp_type, message_set.max_timestamp) == ("none", -1, -1)
    assert (message_set.producer_id, message_set.partition_leader_epoch) == (-1, -1)
    assert message_set.position == batch.size
    assert batch.size + message_set.size == len(wire)


def test_an_empty_batch_has_a_header_and_no_records() -> None:
    for codec in CODECS:
        wire = reference.batch_of_content(b"", 0, -1, BatchFields(codec=codec, base_offset=9, last_offset=12))
        read = records.decode(wire)
        assert len(read) == 0
        assert read.consumed == len(wire)
        assert (read.batches[0].count, read.batches[0].last_offset, read.next_offset) == (0, 12, 13)


def test_a_delete_horizon_is_shown_and_its_deltas_count_from_it() -> None:
    wire = reference.encode_batch([PlainRecord(1, 500, b"k", None)], BatchFields(attributes=0x40))
    read = records.decode(wire)
    assert read.batches[0].delete_horizon == 500
    assert read[0].timestamp == 500


def test_the_greatest_offset_is_an_offset() -> None:
    wire = reference.encode_batch([PlainRecord(MOST_INT64, 0, None, b"v")])
    assert records.decode(wire)[0].offset == MOST_INT64


@pytest.mark.parametrize("append_time", [None, 99])
def test_the_timestamp_type_of_a_wrapper_rules_the_messages_inside(append_time: int | None) -> None:
    inner = reference.message(0, None, b"v", magic=1, attributes=8 if append_time is None else 0, timestamp=5)
    outer = reference.message(
        3, None, compress("gzip", inner, 1), magic=1, attributes=1 if append_time is None else 9, timestamp=99
    )
    (record,) = records.decode(outer)
    assert (record.timestamp, record.timestamp_type) == ((5, 0) if append_time is None else (99, 1))


def test_the_next_offset_lies_behind_the_wrapper_even_when_what_it_wraps_ends_before() -> None:
    inner = reference.message(5, None, b"a", magic=0) + reference.message(6, None, b"b", magic=0)
    read = records.decode(reference.message(9, None, compress("gzip", inner, 0), magic=0, attributes=1))
    assert [r.offset for r in read] == [5, 6]
    assert read.next_offset == 10


def test_decompressed_bytes_count_once_however_the_messages_inside_are_mixed() -> None:
    inner = b"".join(reference.message(i, None, b"v", magic=i % 2) for i in range(10))
    read = records.decode(reference.message(9, None, compress("gzip", inner, 1), magic=1, attributes=1))
    assert len(read) == 10
    assert len(inner) < read.decompressed_bytes < 2 * len(inner)


# --- what the consumer asks of a scan ---


def test_records_below_a_position_are_left_out() -> None:
    drawn = [PlainRecord(i, 1, None, b"%d" % i) for i in range(10)]
    for wire in (
        reference.encode_batch(drawn),
        reference.encode_message_set(drawn, 1, "gzip"),
        reference.encode_message_set(drawn, 0),
    ):
        read, fault = _codec.scan_records(wire, min_offset=4, end_offset=8)
        assert fault is None
        assert [r.offset for r in read] == [4, 5, 6, 7]
        assert read.values() == [b"4", b"5", b"6", b"7"]
        assert read.next_offset == 10


def control_batch(offset: int, producer_id: int, kind: int) -> bytes:
    marker = PlainRecord(offset, 1, bytes([0, 0, 0, kind]), bytes(6))
    return reference.encode_batch([marker], BatchFields(attributes=0x30, producer_id=producer_id))


def transactional(offset: int, producer_id: int, value: bytes) -> bytes:
    fields = BatchFields(attributes=0x10, producer_id=producer_id)
    return reference.encode_batch([PlainRecord(offset, 1, None, value)], fields)


def test_control_batches_can_be_left_out() -> None:
    wire = transactional(0, 7, b"a") + control_batch(1, 7, 1) + transactional(2, 7, b"b")
    assert records.decode(wire).values() == [b"a", bytes(6), b"b"]
    read, _ = _codec.scan_records(wire, skip_control=True)
    assert read.values() == [b"a", b"b"]
    assert [batch.is_control for batch in read.batches] == [False, True, False]


def test_aborted_transactions_are_left_out_up_to_their_marker() -> None:
    wire = b"".join([
        transactional(0, 7, b"before"), transactional(1, 7, b"aborted"), transactional(2, 8, b"other"),
        transactional(3, 7, b"aborted"), control_batch(4, 7, 0), control_batch(5, 7, 0), transactional(6, 7, b"after"),
        reference.encode_batch([PlainRecord(7, 1, None, b"plain")]),
    ])  # fmt: skip
    read, _ = _codec.scan_records(wire, skip_control=True, aborted=[(7, 1)])
    assert read.values() == [b"before", b"other", b"after", b"plain"]


def test_an_abort_marker_outside_the_offsets_asked_for_ends_its_transaction() -> None:
    wire = transactional(1, 7, b"aborted") + control_batch(2, 7, 0) + transactional(3, 7, b"committed")
    read, _ = _codec.scan_records(wire, skip_control=True, aborted=[(7, 1)], min_offset=3)
    assert read.values() == [b"committed"]


def test_what_precedes_a_fault_is_handed_out_with_where_to_go_on() -> None:
    good = reference.encode_batch([PlainRecord(0, 1, None, b"a")])
    bad = bytearray(reference.encode_batch([PlainRecord(1, 1, None, b"b"), PlainRecord(5, 1, None, b"c")]))
    bad[-3] ^= 1
    behind = reference.encode_batch([PlainRecord(6, 1, None, b"d")])
    read, fault = _codec.scan_records(good + bytes(bad) + behind)
    assert read.values() == [b"a"]
    assert fault is not None
    assert (fault.base_offset, fault.next_offset) == (1, 6)
    assert (fault.position, fault.size) == (len(good), len(bad))
    assert type(fault.error).__name__ == "CorruptError"
    assert records.decode((good + bytes(bad) + behind)[fault.position + fault.size :]).values() == [b"d"]


# --- foreign writers ---


@pytest.mark.parametrize("codec", range(5))
def test_what_aiokafka_builds(codec: int) -> None:
    builder = DefaultRecordBatchBuilder(
        magic=2, compression_type=codec, is_transactional=0, producer_id=9, producer_epoch=1, base_sequence=4,
        batch_size=1 << 20,
    )  # fmt: skip
    expected = [
        PlainRecord(i, 1_700_000_000_000 + i, b"k%d" % i, b"v" * i, ((b"h", None), (b"", b"x"))) for i in range(50)
    ]
    for r in expected:
        builder.append(r.offset, r.timestamp, r.key, r.value, [("h", None), ("", b"x")])
    assert all_plain(records.decode(bytes(builder.build()))) == expected


@pytest.mark.parametrize(("magic", "codec"), [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2), (1, 3)])
def test_what_aiokafka_builds_for_old_brokers(magic: int, codec: int) -> None:
    builder = LegacyRecordBatchBuilder(magic=magic, compression_type=codec, batch_size=1 << 20)
    expected = [PlainRecord(i, 1000 + i if magic else -1, b"k", b"v" * i, (), 0 if magic else -1) for i in range(50)]
    for r in expected:
        builder.append(r.offset, r.timestamp if magic else None, r.key, r.value)
    assert all_plain(records.decode(bytes(builder.build()))) == expected


@pytest.mark.parametrize(("magic", "codec"), [(m, c) for m in (0, 1, 2) for c in range(4 + (m == 2))])
def test_what_kafka_python_builds(magic: int, codec: int) -> None:
    builder = MemoryRecordsBuilder(magic=magic, compression_type=codec, batch_size=1 << 20)
    expected = [PlainRecord(i, 1000 + i if magic else -1, b"k", b"v" * i, (), 0 if magic else -1) for i in range(50)]
    for r in expected:
        builder.append(timestamp=max(r.timestamp, 0), key=r.key, value=r.value, headers=[])
    builder.close()
    read = all_plain(records.decode(bytes(builder.buffer())))
    assert [replace(r, timestamp=r.timestamp if magic else -1) for r in read] == expected
