"""Capture files: the packets of a pcap or pcapng file, one after the other, from any stream that can be read.

    pcap     magic uint32 a1b2c3d4 (microseconds) or a1b23c4d (nanoseconds) in the writer's byte order, version
             2 x uint16, zone int32, sigfigs uint32, snap length uint32, link type uint32 (low 16 bits); then per
             packet: seconds uint32, fraction uint32, captured length uint32, original length uint32, the bytes
    pcapng   blocks: type uint32, length uint32 (of the whole block, a multiple of 4), body, length again.
             0a0d0d0a section header (byte order 1a2b3c4d), 1 interface (link type uint16, reserved uint16, snap length
             uint32, options), 6 enhanced packet (interface uint32, time high and low uint32, captured and original
             length uint32, the bytes), 3 simple packet (original length uint32, the bytes), 2 packet (obsolete)
Sources: IETF drafts "PCAP Capture File Format" and "PCAP Now Generic (pcapng) Capture File Format".

A length is checked before anything is read for it. A file that ends within a packet yields the packets before it and
a note in `Reader.notes`.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from kwire.errors import CorruptError, TruncatedError

__all__ = ["Packet", "Reader", "is_capture"]

_PCAP = {
    b"\xd4\xc3\xb2\xa1": ("<", 1000), b"\xa1\xb2\xc3\xd4": (">", 1000),
    b"\x4d\x3c\xb2\xa1": ("<", 1), b"\xa1\xb2\x3c\x4d": (">", 1),
}  # fmt: skip
_PCAPNG = b"\x0a\x0d\x0d\x0a"
_SECTION, _INTERFACE, _OLD_PACKET, _SIMPLE, _ENHANCED = 0x0A0D0D0A, 1, 2, 3, 6
_RESOLUTION, _TIME_OFFSET = 9, 14
_MAX_PACKET = 16 * 1024 * 1024
_SKIP_AT_ONCE = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Packet:
    """`time_ns` since 1970 (0 where the file has none), `at` where `data` begins in the file."""

    time_ns: int
    link_type: int
    data: bytes
    original_size: int
    at: int


@dataclass(frozen=True, slots=True)
class _Interface:
    link_type: int
    snap_length: int
    ticks_per_second: int
    offset_s: int


def is_capture(head: bytes) -> bool:
    """Whether a file that begins with these (at least 4) bytes is one of packets."""
    return head[:4] in _PCAP or head[:4] == _PCAPNG


class Reader:
    """The packets of `source`, read once from its beginning. `notes` says what was odd; `position` how far it is."""

    def __init__(self, source: BinaryIO, head: bytes = b"") -> None:
        self._source = source
        self._head = head
        self.position = 0
        self.notes: list[str] = []

    def packets(self) -> Iterator[Packet]:
        """CorruptError when the file is not what its beginning says it is, TruncatedError when that is cut off."""
        magic = self._exactly(4)
        if magic == _PCAPNG:
            yield from self._pcapng()
        elif magic in _PCAP:
            yield from self._pcap(*_PCAP[magic])
        else:
            raise CorruptError(f"a capture file does not begin with 0x{magic.hex()}", "magic", 0)

    def _pcap(self, order: str, scale: int) -> Iterator[Packet]:
        *_, link_type = struct.unpack(f"{order}HHiIII", self._exactly(20))
        record = struct.Struct(f"{order}IIII")
        while True:
            head = self._read(16)
            if len(head) < 16:
                self._note_cut(head)
                return
            seconds, fraction, size, original = record.unpack(head)
            at = self.position
            if size > _MAX_PACKET:
                raise CorruptError(f"a packet of {size} bytes; the limit is {_MAX_PACKET}", "captured length", at - 8)
            data = self._read(size)
            if len(data) < size:
                self._note_cut(data or head)
                return
            yield Packet(seconds * 1_000_000_000 + fraction * scale, link_type & 0xFFFF, data, original, at)

    def _pcapng(self) -> Iterator[Packet]:
        order = ""
        interfaces: list[_Interface] = []
        kind_bytes = _PCAPNG
        while kind_bytes:
            begin = self.position - 4
            if kind_bytes == _PCAPNG:
                order = self._section(begin)
                interfaces = []
            else:
                kind, size = struct.unpack(f"{order}II", kind_bytes + self._exactly(4))
                packet = self._block(order, kind, self._block_size(size, begin), interfaces)
                if packet is not None:
                    yield packet
            kind_bytes = self._read(4)
            if 0 < len(kind_bytes) < 4:
                self._note_cut(kind_bytes)
                return

    def _block_size(self, size: int, begin: int) -> int:
        if size < 12 or size % 4:
            raise CorruptError(f"a block length of {size}", "block length", begin + 4)
        return size - 12

    def _section(self, begin: int) -> str:
        rest = self._exactly(8)
        for order in "<>":
            if struct.unpack_from(f"{order}I", rest, 4)[0] == 0x1A2B3C4D:
                size = self._block_size(struct.unpack_from(f"{order}I", rest)[0], begin)
                self._skip(size - 4 + 4)
                return order
        raise CorruptError("a section without a byte order", "byte-order magic", begin + 8)

    def _block(self, order: str, kind: int, size: int, interfaces: list[_Interface]) -> Packet | None:
        begin = self.position
        if kind not in (_INTERFACE, _OLD_PACKET, _SIMPLE, _ENHANCED):
            self._skip(size + 4)
            return None
        if size > _MAX_PACKET:
            raise CorruptError(f"a block of {size} bytes; the limit is {_MAX_PACKET}", "block length", begin - 4)
        body = self._read(size)
        if len(body) < size or len(self._read(4)) < 4:
            self._note_cut(body or b"?")
            return None
        try:
            if kind == _INTERFACE:
                interfaces.append(_interface(order, body))
                return None
            return _packet(order, kind, body, begin, interfaces)
        except (struct.error, IndexError, OverflowError, ZeroDivisionError):
            raise CorruptError("a block shorter than its fields, or of an interface that is not there", "block",
                               begin - 8) from None  # fmt: skip

    def _read(self, size: int) -> bytes:
        taken, self._head = self._head[:size], self._head[size:]
        while len(taken) < size:
            more = self._source.read(size - len(taken))
            if not more:
                break
            taken += more
        self.position += len(taken)
        return taken

    def _exactly(self, size: int) -> bytes:
        data = self._read(size)
        if len(data) < size:
            raise TruncatedError("the capture file ends within a header", "header", self.position)
        return data

    def _skip(self, size: int) -> None:
        while size > 0:
            passed = len(self._read(min(size, _SKIP_AT_ONCE)))
            if not passed:
                return
            size -= passed

    def _note_cut(self, left: bytes) -> None:
        if left:
            self.notes.append(f"the capture file ends within a packet, at byte {self.position}")


def _interface(order: str, body: bytes) -> _Interface:
    link_type, _, snap_length = struct.unpack_from(f"{order}HHI", body)
    ticks, offset, at = 1_000_000, 0, 8
    while at + 4 <= len(body):
        code, size = struct.unpack_from(f"{order}HH", body, at)
        if code == 0:
            break
        if code == _RESOLUTION and size >= 1:
            raw = body[at + 4]
            ticks = 2 ** (raw & 0x7F) if raw & 0x80 else 10**raw
        elif code == _TIME_OFFSET and size >= 8:
            offset = struct.unpack_from(f"{order}q", body, at + 4)[0]
        at += 4 + size + -size % 4
    return _Interface(link_type, snap_length, ticks, offset)


def _packet(order: str, kind: int, body: bytes, at: int, interfaces: list[_Interface]) -> Packet:
    if kind == _SIMPLE:
        found = interfaces[0]
        (original,) = struct.unpack_from(f"{order}I", body)
        size = min(original, found.snap_length or original, len(body) - 4)
        return Packet(0, found.link_type, body[4 : 4 + size], original, at + 4)
    if kind == _ENHANCED:
        number, high, low, size, original = struct.unpack_from(f"{order}IIIII", body)
    else:
        number, _, high, low, size, original = struct.unpack_from(f"{order}HHIIII", body)
    found = interfaces[number]
    ticks = high << 32 | low
    time_ns = ticks * 1_000_000_000 // found.ticks_per_second + found.offset_s * 1_000_000_000
    return Packet(time_ns, found.link_type, body[20 : 20 + size], original, at + 20)
