"""Messages of Kafka 0.7: bytes, offsets and where reading goes on; what is refused."""

from __future__ import annotations

import gzip
import random
from typing import Any

import cramjam
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwire import errors, records
from tests.reference import messages_0_7 as reference
from tests.schema.test_mutations import damaged

VALUES = st.lists(st.binary(max_size=30), max_size=5)
CODECS = ("none", "gzip", "snappy")


def gzipped(data: bytes) -> bytes:
    """Without the time: the names of the tests are to be those of each process of a run."""
    return gzip.compress(data, mtime=0)


def decode(data: bytes, base_offset: int = 0, **more: Any) -> records.Records:
    return records.decode(data, generation="0.7", base_offset=base_offset, **more)


def resumed(found: records.Records, base_offset: int) -> list[tuple[int, bytes | None, int]]:
    """Each record with the offset at which reading goes on behind it."""
    offsets = [record.offset for record in found]
    behind = [*offsets[1:], base_offset + found.consumed]
    return [(record.offset, record.value, after) for record, after in zip(found, behind, strict=len(offsets) > 0)]


# Wire Format of 0.7, MESSAGE: LENGTH, MAGIC, [COMPRESSION,] CHECKSUM (CRC-32 of "hi" is 0xd8932aac), PAYLOAD
PLAIN_0 = bytes.fromhex("00000007 00 d8932aac 6869")
PLAIN_1 = bytes.fromhex("00000008 01 00 d8932aac 6869")


def test_the_bytes_of_both_magics() -> None:
    assert records.encode([b"hi"], generation="0.7", magic=0) == PLAIN_0 == reference.message(b"hi", 0)
    assert records.encode([b"hi"], generation="0.7") == PLAIN_1 == reference.message(b"hi", 1)
    found = decode(PLAIN_0 + PLAIN_1)
    assert [(r.offset, r.value, r.key, r.timestamp, r.timestamp_type, r.headers) for r in found] == [
        (0, b"hi", None, -1, -1, ()),
        (11, b"hi", None, -1, -1, ()),
    ]
    assert [(b.magic, b.base_offset, b.last_offset, b.count, b.size) for b in found.batches] == [
        (0, 0, 0, 1, 11),
        (1, 11, 11, 1, 12),
    ]


def test_where_0_7_2_resumed() -> None:
    """Plain messages of 12 bytes at 0 and 12; then a pair inside gzip, of which the first resumes at the wrapper."""
    pair = reference.message(gzipped(reference.message(b"aa") + reference.message(b"bb")), 1, 1)
    log = reference.message(b"hi") + reference.message(b"yo") + pair
    assert [after for _, _, after in resumed(decode(log), 0)] == [12, 24, 24, 24 + len(pair)]


@given(st.lists(st.tuples(VALUES, st.sampled_from(CODECS), st.integers(0, 1)), max_size=4), st.integers(0, 1 << 40))
def test_sets_of_all_kinds_are_what_the_reference_reads(sets: Any, base_offset: int) -> None:
    log = b"".join(
        records.encode(values, generation="0.7", compression=codec, magic=1 if codec != "none" else magic)
        for values, codec, magic in sets
    )
    found = decode(log, base_offset)
    assert found.consumed == len(log)
    assert found.values() == [value for values, _, _ in sets for value in values]
    if len(found):
        assert resumed(found, base_offset) == reference.read(log, base_offset)
    assert found.to_arrow()["offset"].to_pylist() == [record.offset for record in found]


@given(VALUES, st.integers(0, 1))
def test_plain_sets_are_the_references_bytes(values: list[bytes], magic: int) -> None:
    expected = b"".join(reference.message(value, magic) for value in values)
    assert records.encode(values, generation="0.7", magic=magic) == expected


@pytest.mark.parametrize("cut", range(1, 12))
def test_a_message_that_is_cut_off_ends_the_set(cut: int) -> None:
    found = decode(PLAIN_1 + PLAIN_1[:-cut], 100)
    assert (found.values(), found.consumed, found.needed) == ([b"hi"], 12, 12 if cut <= 8 else 4)


def test_snappy_in_every_container() -> None:
    inner = reference.message(b"aa", 0)
    raw = bytes(cramjam.snappy.compress_raw(inner))
    block = len(raw).to_bytes(4, "big") + raw
    big = b"\x82SNAPPY\x00" + (1).to_bytes(4, "big") * 2 + block
    little = b"\x82SNAPPY\x00" + (1).to_bytes(4, "little") * 2 + block
    for payload in (raw, big, little):
        assert decode(reference.message(payload, 1, 2)).values() == [b"aa"]


