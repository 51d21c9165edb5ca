"""Blocks that hold next to nothing: they come out as the libraries have them, and cost next to nothing."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable

import cramjam
import pytest

from kwire._codec import pool_statistics, xxh32
from kwire.compression import compress, decompress
from kwire.errors import CorruptError, LimitError
from tests.guarded import guarded, runs_in_a_process

LZ4_HEADER = compress("lz4", b"")[:7]
LZ4_END = bytes(4)
XERIAL = compress("snappy", b"")
ZSTD_EMPTY = struct.pack("<I", 0xFD2FB528) + b"\x20\0" + b"\1\0\0"
SKIPPABLE = struct.pack("<II", 0x184D2A50, 0)
MIB = 1 << 20
MANY = 8


def lz4_block(packed: bytes, *, stored: bool = False) -> bytes:
    return struct.pack("<I", len(packed) | (0x80000000 if stored else 0)) + packed


def snappy_block(packed: bytes) -> bytes:
    return struct.pack(">i", len(packed)) + packed


def filled(unit: bytes, size: int) -> bytes:
    return unit * (size // len(unit))


TRIFLES: dict[str, Callable[[int], tuple[str, bytes, bytes]]] = {
    "empty lz4 blocks": lambda size: ("lz4", LZ4_HEADER + filled(lz4_block(b"\0"), size) + LZ4_END, b""),
    "stored bytes in lz4": lambda size: (
        "lz4",
        LZ4_HEADER + filled(lz4_block(b"a", stored=True), size) + LZ4_END,
        filled(b"a", size // 5),
    ),
    "literals in lz4": lambda size: (
        "lz4",
        LZ4_HEADER + filled(lz4_block(b"\x10a"), size) + LZ4_END,
        filled(b"a", size // 6),
    ),
    "empty snappy blocks": lambda size: ("snappy", XERIAL + filled(snappy_block(b"\0"), size), b""),
    "literals in snappy": lambda size: (
        "snappy",
        XERIAL + filled(snappy_block(b"\1\0a"), size),
        filled(b"a", size // 7),
    ),
    "headers in snappy": lambda size: ("snappy", filled(XERIAL, size), b""),
    "empty zstd frames": lambda size: ("zstd", filled(ZSTD_EMPTY, size), b""),
    "skippable zstd frames": lambda size: ("zstd", filled(SKIPPABLE, size), b""),
}


def decompress_half_of_what_may_be() -> None:
    """In a process of its own, where no larger block is kept."""
    content = random.Random(1).randbytes(14_000) * 2
    before = pool_statistics()["live_bytes"]
    made = decompress("lz4", compress("lz4", content), MIB)
    assert bytes(made) == content
    assert pool_statistics()["live_bytes"] - before <= 28_672


def test_what_was_decompressed_takes_no_more_than_its_size() -> None:
    runs_in_a_process(decompress_half_of_what_may_be)


@pytest.mark.parametrize("kind", TRIFLES)
def test_trifles_are_decompressed(kind: str) -> None:
    codec, stream, content = TRIFLES[kind](1000)
    assert bytes(decompress(codec, stream, len(content))) == content
    if content:
        with pytest.raises(LimitError):
            decompress(codec, stream, len(content) - 1)


def decompress_many_mebibytes_of_trifles() -> None:
    for kind in TRIFLES:
        codec, stream, content = TRIFLES[kind](MANY * MIB)
        assert len(decompress(codec, stream, len(content))) == len(content)


def test_a_mebibyte_of_trifles_costs_milliseconds() -> None:
    """These 64 MiB took twenty seconds when each block was a Python object."""
    runs_in_a_process(decompress_many_mebibytes_of_trifles, cpu_seconds=8)


@pytest.mark.parametrize("size", [*range(70), 100, 1000])
def test_short_blocks_hold_what_the_libraries_put_in(size: int) -> None:
    content = random.Random(size).randbytes(size)
    lz4 = bytes(cramjam.lz4.compress_block(content, store_size=False))
    assert bytes(decompress("lz4", LZ4_HEADER + lz4_block(lz4) + LZ4_END, size)) == content
    snappy = bytes(cramjam.snappy.compress_raw(content))
    assert bytes(decompress("snappy", XERIAL + snappy_block(snappy) * 2, 2 * size)) == 2 * content


def test_the_checksum_of_a_short_block_is_checked() -> None:
    descriptor = bytes([0x70, 0x40])
    header = LZ4_HEADER[:4] + descriptor + bytes([(xxh32(descriptor) >> 8) & 0xFF])
    for block, content in (
        (lz4_block(b"\0"), b""),
        (lz4_block(b"ab", stored=True), b"ab"),
        (lz4_block(b"\x10a"), b"a"),
    ):
        whole = block + struct.pack("<I", xxh32(block[4:]))
        assert bytes(decompress("lz4", header + whole + LZ4_END, 10)) == content
        with pytest.raises(CorruptError, match="checksum"):
            decompress("lz4", header + whole[:-1] + b"\xee" + LZ4_END, 10)


def cut_anywhere() -> None:
    for kind in TRIFLES:
        codec, stream, _ = TRIFLES[kind](60)
        for size in range(len(stream)):
            for last in (b"", b"\xff", b"\x80", b"\0"):
                try:
                    decompress(codec, guarded(stream[:size] + last), 1000)
                except (CorruptError, LimitError):
                    continue


def test_nothing_beyond_the_last_byte_is_read() -> None:
    runs_in_a_process(cut_anywhere)
