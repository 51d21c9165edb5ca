"""The four codecs: foreign streams, both framings of snappy, both checksums of lz4, levels, budgets and bombs."""

from __future__ import annotations

import gzip
import random
import struct
import subprocess
import sys
import time
import tracemalloc
import zlib
from typing import Any

import cramjam
import lz4.frame
import pytest
import snappy
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from kwire import _codec, compression, errors, records
from kwire.errors import ConfigError, CorruptError, LimitError, UnknownCodecError
from tests.reference import compression as reference
from tests.reference.records import BatchFields, batch_of_content, message
from tests.subprocesses import with_this_kwire
from tests.thorough import THOROUGH

TEXT = b"".join(b"event=%d user=%d;" % (i, i % 17) for i in range(9000))
NOISE = random.Random(1).randbytes(100_000)
PLAIN = [b"", b"x", TEXT, NOISE, bytes(300_000)]
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
MANY = 1 << 28


def read(codec: str, data: bytes, budget: int = MANY, magic: int = 2) -> bytes:
    return bytes(compression.decompress(codec, data, budget, magic=magic))


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("magic", [0, 1, 2])
def test_round_trips_with_the_plain_codec(codec: str, magic: int) -> None:
    if codec == "zstd" and magic < 2:
        with pytest.raises(UnknownCodecError, match="format 2"):
            compression.compress(codec, b"", magic=magic)
        with pytest.raises(UnknownCodecError, match="format 2"):
            compression.decompress(codec, b"", 1, magic=magic)
        return
    for plain in PLAIN:
        written = compression.compress(codec, plain, magic=magic)
        assert reference.decompress(codec, written) == plain
        assert read(codec, written, magic=magic) == plain
        assert read(codec, reference.compress(codec, plain, magic), magic=magic) == plain


@settings(max_examples=50 if THOROUGH else 25)
@given(plain=st.binary(max_size=5000), codec=st.sampled_from(CODECS))
def test_any_bytes_come_back(plain: bytes, codec: str) -> None:
    assert read(codec, compression.compress(codec, plain), max(len(plain), 1)) == plain


@pytest.mark.parametrize(
    ("codec", "level"),
    [("gzip", 0), ("gzip", 1), ("gzip", 9), ("lz4", 1), ("lz4", 9), ("zstd", -5), ("zstd", 1), ("zstd", 19)],
)
def test_levels(codec: str, level: int) -> None:
    assert read(codec, compression.compress(codec, TEXT, level)) == TEXT


@pytest.mark.parametrize(
    ("codec", "level"), [("gzip", 10), ("lz4", 0), ("lz4", 13), ("zstd", 23), ("snappy", 1), ("none", 1)]
)
def test_levels_that_do_not_exist(codec: str, level: int) -> None:
    with pytest.raises(ConfigError, match=str(level)):
        compression.compress(codec, b"x", level)


@pytest.mark.parametrize("codec", ["brotli", "LZ4", ""])
def test_codecs_that_do_not_exist(codec: str) -> None:
    with pytest.raises(UnknownCodecError, match="gzip, snappy, lz4, zstd"):
        compression.compress(codec, b"")
    with pytest.raises(UnknownCodecError, match="gzip, snappy, lz4, zstd"):
        compression.decompress(codec, b"", 1)


# --- gzip ---


def test_gzip_members_are_read_as_one() -> None:
    assert read("gzip", gzip.compress(b"one ") + gzip.compress(b"two")) == b"one two"
    with pytest.raises(LimitError):
        read("gzip", gzip.compress(bytes(600)) * 2, 1000)


def test_many_gzip_members_take_no_more_than_linear_time() -> None:
    def seconds(members: int) -> float:
        data = gzip.compress(b"") * members
        begun = time.process_time()
        assert read("gzip", data) == b""
        return time.process_time() - begun

    seconds(100)
    assert seconds(120_000) < 5  # copying the rest after each member takes half a minute


@pytest.mark.parametrize("codec", ["snappy", "lz4"])
def test_many_tiny_blocks_take_no_memory_each(codec: str) -> None:
    blocks = 50_000 if THOROUGH else 5_000
    if codec == "snappy":
        data = b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1) + (struct.pack(">i", 1) + b"\x00") * blocks
    else:
        data = lz4.frame.compress(b"", store_size=False)[:-4] + (struct.pack("<I", 1) + b"\x00") * blocks + bytes(4)
        data = data.replace(data[4:7], b"\x60\x40\x82", 1)  # independent blocks, no content checksum
    tracemalloc.start()
    try:
        assert read(codec, data) == b""
        assert tracemalloc.get_traced_memory()[1] < len(data)
    finally:
        tracemalloc.stop()


