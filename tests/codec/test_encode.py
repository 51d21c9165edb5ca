"""Writing records: kwire's bytes read by two foreign clients, byte layouts by hand, and what is refused."""

from __future__ import annotations

import struct
import threading
import tracemalloc
import zlib
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from aiokafka.record.memory_records import MemoryRecords as AioRecords
from hypothesis import given
from hypothesis import strategies as st
from kafka.record.memory_records import MemoryRecords as KafkaPythonRecords

from kwire import errors, records
from kwire._codec import crc32c
from kwire.records import BatchBuilder, encode
from tests.thorough import THOROUGH

Row = tuple[int, int | None, bytes | None, bytes | None, list[tuple[str, bytes | None]]]

maybe_bytes = st.none() | st.binary(max_size=300)
timestamps = st.integers(0, 2**53)
header_lists = st.lists(st.tuples(st.text(max_size=20), maybe_bytes), max_size=12)
items = st.tuples(maybe_bytes, maybe_bytes, timestamps, header_lists)


def read_by_aiokafka(data: bytes) -> list[Row]:
    rows: list[Row] = []
    records = AioRecords(data)
    while records.has_next():
        batch = records.next_batch()
        assert batch.validate_crc()
        rows += [(r.offset, r.timestamp, r.key, r.value, list(r.headers)) for r in batch]
    return rows


def read_by_kafka_python(data: bytes) -> list[Row]:
    rows: list[Row] = []
    records = KafkaPythonRecords(data)
    while records.has_next():
        batch = records.next_batch()
        assert batch.validate_crc()
        rows += [(r.offset, r.timestamp, r.key, r.value, list(r.headers)) for r in batch]
    return rows


READERS = pytest.mark.parametrize("read", [read_by_aiokafka, read_by_kafka_python])


@READERS
@given(written=st.lists(items, min_size=1, max_size=30), base=st.integers(0, 2**40))
def test_foreign_clients_read_our_batches(read: Any, written: list[Any], base: int) -> None:
    rows = read(encode(written, base_offset=base))
    assert rows == [(base + i, t, k, v, h) for i, (v, k, t, h) in enumerate(written)]


@READERS
@pytest.mark.parametrize("magic", [0, 1])
@given(written=st.lists(st.tuples(maybe_bytes, maybe_bytes, timestamps, st.just(())), min_size=1, max_size=30))
def test_foreign_clients_read_our_message_sets(read: Any, magic: int, written: list[Any]) -> None:
    rows = read(encode(written, magic=magic, base_offset=7))
    assert rows == [(7 + i, t if magic else None, k, v, []) for i, (v, k, t, _) in enumerate(written)]


def test_the_layout_of_a_batch_byte_by_byte() -> None:
    data = encode(
        [(b"v", b"k", 1000, [("h", None)]), (None, None, 998, ())],
        base_offset=5, producer_id=9, producer_epoch=2, base_sequence=3, is_transactional=True,
        partition_leader_epoch=4,
    )  # fmt: skip
    first = bytes([0, 0, 0, 2]) + b"k" + bytes([2]) + b"v" + bytes([2, 2]) + b"h" + bytes([1])
    second = bytes([0, 3, 2, 1, 1, 0])  # timestamp delta -2, offset delta 1, key and value null
    body = bytes([2 * len(first)]) + first + bytes([2 * len(second)]) + second
    checked = struct.pack(">hiqqqhii", 0x10, 1, 1000, 1000, 9, 2, 3, 2) + body
    head = struct.pack(">qiibI", 5, len(checked) + 9, 4, 2, crc32c(checked))
    assert data == head + checked


@pytest.mark.parametrize("magic", [0, 1])
def test_the_layout_of_a_message_byte_by_byte(magic: int) -> None:
    checked = bytes([magic, 0]) + (struct.pack(">q", 77) if magic else b"") + struct.pack(">i1si2s", 1, b"k", 2, b"vv")
    assert encode([(b"vv", b"k", 77, ())], magic=magic, base_offset=3) == (
        struct.pack(">qiI", 3, 4 + len(checked), zlib.crc32(checked)) + checked
    )


@pytest.mark.parametrize(
    ("magic", "compression"),
    [(magic, codec) for codec in ("gzip", "snappy", "lz4") for magic in (0, 1, 2)] + [(2, "zstd")],
)
def test_compressed_batches_read_back(magic: int, compression: str) -> None:
    written = [(b"value %d" % i * 9, b"key", 1000 + i, ()) for i in range(50)]
    data = encode(written, magic=magic, compression=compression, base_offset=7)
    assert len(data) < len(encode(written, magic=magic)) / 2
    read = records.decode(data)
    assert [(r.offset, r.value, r.key) for r in read] == [(7 + i, row[0], row[1]) for i, row in enumerate(written)]
    assert [r.timestamp for r in read] == [row[2] if magic else -1 for row in written]
    [header] = read.batches
    assert (header.compression, header.magic, header.count) == (compression, magic, 50)
    if magic or compression != "lz4":  # both clients verify the header checksum that magic 0 has wrong by design
        assert read_by_kafka_python(data) == [
            (7 + i, row[2] if magic else None, row[1], row[0], []) for i, row in enumerate(written)
        ]


