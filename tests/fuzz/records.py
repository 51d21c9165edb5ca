"""Records: sets of all magics and of Kafka 0.7, compressed streams, what the builders write, ranges and columns.

    record-sets     bytes as they come; the first byte says whether lengths and checksums are made right before
                    decoding, without which hardly an input would get past them
    record-batches  a right header, drawn from the input, around records that are the rest of it; compressed on request
    message-sets    the same for magic 0 and 1 and for 0.7: messages nested in messages
    streams         compressed bytes, each codec and message format
    written-records what `encode`, BatchBuilder and encode_arrow make of drawn records comes back as it was
    written-values  the same for what `encode` makes of values for Kafka 0.7

The plain-Python reference of tests/reference is asked whenever kwire accepts small inputs: it must read the same.
"""

from __future__ import annotations

import pickle
import struct
import zlib
from collections.abc import Iterator
from functools import cache
from typing import Any

import pyarrow

from kwire import compression, errors, records
from kwire._codec import (
    ColumnPlan,
    RecordColumns,
    crc32c,
    record_paths,
    record_plan,
    scan_records,
    use_hardware_crc,
    xxh32,
)
from tests.fuzz.drawing import Drawing
from tests.fuzz.targets import target
from tests.reference import messages_0_7
from tests.reference import records as reference
from tests.reference.compression import compress
from tests.reference.records import BatchFields, PlainRecord

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
BUDGET = 1 << 18
MOST_SUMMED = 8192
MEMORY = (8 << 20, 8 << 10)
WORDS = (
    *(struct.pack(">i", n) for n in (-1, -2, 48, 49, 2**31 - 1, -(2**31))),
    *(struct.pack(">q", n) for n in (-1, 2**63 - 1, -(2**63))),
    b"\xff\xff\xff\xff\x0f", b"\x80" * 10, b"\x80\x80\x00", b"\x82SNAPPY\0", b"\x04\x22\x4d\x18", b"\x28\xb5\x2f\xfd",
    b"\x1f\x8b\x08",
)  # fmt: skip
DRAWN = [
    PlainRecord(100 + i, 1000 + i, b"k%d" % i if i % 3 else None, b"value " * (i % 3), ((b"h\xff", b"x"),) * (i % 2))
    for i in range(4)
]
OLD = [PlainRecord(r.offset, r.timestamp, r.key, r.value) for r in DRAWN]


def right(wire: bytes) -> bytes:
    """`wire` with the checksum of each batch or message that its lengths cut out of it made right; the last one is
    given the length that is left.
    """
    fixed, at = bytearray(wire), 0
    while at + 27 <= len(fixed):
        size = struct.unpack_from(">i", fixed, at + 8)[0]
        if not 14 <= size <= len(fixed) - at - 12:
            size = len(fixed) - at - 12
            struct.pack_into(">i", fixed, at + 8, size)
        end = at + 12 + size
        if fixed[at + 16] < 2:
            struct.pack_into(">I", fixed, at + 12, zlib.crc32(fixed[at + 16 : end]))
        elif size >= 9:
            struct.pack_into(">I", fixed, at + 17, crc32c(fixed[at + 21 : end]))
        at = end
    return bytes(fixed)


def wants_a_large_window(wire: bytes) -> bool:
    """Whether a zstd frame asks for more than 256 KiB to look back to: 128 MiB are allowed, whatever the budget."""
    at = wire.find(b"\x28\xb5\x2f\xfd")
    while at >= 0:
        if not wire[at + 4 : at + 5] or (not wire[at + 4] & 0x20 and wire[at + 5 : at + 6] > b"\x40"):
            return True
        at = wire.find(b"\x28\xb5\x2f\xfd", at + 1)
    return False


@cache
def _columns() -> list[ColumnPlan]:
    return [
        record_plan(with_place=True),
        record_plan(binary_view=True, timestamp_unit="ns"),
        record_plan(["value", "offset"], timestamp_unit="us"),
        record_plan(["headers", "timestamp", "key"]),
        ColumnPlan(
            [
                ("a", "offset", "int64"),
                ("b", "timestamp", "timestamp_us"),
                ("c", "timestamp_type", "int32"),
                ("d", "headers", "list_or_null"),
                ("e", "file", "string"),
                ("f", "position", "int64"),
                ("g", "leader_epoch", "int32"),
                ("h", "producer_id", "int64"),
                ("i", "base_sequence", "int32"),
            ]
        ),
    ]


