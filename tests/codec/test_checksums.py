"""CRC-32C and CRC-32: published check values, and instructions against tables at every length and alignment."""

from __future__ import annotations

import random
import zlib
from collections.abc import Callable, Iterator

import pytest

from kwire import _codec

SAMPLE = random.Random(7).randbytes(20_000)


@pytest.fixture
def tables_only() -> Iterator[None]:
    assert _codec.use_hardware_crc(False) is False
    yield
    _codec.use_hardware_crc(True)


# The "check" values of the CRC catalogue (the nine digits), and RFC 3720 B.4 for CRC-32C.
CRC32C_VECTORS = [
    (b"", 0),
    (b"123456789", 0xE3069283),
    (bytes(32), 0x8A9136AA),
    (b"\xff" * 32, 0x62A8AB43),
    (bytes(range(32)), 0x46DD794E),
    (bytes(reversed(range(32))), 0x113FDB5C),
]


@pytest.mark.parametrize(("data", "expected"), CRC32C_VECTORS)
def test_crc32c_gives_published_values(data: bytes, expected: int) -> None:
    assert _codec.crc32c(data) == expected


@pytest.mark.usefixtures("tables_only")
@pytest.mark.parametrize(("data", "expected"), CRC32C_VECTORS)
def test_crc32c_by_tables_gives_published_values(data: bytes, expected: int) -> None:
    assert _codec.crc32c(data) == expected


@pytest.mark.parametrize("hardware", [True, False])
def test_crc32_is_zlibs_at_every_length(hardware: bool) -> None:
    _codec.use_hardware_crc(hardware)
    try:
        for size in [*range(400), 1000, 4096, 19_999]:
            assert _codec.crc32(SAMPLE[:size]) == zlib.crc32(SAMPLE[:size])
    finally:
        _codec.use_hardware_crc(True)


@pytest.mark.parametrize("function", [_codec.crc32c, _codec.crc32])
def test_instructions_and_tables_agree_at_every_length_and_alignment(function: Callable[..., int]) -> None:
    view = memoryview(SAMPLE)
    spans = [
        (start, start + size) for start in range(16) for size in (*range(0, 130, 7), 767, 768, 769, 6143, 6144, 9000)
    ]
    spans += [(0, size) for size in range(900)]
    widest = [function(view[a:b]) for a, b in spans]
    try:
        _codec.use_hardware_crc(True, wide=False)
        assert [function(view[a:b]) for a, b in spans] == widest
        _codec.use_hardware_crc(False)
        assert [function(view[a:b]) for a, b in spans] == widest
    finally:
        _codec.use_hardware_crc(True)


@pytest.mark.parametrize("function", [_codec.crc32c, _codec.crc32])
@pytest.mark.parametrize("cut", [0, 1, 15, 64, 6144, 20_000])
def test_a_checksum_goes_on_from_where_it_stopped(function: Callable[..., int], cut: int) -> None:
    assert function(SAMPLE[cut:], function(SAMPLE[:cut])) == function(SAMPLE)