@pytest.mark.parametrize(("compression", "levels"), [("gzip", (1, 9)), ("lz4", (1, 12)), ("zstd", (1, 19))])
def test_levels_reach_the_codec(compression: str, levels: tuple[int, int]) -> None:
    words = [b"%d some words that repeat but not quite %d" % (i * i, i) for i in range(300)]
    small, large = (len(encode(words, compression=compression, level=level)) for level in reversed(levels))
    assert small < large


@given(written=st.lists(items, max_size=30), magic=st.sampled_from([0, 1, 2]))
def test_what_was_written_is_read_back_by_our_own_reader(written: list[Any], magic: int) -> None:
    rows = [(v, k, t, h if magic == 2 else ()) for v, k, t, h in written]
    read = records.decode(encode(rows, magic=magic))
    assert [(r.value, r.key, r.timestamp, list(r.headers)) for r in read] == [
        (v, k, t if magic else -1, list(h)) for v, k, t, h in rows
    ]
    assert encode(read, magic=magic) == encode(rows, magic=magic) or not magic
    assert encode(read, magic=magic, keep_offsets=True) == encode(rows, magic=magic) or not magic


def test_every_form_of_an_item_says_the_same() -> None:
    class Like:
        value, key, timestamp, headers = b"v", b"k", None, ()

    forms: list[Any] = [(b"v", b"k"), (b"v", b"k", None), (b"v", b"k", None, None), Like()]
    forms += [(bytearray(b"v"), memoryview(b"k"))]
    assert len({encode([form]) for form in forms}) == 1
    assert encode([b"v"]) == encode([bytearray(b"v")]) == encode([(b"v", None)])
    assert read_by_aiokafka(encode([None])) == [(0, -1, None, None, [])]


def test_a_datetime_is_milliseconds() -> None:
    when = datetime(2024, 5, 17, 12, 0, 0, 123456, tzinfo=timezone(timedelta(hours=2)))
    assert read_by_aiokafka(encode([(b"v", None, when)]))[0][1] == 1715940000123
    naive = datetime(2024, 5, 17, 12, 0)
    assert read_by_aiokafka(encode([(b"v", None, naive)]))[0][1] == int(naive.timestamp() * 1000)


def test_header_keys_may_be_bytes_and_repeat() -> None:
    headers = [("a", b"1"), ("a", None), (b"b", bytearray(b"2")), ["c", b""]]
    row = read_by_aiokafka(encode([(b"v", None, 0, headers)]))[0]
    assert row[4] == [("a", b"1"), ("a", None), ("b", b"2"), ("c", b"")]


def test_more_headers_than_fit_on_the_stack() -> None:
    headers = [(f"header {i}", bytes([i])) for i in range(100)]
    assert read_by_aiokafka(encode([(b"v", None, 0, headers)]))[0][4] == headers


def test_nothing_gives_nothing() -> None:
    assert encode([]) == b""
    assert BatchBuilder().build() == b""


@pytest.mark.parametrize("magic", [0, 1, 2])
@pytest.mark.parametrize("later", [b"", b"as long as the first ones", b"x" * 5000])
def test_a_list_whose_later_values_are_not_like_its_first(magic: int, later: bytes) -> None:
    values = [*[b"as long as the first ones"] * 70, *[later] * 1000]
    data = encode(values, magic=magic)
    builder = BatchBuilder(magic=magic)
    assert builder.extend(values) == len(values)
    assert data == builder.build()
    assert records.decode(data).values() == values


def test_a_batch_refused_half_way_leaves_no_memory_behind() -> None:
    large = bytes(1 << 20)
    refused = [*[(large, None)] * 65, (b"", None, -2, ())]
    tracemalloc.start()
    try:
        with pytest.raises(errors.CodecError, match="timestamp"):
            encode(refused)
        left, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert left < len(large) < most


@pytest.mark.parametrize("magic", [0, 1, 2])
def test_a_builder_stops_at_max_bytes_but_takes_its_first_record(magic: int) -> None:
    builder = BatchBuilder(magic=magic, max_bytes=400)
    assert builder.append(b"x" * 1000)
    assert not builder.append(b"x")
    builder = BatchBuilder(magic=magic, max_bytes=400)
    count = builder.extend([b"x" * 20] * 100)
    assert 0 < count < 100
    assert len(builder) == count
    assert builder.size == len(builder.build()) <= 400
    assert len(read_by_aiokafka(builder.build())) == count


