"""Damaged inputs, a hundred thousand in `make test-all`: only kwire's errors come out, nothing is allocated on a lie.

Bytes are changed, cut, doubled and filled with dictionary words, with the checksum left alone, switched off, or made
right again; whatever still decodes is read in every way there is.
"""

from __future__ import annotations

import random
import struct

import pytest

from kwire import _codec, compression, errors, records
from tests.oracle.damage import with_right_checksum
from tests.reference import records as reference
from tests.reference.compression import compress
from tests.reference.records import BatchFields, PlainRecord
from tests.thorough import THOROUGH

DRAWN = [
    PlainRecord(100 + i, 1000 + i, b"key%d" % i if i % 3 else None, b"value %d " % i * (i % 7), ((b"h%d" % i, b"x"),))
    for i in range(12)
]
OLD = [PlainRecord(r.offset, r.timestamp, r.key, r.value) for r in DRAWN]
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
SEEDS = [reference.encode_batch(DRAWN, BatchFields(codec=codec)) for codec in CODECS]
SEEDS += [reference.encode_message_set(OLD, magic, codec) for magic in (0, 1) for codec in CODECS[:4]]
WORDS = [struct.pack(">i", n) for n in (-1, -2, 0, 1, 48, 49, 2**31 - 1, -(2**31))]
WORDS += [struct.pack(">q", n) for n in (-1, 2**63 - 1, -(2**63))]
WORDS += [b"\xff\xff\xff\xff\x0f", b"\x80" * 10, b"\x00" * 8]
BUDGET = 1 << 20
ROUNDS = 60_000 if THOROUGH else 12_000


def damaged(rng: random.Random, wire: bytes) -> bytes:
    changed = bytearray(wire)
    for _ in range(rng.randrange(1, 4)):
        kind = rng.randrange(5)
        place = rng.randrange(len(changed))
        if kind == 0:
            changed[place] ^= 1 << rng.randrange(8)
        elif kind == 1:
            changed[place] = rng.randrange(256)
        elif kind == 2:
            word = rng.choice(WORDS)
            changed[place : place + len(word)] = word
        elif kind == 3:
            del changed[place : place + rng.randrange(1, 9)]
        else:
            changed[place:place] = changed[place : place + rng.randrange(1, 20)]
        if len(changed) < 18:
            return bytes(changed)
    return bytes(changed)


def with_right_length(wire: bytes) -> bytes:
    return wire[:8] + struct.pack(">i", len(wire) - 12) + wire[12:]


def decoded_or_none(wire: bytes, *, check_crc: bool) -> records.Records | None:
    """None when it was refused, with an error that says field and place."""
    try:
        return records.decode(wire, check_crc=check_crc, max_decompressed_bytes=BUDGET)
    except errors.CodecError as error:
        placed = error.field is not None and error.offset is not None and 0 <= error.offset <= len(wire)
        if not placed:
            raise AssertionError(f"no place in {error!r}") from error
        return None


def use(read: records.Records) -> None:
    for record in read:
        assert record.copy() == record
        assert len(record.headers) == len(record.raw_headers)
    assert len(read.values()) == len(read.keys()) == len(read) == sum(1 for _ in read)
    assert read.consumed <= read.batches[-1].position + read.batches[-1].size if read.batches else read.consumed == 0


def test_damaged_records_give_errors_of_kwire_or_records() -> None:
    rng = random.Random(20_240_817)
    blocks = _codec.pool_statistics()["live_blocks"]
    decoded = refused = 0
    for round_ in range(ROUNDS):
        wire = damaged(rng, rng.choice(SEEDS))
        if round_ % 4 and len(wire) > 21:
            wire = with_right_checksum(with_right_length(wire))
        read = decoded_or_none(wire, check_crc=bool(round_ % 3))
        if read is None:
            refused += 1
            continue
        use(read)
        if round_ % 10 == 0:
            read.to_arrow().validate(full=True)
            read.to_arrow(binary_view=True).validate(full=True)
        decoded += 1
    del read
    assert decoded > ROUNDS // 50
    assert refused > ROUNDS // 2
    assert _codec.pool_statistics()["live_blocks"] <= blocks


