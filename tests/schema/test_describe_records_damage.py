"""Damaged record sets of every format: never an exception, never a byte without a leaf, never silent damage."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from kwire import errors, protocol, records
from tests.schema.description_checks import assert_every_byte_is_in_one_leaf
from tests.schema.test_mutations import damaged
from tests.thorough import THOROUGH

FORMATS = [
    (magic, codec)
    for magic in (0, 1, 2)
    for codec in ("none", "gzip", "snappy", "lz4", "zstd")
    if magic == 2 or codec != "zstd"
]


def record_set(magic: int, codec: str, rng: random.Random) -> bytes:
    items = [
        (rng.randbytes(rng.randrange(20)), rng.choice((None, b"k")), rng.randrange(10**12),
         [("h", b"x")] if magic == 2 and rng.random() < 0.3 else [])
        for _ in range(rng.randint(1, 6))
    ]  # fmt: skip
    return records.encode(items, magic=magic, compression=codec) + records.encode(
        [b"last"], magic=magic, base_offset=50
    )


def decoders_error(data: bytes, *, check_crc: bool) -> errors.CodecError | None:
    try:
        records.decode(data, check_crc=check_crc)
    except errors.CodecError as error:
        return error
    return None


@pytest.mark.parametrize("check_crc", [True, False], ids=["with CRC", "without CRC"])
@pytest.mark.parametrize(("magic", "codec"), FORMATS)
def test_damage_is_told_as_the_decoder_tells_it(magic: int, codec: str, check_crc: bool) -> None:
    rng = random.Random(f"{magic} {codec}")
    outcomes: Counter[str] = Counter()
    for _ in range(900 if THOROUGH else 40):
        data = damaged(record_set(magic, codec, rng), rng)
        found = protocol.describe_records(data, check_crc=check_crc)
        assert_every_byte_is_in_one_leaf(found, len(data))
        assert found.to_text()
        refused = decoders_error(data, check_crc=check_crc)
        told = [str(error) for error in found.errors]
        assert bool(told) == (refused is not None), f"{refused} of {data.hex()}: {told}"
        outcomes["damaged" if told else "whole"] += 1
    assert outcomes["damaged"] > 5
