"""Message sets of Kafka 0.7 in plain Python: the page "Wire Format", and how release 0.7.2's iterator resumes.

Nothing of kwire is imported.
"""

from __future__ import annotations

import struct
import zlib

from tests.reference.compression import decompress


def message(payload: bytes, magic: int = 1, codec: int = 0) -> bytes:
    """LENGTH, MAGIC, COMPRESSION (magic 1), CHECKSUM, PAYLOAD."""
    attributes = struct.pack(">b", codec) if magic == 1 else b""
    body = struct.pack(">b", magic) + attributes + struct.pack(">I", zlib.crc32(payload)) + payload
    return struct.pack(">i", len(body)) + body


def read(data: bytes, start: int = 0) -> list[tuple[int, bytes, int]]:
    """(offset, payload, offset at which reading resumes behind it) of each message of a log that begins at `start`."""
    found = []
    at = 0
    while len(data) - at >= 4:
        size = struct.unpack_from(">i", data, at)[0]
        if at + 4 + size > len(data):
            break
        payloads = _payloads(data[at + 4 : at + 4 + size])
        behind = start + at + 4 + size
        resume = [start + at] * (len(payloads) - 1) + [behind]
        found += [(start + at, payload, after) for payload, after in zip(payloads, resume, strict=False)]
        at += 4 + size
    return found


def _payloads(body: bytes) -> list[bytes]:
    magic = body[0]
    codec = body[1] & 3 if magic == 1 else 0
    checksum = struct.unpack_from(">I", body, 1 + magic)[0]
    payload = body[5 + magic :]
    if zlib.crc32(payload) != checksum:
        raise ValueError("checksum")
    if codec == 0:
        return [payload]
    inner = decompress("gzip" if codec == 1 else "snappy", payload)
    return [each for _, each, _ in read(inner)]