def use(read: records.Records) -> None:
    """Reads them in every way there is."""
    assert len(read.values()) == len(read.keys()) == len(read)
    for number, record in enumerate(read):
        assert record.copy() == record
        assert len(record.headers) == len(record.raw_headers)
        if number == 20:
            assert pickle.loads(pickle.dumps(record)) == record
            break
    part = read[1:-1]
    assert part.measure(0, len(part), 100)[0] <= len(part)
    for each in (read, part):
        columns = _columns()[(each.consumed + len(each)) % len(_columns())]
        made = RecordColumns(columns, [(each, "t", 0), (part, None, 1, "f", 7)], 1000)
        try:
            pyarrow.record_batch(made).validate(full=True)
            pyarrow.RecordBatchReader.from_stream(made).read_all().validate(full=True)
        except errors.LimitError:
            pass  # more than 1000 bytes for one array, or a time beyond the unit
    for batch in read.batches:
        assert batch.position + batch.size <= read.consumed
    assert read.index_bytes >= 0 <= read.decompressed_bytes
    read.last_leader_epoch, read.next_offset, read.needed  # noqa: B018
    str(read), repr(read[:1]), repr(read.batches[:1])


def _as_plain(read: records.Records) -> list[PlainRecord]:
    return [PlainRecord(r.offset, r.timestamp, r.key, r.value, r.raw_headers, r.timestamp_type) for r in read]


def assert_placed(error: errors.CodecError, size: int) -> None:
    assert error.field is not None, f"no field in {error!r}"
    assert error.offset is not None, f"no offset in {error!r}"
    assert 0 <= error.offset <= size, f"beyond the input: {error!r}"


def _decode(wire: bytes, *, check_crc: bool) -> records.Records | None:
    try:
        return records.decode(wire, check_crc=check_crc, max_decompressed_bytes=BUDGET)
    except errors.CodecError as error:
        assert_placed(error, len(wire))
        return None


def _check_decoding(wire: bytes, options: int) -> None:
    read = _decode(wire, check_crc=not options & 2)
    if read is not None:
        use(read)
    _scan(wire, options, read)


def _scan(wire: bytes, options: int, whole: records.Records | None) -> None:
    aborted = [(5, 100), (-1, 0), (options, options)] if options & 8 else []
    ranges = [(0, 3), (100, 102), (200 + options, 1 << 62)] if options & 16 else None
    found, fault = scan_records(
        wire,
        check_crc=not options & 2,
        max_decompressed_bytes=BUDGET,
        max_total_bytes=BUDGET // 2 if options & 32 else None,
        min_offset=options if options & 64 else -(2**63),
        end_offset=options * 3 if options & 128 else None,
        skip_control=bool(options & 8),
        ascending=bool(options & 4),
        aborted=aborted,
        ranges=ranges,
    )
    if fault is not None:
        assert isinstance(fault.error, errors.CodecError)
        assert 0 <= fault.position <= len(wire)
    elif not options & ~3:
        assert whole is not None
        assert len(found) == len(whole)
    len(found.values())


def _record_seeds() -> Iterator[bytes]:
    for options in (0, 1, 3, 9, 17, 33, 65, 129, 221, 4):
        for codec in CODECS:
            yield bytes([options]) + reference.encode_batch(DRAWN, BatchFields(codec=codec, attributes=options & 0x38))
        for magic in (0, 1):
            for codec in CODECS[:4]:
                yield bytes([options]) + reference.encode_message_set(OLD, magic, codec)


@target(seeds=_record_seeds, words=WORDS, budget=MEMORY, share=2)
def record_sets(data: bytes) -> None:
    """record sets of any magic, with or without right checksums"""
    drawing = Drawing(data)
    options = drawing.byte()
    wire = drawing.rest()
    if not wants_a_large_window(wire):
        _check_decoding(right(wire) if options & 1 else wire, options)


def _batch_seeds() -> Iterator[bytes]:
    content = b"".join(reference.record_bytes(r, 100, 1000) for r in DRAWN)
    for codec in range(5):
        yield bytes([0, codec, 0, codec, 0, 4]) + bytes(8) + content
    yield bytes([0, 0, 0, 0x20, 0, 1]) + bytes(8) + content
    for record in DRAWN:
        yield bytes(5) + b"\1" + bytes(8) + reference.record_bytes(record, 100, 1000)