def test_damage_before_compression_gives_errors_of_kwire_or_records() -> None:
    """The records are damaged, then compressed: the decompressor is content, the parser must not be."""
    rng = random.Random(9)
    content = b"".join(reference.record_bytes(r, 100, 1000) for r in DRAWN)
    inner = reference.plain_set(OLD, 1)
    for round_ in range(4000 if THOROUGH else 1000):
        if round_ % 2:
            bad = compress("gzip", damaged(rng, content))
            fields = BatchFields(codec="gzip", base_offset=100, last_offset=111)
            wire = reference.batch_of_content(bad, 12, 1000, fields)
        else:
            bad = compress("lz4", damaged(rng, inner))
            wire = reference.message(111, None, bad, magic=1, attributes=3, timestamp=1)
        read = decoded_or_none(wire, check_crc=False)
        if read is not None:
            use(read)


def test_short_records_give_errors_of_kwire_or_records() -> None:
    """Records of a few bytes, some of them cut, so that each field is the last one of its batch now and then."""
    rng = random.Random(4)
    decoded = refused = 0
    for _ in range(ROUNDS):
        count = rng.randrange(1, 3)
        content = b"".join(short_record(rng, number) for number in range(count))
        wire = reference.batch_of_content(content, count, 0, BatchFields(last_offset=1))
        read = decoded_or_none(wire, check_crc=False)
        if read is None:
            refused += 1
            continue
        use(read)
        decoded += 1
    assert decoded > ROUNDS // 50
    assert refused > ROUNDS // 2


def short_record(rng: random.Random, number: int) -> bytes:
    body = b"\0\0" + reference.varint(number) + sized(rng) + sized(rng) + short_varint(rng, rng.choice((0, 0, 0, 1)))
    body = body[: len(body) - rng.choice((0, 0, 0, 0, 1, 2))]
    return short_varint(rng, len(body) + rng.choice((0, 0, 0, 0, -1, 1))) + body


def sized(rng: random.Random) -> bytes:
    """A size, often of null, and so many bytes, or one less, or one more."""
    size = rng.choice((-1, -1, 0, 1, 2, 5, 8))
    return short_varint(rng, size) + bytes(max(size + rng.choice((0, 0, 0, 0, -1, 1)), 0))


def short_varint(rng: random.Random, value: int) -> bytes:
    """In as few bytes as it takes, or in three."""
    plain = reference.varint(value)
    return plain if rng.random() < 0.7 else bytes([plain[0] | 0x80, 0x80, 0])


@pytest.mark.parametrize("codec", CODECS[1:])
def test_damaged_streams_give_errors_of_kwire_or_at_most_the_budget(codec: str) -> None:
    rng = random.Random(codec)
    plain = b"".join(reference.record_bytes(r, 100, 1000) for r in DRAWN) * 20
    seeds = [compress(codec, plain), compression.compress(codec, plain), compression.compress(codec, plain, magic=2)]
    for _ in range(8000 if THOROUGH else 2000):
        wire = damaged(rng, rng.choice(seeds))
        try:
            content = compression.decompress(codec, wire, BUDGET, magic=2 if codec == "zstd" else rng.randrange(3))
        except errors.CodecError:
            continue
        assert len(content) <= BUDGET


def test_random_bytes_give_errors_of_kwire_or_nothing() -> None:
    rng = random.Random(3)
    for size in range(600):
        wire = bytearray(rng.randbytes(size))
        if size > 16:
            wire[16] = rng.randrange(4)
        try:
            read = records.decode(wire, check_crc=False)
        except errors.CodecError:
            continue
        assert read.consumed <= size
