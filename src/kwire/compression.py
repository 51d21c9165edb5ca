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
from collections.abc import Callable, Iterator

from kwire import errors
from kwire._codec import Buffer, OutputBlock, xxh32
from kwire._typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing import Literal, TypeAlias

    from typing_extensions import Buffer as BytesLike

    Compression: TypeAlias = Literal["none", "gzip", "snappy", "lz4", "zstd"]

CODECS: tuple[Compression, ...] = ("none", "gzip", "snappy", "lz4", "zstd")
"""The names of the codecs; a codec's place here is its number in the attributes of a batch or message."""

DEFAULT_MAX_DECOMPRESSED_BYTES = 256 * 1024 * 1024

_PANIC = "PanicException"
_FIRST_TRY = 8 * 1024 * 1024
_GROWTH = 8


def decompress(codec: str, data: BytesLike, max_bytes: int, *, magic: int = 2) -> Buffer:
    """The decompressed content of `data`, at most `max_bytes` bytes of it.

    `codec` is one of CODECS, `magic` the message format the bytes stand in. Raises LimitError when the content is, or
    claims to be, larger than `max_bytes`; CorruptError when the bytes are no such stream; UnknownCodecError for
    another codec, or one that the message format does not have.
    """
    view = memoryview(data).cast("B")
    _check_codec(codec, magic)
    try:
        if codec == "gzip":
            return _gunzip(view, max_bytes)
        if codec == "snappy":
            return _unsnappy(view, max_bytes)
        if codec == "lz4":
            return _unlz4(view, max_bytes, magic)
        if codec == "zstd":
            return _unzstd(view, max_bytes)
    except BaseException as error:
        raise _as_ours(error, errors.CorruptError, f"{codec} data of {len(view)} bytes was decompressed") from None
    output = OutputBlock(_within(len(view), max_bytes, codec))
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


def _library(name: str) -> Any:
    """python-snappy and cramjam are hard dependencies; their types are not published."""
    from importlib import import_module

    return import_module(name)


def _as_ours(error: BaseException, kind: type[errors.CodecError], what: str) -> BaseException:
    """What a library raised while `what`, as one of our errors; what is not about the data (Ctrl-C) as it is.

    A panic of cramjam's is a BaseException of its own, which no `except Exception` would stop.
    """
    if isinstance(error, MemoryError):
        return errors.LimitError(f"out of memory while {what}")
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
    least, most = _LEVELS[codec]
    if not least <= level <= most:
        raise errors.ConfigError(f"level {level} of compression {codec!r}: {least} to {most} would work")


def _within(claimed: int, budget: int, codec: str) -> int:
    if claimed > budget:
        raise errors.LimitError(f"{codec} data claims {claimed} decompressed bytes, more than the limit of {budget}")
    return claimed


def _over_budget(codec: str, budget: int) -> errors.LimitError:
    return errors.LimitError(f"{codec} data decompresses to more than the limit of {budget} bytes")


def _corrupt(codec: str, what: object) -> errors.CorruptError:
    return errors.CorruptError(f"not valid {codec} data: {what}")


def _decompress_growing(
    codec: str, into: Callable[[memoryview, memoryview], int], view: memoryview, guess: int, ceiling: int, budget: int
) -> Buffer:
    """Decompresses into ever larger blocks: a claimed or possible size is no reason to allocate it at once.

    `guess` is what its words make likely, `ceiling` the most that they allow. Each try starts from the beginning, in a
    block eight times as large, so all tries together cost little more than the last.
    """
    most = min(ceiling, budget)
    size = min(most, guess, max(_FIRST_TRY, 16 * len(view)))
    while True:
        output = OutputBlock(size)
        try:
            output.advance(into(view, output.room(size)))
            return output.finish()
        except MemoryError:
            raise
        except Exception as error:
            if size < most:
                size = min(size * _GROWTH, most)
                continue
            if ceiling > budget and _says_no_room(error):
                raise _over_budget(codec, budget) from None
            raise _corrupt(codec, error) from None


def _says_no_room(error: Exception) -> bool:
    return "write whole buffer" in str(error)


# --- gzip ---

_GZIP_LEAST_MEMBER = 18
_DEFLATE_MOST_RATIO = 1032


_found_isal: list[Any] = []


