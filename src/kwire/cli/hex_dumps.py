"""Bytes out of hex as people have it at hand: bare digits, and what xxd, hexdump, od and tcpdump print.

bare          0011 2233, 00:11:22, 0x00,0x11, \\x00\\x11; blanks and line ends anywhere
xxd           00000000: 0011 2233 4455  ..."3DU
hexdump -C    00000000  00 11 22 33 44 55  |.."3DU|
hexdump, od   0000000 1100 3322            (7 digits of offset: words in the byte order of small machines)
tcpdump -x    0x0000:  4500 003c           (whole IP packets: the payload of TCP is taken)
"""

from __future__ import annotations

import re

from kwire.cli.capture.files import Packet
from kwire.cli.capture.packets import Segment, segment_of
from kwire.errors import ConfigError

__all__ = ["bytes_of_hex", "looks_like_hex"]

_XXD = re.compile(r"^\s*[0-9a-fA-F]{6,16}:\s?((?:[0-9a-fA-F]{2,4} ?)+)")
_CANONICAL = re.compile(r"^\s*[0-9a-fA-F]{8,16}  ((?:[0-9a-fA-F]{2} {1,2})+)\s*(?:\|.*)?$")
_WORDS = re.compile(r"^\s*[0-9a-fA-F]{7}\s((?:\s*[0-9a-fA-F]{4}\b)+)\s*$")
_TCPDUMP = re.compile(r"^\s*0x[0-9a-fA-F]{4,}:\s+((?:[0-9a-fA-F]{2,4} ?)+)")
_OFFSET_ONLY = re.compile(r"^\s*[0-9a-fA-F]{6,16}:?\s*$|^\s*\*\s*$")
_BARE_NOISE = re.compile(r"0x|\\x|[\s:,;]|[\"'{}\[\]]", re.IGNORECASE)
_DIGITS = re.compile(r"^[0-9a-fA-F]+$")
_RAW_IP = 101


def looks_like_hex(data: bytes) -> bool:
    """Whether a file is a hex dump and not the bytes themselves."""
    head = data[:4096]
    if not head or not head.isascii() or any(byte < 0x20 and byte not in b"\t\r\n" for byte in head):
        return False
    lines = [line for line in head.decode().splitlines() if line.strip()][:-1] or [head.decode()]
    return all(_line(line) is not None or _bare(line) is not None for line in lines)


def bytes_of_hex(text: str) -> tuple[bytes, list[str]]:
    """The bytes, and notes on what was made of the text. Raises ConfigError for text that is not hex."""
    lines = [line for line in text.splitlines() if line.strip() and not _OFFSET_ONLY.match(line)]
    if lines and _TCPDUMP.match(next((line for line in lines if line.lstrip()[:2] == "0x"), "")):
        return _payloads(lines)
    dumped = [_line(line) for line in lines]
    if lines and all(part is not None for part in dumped):
        return b"".join(part for part in dumped if part is not None), []
    bare = _BARE_NOISE.sub("", text)
    if bare and not _DIGITS.match(bare):
        odd = next(letter for letter in bare if letter not in "0123456789abcdefABCDEF")
        raise ConfigError(
            f"non-hexadecimal {odd!r} in the text: write digits, blanks allowed, or paste what xxd, hexdump -C or "
            "tcpdump -x print"
        )
    if len(bare) % 2:
        raise ConfigError(f"{len(bare)} non-hexadecimal pairs: an odd number of digits, the last half byte is missing")
    return bytes.fromhex(bare), []


def _line(line: str) -> bytes | None:
    """The bytes of one line of a dump, None when it is none."""
    for form in (_CANONICAL, _XXD, _TCPDUMP):
        found = form.match(line)
        if found:
            digits = found[1].replace(" ", "")
            return bytes.fromhex(digits) if len(digits) % 2 == 0 else None
    found = _WORDS.match(line)
    if found:
        return b"".join(bytes.fromhex(word)[::-1] for word in found[1].split())
    return None


def _bare(line: str) -> str | None:
    digits = _BARE_NOISE.sub("", line)
    return digits if _DIGITS.match(digits) else None


def _payloads(lines: list[str]) -> tuple[bytes, list[str]]:
    """What TCP carried in the packets that tcpdump -x printed."""
    packets: list[bytearray] = []
    for line in lines:
        data = _line(line)
        if data is None:
            continue
        if line.lstrip().lower().startswith("0x0000:") or not packets:
            packets.append(bytearray())
        packets[-1] += data
    segments = [segment_of(Packet(0, _RAW_IP, bytes(packet), len(packet), 0)) for packet in packets]
    payloads = [segment.payload for segment in segments if isinstance(segment, Segment)]
    if not payloads:
        return b"".join(map(bytes, packets)), ["no IP packets with TCP: taken as they are"]
    return b"".join(payloads), [f"{len(packets)} IP packets: the payload of TCP is shown"]
