"""The compression codecs of Kafka behind one interface that cannot be made to allocate more than it was allowed.

Layer 1. Bytes in, bytes out: knows the codecs' containers (xerial blocks, lz4 frames, zstd frame headers), not what is
inside them. The work is done by cramjam and python-snappy, and by `isal` for gzip where it is installed; each is
imported when its codec is first used.

Every size that the compressed bytes claim is read and judged here before a library sees the bytes, the output goes
into a block that never grows beyond the budget, and no exception of a library leaves this module.

    gzip    RFC 1952; several members are read as one, as Java's GZIPInputStream does
    snappy  xerial's stream: 0x82 "SNAPPY" 0x00, version int32, compatible int32, then (length int32, raw block)*;
            the two version words are not looked at (Redpanda writes them little-endian); or one raw block
    lz4     the frame format 1.6, independent blocks. In message format 0 the header checksum covers the four magic
            bytes as well (KAFKA-3160, KIP-57): written so, and both ways accepted there
    zstd    RFC 8878, window at most 128 MiB (KIP-110)
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import cache

from kwire import errors
from kwire._codec import (
    Buffer,
    OutputBlock,
    corrupt_stream,
    lz4_content,
    next_snappy_block,
    over_budget,
    snappy_size,
    within_budget,
    xxh32,
    zstd_ceiling,
)
from kwire._typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing import Literal, TypeAlias

    from typing_extensions import Buffer as BytesLike

    Compression: TypeAlias = Literal["none", "gzip", "snappy", "lz4", "zstd"]

CODECS: tuple[Compression, ...] = ("none", "gzip", "snappy", "lz4", "zstd")
"""The names of the codecs; a codec's place here is its number in the attributes of a batch or message."""

DEFAULT_MAX_DECOMPRESSED_BYTES = 256 * 1024 * 1024

_MAX_BUDGET = 2**63 - 1
_PANIC = "PanicException"
_FIRST_TRY = 8 * 1024 * 1024
_GROWTH = 8


def decompress(codec: str, data: BytesLike, max_bytes: int, *, magic: int = 2) -> Buffer:
    """The decompressed content of `data`, at most `max_bytes` bytes of it.

    `codec` is one of CODECS, `magic` the message format the bytes stand in. Raises LimitError when the content is, or
    claims to be, larger than `max_bytes`; CorruptError when the bytes are no such stream; UnknownCodecError for
    another codec, or one that the message format does not have.
    """
    _check_codec(codec, magic)
    try:
        if codec == "lz4":  # before the others: its batches are small, and many
            return _unlz4(data, min(max_bytes, _MAX_BUDGET), magic)
        return _decompressed(codec, memoryview(data).cast("B"), max_bytes)
    except BaseException as error:
        what = f"{codec} data of {len(memoryview(data).cast('B'))} bytes was decompressed"
        raise _as_ours(error, errors.CorruptError, what) from None


def _decompressed(codec: str, view: memoryview, max_bytes: int) -> Buffer:
    if codec == "gzip":
        return _gunzip(view, max_bytes)
    if codec == "snappy":
        return _unsnappy(view, max_bytes)
    if codec == "zstd":
        return _unzstd(view, min(max_bytes, _MAX_BUDGET))
    output = OutputBlock(within_budget(len(view), max_bytes, codec))
    output.write(view)
    return output.finish()


def compress(codec: str, data: BytesLike, level: int | None = None, *, magic: int = 2) -> bytes:
    """`data` compressed by `codec` (one of CODECS) for message format `magic`.

    `level`: gzip 0 to 9 (default: isal's level 2 where isal is installed, else 4), lz4 1 to 12 (default: the fast
    mode), zstd -7 to 22 (default 3), snappy and none have no levels. Raises ConfigError for another level,
    UnknownCodecError for another codec, or one that the message format does not have, and LimitError without memory.
    """
    view = memoryview(data).cast("B")
    _check_codec(codec, magic)
    check_level(codec, level)
    try:
        if codec == "gzip":
            return _gzip(view, level)
        if codec == "snappy":
            return _snappy(view)
        if codec == "lz4":
            return _lz4(view, level, magic)
        if codec == "zstd":
            return bytes(_library("cramjam").zstd.compress(view, level=3 if level is None else level))
        return bytes(view)
    except BaseException as error:
        raise _as_ours(error, errors.CodecError, f"{len(view)} bytes were compressed by {codec}") from None