def _isal() -> Any:
    """isal's module, or None; looked for once, since looking for what is not there is slow."""
    if not _found_isal:
        from importlib.util import find_spec

        _found_isal.append(_library("isal.isal_zlib") if find_spec("isal") is not None else None)
    return _found_isal[0]


def _gunzip(view: memoryview, budget: int) -> Buffer:
    if len(view) < _GZIP_LEAST_MEMBER:
        raise _corrupt("gzip", f"{len(view)} bytes are less than a header and a trailer")
    isal = _isal()
    if isal is not None:
        content = _gunzip_one_member(isal, view, budget)
        if content is not None:
            return content
    ceiling = _DEFLATE_MOST_RATIO * len(view)
    guess = max(struct.unpack_from("<I", view, len(view) - 4)[0], len(view))
    return _decompress_growing("gzip", _library("cramjam").gzip.decompress_into, view, guess, ceiling, budget)


def _gunzip_one_member(isal: Any, view: memoryview, budget: int) -> Buffer | None:
    """The content of a single member; None when more follow, since isal copies all that is left after each of them."""
    member = isal.decompressobj(wbits=31)
    try:
        content = member.decompress(view, max(budget, 0) + 1)
    except isal.error as error:
        raise _corrupt("gzip", error) from None
    if len(content) > budget:
        raise _over_budget("gzip", budget)
    if not member.eof:
        raise _corrupt("gzip", "the stream ends early")
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
_SNAPPY_MOST_RATIO = 22  # a 3-byte copy gives at most 64 bytes


def _snappy_claim(block: memoryview) -> int:
    """The size that a raw block says it decompresses to: a little-endian varint of at most 32 bits in front."""
    size = 0
    for i, byte in enumerate(block[:5]):
        size |= (byte & 0x7F) << (7 * i)
        if byte < 0x80:
            if size > _SNAPPY_MOST_RATIO * len(block):
                raise _corrupt("snappy", f"a block of {len(block)} bytes cannot hold the {size} bytes it claims")
            return size
    raise _corrupt("snappy", "a block whose size field does not end")


def _snappy_blocks(view: memoryview) -> Iterator[memoryview]:
    """The raw blocks, one at a time: a list of them could take forty times the size of the data."""
    if view[: len(_XERIAL_MAGIC)] != _XERIAL_MAGIC:
        yield view
        return
    at = 0
    while at < len(view):
        if view[at : at + len(_XERIAL_MAGIC)] == _XERIAL_MAGIC:
            at += len(_XERIAL_HEADER)
            if at > len(view):
                raise _corrupt("snappy", "the xerial header is cut off")
            continue
        if at + 4 > len(view):
            raise _corrupt("snappy", f"{len(view) - at} bytes are left where a block length should be")
        (size,) = struct.unpack_from(">i", view, at)
        at += 4
        if size <= 0 or size > len(view) - at:
            raise _corrupt("snappy", f"a block length of {size} with {len(view) - at} bytes left")
        yield view[at : at + size]
        at += size


def _unsnappy(view: memoryview, budget: int) -> Buffer:
    claimed = sum(_snappy_claim(block) for block in _snappy_blocks(view))
    output = OutputBlock(_within(claimed, budget, "snappy"))
    decompress_raw_into = _library("cramjam").snappy.decompress_raw_into
    for block in _snappy_blocks(view):
        claim = _snappy_claim(block)
        if claim == 0 and len(block) == 1:
            continue
        try:
            output.advance(decompress_raw_into(block, output.room(claim)))
        except Exception as error:
            raise _corrupt("snappy", error) from None
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
_LZ4_BLOCK_CHECKSUM = 0x10
_LZ4_CONTENT_SIZE = 0x08
_LZ4_CONTENT_CHECKSUM = 0x04
_LZ4_RESERVED = 0x02
_LZ4_DICTIONARY = 0x01
_LZ4_UNCOMPRESSED = 0x80000000
_LZ4_64_KIB = 0x40
_LZ4_MOST_RATIO = 255


def _lz4_header_checksum(descriptor: bytes, magic: int) -> int:
    covered = _LZ4_MAGIC + descriptor if magic == 0 else descriptor
    return (xxh32(covered) >> 8) & 0xFF