@target(seeds=_batch_seeds, words=WORDS, budget=MEMORY, share=2)
def record_batches(data: bytes) -> None:
    """the records of a batch whose header is right"""
    drawing = Drawing(data)
    options, codec, attributes = drawing.byte(), drawing.byte() % 5, drawing.number(2, signed=True)
    count = drawing.number(2, signed=True)
    timestamp, epoch = drawing.number(2, signed=True), drawing.number(2)
    base_offset = drawing.number(1) << drawing.byte() % 56
    fields = BatchFields(
        base_offset=base_offset, attributes=attributes & ~7, codec=CODECS[codec], leader_epoch=epoch,
        producer_id=drawing.byte(), last_offset=base_offset + drawing.byte(),
    )  # fmt: skip
    content = drawing.rest()
    wire = reference.batch_of_content(compress(CODECS[codec], content), count, timestamp, fields)
    _check_decoding(wire, options)
    read = _decode(wire, check_crc=True)
    if read is not None and count > 0 and len(data) < 200:
        assert _as_plain(read) == list(reference.decode_batch(wire))
        assert read.consumed == len(wire)
    quick, careful = record_paths(content)
    assert quick is None or quick == careful


def _message_seeds() -> Iterator[bytes]:
    for magic in (0, 1):
        for codec in range(4):
            yield bytes([0, magic, codec]) + reference.encode_message_set(OLD, magic)
            yield bytes([0, magic, codec]) + reference.encode_message_set(OLD, magic, CODECS[codec])
    for magic in (0, 1):
        yield bytes([0, 2 + magic, 0]) + messages_0_7.message(b"payload", magic) * 2
        yield bytes([0, 2 + magic, 1]) + messages_0_7.message(b"payload", magic) * 2


@target(seeds=_message_seeds, words=WORDS, budget=MEMORY, share=1.5)
def message_sets(data: bytes) -> None:
    """messages of magic 0 and 1 and of Kafka 0.7, wrapped in compressed messages"""
    drawing = Drawing(data)
    options, kind, codec = drawing.byte(), drawing.byte() % 4, drawing.byte() % 4
    content = drawing.rest()
    if kind < 2:
        inner = right(content) if not options & 1 else content
        if codec:
            packed = compress(CODECS[codec], inner, kind)
            stamped = 8 if kind and options & 4 else 0
            inner = reference.message(9, None, packed, magic=kind, attributes=codec | stamped, timestamp=7)
        _check_decoding(inner, options & ~1)
        return
    inner = _right_0_7(content) if not options & 1 else content
    if codec:
        name = "gzip" if codec & 1 else "snappy"
        inner = messages_0_7.message(compress(name, inner), 1, 1 if codec & 1 else 2) + inner
    try:
        read = records.decode(inner, generation="0.7", max_decompressed_bytes=BUDGET, base_offset=options << 8)
    except errors.CodecError as error:
        assert_placed(error, len(inner))
        return
    use(read)


def _right_0_7(wire: bytes) -> bytes:
    fixed, at = bytearray(wire), 0
    while at + 10 <= len(fixed):
        size = struct.unpack_from(">i", fixed, at)[0]
        if not 6 <= size <= len(fixed) - at - 4:
            size = len(fixed) - at - 4
            struct.pack_into(">i", fixed, at, size)
        magic = fixed[at + 4]
        if magic < 2:
            crc = zlib.crc32(fixed[at + 9 + magic : at + 4 + size])
            struct.pack_into(">I", fixed, at + 5 + magic, crc)
        at += 4 + size
    return bytes(fixed)


def _stream_seeds() -> Iterator[bytes]:
    for content in (b"", b"abc" * 20, bytes(range(256))):
        for codec in range(1, 5):
            for magic in (0, 1, 2):
                if codec < 4 or magic == 2:
                    yield bytes([codec, magic]) + compress(CODECS[codec], content, magic)
                    yield bytes([codec, magic]) + compression.compress(CODECS[codec], content, magic=magic)


@target(seeds=_stream_seeds, words=WORDS, budget=(16 << 20, 8 << 10), max_len=512)
def streams(data: bytes) -> None:
    """compressed bytes of each codec, as each message format has them"""
    drawing = Drawing(data)
    codec, magic = CODECS[drawing.below(5)], drawing.below(3)
    wire = drawing.rest()
    if wants_a_large_window(wire):
        return
    try:
        content = compression.decompress(codec, wire, BUDGET, magic=magic)
    except errors.CodecError:
        return
    assert len(content) <= BUDGET
    again = compression.compress(codec, content, magic=magic)
    assert bytes(compression.decompress(codec, again, BUDGET, magic=magic)) == bytes(content)