# --- what all codecs share ---

_LEVELS: dict[str, tuple[int, int]] = {"gzip": (0, 9), "lz4": (1, 12), "zstd": (-7, 22)}


@cache
def _library(name: str) -> Any:
    """python-snappy and cramjam are hard dependencies; their types are not published."""
    from importlib import import_module

    return import_module(name)


def _as_ours(error: BaseException, kind: type[errors.CodecError], what: str) -> BaseException:
    """Translates an exception that a library raised while `what`; returns KeyboardInterrupt and the like unchanged.

    A panic of cramjam is a BaseException of its own, which no `except Exception` would stop.
    """
    if isinstance(error, MemoryError):
        return errors.LimitError(f"out of memory while {what}")
    if isinstance(error, ImportError):
        return errors.CodecError(f"no library was found while {what}: {error}")
    if isinstance(error, errors.KafkaError) or (not isinstance(error, Exception) and type(error).__name__ != _PANIC):
        return error
    return kind(f"the library failed while {what}: {error}")


def _check_codec(codec: str, magic: int) -> None:
    if codec not in CODECS:
        raise errors.UnknownCodecError(f"unknown compression codec {codec!r}; there are {', '.join(CODECS)}")
    if codec == "zstd" and magic < 2:
        raise errors.UnknownCodecError(f"zstd does not exist in message format {magic}; it needs format 2")


def check_level(codec: str, level: int | None) -> None:
    if level is None:
        return
    if codec not in _LEVELS:
        raise errors.ConfigError(f"compression {codec!r} has no levels, but level {level} was asked for")
    lowest, highest = _LEVELS[codec]
    if not lowest <= level <= highest:
        raise errors.ConfigError(f"level {level} of compression {codec!r}: {lowest} to {highest} would work")


def _decompress_growing(
    codec: str, into: Callable[[memoryview, memoryview], int], view: memoryview, guess: int, ceiling: int, budget: int
) -> Buffer:
    """Decompresses into ever larger blocks: a claimed or possible size is no reason to allocate it at once.

    `guess` is what its words make likely, `ceiling` the maximum that they allow. Each try starts from the beginning,
    in a block eight times as large, so all tries together cost little more than the last.
    """
    max_size = min(ceiling, budget)
    size = min(max_size, guess, max(_FIRST_TRY, 16 * len(view)))
    while True:
        output = OutputBlock(size)
        try:
            output.advance(into(view, output.room(size)))
            return output.finish()
        except _library("cramjam").DecompressionError as error:
            if size < max_size:
                size = min(size * _GROWTH, max_size)
                continue
            if ceiling > budget and _says_no_room(error):
                raise over_budget(codec, budget) from None
            raise corrupt_stream(codec, error) from None


def _says_no_room(error: Exception) -> bool:
    return "write whole buffer" in str(error)


# --- gzip ---

_GZIP_LEAST_MEMBER = 18
_DEFLATE_MAX_RATIO = 1032


@cache
def _isal() -> Any:
    """isal's module, or None; looked for once, since looking for what is not there is slow."""
    from importlib.util import find_spec

    return _library("isal.isal_zlib") if find_spec("isal") is not None else None


def _gunzip(view: memoryview, budget: int) -> Buffer:
    if len(view) < _GZIP_LEAST_MEMBER:
        raise corrupt_stream("gzip", f"{len(view)} bytes are less than a header and a trailer")
    isal = _isal()
    if isal is not None:
        content = _gunzip_one_member(isal, view, budget)
        if content is not None:
            return content
    ceiling = _DEFLATE_MAX_RATIO * len(view)
    guess = max(struct.unpack_from("<I", view, len(view) - 4)[0], len(view))
    return _decompress_growing("gzip", _library("cramjam").gzip.decompress_into, view, guess, ceiling, budget)


def _gunzip_one_member(isal: Any, view: memoryview, budget: int) -> Buffer | None:
    """The content of a single member; None when more follow, since isal copies all that is left after each of them."""
    member = isal.decompressobj(wbits=31)
    try:
        content = member.decompress(view, max(budget, 0) + 1)
    except isal.error as error:
        raise corrupt_stream("gzip", error) from None
    if len(content) > budget:
        raise over_budget("gzip", budget)
    if not member.eof:
        raise corrupt_stream("gzip", "the stream ends early")
    if member.unused_data:
        return None
    output = OutputBlock(len(content))
    output.write(content)
    return output.finish()