def _lz4_header(view: memoryview, magic: int) -> tuple[int, int, int | None, int]:
    """(flags, greatest block size, content size or None, size of the header)."""
    if len(view) < 7 or view[:4] != _LZ4_MAGIC:
        raise _corrupt("lz4", "no frame header")
    flags, sizes = view[4], view[5]
    if flags & 0xC0 != _LZ4_VERSION or flags & _LZ4_RESERVED or sizes & 0x8F or sizes >> 4 < 4:
        raise _corrupt("lz4", f"frame descriptor 0x{flags:02x} 0x{sizes:02x}")
    if not flags & _LZ4_INDEPENDENT:
        raise _corrupt("lz4", "blocks that depend on each other, which Kafka does not allow")
    if flags & _LZ4_DICTIONARY:
        raise _corrupt("lz4", "a frame that needs a dictionary")
    end = 14 if flags & _LZ4_CONTENT_SIZE else 6
    if len(view) <= end:
        raise _corrupt("lz4", "the frame header is cut off")
    content_size = struct.unpack_from("<Q", view, 6)[0] if flags & _LZ4_CONTENT_SIZE else None
    descriptor = bytes(view[4:end])
    known = {_lz4_header_checksum(descriptor, 1)}
    if magic == 0:
        known.add(_lz4_header_checksum(descriptor, 0))
    if view[end] not in known:
        raise _corrupt("lz4", "the frame header's checksum does not match")
    return flags, 1 << (8 + 2 * (sizes >> 4)), content_size, end + 1


def _lz4_blocks(view: memoryview, at: int, flags: int, greatest: int) -> Iterator[tuple[int, int, bool]]:
    """(where the block's bytes begin, how many they are, whether they are compressed) up to the end mark."""
    checksum_size = 4 if flags & _LZ4_BLOCK_CHECKSUM else 0
    while True:
        if at + 4 > len(view):
            raise _corrupt("lz4", "the frame ends without an end mark")
        (word,) = struct.unpack_from("<I", view, at)
        at += 4
        if word == 0:
            return
        size = word & ~_LZ4_UNCOMPRESSED
        if size == 0 or size > greatest or size + checksum_size > len(view) - at:
            raise _corrupt("lz4", f"a block of {size} bytes with {len(view) - at} bytes left and a limit of {greatest}")
        yield at, size, word == size
        at += size + checksum_size


def _lz4_sizes(view: memoryview, at: int, flags: int, greatest: int) -> tuple[int, int, int]:
    """(bytes that are stored as they are, the most that all blocks can hold, where the end mark ended)."""
    stored = possible = 0
    checksum_size = 4 if flags & _LZ4_BLOCK_CHECKSUM else 0
    for begin, size, compressed in _lz4_blocks(view, at, flags, greatest):
        stored += 0 if compressed else size
        possible += min(greatest, _LZ4_MOST_RATIO * size) if compressed else size
        at = begin + size + checksum_size
    return stored, possible, at + 4


def _unlz4(view: memoryview, budget: int, magic: int) -> Buffer:
    flags, greatest, content_size, first = _lz4_header(view, magic)
    if content_size is not None:
        _within(content_size, budget, "lz4")
    stored, possible, end = _lz4_sizes(view, first, flags, greatest)
    output = OutputBlock(min(_within(stored, budget, "lz4") + _FIRST_TRY, possible))
    for at, size, compressed in _lz4_blocks(view, first, flags, greatest):
        block = view[at : at + size]
        if flags & _LZ4_BLOCK_CHECKSUM and struct.unpack_from("<I", view, at + size)[0] != xxh32(block):
            raise _corrupt("lz4", "a block's checksum does not match")
        _unlz4_block(block, compressed, greatest, budget, output)
    _check_lz4_end(view, end, flags, content_size, output)
    return output.finish()


def _unlz4_block(block: memoryview, compressed: bool, greatest: int, budget: int, output: OutputBlock) -> None:
    left = budget - output.size
    most = min(greatest, _LZ4_MOST_RATIO * len(block)) if compressed else len(block)
    room = output.room(min(most, left))
    if not compressed:
        if left < most:
            raise _over_budget("lz4", budget)
        room[:] = block
        output.advance(len(block))
        return
    decompress_block_into = _library("cramjam").lz4.decompress_block_into
    try:
        output.advance(decompress_block_into(block, room, output_len=len(room)))
    except Exception as error:
        raise (_over_budget("lz4", budget) if left < most else _corrupt("lz4", error)) from None