def test_a_budget_below_zero_is_a_limit_like_any_other() -> None:
    for codec in CODECS:
        with pytest.raises(LimitError):
            read(codec, compression.compress(codec, TEXT), -5)


@pytest.mark.parametrize("bad", [
    b"", b"\x1f\x8b", gzip.compress(TEXT)[:-1], gzip.compress(TEXT)[:-9], gzip.compress(TEXT) + b"tail",
    gzip.compress(TEXT)[:-8] + bytes(8), NOISE[:100],
])  # fmt: skip
def test_bad_gzip(bad: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(CorruptError):
        read("gzip", bad)
    monkeypatch.setattr(compression, "_isal", lambda: None)
    with pytest.raises(CorruptError):
        read("gzip", bad)


def test_gzip_without_isal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compression, "_isal", lambda: None)
    for plain in PLAIN:
        assert zlib.decompress(compression.compress("gzip", plain), 31) == plain
        assert read("gzip", gzip.compress(plain)) == plain
    assert read("gzip", gzip.compress(b"one ") + gzip.compress(b"two")) == b"one two"
    with pytest.raises(LimitError):
        read("gzip", gzip.compress(bytes(1_000_000)), 999_999)


# --- snappy ---


def test_snappy_raw_and_xerial_are_told_apart() -> None:
    assert read("snappy", snappy.compress(TEXT)) == TEXT
    assert compression.compress("snappy", TEXT)[:16] == reference.XERIAL


def test_redpandas_little_endian_version_words() -> None:
    block = snappy.compress(b"redpanda")
    header = b"\x82SNAPPY\x00" + struct.pack("<ii", 1, 1)
    assert read("snappy", header + struct.pack(">i", len(block)) + block) == b"redpanda"


def test_xerial_streams_one_after_the_other() -> None:
    one, two = (compression.compress("snappy", part) for part in (b"one ", b"two"))
    assert read("snappy", one + two) == b"one two"


def test_blocks_of_a_kilobyte_as_old_producers_wrote_them() -> None:
    blocks = [snappy.compress(TEXT[at : at + 1024]) for at in range(0, len(TEXT), 1024)]
    stream = reference.XERIAL + b"".join(struct.pack(">i", len(block)) + block for block in blocks)
    assert read("snappy", stream) == TEXT


@pytest.mark.parametrize("block_length", [0, -1, 2**31 - 1, 1000])
def test_xerial_block_lengths_that_lie(block_length: int) -> None:
    with pytest.raises(CorruptError, match="block length"):
        read("snappy", reference.XERIAL + struct.pack(">i", block_length) + b"abc")


def test_a_snappy_block_that_claims_four_gibibytes() -> None:
    with pytest.raises(CorruptError, match="cannot hold"):
        read("snappy", b"\xff\xff\xff\xff\x0f" + b"\x00a")
    with pytest.raises(CorruptError, match="does not end"):
        read("snappy", b"\xff" * 6)


@pytest.mark.parametrize(
    "bad", [b"", b"\x82SNAPPY\x00", reference.XERIAL + b"\0\0", snappy.compress(TEXT)[:-1], b"\x05\x00"]
)
def test_bad_snappy(bad: bytes) -> None:
    with pytest.raises(CorruptError):
        read("snappy", bad)


# --- lz4 ---


def test_the_lz4_header_checksum_of_both_formats() -> None:
    assert compression.compress("lz4", b"x", magic=0)[:7].hex() == "04224d1860401a"
    assert compression.compress("lz4", b"x", magic=1)[:7].hex() == "04224d18604082"
    broken, right = (reference.lz4_frame(TEXT, checksum) for checksum in (0x1A, 0x82))
    assert read("lz4", broken, magic=0) == read("lz4", right, magic=0) == read("lz4", right, magic=1) == TEXT
    with pytest.raises(CorruptError, match="checksum"):
        read("lz4", broken, magic=1)


@pytest.mark.parametrize("options", [
    {"block_size": lz4.frame.BLOCKSIZE_MAX4MB}, {"content_checksum": True}, {"block_checksum": True},
    {"store_size": False}, {"content_checksum": True, "block_checksum": True, "compression_level": 9},
])  # fmt: skip
def test_lz4_frames_of_other_writers(options: dict[str, int]) -> None:
    for plain in PLAIN:
        assert read("lz4", lz4.frame.compress(plain, block_linked=False, **options)) == plain


def test_foreign_readers_read_our_lz4() -> None:
    for level in (None, 1, 9, 12):
        for plain in PLAIN:
            assert lz4.frame.decompress(compression.compress("lz4", plain, level)) == plain


