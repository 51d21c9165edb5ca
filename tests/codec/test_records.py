"""Records, Record and what they promise: sequences, equality, pickling, and lifetimes."""

from __future__ import annotations

import copy
import gc
import pickle
import sys
import threading
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwire import _codec, errors, records
from kwire.records import Record
from tests.codec.record_strategies import all_plain
from tests.reference import records as reference
from tests.reference.records import BatchFields, PlainRecord

DRAWN = [PlainRecord(10 + i, 100 + i, b"k%d" % i, b"v%d" % i, ((b"h", b"%d" % i),)) for i in range(20)]
WIRE = b"".join(
    [
        reference.encode_batch(DRAWN[:7], BatchFields(codec="zstd")),
        reference.batch_of_content(b"", 0, -1, BatchFields(base_offset=17, last_offset=17)),
        reference.encode_batch(DRAWN[7:8]),
        reference.encode_batch(DRAWN[8:], BatchFields(codec="gzip")),
    ]
)


@given(st.integers(-25, 25), st.integers(-25, 25))
def test_records_are_a_sequence(a: int, b: int) -> None:
    read = records.decode(WIRE)
    assert isinstance(read, Sequence)
    assert len(read) == 20
    assert all_plain(read[a:b]) == DRAWN[a:b]
    assert all_plain(read[a:b][1:]) == DRAWN[a:b][1:]
    assert read[a:b].values() == [r.value for r in DRAWN[a:b]]
    assert read[a:b].keys() == [r.key for r in DRAWN[a:b]]
    if -20 <= a < 20:
        assert read[a].offset == DRAWN[a].offset
    else:
        with pytest.raises(IndexError):
            read[a]


def test_slices_have_steps_of_one() -> None:
    with pytest.raises(ValueError, match="steps of one"):
        records.decode(WIRE)[::2]


def test_views_are_not_made_by_hand() -> None:
    for kind in (records.Records, records.BatchHeader, _codec.RecordFault):
        with pytest.raises(TypeError):
            kind()
    nothing = records.Records.__new__(records.Records)
    assert (len(nothing), nothing.batches, nothing.consumed, nothing.next_offset) == (0, (), 0, None)
    blank = Record.__new__(Record)
    assert (blank.offset, blank.value, blank.headers) == (0, b"", ())


def test_a_record_is_built_from_its_fields() -> None:
    built = Record(b"value", b"key", 1234, [("a", b"1"), ("a", None), ("ü", bytearray(b"2"))])
    assert (built.value, built.key, built.timestamp, built.offset, built.timestamp_type) == (
        b"value",
        b"key",
        1234,
        -1,
        0,
    )
    assert built.headers == (("a", b"1"), ("a", None), ("ü", b"2"))
    assert built.raw_headers == ((b"a", b"1"), (b"a", None), ("ü".encode(), b"2"))
    assert Record(b"v") == Record(b"v", None, None, ())
    assert Record(b"v") != Record(b"w")
    not_a_record: object = b"v"
    assert Record(b"v") != not_a_record
    assert Record(None).value is None
    assert Record(memoryview(b"abc")[1:]).value == b"bc"
    assert len({Record(b"v"), Record(b"v"), Record(b"w")}) == 2


def test_a_datetime_is_a_timestamp() -> None:
    assert Record(b"", timestamp=datetime(2024, 1, 1, tzinfo=UTC)).timestamp == 1_704_067_200_000
    with pytest.raises(TypeError, match="timestamp"):
        Record(b"", timestamp="now")  # type: ignore[arg-type]


@pytest.mark.parametrize("bad", ["text", 5, [b"x"]])
def test_values_are_bytes(bad: object) -> None:
    with pytest.raises(TypeError):
        Record(bad)  # type: ignore[arg-type]


@pytest.mark.parametrize("field", ["offset", "timestamp", "timestamp_type", "key", "value", "headers", "raw_headers"])
def test_fields_are_the_same_however_they_are_asked_for(field: str) -> None:
    record = records.decode(WIRE)[3]
    for seen in (record, _codec.ConsumerRecord(record, "t", 1)):
        not_interned = "".join(list(field))
        expected = getattr(DRAWN[3], "headers" if field == "raw_headers" else field)
        if field == "headers":
            expected = tuple((key.decode(), value) for key, value in expected)
        by_class = getattr(type(seen), field).__get__(seen)
        assert getattr(seen, field) == getattr(seen, not_interned) == by_class == expected
        with pytest.raises(AttributeError):
            setattr(seen, field, expected)


def test_an_unknown_attribute_of_a_record_is_named() -> None:
    record = Record(b"v")
    for seen in (record, _codec.ConsumerRecord(record, "t", 1)):
        with pytest.raises(AttributeError, match="'valeu'"):
            _ = seen.valeu
        assert not hasattr(seen, "offsets")


def test_records_pickle_and_copy() -> None:
    for record in records.decode(WIRE):
        assert pickle.loads(pickle.dumps(record)) == record
        assert record.copy() == record == copy.copy(record)
    odd = records.decode(reference.encode_batch([PlainRecord(1, 2, None, None, ((b"\xff", None),))]))[0]
    assert pickle.loads(pickle.dumps(odd)).raw_headers == ((b"\xff", None),)
    assert odd.headers == (("�", None),)