def _check_lz4_end(view: memoryview, at: int, flags: int, content_size: int | None, output: OutputBlock) -> None:
    if content_size is not None and content_size != output.size:
        raise _corrupt("lz4", f"the frame claims {content_size} bytes and holds {output.size}")
    if flags & _LZ4_CONTENT_CHECKSUM:
        if at + 4 > len(view):
            raise _corrupt("lz4", "the content checksum is cut off")
        if struct.unpack_from("<I", view, at)[0] != xxh32(output.finish()):
            raise _corrupt("lz4", "the content's checksum does not match")
        at += 4
    if at != len(view):
        raise _corrupt("lz4", f"{len(view) - at} bytes behind the frame")


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

_ZSTD_MAGIC = 0xFD2FB528
_ZSTD_SKIPPABLE = 0x184D2A50
_ZSTD_MOST_WINDOW = 1 << 27
_ZSTD_MOST_BLOCK = 128 * 1024


def _zstd_frame_header(view: memoryview, at: int) -> tuple[int | None, bool, int]:
    """(content size or None, whether a checksum follows the blocks, where the first block begins)."""
    descriptor = view[at]
    single_segment = bool(descriptor & 0x20)
    if descriptor & 0x08:
        raise _corrupt("zstd", "a reserved bit of the frame header is set")
    size_of_size = (1 if single_segment else 0, 2, 4, 8)[descriptor >> 6]
    size_of_dictionary = (0, 1, 2, 4)[descriptor & 3]
    end = at + 1 + (not single_segment) + size_of_dictionary + size_of_size
    if end > len(view):
        raise _corrupt("zstd", "the frame header is cut off")
    content_size = int.from_bytes(view[end - size_of_size : end], "little") if size_of_size else None
    if content_size is not None and size_of_size == 2:
        content_size += 256
    if single_segment:
        window = content_size or 0
    else:
        exponent, mantissa = view[at + 1] >> 3, view[at + 1] & 7
        window = (1 << (10 + exponent)) // 8 * (8 + mantissa)
    if window > _ZSTD_MOST_WINDOW:
        raise errors.LimitError(f"zstd data asks for a window of {window} bytes, more than {_ZSTD_MOST_WINDOW}")
    return content_size, bool(descriptor & 0x04), end


def _zstd_blocks(view: memoryview, at: int) -> tuple[int, int, int]:
    """(least, most content bytes that the blocks can hold, where the last block ended)."""
    least = most = 0
    while True:
        if at + 3 > len(view):
            raise _corrupt("zstd", "the last block is missing")
        word = int.from_bytes(view[at : at + 3], "little")
        last, kind, size = word & 1, (word >> 1) & 3, word >> 3
        if kind == 3:
            raise _corrupt("zstd", "a block of the reserved type")
        at += 3 + (1 if kind == 1 else size)
        if at > len(view):
            raise _corrupt("zstd", f"a block of {size} bytes goes beyond the end")
        least += size if kind < 2 else 0
        most += size if kind < 2 else _ZSTD_MOST_BLOCK
        if last:
            return least, most, at


def _zstd_ceiling(view: memoryview, budget: int) -> int:
    """The most that all frames together can decompress to; frames and blocks are walked by their headers."""
    ceiling = at = 0
    while at < len(view):
        if at + 8 > len(view):
            raise _corrupt("zstd", f"{len(view) - at} bytes are left where a frame should be")
        magic, size = struct.unpack_from("<II", view, at)
        if magic & 0xFFFFFFF0 == _ZSTD_SKIPPABLE:
            at += 8 + size
            if at > len(view):
                raise _corrupt("zstd", f"a skippable frame of {size} bytes goes beyond the end")
            continue
        if magic != _ZSTD_MAGIC:
            raise _corrupt("zstd", f"no frame begins with 0x{magic:08x}")
        claimed, has_checksum, at = _zstd_frame_header(view, at + 4)
        if claimed is not None:
            _within(ceiling + claimed, budget, "zstd")
        least, most, at = _zstd_blocks(view, at)
        _within(ceiling + least, budget, "zstd")
        at += 4 if has_checksum else 0
        ceiling += most if claimed is None else min(claimed, most)
    return ceiling


def _unzstd(view: memoryview, budget: int) -> Buffer:
    if len(view) == 0:
        raise _corrupt("zstd", "no bytes at all")
    ceiling = _zstd_ceiling(view, budget)
    return _decompress_growing("zstd", _library("cramjam").zstd.decompress_into, view, ceiling, ceiling, budget)
