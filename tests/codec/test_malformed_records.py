"""Bytes that are wrong: each kind of damage with a fixed example, the error it gives, and where that error points.

The examples carry right checksums, so that what is behind the checksum is what is judged.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

import pytest

from kwire import errors, records
from kwire.errors import (
    CodecError,
    CorruptError,
    InvalidLengthError,
    LimitError,
    TruncatedError,
    UnknownCodecError,
    UnknownVersionError,
)
from tests.oracle.damage import with_right_checksum
from tests.reference.compression import compress
from tests.reference.records import BatchFields, PlainRecord, batch_of_content, encode_batch, message, plain_set, varint

GOOD = encode_batch([PlainRecord(0, 1, b"k", b"v", ((b"h", b"x"),))])
THREE = [PlainRecord(i, 1, None, b"v") for i in range(3)]


def changed(place: int, value: bytes, wire: bytes = GOOD) -> bytes:
    return with_right_checksum(wire[:place] + value + wire[place + len(value) :])


def records_of(*bodies: bytes, count: int | None = None, codec: str = "none") -> bytes:
    """A batch of hand-made records (without their length field)."""
    content = b"".join(varint(len(body)) + body for body in bodies)
    return batch_of_content(
        compress(codec, content), len(bodies) if count is None else count, 1, BatchFields(codec=codec)
    )


def wrapper(inner: bytes | None, *, magic: int = 1, offset: int = 2, codec: int = 1) -> bytes:
    value = None if inner is None else compress("gzip", inner)
    return message(offset, None, value, magic=magic, attributes=codec, timestamp=1)


EMPTY_BODY = b"\0\0\0" + varint(-1) + varint(-1) + varint(0)
MOST = struct.pack(">q", (1 << 63) - 1)


@dataclass(frozen=True)
class Case:
    wire: bytes
    kind: type[CodecError]
    field: str
    offset: int


CASES = {
    # magic and codec
    "magic 3": Case(GOOD[:16] + b"\x03" + GOOD[17:], UnknownVersionError, "batches[0].magic", 16),
    "magic 255": Case(GOOD[:16] + b"\xff" + GOOD[17:], UnknownVersionError, "batches[0].magic", 16),
    "codec 5": Case(changed(21, b"\0\5"), UnknownCodecError, "batches[0].attributes", 21),
    "codec 7 in magic 1": Case(message(0, None, b"v", magic=1, attributes=7),
                               UnknownCodecError, "batches[0].attributes", 17),
    "zstd in magic 1": Case(message(0, None, b"v", magic=1, attributes=4), UnknownCodecError,
                            "batches[0].attributes", 17),
    # the length of a batch or message
    "batch length 48": Case(GOOD[:8] + struct.pack(">i", 48) + GOOD[12:], InvalidLengthError, "batches[0].length", 8),
    "batch length -1": Case(GOOD[:8] + b"\xff" * 4 + GOOD[12:], InvalidLengthError, "batches[0].length", 8),
    "batch length 0": Case(bytes(61), InvalidLengthError, "batches[0].length", 8),
    "message size 13": Case(message(0, None, None, magic=0)[:8] + struct.pack(">i", 13) + bytes(20),
                            InvalidLengthError, "batches[0].length", 8),
    "message size 21 in magic 1": Case(
        message(0, None, b"", magic=1)[:8] + struct.pack(">i", 21) + message(0, None, b"", magic=1)[12:],
        InvalidLengthError, "batches[0].length", 8),
    # checksums
    "crc of a batch": Case(GOOD[:-1] + b"\0", CorruptError, "batches[0].crc", 17),
    "crc of a message": Case(message(0, None, b"v", magic=0)[:-1] + b"w", CorruptError, "batches[0].crc", 12),
    "crc of the second batch": Case(GOOD + GOOD[:-2] + b"\1\1", CorruptError, "batches[1].crc", len(GOOD) + 17),
    # counts
    "count -1": Case(changed(57, b"\xff" * 4), InvalidLengthError, "batches[0].count", 57),
    "count above the bytes": Case(changed(57, b"\x7f\xff\xff\xff"), InvalidLengthError, "batches[0].count", 57),
    "count of one with no bytes": Case(records_of(count=1), InvalidLengthError, "batches[0].count", 57),
    "count above the decompressed bytes": Case(
        records_of(EMPTY_BODY, count=1 << 30, codec="gzip"), InvalidLengthError, "batches[0].count", 57),
    "bytes left over": Case(records_of(EMPTY_BODY, EMPTY_BODY, count=1), InvalidLengthError, "batches[0].records", 68),
    # one record
    "record length -1": Case(batch_of_content(varint(-1) + EMPTY_BODY, 1, 1, BatchFields()),
                             InvalidLengthError, "batches[0].records[0].length", 61),
    "record length above the rest": Case(batch_of_content(varint(7) + EMPTY_BODY, 1, 1, BatchFields()),
                                         InvalidLengthError, "batches[0].records[0].length", 61),
    "record length below its fields": Case(batch_of_content(varint(5) + EMPTY_BODY, 1, 1, BatchFields()),
                                           InvalidLengthError, "batches[0].records[0].length", 61),
    "record length above its fields": Case(records_of(EMPTY_BODY + b"\0"),
                                           InvalidLengthError, "batches[0].records[0].length", 61),
    "key length -2": Case(records_of(b"\0\0\0" + varint(-2) + varint(-1) + varint(0)),
                          InvalidLengthError, "batches[0].records[0].key", 65),
    "key length above the rest": Case(records_of(b"\0\0\0" + varint(1000) + varint(-1) + varint(0)),
                                      TruncatedError, "batches[0].records[0].key", 65),
    "value length -2": Case(records_of(b"\0\0\0" + varint(-1) + varint(-2) + varint(0)),
                            InvalidLengthError, "batches[0].records[0].value", 66),
    "value length above the rest": Case(records_of(b"\0\0\0" + varint(-1) + varint(1 << 30) + varint(0)),
                                        TruncatedError, "batches[0].records[0].value", 66),
    "header count -1": Case(records_of(b"\0\0\0" + varint(-1) + varint(-1) + varint(-1)),
                            InvalidLengthError, "batches[0].records[0].headers", 67),
    "header count -2": Case(records_of(b"\0\0\0" + varint(-1) + varint(-1) + varint(-2)),
                            InvalidLengthError, "batches[0].records[0].headers", 67),
    "header count above the rest": Case(records_of(b"\0\0\0" + varint(-1) + varint(-1) + varint(1 << 30)),
                                        InvalidLengthError, "batches[0].records[0].headers", 67),
    "header key null": Case(records_of(b"\0\0\0" + varint(-1) + varint(-1) + varint(1) + varint(-1) + varint(-1)),
                            InvalidLengthError, "batches[0].records[0].headers", 68),
    "header value length -2": Case(records_of(b"\0\0\0" + varint(-1) + varint(-1) + varint(1) + varint(0) + varint(-2)),
                                   InvalidLengthError, "batches[0].records[0].headers", 69),
    "header value above the rest": Case(
        records_of(b"\0\0\0" + varint(-1) + varint(-1) + varint(1) + varint(0) + varint(99)),
        TruncatedError, "batches[0].records[0].headers", 69),
    "varint of six bytes": Case(records_of(b"\0\0\0" + b"\x80" * 5 + b"\0" + varint(-1) + varint(0)),
                                InvalidLengthError, "batches[0].records[0].key", 65),
    "varint above 32 bits": Case(records_of(b"\0\0\0" + b"\xff" * 4 + b"\x1f" + varint(-1) + varint(0)),
                                 InvalidLengthError, "batches[0].records[0].key", 65),
    "varlong of eleven bytes": Case(records_of(b"\0" + b"\x80" * 10 + b"\0" + b"\0" + varint(-1) + varint(-1) + b"\0"),
                                    InvalidLengthError, "batches[0].records[0].timestamp_delta", 63),
    "the second record": Case(records_of(EMPTY_BODY, b"\0\0\2" + varint(-3) + varint(-1) + varint(0)),
                              InvalidLengthError, "batches[0].records[1].key", 72),
    "a record inside compressed ones": Case(records_of(EMPTY_BODY + b"\0", codec="zstd"),
                                            InvalidLengthError, "batches[0].records[0].length", 0),
    # offsets
    "offset delta -1": Case(records_of(b"\0\0" + varint(-1) + varint(-1) + varint(-1) + varint(0)),
                            CorruptError, "batches[0].records[0].offset_delta", 62),
    "offset delta twice": Case(records_of(EMPTY_BODY, EMPTY_BODY), CorruptError,
                               "batches[0].records[1].offset_delta", 69),
    "offset delta above the last": Case(records_of(b"\0\0\2" + varint(-1) + varint(-1) + varint(0)),
                                        CorruptError, "batches[0].records[0].offset_delta", 62),
    "last offset above int64": Case(changed(23, b"\0\0\0\1", changed(0, MOST)), CorruptError,
                                    "batches[0].last_offset_delta", 23),
    "last offset delta -1": Case(changed(23, b"\xff" * 4), CorruptError, "batches[0].last_offset_delta", 23),
    # messages
    "message key -2": Case(changed(18, struct.pack(">i", -2), message(0, None, b"v", magic=0)),
                           InvalidLengthError, "batches[0].key", 18),
    "message key above the rest": Case(changed(18, struct.pack(">i", 99), message(0, None, b"v", magic=0)),
                                       TruncatedError, "batches[0].key", 18),
    "message value -2": Case(changed(22, struct.pack(">i", -2), message(0, None, b"v", magic=0)),
                             InvalidLengthError, "batches[0].value", 22),
    "message value above the rest": Case(changed(22, struct.pack(">i", 2), message(0, None, b"v", magic=0)),
                                         TruncatedError, "batches[0].value", 22),
    "message bytes left over": Case(changed(22, struct.pack(">i", 0), message(0, None, b"v", magic=0)),
                                    InvalidLengthError, "batches[0].value", 26),
    # wrappers
    "wrapper in a wrapper": Case(wrapper(wrapper(plain_set(THREE, 1))), CorruptError,
                                 "batches[0].records[0].attributes", 0),
    "wrapper without a value": Case(wrapper(None), CorruptError, "batches[0].value", 17),
    "wrapper of nothing": Case(wrapper(b""), CorruptError, "batches[0].value", 0),
    "wrapper offset below the last inside": Case(wrapper(plain_set(THREE, 1), offset=1), CorruptError,
                                                 "batches[0].offset", 0),
    "wrapper cut inside": Case(wrapper(plain_set(THREE, 1)[:-1]), TruncatedError, "batches[0].records[2].size", 0),
    "wrapper with a tail": Case(wrapper(plain_set(THREE, 1) + b"\0"), TruncatedError, "batches[0].records[3].size", 0),
    "wrapper of magic 2": Case(wrapper(GOOD), CorruptError, "batches[0].records[0].magic", 0),
    "inner size 13": Case(wrapper(plain_set(THREE, 0)[:8] + struct.pack(">i", 13) + plain_set(THREE, 0)[12:], magic=0),
                          InvalidLengthError, "batches[0].records[0].size", 0),
    "inner crc": Case(wrapper(plain_set(THREE, 1)[:-1] + b"w"), CorruptError, "batches[0].records[2].crc", 0),
    "no gzip inside": Case(message(2, None, b"no gzip stream at all", magic=1, attributes=1), CorruptError,
                           "batches[0].records", 0),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_damage_is_named_and_placed(case: Case) -> None:
    with pytest.raises(case.kind) as caught:
        records.decode(case.wire)
    assert type(caught.value) is case.kind
    assert (caught.value.field, caught.value.offset) == (case.field, case.offset)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_what_stands_before_damage_can_be_passed(case: Case) -> None:
    with pytest.raises(case.kind) as caught:
        records.decode(GOOD + case.wire)
    assert caught.value.offset == case.offset + len(GOOD)


def test_checksums_are_looked_at_only_when_asked() -> None:
    wire = GOOD[:17] + bytes(4) + GOOD[21:]
    with pytest.raises(CorruptError, match="0x00000000 is stored"):
        records.decode(wire)
    assert records.decode(wire, check_crc=False).values() == [b"v"]
    old = message(0, None, b"v", magic=1)
    old = old[:12] + bytes(4) + old[16:]
    with pytest.raises(CorruptError):
        records.decode(old)
    assert records.decode(old, check_crc=False).values() == [b"v"]


def test_varints_need_not_be_minimal() -> None:
    body = b"\0\0\0" + b"\x82\x80\x00" + b"k" + b"\x81\x80\x80\x80\x00" + b"\x80\x00"
    assert records.decode(records_of(body)).keys() == [b"k"]


def test_header_keys_that_are_no_text_are_shown_with_replacements() -> None:
    read = records.decode(encode_batch([PlainRecord(0, 1, None, b"v", ((b"\xff\xfea\xe2\x82", b"x"),))]))
    assert read[0].headers == (("��a�", b"x"),)
    assert read[0].raw_headers == ((b"\xff\xfea\xe2\x82", b"x"),)
    assert read.to_arrow()["headers"].to_pylist() == [[{"key": "��a�", "value": b"x"}]]


def test_a_control_record_may_be_of_any_kind() -> None:
    odd = [PlainRecord(0, 1, b"", None), PlainRecord(1, 1, b"\0\0\0\x63", b""), PlainRecord(2, 1, None, None)]
    read = records.decode(encode_batch(odd, BatchFields(attributes=0x30)))
    assert [r.key for r in read] == [b"", b"\0\0\0\x63", None]


def test_offsets_of_old_messages_are_taken_as_they_are() -> None:
    """Producers of magic 0 and 1 may write any offset into a plain set; the broker sets them."""
    wire = b"".join(message(offset, None, b"v", magic=0) for offset in (5, 5, -1, 0))
    assert [r.offset for r in records.decode(wire)] == [5, 5, -1, 0]


def test_errors_are_kwires() -> None:
    assert all(issubclass(case.kind, errors.KafkaError) for case in CASES.values())
    assert issubclass(LimitError, CodecError)