def _gzip(view: memoryview, level: int | None) -> bytes:
    isal = _isal() if level is None else None
    if isal is not None:
        return bytes(isal.compress(view, 2, 31))
    return bytes(_library("cramjam").gzip.compress(view, level=4 if level is None else level))


# --- snappy ---

_XERIAL_MAGIC = b"\x82SNAPPY\x00"
_XERIAL_HEADER = _XERIAL_MAGIC + struct.pack(">ii", 1, 1)
_XERIAL_BLOCK = 32 * 1024


def _unsnappy(view: memoryview, budget: int) -> Buffer:
    output = OutputBlock(within_budget(snappy_size(view), budget, "snappy"))
    decompress_raw_into = _library("cramjam").snappy.decompress_raw_into
    at = 0
    while (block := next_snappy_block(view, at, output)) is not None:
        begin, size, claim = block
        at = begin + size
        try:
            output.advance(decompress_raw_into(view[begin:at], output.room(claim)))
        except _library("cramjam").DecompressionError as error:
            raise corrupt_stream("snappy", error) from None
    return output.finish()


def _snappy(view: memoryview) -> bytes:
    compress_block = _library("snappy").compress
    parts = [_XERIAL_HEADER]
    for at in range(0, len(view), _XERIAL_BLOCK):
        block = compress_block(bytes(view[at : at + _XERIAL_BLOCK]))
        parts += (struct.pack(">i", len(block)), block)
    return b"".join(parts)


# --- lz4 ---

_LZ4_MAGIC = b"\x04\x22\x4d\x18"
_LZ4_VERSION = 0x40
_LZ4_INDEPENDENT = 0x20
_LZ4_CONTENT_SIZE = 0x08
_LZ4_UNCOMPRESSED = 0x80000000
_LZ4_64_KIB = 0x40


def _lz4_header_checksum(descriptor: bytes, magic: int) -> int:
    covered = _LZ4_MAGIC + descriptor if magic == 0 else descriptor
    return (xxh32(covered) >> 8) & 0xFF


def _unlz4(data: BytesLike, budget: int, magic: int) -> Buffer:
    library = _library("cramjam")
    return lz4_content(data, budget, magic, library.lz4.decompress_block_into, library.DecompressionError)


def _lz4(view: memoryview, level: int | None, magic: int) -> bytes:
    if level is not None:
        return _lz4_by_level(view, level, magic)
    descriptor = bytes((_LZ4_VERSION | _LZ4_INDEPENDENT, _LZ4_64_KIB))
    parts = [_LZ4_MAGIC, descriptor, bytes((_lz4_header_checksum(descriptor, magic),))]
    compress_block = _library("cramjam").lz4.compress_block
    for at in range(0, len(view), 65536):
        plain = view[at : at + 65536]
        block = bytes(compress_block(plain, store_size=False))
        if len(block) < len(plain):
            parts += (struct.pack("<I", len(block)), block)
        else:
            parts += (struct.pack("<I", len(plain) | _LZ4_UNCOMPRESSED), bytes(plain))
    parts.append(bytes(4))
    return b"".join(parts)


def _lz4_by_level(view: memoryview, level: int, magic: int) -> bytes:
    """The library's frame, whose header checksum is that of message format 1 and later."""
    compressor = _library("cramjam").lz4.Compressor(level=level, content_checksum=False, block_linked=False)
    compressor.compress(bytes(view))
    frame = bytearray(compressor.finish())
    end = 14 if frame[4] & _LZ4_CONTENT_SIZE else 6
    frame[end] = _lz4_header_checksum(bytes(frame[4:end]), magic)
    return bytes(frame)


# --- zstd ---


def _unzstd(view: memoryview, budget: int) -> Buffer:
    if len(view) == 0:
        raise corrupt_stream("zstd", "no bytes at all")
    ceiling = zstd_ceiling(view, budget)
    return _decompress_growing("zstd", _library("cramjam").zstd.decompress_into, view, ceiling, ceiling, budget)