def damaged_lz4() -> dict[str, bytes]:
    frame = lz4.frame.compress(TEXT, block_linked=False, content_checksum=True, block_checksum=True, store_size=True)
    small = reference.lz4_frame(b"abc" * 50, 0x82)
    return {
        "no magic": b"\0" + small[1:],
        "version 2": small[:4] + b"\xa0" + small[5:],
        "linked blocks": lz4.frame.compress(TEXT, block_linked=True),
        "block size code 3": small[:5] + b"\x30" + small[6:],
        "header checksum": small[:6] + b"\0" + small[7:],
        "no end mark": small[:-4],
        "cut header": small[:6],
        "block beyond the end": small[:7] + struct.pack("<I", 60000) + small[11:],
        "block above the limit": small[:7] + struct.pack("<I", 70000) + bytes(70000) + bytes(4),
        "block of nothing": small[:7] + struct.pack("<I", 0x80000000) + bytes(4),
        "bytes behind": small + b"\0",
        "block checksum": frame[:40] + bytes([frame[40] ^ 1]) + frame[41:],
        "content checksum": frame[:-1] + bytes([frame[-1] ^ 1]),
        "cut content checksum": frame[:-1],
        "empty": b"",
    }


@pytest.mark.parametrize("bad", damaged_lz4().values(), ids=damaged_lz4())
def test_bad_lz4(bad: bytes) -> None:
    with pytest.raises(CorruptError):
        read("lz4", bad)


def test_an_lz4_content_size_that_lies() -> None:
    frame = bytearray(lz4.frame.compress(b"abc" * 50, block_linked=False, store_size=True))
    size_at = 6
    for claim, kind in ((151, CorruptError), (1 << 40, LimitError)):
        frame[size_at : size_at + 8] = struct.pack("<Q", claim)
        frame[14] = compression._lz4_header_checksum(bytes(frame[4:14]), 2)
        with pytest.raises(kind, match=str(claim)):
            read("lz4", bytes(frame))


# --- zstd ---


def test_zstd_frames_of_other_writers() -> None:
    streaming = zstandard.ZstdCompressor().compressobj()
    without_size = streaming.compress(TEXT) + streaming.flush()
    checked = zstandard.ZstdCompressor(write_checksum=True).compress(TEXT)
    skippable = struct.pack("<II", 0x184D2A53, 5) + b"12345"
    assert read("zstd", without_size) == read("zstd", checked) == read("zstd", skippable + checked) == TEXT
    assert read("zstd", without_size + skippable + checked) == TEXT + TEXT


def test_many_small_flushed_zstd_blocks() -> None:
    streaming = zstandard.ZstdCompressor().compressobj()
    parts = [streaming.compress(b"x" * 100) + streaming.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK) for _ in range(500)]
    assert read("zstd", b"".join(parts) + streaming.flush(), 50_000) == b"x" * 50_000


def test_a_zstd_window_above_128_mib_is_refused() -> None:
    frame = zstandard.ZstdCompressor(
        compression_params=zstandard.ZstdCompressionParameters(window_log=28)
    ).compressobj()
    with pytest.raises(LimitError, match="window"):
        read("zstd", frame.compress(b"a" * 100) + frame.flush())


@pytest.mark.parametrize("bad", [
    b"", b"\x28\xb5\x2f\xfd", zstandard.ZstdCompressor().compress(TEXT)[:-1], NOISE[:100],
    zstandard.ZstdCompressor().compress(TEXT) + b"\0", struct.pack("<II", 0x184D2A50, 99),
])  # fmt: skip
def test_bad_zstd(bad: bytes) -> None:
    with pytest.raises(CorruptError):
        read("zstd", bad)


# --- budgets ---


@pytest.mark.parametrize("codec", CODECS)
def test_the_budget_is_exact(codec: str) -> None:
    for plain in (TEXT, NOISE, bytes(300_000)):
        wire = compression.compress(codec, plain)
        assert read(codec, wire, len(plain)) == plain
        with pytest.raises(LimitError, match=str(len(plain) - 1)):
            read(codec, wire, len(plain) - 1)


def test_a_zstd_stream_without_size_stops_at_the_budget() -> None:
    streaming = zstandard.ZstdCompressor().compressobj()
    wire = streaming.compress(TEXT * 100) + streaming.flush()
    with pytest.raises(LimitError):
        read("zstd", wire, len(TEXT) * 100 - 1)
    assert read("zstd", wire, len(TEXT) * 100) == TEXT * 100


