"""Damages batches on purpose: bits changed with the checksum left alone, or with the checksum made right again.

Only under a right checksum does a reader see the damage behind it: lengths, counts, varints, compressed blocks.
Layouts: offset i64, size i32, then for magic 0 and 1 crc u32 (CRC-32 of all that follows) and magic i8, for magic 2
leader epoch i32, magic i8 and crc u32 (CRC-32C of all that follows). The checksums here are plain Python, so that no
library's mistake is shared.
"""

import random
import struct
import zlib

_MAGIC_AT = 16
_OLD_CRC_AT = 12
_NEW_CRC_AT = 17
_CASTAGNOLI = 0x82F63B78


def flip_bits(data: bytes, place: int, rng: random.Random) -> bytes:
    """One bit of the byte at `place` changed."""
    damaged = bytearray(data)
    damaged[place] ^= 1 << rng.randrange(8)
    return bytes(damaged)


def with_right_checksum(batch: bytes) -> bytes:
    """The single batch or message with its checksum made to fit the rest."""
    fixed = bytearray(batch)
    if fixed[_MAGIC_AT] >= 2:
        struct.pack_into(">I", fixed, _NEW_CRC_AT, crc32c(bytes(fixed[_NEW_CRC_AT + 4 :])))
    else:
        struct.pack_into(">I", fixed, _OLD_CRC_AT, zlib.crc32(fixed[_OLD_CRC_AT + 4 :]))
    return bytes(fixed)


def first_checked_place(magic: int) -> int:
    """The first byte that the checksum covers."""
    return (_NEW_CRC_AT if magic >= 2 else _OLD_CRC_AT) + 4


def _table() -> list[int]:
    table = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (_CASTAGNOLI if value & 1 else 0)
        table.append(value)
    return table


_TABLE = _table()


def crc32c(data: bytes) -> int:
    """CRC-32C, bit-reflected, as RFC 3720 appendix B.4 has it."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ _TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF
