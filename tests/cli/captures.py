"""Capture files made by hand: TCP conversations as packets of every link type, written as pcap or pcapng."""

from __future__ import annotations

import ipaddress
import random
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

CLIENT, SERVER = ("10.0.0.1", 51234), ("10.0.0.2", 9092)
FIN, SYN, RST, PSH, ACK = 0x01, 0x02, 0x04, 0x08, 0x10
START_NS = 1_700_000_000_123_456_000
STEP_NS = 1_000_000

Address = tuple[str, int]


@dataclass
class Packet:
    """An IP packet and the time at which it was seen; `captured` cuts it off."""

    data: bytes
    time_ns: int
    captured: int | None = None


def tcp(source: Address, target: Address, sequence: int, payload: bytes = b"", flags: int = ACK | PSH) -> bytes:
    """A TCP segment in IPv4 or IPv6, as the addresses say."""
    options = b"\x01\x01\x08\x0a" + bytes(8)
    head = struct.pack(
        ">HHIIBBHHH", source[1], target[1], sequence & 0xFFFFFFFF, 0, (20 + len(options)) << 2, flags, 65535, 0, 0
    )
    segment = head + options + payload
    addresses = ipaddress.ip_address(source[0]).packed + ipaddress.ip_address(target[0]).packed
    if len(addresses) == 8:
        return struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(segment), 1, 0x4000, 64, 6, 0) + addresses + segment
    hop_by_hop = b"\x06\x00" + bytes(6)
    return struct.pack(">IHBB", 6 << 28, len(hop_by_hop + segment), 0, 64) + addresses + hop_by_hop + segment


@dataclass
class Wire:
    """A connection that is written down packet by packet."""

    client: Address = CLIENT
    server: Address = SERVER
    time_ns: int = START_NS
    client_sequence: int = 0xFFFF_FFF0
    server_sequence: int = 4711
    packets: list[Packet] = field(default_factory=list)

    def open(self) -> Wire:
        self._add(tcp(self.client, self.server, self.client_sequence, flags=SYN))
        self._add(tcp(self.server, self.client, self.server_sequence, flags=SYN | ACK))
        self.client_sequence += 1
        self.server_sequence += 1
        self._add(tcp(self.client, self.server, self.client_sequence, flags=ACK))
        return self

    def ask(self, data: bytes, *, size: int = 1448) -> Wire:
        """The client sends `data`, in segments of at most `size` bytes."""
        for at in range(0, len(data), size):
            self._add(tcp(self.client, self.server, self.client_sequence, data[at : at + size]))
            self.client_sequence += len(data[at : at + size])
        return self

    def answer(self, data: bytes, *, size: int = 1448) -> Wire:
        for at in range(0, len(data), size):
            self._add(tcp(self.server, self.client, self.server_sequence, data[at : at + size]))
            self.server_sequence += len(data[at : at + size])
        return self

    def close(self) -> Wire:
        self._add(tcp(self.client, self.server, self.client_sequence, flags=FIN | ACK))
        self._add(tcp(self.server, self.client, self.server_sequence, flags=FIN | ACK))
        return self

    def _add(self, data: bytes) -> None:
        self.packets.append(Packet(data, self.time_ns))
        self.time_ns += STEP_NS


def shuffled(packets: Sequence[Packet], rng: random.Random, *, reach: int = 4) -> list[Packet]:
    """The same packets a little out of order, some of them twice; the times keep their order."""
    places = sorted(range(len(packets)), key=lambda place: place + rng.random() * reach)
    order = [packets[place] for place in places]
    for _ in range(len(packets) // 4):
        order.insert(rng.randrange(len(order)), rng.choice(order))
    return [Packet(packet.data, START_NS + number * 1000) for number, packet in enumerate(order)]


def _ethernet(data: bytes) -> bytes:
    return bytes(12) + (b"\x08\x00" if data[0] >> 4 == 4 else b"\x86\xdd") + data


def _with_vlan(data: bytes) -> bytes:
    plain = _ethernet(data)
    return plain[:12] + b"\x88\xa8\x00\x01\x81\x00\x00\x02" + plain[12:]


def _cooked(data: bytes) -> bytes:
    return bytes(14) + _ethernet(data)[12:]


def _cooked_2(data: bytes) -> bytes:
    return _ethernet(data)[12:14] + bytes(18) + data


LINKS = {
    "ethernet": (1, _ethernet),
    "vlan": (1, _with_vlan),
    "cooked": (113, _cooked),
    "cooked 2": (276, _cooked_2),
    "null": (0, lambda data: b"\x02\x00\x00\x00" + data),
    "loop": (108, lambda data: b"\x00\x00\x00\x02" + data),
    "raw": (101, lambda data: data),
}


def pcap(packets: Iterable[Packet], *, link: str = "ethernet", order: str = "<", nanoseconds: bool = False) -> bytes:
    link_type, wrap = LINKS[link]
    magic, scale = (0xA1B23C4D, 1) if nanoseconds else (0xA1B2C3D4, 1000)
    parts = [struct.pack(f"{order}IHHiIII", magic, 2, 4, 0, 0, 65535, link_type)]
    for packet in packets:
        data = wrap(packet.data)
        kept = data[: packet.captured]
        seconds, fraction = divmod(packet.time_ns, 1_000_000_000)
        parts += [struct.pack(f"{order}IIII", seconds, fraction // scale, len(kept), len(data)), kept]
    return b"".join(parts)


def _block(order: str, kind: int, body: bytes) -> bytes:
    body += bytes(-len(body) % 4)
    return struct.pack(f"{order}II", kind, len(body) + 12) + body + struct.pack(f"{order}I", len(body) + 12)


def pcapng(packets: Iterable[Packet], *, link: str = "ethernet", order: str = "<", nanoseconds: bool = False) -> bytes:
    """With a block of a kind that no reader knows in front of the packets."""
    link_type, wrap = LINKS[link]
    options = struct.pack(f"{order}HHBxxxHH", 9, 1, 9, 0, 0) if nanoseconds else b""
    parts = [
        _block(order, 0x0A0D0D0A, struct.pack(f"{order}IHHq", 0x1A2B3C4D, 1, 0, -1)),
        _block(order, 1, struct.pack(f"{order}HHI", link_type, 0, 0) + options),
        _block(order, 0x0BAD, b"odd"),
    ]
    for packet in packets:
        data = wrap(packet.data)
        kept = data[: packet.captured]
        ticks = packet.time_ns if nanoseconds else packet.time_ns // 1000
        head = struct.pack(f"{order}IIIII", 0, ticks >> 32, ticks & 0xFFFFFFFF, len(kept), len(data))
        parts.append(_block(order, 6, head + kept))
    return b"".join(parts)


FILES = {"pcap": pcap, "pcapng": pcapng}
