"""Packets to TCP segments: link layer, IP version 4 or 6, TCP.

    Ethernet     6 + 6 bytes of addresses, type uint16; VLAN tags (8100, 88a8, 9100) of 4 bytes before the type
    Linux cooked v1: 16 bytes, type at 14; v2: 20 bytes, type at 0
    null, loop   4 bytes of address family; raw IP: nothing
    IPv4         version and header length, total length at 2, fragment at 6, protocol at 9, addresses at 12 and 16
    IPv6         payload length at 4, next header at 6, addresses at 8 and 24, then extension headers
    TCP          ports at 0 and 2, sequence at 4, header length and flags at 12
Sources: the link types of tcpdump.org, RFC 791, RFC 8200, RFC 9293, IEEE 802.1Q.

Checksums are not looked at: captures on the sending machine are taken before the network card fills them in.
"""

from __future__ import annotations

import ipaddress
import struct
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from kwire.cli.capture.files import Packet
from kwire.errors import UnknownVersionError

__all__ = ["Endpoint", "Segment", "segment_of"]

_NULL, _ETHERNET, _LOOP, _COOKED, _COOKED_2 = 0, 1, 108, 113, 276
_RAW = {12, 14, 101, 228, 229}
_VLAN = {0x8100, 0x88A8, 0x9100}
_IP_TYPES = {0x0800, 0x86DD}
_TCP = 6
_EXTENSIONS = {0, 43, 60}
_FRAGMENT, _AUTHENTICATION = 44, 51
_FIN, _SYN, _RST, _ACK = 0x01, 0x02, 0x04, 0x10


class Endpoint(NamedTuple):
    """An address and port."""

    address: bytes
    port: int

    def __str__(self) -> str:
        return _endpoint_text(self.address, self.port)


@lru_cache(maxsize=4096)
def _endpoint_text(address: bytes, port: int) -> str:
    host = ipaddress.ip_address(address)
    return f"[{host}]:{port}" if host.version == 6 else f"{host}:{port}"


@dataclass(frozen=True, slots=True)
class Segment:
    """One TCP segment. `missing` bytes of its payload, after those in `payload`, were not captured.

    `at` is where the payload begins in the file.
    """

    time_ns: int
    source: Endpoint
    target: Endpoint
    sequence: int
    payload: bytes
    missing: int
    at: int
    syn: bool
    ack: bool
    fin: bool
    rst: bool


def segment_of(packet: Packet) -> Segment | str:
    """The TCP segment in a packet, or why there is none.

    UnknownVersionError for a link type that is not known.
    """
    start = _network_layer(packet)
    if start is None:
        return "not IP"
    data = packet.data
    if len(data) <= start:
        return "cut off before IP"
    version = data[start] >> 4
    if version == 4:
        return _ipv4(packet, start)
    if version == 6:
        return _ipv6(packet, start)
    return "not IP"


def _network_layer(packet: Packet) -> int | None:
    data, kind = packet.data, packet.link_type
    if kind == _ETHERNET:
        return _behind_vlan(data, 12)
    if kind == _COOKED:
        return _behind_vlan(data, 14)
    if kind == _COOKED_2:
        return 20 if _type_at(data, 0) in _IP_TYPES else None
    if kind in (_NULL, _LOOP):
        return 4
    if kind in _RAW:
        return 0
    raise UnknownVersionError(
        f"link type {kind} is not known; kwire reads Ethernet (1), Linux cooked (113, 276), loopback (0, 108) and "
        "raw IP (12, 14, 101, 228, 229)",
        "link type",
    )


def _type_at(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 2], "big")


def _behind_vlan(data: bytes, at: int) -> int | None:
    kind = _type_at(data, at)
    while kind in _VLAN:
        at += 4
        kind = _type_at(data, at)
    return at + 2 if kind in _IP_TYPES else None


def _ipv4(packet: Packet, start: int) -> Segment | str:
    data = packet.data
    header = (data[start] & 0x0F) * 4
    if header < 20 or len(data) < start + header:
        return "cut off within IP"
    total, _, fragment = struct.unpack_from(">HHH", data, start + 2)
    if data[start + 9] != _TCP:
        return "not TCP"
    if fragment & 0x3FFF:
        return "an IP fragment"
    # A network card that cuts large sends into segments itself leaves the total length 0.
    end = start + total if total else start + packet.original_size - start
    return _tcp(packet, start + header, end, data[start + 12 : start + 16], data[start + 16 : start + 20])


def _ipv6(packet: Packet, start: int) -> Segment | str:
    data = packet.data
    if len(data) < start + 40:
        return "cut off within IP"
    payload, kind = struct.unpack_from(">HB", data, start + 4)
    end = start + 40 + payload if payload else packet.original_size
    at = start + 40
    while kind in _EXTENSIONS or kind in (_FRAGMENT, _AUTHENTICATION):
        if len(data) < at + 8:
            return "cut off within IP"
        if kind == _FRAGMENT:
            if struct.unpack_from(">H", data, at + 2)[0] & 0xFFF9:
                return "an IP fragment"
            size = 8
        else:
            size = (data[at + 1] + 2) * 4 if kind == _AUTHENTICATION else (data[at + 1] + 1) * 8
        kind, at = data[at], at + size
    if kind != _TCP:
        return "not TCP"
    return _tcp(packet, at, end, data[start + 8 : start + 24], data[start + 24 : start + 40])


def _tcp(packet: Packet, at: int, end: int, source: bytes, target: bytes) -> Segment | str:
    data = packet.data
    if len(data) < at + 20:
        return "cut off within TCP"
    source_port, target_port, sequence = struct.unpack_from(">HHI", data, at)
    begin = at + (data[at + 12] >> 4) * 4
    flags = data[at + 13]
    if begin < at + 20 or begin > end:
        return "no valid TCP header"
    payload = data[begin:end]
    return Segment(
        packet.time_ns,
        Endpoint(source, source_port),
        Endpoint(target, target_port),
        sequence,
        payload,
        end - begin - len(payload),
        packet.at + begin,
        bool(flags & _SYN),
        bool(flags & _ACK),
        bool(flags & _FIN),
        bool(flags & _RST),
    )
