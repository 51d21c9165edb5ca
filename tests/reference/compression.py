"""The four codecs as Kafka frames them, by other libraries than kwire's and, for snappy and lz4 framing, by hand.

snappy: xerial's header and (length, raw block)*; a raw block is a varint size, then literals and copies.
lz4: magic, FLG 0x60 (version 1, independent blocks), BD 0x40 (64 KiB), a checksum byte of those two (in magic 0, by
KAFKA-3160, of the magic as well), then (size little-endian, block)* and four zero bytes.
"""

import gzip
import struct

import lz4.block
import zstandard

XERIAL = b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1)
LZ4_HEADER = b"\x04\x22\x4d\x18\x60\x40"
LZ4_CHECKSUM = {0: 0x1A, 1: 0x82, 2: 0x82}


def compress(codec: str, data: bytes, magic: int = 2) -> bytes:
    if codec == "gzip":
        return gzip.compress(data, 6)
    if codec == "snappy":
        blocks = [snappy_literals(data[at : at + 32768]) for at in range(0, len(data), 32768)]
        return XERIAL + b"".join(struct.pack(">i", len(block)) + block for block in blocks)
    if codec == "lz4":
        return lz4_frame(data, LZ4_CHECKSUM[magic])
    if codec == "zstd":
        return zstandard.ZstdCompressor().compress(data)
    return data


def decompress(codec: str, data: bytes) -> bytes:
    if codec == "gzip":
        return gzip.decompress(data)
    if codec == "snappy":
        return _xerial(data) if data.startswith(XERIAL[:8]) else snappy_block(data)
    if codec == "lz4":
        return _lz4_content(data)
    if codec == "zstd":
        return zstandard.ZstdDecompressor().decompressobj().decompress(data)
    return data


def lz4_frame(data: bytes, checksum: int) -> bytes:
    frame = bytearray(LZ4_HEADER)
    frame.append(checksum)
    for at in range(0, len(data), 65536):
        part = data[at : at + 65536]
        block = lz4.block.compress(part, store_size=False)
        stored = len(block) >= len(part)
        frame += struct.pack("<I", len(part) | 0x80000000) + part if stored else struct.pack("<I", len(block)) + block
    return bytes(frame) + bytes(4)


def _lz4_content(frame: bytes) -> bytes:
    """Frames without optional fields, as Kafka's writers make them."""
    assert frame[:7] in (LZ4_HEADER + b"\x82", LZ4_HEADER + b"\x1a")
    at = 7
    content = b""
    while True:
        (size,) = struct.unpack_from("<I", frame, at)
        at += 4
        if size == 0:
            return content
        stored = bool(size & 0x80000000)
        block = frame[at : at + (size & 0x7FFFFFFF)]
        at += len(block)
        content += block if stored else lz4.block.decompress(block, uncompressed_size=65536)


def snappy_literals(data: bytes) -> bytes:
    """A raw block that compresses nothing: the size, then literals of at most 60 bytes."""
    block = bytearray()
    size = len(data)
    while size >= 128:
        block.append(size % 128 + 128)
        size //= 128
    block.append(size)
    for at in range(0, len(data), 60):
        literal = data[at : at + 60]
        block.append((len(literal) - 1) << 2)
        block += literal
    return bytes(block)


def snappy_block(block: bytes) -> bytes:
    size, at, shift = 0, 0, 0
    while True:
        byte = block[at]
        size |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            break
    out = bytearray()
    while at < len(block):
        tag = block[at]
        at += 1
        if tag & 3 == 0:
            length = tag >> 2
            if length >= 60:
                extra = length - 59
                length = int.from_bytes(block[at : at + extra], "little")
                at += extra
            out += block[at : at + length + 1]
            at += length + 1
            continue
        if tag & 3 == 1:
            length, distance, at = ((tag >> 2) & 7) + 4, (tag >> 5) << 8 | block[at], at + 1
        else:
            width = 2 if tag & 3 == 2 else 4
            length, distance = (tag >> 2) + 1, int.from_bytes(block[at : at + width], "little")
            at += width
        for _ in range(length):
            out.append(out[-distance])
    assert len(out) == size
    return bytes(out)


def _xerial(data: bytes) -> bytes:
    at = len(XERIAL)
    content = b""
    while at < len(data):
        (size,) = struct.unpack_from(">i", data, at)
        content += snappy_block(data[at + 4 : at + 4 + size])
        at += 4 + size
    return content