def test_a_builder_builds_again_after_more_was_appended() -> None:
    builder = BatchBuilder()
    builder.append(b"a", b"k", 1, [("h", b"")])
    once = builder.build()
    assert builder.build() == once
    builder.append(b"b")
    assert [row[3] for row in read_by_aiokafka(builder.build())] == [b"a", b"b"]
    assert [row[3] for row in read_by_aiokafka(once)] == [b"a"]


def test_offsets_are_kept_with_their_gaps() -> None:
    class Kept:
        key, timestamp, headers = None, 5, ()

        def __init__(self, offset: int) -> None:
            self.offset, self.value = offset, b"%d" % offset

    data = encode([Kept(10), Kept(13), Kept(14), Kept(40)], keep_offsets=True)
    assert [row[0] for row in read_by_aiokafka(data)] == [10, 13, 14, 40]
    assert struct.unpack_from(">q", data)[0] == 10
    assert struct.unpack_from(">i", data, 23)[0] == 30
    with pytest.raises(errors.CodecError, match="offset 13"):
        encode([Kept(14), Kept(13)], keep_offsets=True)


@pytest.mark.parametrize(
    ("kind", "wrong", "options", "names"),
    [
        (errors.CodecError, (b"v", None, 0, [("h", b"")]), {"magic": 1}, "headers"),
        (errors.CodecError, (b"v", None, -2), {}, "-2"),
        (errors.CodecError, (b"v", None, 2**63), {}, "timestamp"),
        (errors.CodecError, (b"v", None, 0, [("\ud800", b"")]), {}, "header key"),
        (errors.CodecError, b"v", {"magic": 1, "producer_id": 1}, "magic 2"),
        (errors.CodecError, b"v", {"base_offset": -1}, "base_offset"),
        (errors.UnknownVersionError, b"v", {"magic": 3}, "magic 3"),
        (errors.UnknownCodecError, b"v", {"compression": "brotli"}, "brotli.*zstd"),
        (errors.UnknownCodecError, b"v", {"compression": "zstd", "magic": 1}, "zstd.*magic 1"),
        (TypeError, "text", {}, "encode it|str"),
        (TypeError, ("text", None), {}, "value.*encode it first"),
        (TypeError, ({"a": 1}, None), {}, "value.*not dict; encode it first"),
        (TypeError, (b"v", 5), {}, "key.*int"),
        (TypeError, (b"v", None, 1.5), {}, "float"),
        (TypeError, (b"v",), {}, "tuple of 1"),
        (TypeError, (b"v", None, 0, {"h": b""}), {}, "pairs"),
        (TypeError, (b"v", None, 0, [("h", b"", b"")]), {}, "pair"),
        (TypeError, (b"v", None, 0, [(None, b"")]), {}, "header's key"),
    ],
)
def test_what_cannot_be_written_is_refused_by_name(kind: Any, wrong: Any, options: Any, names: str) -> None:
    with pytest.raises(kind, match=names):
        encode([wrong], **options)


def test_a_refused_record_leaves_the_batch_as_it_was() -> None:
    builder = BatchBuilder(magic=1)
    builder.append(b"a", None, 1)
    before = builder.build()
    with pytest.raises(errors.CodecError):
        builder.append(b"b", None, 2, [("h", b"")])
    with pytest.raises(TypeError):
        builder.append(b"b", object())  # type: ignore[arg-type]
    assert builder.build() == before


def test_headers_that_change_while_they_are_read_do_no_harm() -> None:
    headers: list[Any] = []

    class Sly:
        def __iter__(self) -> Any:
            headers.clear()
            return iter(("b", b"2"))

    headers += [("a", bytes(1000)), Sly()]
    row = read_by_aiokafka(encode([(b"v", None, 0, headers)]))[0]
    assert row[4] == [("a", bytes(1000)), ("b", b"2")]


@pytest.mark.parametrize("magic", [0, 1, 2])
def test_offsets_end_where_an_int64_does(magic: int) -> None:
    greatest = 2**63 - 1
    assert records.decode(encode([b"a"], magic=magic, base_offset=greatest))[0].offset == greatest
    with pytest.raises(errors.CodecError, match="base_offset"):
        encode([b"a", b"b"], magic=magic, base_offset=greatest)


@pytest.mark.parametrize("compression", ["none", "gzip"])
def test_a_batch_built_while_another_thread_appends_is_whole(compression: str) -> None:
    """gzip lets other threads run between the records' bytes and the header that counts them."""
    builder = records.BatchBuilder(compression=compression)
    builder.append(b"0")
    stop = threading.Event()

    def append() -> None:
        number = 1
        while not stop.is_set() and number < 200_000:
            builder.append(b"%d" % number)
            number += 1

    thread = threading.Thread(target=append)
    thread.start()
    try:
        for _ in range(20 if THOROUGH else 6):
            values = records.decode(builder.build()).values()
            assert values == [b"%d" % number for number in range(len(values))]
    finally:
        stop.set()
        thread.join()
    assert len(records.decode(builder.build())) == len(builder)