def test_a_repr_is_short() -> None:
    text = repr(Record(b"x" * 1000, b"key"))
    assert "1000 bytes" in text
    assert len(text) < 250


def test_records_without_headers_share_one_tuple() -> None:
    read = records.decode(reference.encode_batch([PlainRecord(i, 1, None, b"v") for i in range(3)]))
    assert read[0].headers is read[1].headers


# --- lifetimes ---


@pytest.mark.parametrize("codec", ["none", "lz4"])
def test_views_outlive_everything_else(codec: str) -> None:
    wire = bytearray(reference.encode_batch(DRAWN, BatchFields(codec=codec)))
    read = records.decode(wire)
    kept = [read[3], read[-1]]
    part = read[5:9]
    values = iter(part)
    del read
    gc.collect()
    assert [r.value for r in kept] == [b"v3", b"v19"]
    assert [r.offset for r in values] == [15, 16, 17, 18]


def test_what_can_be_written_to_is_copied() -> None:
    wire = bytearray(reference.encode_batch(DRAWN))
    read = records.decode(wire)
    wire[:] = b"\xff" * len(wire)
    wire.clear()
    assert all_plain(read) == DRAWN
    assert [r.headers for r in read] == [((key.decode(), value),) for ((key, value),) in (r.headers for r in DRAWN)]


@pytest.mark.shared_memory
def test_lent_bytes_that_change_all_the_same_do_not_crash() -> None:
    """A read-only view of a bytearray promises what its owner can break."""
    wire = bytearray(reference.encode_batch(DRAWN))
    good = bytes(wire)
    headers_at = good.index(b"h")
    complaints = []
    for word in (b"\xff" * 40, bytes(40), b"\x7f" * 40, b"\x01" * 40):
        read = records.decode(memoryview(wire).toreadonly())
        wire[headers_at - 1 : headers_at - 1 + len(word)] = word
        for use in (lambda read=read: [r.headers for r in read], read.to_arrow):
            try:
                use()
            except errors.CorruptError as error:
                complaints.append(str(error))
        wire[:] = good
    assert complaints
    assert all("have changed" in complaint for complaint in complaints)


def test_a_copy_lets_go_of_its_batch() -> None:
    before = _codec.pool_statistics()["live_blocks"]
    wire = reference.encode_batch(DRAWN, BatchFields(codec="zstd"))
    copied = records.decode(wire)[2].copy()
    assert _codec.pool_statistics()["live_blocks"] <= before
    assert copied.value == b"v2"


@pytest.mark.shared_memory
@pytest.mark.parametrize("codec", ["none", "lz4"])
def test_only_plain_records_hold_what_was_received(codec: Literal["none", "lz4"]) -> None:
    wire = records.encode([b"value"] * 9, compression=codec)
    before = sys.getrefcount(wire)
    read = records.decode(wire)
    assert (sys.getrefcount(wire) > before) == (codec == "none")
    assert read.values() == [b"value"] * 9


def test_what_was_decoded_is_freed() -> None:
    before = _codec.pool_statistics()["live_blocks"]
    for _ in range(50):
        read = records.decode(WIRE)
        list(read), read.values(), read[3:5].keys(), read[0].headers
        del read
    damaged = bytearray(WIRE)
    damaged[-1] ^= 1
    for _ in range(50):
        with pytest.raises(errors.CorruptError):
            records.decode(damaged)
    assert _codec.pool_statistics()["live_blocks"] <= before


def test_records_are_shared_between_threads() -> None:
    read = records.decode(WIRE)
    expected = all_plain(read)
    wrong = []

    def look() -> None:
        for _ in range(200):
            if all_plain(read) != expected or all_plain(records.decode(WIRE)) != expected:
                wrong.append(1)

    threads = [threading.Thread(target=look) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_an_empty_consumer_record_reads_as_an_empty_record() -> None:
    made = _codec.ConsumerRecord.__new__(_codec.ConsumerRecord)
    assert (made.offset, made.timestamp, made.key, made.value, made.headers) == (0, 0, b"", b"", ())


def test_measure_counts_the_records_that_fit() -> None:
    values = [bytes(10), None, bytes(30), bytes(40), b""]
    wire = records.encode([(value, b"k") for value in values[:3]])
    wire += records.encode([(value, b"k") for value in values[3:]], base_offset=3, compression="gzip")
    rs = records.decode(wire)
    assert rs.measure(0, 5, 1 << 20)[0] == 5
    assert rs.measure(0, 2, 1 << 20)[0] == 2
    assert rs.measure(3, 2, 1 << 20)[0] == 2
    assert rs.measure(5, 0, 1 << 20) == (0, 0)
    counts = [rs.measure(0, 5, most)[0] for most in range(200)]
    assert counts == sorted(counts)
    assert (counts[0], counts[-1]) == (1, 5)
    assert set(counts) == {1, 2, 3, 4, 5}
    for most in range(200):
        count, size = rs.measure(0, 5, most)
        assert size <= most or count == 1
    assert rs[1:].measure(0, 4, 41) == rs.measure(1, 4, 41)


@pytest.mark.parametrize(("first", "count"), [(-1, 1), (0, 6), (5, 1), (0, -1)])
def test_measure_refuses_records_that_are_not_there(first: int, count: int) -> None:
    with pytest.raises(IndexError):
        records.decode(records.encode([b"v"] * 5)).measure(first, count, 100)