BOMBS = """
import gzip, resource, struct, sys, zstandard, lz4.frame
from kwire import compression, errors
compressor = zstandard.ZstdCompressor().compressobj()
zero = bytes(1 << 20)
zstd = b"".join(compressor.compress(zero) for _ in range(MIB)) + compressor.flush()
liar = struct.pack(">i", 8) + b"\\xff\\xff\\xff\\xff\\x0f\\0\\0\\0"
bombs = {
    "zstd": [zstd, zstd * 4],
    "gzip": [gzip.compress(bytes(MIB << 19), 9)],
    "lz4": [lz4.frame.compress(bytes(MIB << 19), block_linked=False, store_size=size) for size in (True, False)],
    "snappy": [b"\\x82SNAPPY\\0" + struct.pack(">ii", 1, 1) + liar * 100],
}
del zero, compressor
for codec, wires in bombs.items():
    for wire in wires:
        resource.setrlimit(resource.RLIMIT_AS, (MOST, resource.RLIM_INFINITY))
        try:
            compression.decompress(codec, wire, 16 << 20)
        except (errors.LimitError, errors.CorruptError) as error:
            print(codec, len(wire), type(error).__name__)
        else:
            raise SystemExit(codec + " was not refused")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="address space limits are Linux's")
def test_bombs_do_not_cost_memory() -> None:
    """In a process whose address space ends 128 MiB above what it has after the bombs were built."""
    code = BOMBS.replace("MOST", "int(open('/proc/self/statm').read().split()[0]) * 4096 + (128 << 20)")
    code = code.replace("MIB", "1024" if THOROUGH else "320")
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=with_this_kwire(), capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("LimitError") == 5, done.stdout


def test_all_batches_together_have_a_budget() -> None:
    wire = records.encode([bytes(1000)] * 10, compression="gzip") * 5
    read, fault = _codec.scan_records(wire, max_total_bytes=25_000)
    assert len(read) == 20
    assert fault is not None
    assert isinstance(fault.error, LimitError)
    assert fault.error.field == "batches[2].records"
    assert _codec.scan_records(wire, max_total_bytes=60_000)[1] is None


def test_a_batch_of_countless_empty_records_has_a_budget() -> None:
    """Seven bytes each, so a small batch could ask for an index of many times its content."""
    count = (1 << 28) // 40 + 1
    streaming = zstandard.ZstdCompressor().compressobj()
    empty = bytes([12, 0, 0, 0, 1, 1, 0]) * 65_536
    whole, rest = divmod(count, 65_536)
    wire = b"".join([*(streaming.compress(empty) for _ in range(whole)), streaming.compress(empty[: 7 * rest])])
    wire = batch_of_content(wire + streaming.flush(), count, 1, BatchFields(codec="zstd"))
    with pytest.raises(LimitError, match="max_decompressed_bytes") as caught:
        records.decode(wire)
    assert caught.value.field == "batches[0]"


@pytest.mark.parametrize("codec", CODECS[1:])
def test_decode_has_the_budget_too(codec: str) -> None:
    wire = batch_of_content(compression.compress(codec, bytes(1 << 20)), 3, 1, BatchFields(codec=codec))
    with pytest.raises(LimitError, match="max_decompressed_bytes") as caught:
        records.decode(wire, max_decompressed_bytes=(1 << 20) - 1)
    assert caught.value.field == "batches[0].records"
    if codec != "zstd":
        wrapper = message(
            0,
            None,
            compression.compress(codec, bytes(1 << 20), magic=1),
            magic=1,
            attributes=CODECS.index(codec),
            timestamp=1,
        )
        with pytest.raises(LimitError, match="max_decompressed_bytes"):
            records.decode(wrapper, max_decompressed_bytes=1000)


class PanicException(BaseException):
    """What a panic inside the library comes as: no Exception."""


class FailingLibrary:
    """Every function of it raises `raised`."""

    DecompressionError = cramjam.DecompressionError

    def __init__(self, raised: BaseException) -> None:
        self._raised = raised

    def __getattr__(self, name: str) -> FailingLibrary:
        return self

    def __call__(self, *arguments: object, **options: object) -> Any:
        raise self._raised


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
@pytest.mark.parametrize(
    ("raised", "decoding", "encoding"),
    [
        (PanicException("index out of bounds"), errors.CorruptError, errors.CodecError),
        (MemoryError(), errors.LimitError, errors.LimitError),
        (ImportError("No module named 'cramjam'"), errors.CodecError, errors.CodecError),
        (KeyboardInterrupt(), KeyboardInterrupt, KeyboardInterrupt),
    ],
)
def test_only_our_errors_leave(
    monkeypatch: pytest.MonkeyPatch,
    codec: str,
    raised: BaseException,
    decoding: type[BaseException],
    encoding: type[BaseException],
) -> None:
    packed = compression.compress(codec, b"some bytes " * 100)
    monkeypatch.setattr(compression, "_library", lambda name: FailingLibrary(raised))
    monkeypatch.setattr(compression, "_isal", lambda: None)
    with pytest.raises(decoding) as decoded:
        compression.decompress(codec, packed, 10_000)
    with pytest.raises(encoding) as encoded:
        compression.compress(codec, b"some bytes")
    assert (decoded.type, encoded.type) == (decoding, encoding)