def _checksum_seeds() -> Iterator[bytes]:
    for size in (0, 1, 3, 7, 8, 31, 200):
        yield bytes([size]) * size
    for cut in (0, 1, 100, 255):
        yield bytes([cut, 63]) + bytes(range(254))


@target(seeds=_checksum_seeds, max_len=512, share=0.3)
def checksums(data: bytes) -> None:
    """the checksums by the processor's instructions and by tables, of any span, continued at any place"""
    cut = data[0] * 33 if data else 0
    whole = (data * (1 + (data[1] & 63 if len(data) > 1 else 0)))[:MOST_SUMMED]
    results = []
    was = use_hardware_crc(True)
    for hardware, wide in ((True, True), (True, False), (False, False)):
        use_hardware_crc(hardware, wide)
        results.append(crc32c(whole[cut:], crc32c(whole[:cut])))
        results.append(crc32c(whole))
    use_hardware_crc(was)
    assert len(set(results)) == 1
    assert 0 <= xxh32(data) < 1 << 32


def _item(drawing: Drawing, with_headers: bool) -> Any:
    kind = drawing.below(5)
    if kind == 0:
        return drawing.blob()
    value, key = drawing.blob_or_none(), drawing.blob_or_none()
    if kind == 1:
        return value, key
    timestamp = drawing.choice((None, 0, 1, -1, 2**62, 1_700_000_000_000))
    pairs = [(drawing.text(), drawing.blob_or_none()) for _ in range(drawing.below(3) if with_headers else 0)]
    return (value, key, timestamp, pairs) if kind < 4 else records.Record(value, key, timestamp, pairs)


@target(seeds=lambda: [bytes([2, codec, 3, 4, 1, 97, 1, 98, 3, 1, 1, 104, 1, 120, 0, 3]) for codec in range(5)],
        budget=MEMORY)  # fmt: skip
def written_records(data: bytes) -> None:
    """drawn records, written in every way and read back"""
    drawing = Drawing(data)
    magic, codec = drawing.below(3), drawing.choice(CODECS)
    level = drawing.choice((None, None, 1, 9, -5, 100))
    items = []
    while drawing.left and len(items) < 200:
        items.append(_item(drawing, magic == 2 and drawing.byte() < 250))
    options: dict[str, Any] = {"magic": magic, "compression": codec, "level": level, "base_offset": len(data) * 7}
    try:
        wire = records.encode(items, **options)
        builder = records.BatchBuilder(max_bytes=300 if len(data) & 1 else None, **options)
        taken = builder.extend(items)
        assert builder.build() == records.encode(items[:taken], **options)
    except errors.KafkaError:
        return
    read = records.decode(wire, max_decompressed_bytes=1 << 22)
    assert len(read) == len(items)
    if items and len(data) < 400 and codec != "lz4":  # whose optional fields the reference does not read
        assert _as_plain(read) == reference.decode(wire)
    use(read)
    again = records.encode(read, keep_offsets=True, **(options | {"base_offset": None if items else 0}))
    assert read.values() == records.decode(again, max_decompressed_bytes=1 << 22).values()
    if magic == 2:
        columns = RecordColumns(record_plan(), [(read, None, 0)])
        by_columns = records.encode_arrow(columns, **options)
        if items:
            assert records.decode(by_columns, max_decompressed_bytes=1 << 22).keys() == read.keys()


@target(
    seeds=lambda: [bytes([magic, codec, 1, 97, 255, 2, 98, 99]) for magic in (0, 1) for codec in range(4)], share=0.3
)
def written_values(data: bytes) -> None:
    """drawn values written as messages of Kafka 0.7, and read back"""
    drawing = Drawing(data)
    magic, codec = drawing.below(3), drawing.choice(CODECS)
    values: list[Any] = []
    while drawing.left:
        values.append(_item(drawing, False) if drawing.byte() > 230 else drawing.blob())
    try:
        wire = records.encode(values, generation="0.7", magic=magic, compression=codec)
    except errors.CodecError:
        return
    read = records.decode(wire, generation="0.7", max_decompressed_bytes=1 << 22)
    for written, given in zip(read.values(), values, strict=True):
        assert not isinstance(given, bytes) or written == given