def test_compressed_in_compressed_and_unused_attribute_bits() -> None:
    inner = reference.message(b"aa")
    for codec in (1, 1, 1):
        inner = reference.message(gzipped(inner), 1, codec)
    assert resumed(decode(inner, 50), 50) == [(50, b"aa", 50 + len(inner))]
    odd_bits = bytearray(PLAIN_1)
    odd_bits[5] = 0xF8
    assert decode(bytes(odd_bits)).values() == [b"hi"]
    two_members = gzipped(reference.message(b"a")) + gzipped(reference.message(b"b"))
    assert decode(reference.message(two_members, 1, 1)).values() == [b"a", b"b"]
    assert decode(reference.message(gzipped(b""), 1, 1)).values() == []
    assert decode(reference.message(gzipped(PLAIN_1 + PLAIN_1[:-1]), 1, 1)).values() == [b"hi"]


def nested(times: int) -> bytes:
    data = PLAIN_1
    for _ in range(times):
        data = reference.message(gzipped(data), 1, 1)
    return data


@pytest.mark.parametrize(
    ("data", "error", "text"),
    [
        (PLAIN_1[:-1] + b"!", errors.CorruptError, r"checksum does not match.*batches\[0\]\.crc, offset 6"),
        (b"\x00\x00\x00\x08\x02" + PLAIN_1[5:], errors.UnknownVersionError, "magic 2 is not known; Kafka 0.7 has 0"),
        (PLAIN_1[:5] + b"\x03" + PLAIN_1[6:], errors.UnknownCodecError, r"codec 3.*batches\[0\]\.attributes, offset 5"),
        (b"\xff\xff\xff\xff\x00", errors.InvalidLengthError, "a length of -1 bytes"),
        (b"\x00\x00\x00\x04\x00\x01\x02\x03", errors.InvalidLengthError, "a length of 4 bytes"),
        (b"\x00\x00\x00\x05\x01\x01\x02\x03\x04", errors.InvalidLengthError, "a length of 5 bytes"),
        (reference.message(b"not gzip", 1, 1), errors.CorruptError, r"batches\[0\]\.records"),
        (reference.message(gzipped(b"\x00\x00\x00"), 1, 1), errors.TruncatedError, "ends within a message"),
        (PLAIN_1 + reference.message(gzipped(PLAIN_1[:-1] + b"!"), 1, 1), errors.CorruptError, "decompressed"),
        (nested(9), errors.LimitError, "more than 8 compressed messages inside each other"),
    ],
)
def test_what_is_refused(data: bytes, error: type[errors.CodecError], text: str) -> None:
    with pytest.raises(error, match=text) as caught:
        decode(data)
    assert type(caught.value) is error


def test_a_bomb_stays_within_its_budget() -> None:
    bomb = reference.message(gzipped(reference.message(bytes(4_000_000), 0)), 1, 1)
    assert len(decode(bomb)) == 1
    with pytest.raises(errors.LimitError, match="max_decompressed_bytes sets it"):
        decode(bomb, max_decompressed_bytes=1_000_000)
    twice = reference.message(gzipped(bomb), 1, 1)
    with pytest.raises(errors.LimitError, match="max_decompressed_bytes sets it"):
        decode(twice, max_decompressed_bytes=4_000_000)


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"magic": 2}, errors.UnknownVersionError, "magic 2: Kafka 0.7 has 0 and 1"),
        ({"compression": "lz4"}, errors.UnknownCodecError, "Kafka 0.7 has none, gzip and snappy"),
        ({"compression": "gzip", "magic": 0}, errors.UnknownCodecError, "magic 0 of Kafka 0.7 has no compression"),
        ({"generation": "0.6"}, errors.UnknownVersionError, "generation '0.6'"),
    ],
)
def test_what_cannot_be_written(arguments: dict[str, Any], error: type[errors.CodecError], text: str) -> None:
    with pytest.raises(error, match=text):
        records.encode([b"a"], **{"generation": "0.7", **arguments})


@pytest.mark.parametrize(
    ("item", "field"),
    [((b"v", b"k"), "key"), ((b"v", None, None, [("h", b"")]), "headers"), (None, "value"), ((None, None), "value")],
)
def test_nothing_that_0_7_lacks_is_dropped(item: Any, field: str) -> None:
    with pytest.raises(errors.CodecError) as caught:
        records.encode([item], generation="0.7")
    assert caught.value.field == field


def test_a_generation_is_named_never_guessed() -> None:
    with pytest.raises(errors.UnknownVersionError, match="generation '7'"):
        records.decode(PLAIN_1, generation="7")
    with pytest.raises(errors.CodecError, match="a byte position, from 0 on"):
        decode(PLAIN_1, -1)
    assert records.encode([records.Record(b"hi", timestamp=5)], generation="0.7") == PLAIN_1


def test_damage_gives_errors_of_kwire_only() -> None:
    rng = random.Random(7)
    log = b"".join(records.encode([b"abc", b"", b"d" * 40], generation="0.7", compression=codec) for codec in CODECS)
    refused = 0
    for _ in range(20_000):
        try:
            found = decode(damaged(log, rng))
        except errors.CodecError:
            refused += 1
        else:
            assert len(found.values()) == len(found)
    assert refused > 1000
