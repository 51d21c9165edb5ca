"""pcap and pcapng files, both byte orders and clocks, and every link type, down to TCP segments."""

from __future__ import annotations

import io
import random
import struct
from typing import Any

import pytest

from kwire import errors
from kwire.cli.capture.files import Reader, is_capture
from kwire.cli.capture.packets import Endpoint, Segment, segment_of
from tests.cli.captures import ACK, CLIENT, FILES, LINKS, PSH, SERVER, START_NS, Packet, pcap, pcapng, tcp

PAYLOAD = b"hello kafka"


def one_packet(**more: Any) -> list[Packet]:
    return [Packet(tcp(CLIENT, SERVER, 7, PAYLOAD), START_NS, **more)]


def segments(data: bytes) -> list[Segment | str]:
    return [segment_of(packet) for packet in Reader(io.BytesIO(data)).packets()]


@pytest.mark.parametrize("nanoseconds", [False, True])
@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("form", FILES)
def test_times_and_bytes(form: str, order: str, nanoseconds: bool) -> None:
    packets = [Packet(tcp(CLIENT, SERVER, 7, PAYLOAD), START_NS + (1789 if nanoseconds else 1000))] * 2
    data = FILES[form](packets, order=order, nanoseconds=nanoseconds)
    assert is_capture(data[:4])
    for packet in Reader(io.BytesIO(data)).packets():
        assert packet.time_ns == packets[0].time_ns
        assert data[packet.at : packet.at + len(packet.data)] == packet.data
        assert packet.data.endswith(PAYLOAD)


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("ends", [(CLIENT, SERVER), (("fd00::1", 1), ("fd00::2", 9092))], ids=["IPv4", "IPv6"])
def test_every_link_type(link: str, ends: tuple[tuple[str, int], tuple[str, int]]) -> None:
    data = pcap([Packet(tcp(*ends, 7, PAYLOAD), START_NS)], link=link)
    (segment,) = segments(data)
    assert isinstance(segment, Segment)
    assert (segment.payload, segment.sequence, segment.missing) == (PAYLOAD, 7, 0)
    assert data[segment.at : segment.at + len(PAYLOAD)] == PAYLOAD
    assert (segment.source.port, segment.target.port) == (ends[0][1], 9092)
    assert str(segment.target) == ("10.0.0.2:9092" if "." in ends[1][0] else "[fd00::2]:9092")


def test_what_the_snap_length_cut_off_is_counted() -> None:
    (segment,) = segments(pcap(one_packet(captured=14 + 20 + 32 + 5)))
    assert isinstance(segment, Segment)
    assert (segment.payload, segment.missing) == (b"hello", 6)
    (reason,) = segments(pcap(one_packet(captured=14 + 20 + 10)))
    assert reason == "cut off within TCP"


def test_a_frame_padded_to_its_least_size_has_no_more_payload() -> None:
    data = tcp(CLIENT, SERVER, 7, b"")
    (segment,) = segments(pcap([Packet(data + bytes(6), START_NS)]))
    assert isinstance(segment, Segment)
    assert (segment.payload, segment.missing) == (b"", 0)


def test_a_total_length_of_0_is_that_of_the_packet() -> None:
    data = bytearray(tcp(CLIENT, SERVER, 7, PAYLOAD))
    data[2:4] = b"\0\0"
    (segment,) = segments(pcap([Packet(bytes(data), START_NS)], link="raw"))
    assert isinstance(segment, Segment)
    assert segment.payload == PAYLOAD


@pytest.mark.parametrize(
    ("place", "value", "reason"),
    [(9, 17, "not TCP"), (6, 0x20, "an IP fragment"), (0, 0x75, "not IP"), (0, 0x42, "cut off within IP")],
)
def test_what_is_no_segment_says_why(place: int, value: int, reason: str) -> None:
    data = bytearray(tcp(CLIENT, SERVER, 7, PAYLOAD))
    data[place] = value
    assert segments(pcap([Packet(bytes(data), START_NS)], link="raw")) == [reason]


def test_flags() -> None:
    packets = [Packet(tcp(CLIENT, SERVER, 7, flags=flags), START_NS) for flags in (0x02, 0x12, 0x11, 0x04, ACK | PSH)]
    found = [(s.syn, s.ack, s.fin, s.rst) for s in segments(pcap(packets)) if isinstance(s, Segment)]
    assert found == [
        (True, False, False, False), (True, True, False, False), (False, True, True, False),
        (False, False, False, True), (False, True, False, False),
    ]  # fmt: skip


def test_simple_packets_and_packets_of_the_first_draft() -> None:
    data = LINKS["ethernet"][1](one_packet()[0].data)
    padded = data + bytes(-len(data) % 4)
    section = pcapng([])
    simple = struct.pack("<II", 3, len(padded) + 16) + struct.pack("<I", len(data)) + padded
    simple += struct.pack("<I", len(padded) + 16)
    old = struct.pack("<II", 2, len(padded) + 32)
    old += struct.pack("<HHIIII", 0, 0, 0, 5, len(data), len(data)) + padded + struct.pack("<I", len(padded) + 32)
    packets = list(Reader(io.BytesIO(section + simple + old)).packets())
    assert [packet.data for packet in packets] == [data, data]
    assert [packet.time_ns for packet in packets] == [0, 5000]


def test_a_file_that_ends_within_a_packet_gives_those_before_it() -> None:
    for form, write in FILES.items():
        whole = write(one_packet() * 2)
        reader = Reader(io.BytesIO(whole[:-10]))
        assert len(list(reader.packets())) == 1, form
        assert len(reader.notes) == 1
        assert reader.notes[0].startswith("the capture file ends within a packet")


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b"GIF8" + bytes(30), errors.CorruptError),
        (b"\xd4\xc3", errors.TruncatedError),
        (pcap([])[:20], errors.TruncatedError),
        (pcap([]) + struct.pack("<IIII", 0, 0, 0x7FFFFFFF, 0x7FFFFFFF), errors.CorruptError),
        (pcapng([])[:8] + bytes(8), errors.CorruptError),
        (pcapng([]) + struct.pack("<II", 6, 13), errors.CorruptError),
        (pcapng([]) + struct.pack("<II", 6, 0x7FFFFFFC), errors.CorruptError),
        (pcapng([]) + struct.pack("<IIII", 6, 16, 9, 16), errors.CorruptError),
        (pcapng([]) + struct.pack("<III", 6, 32, 9) + bytes(16) + struct.pack("<I", 32), errors.CorruptError),
    ],
)
def test_files_that_are_none(data: bytes, error: type[Exception]) -> None:
    with pytest.raises(error):
        list(Reader(io.BytesIO(data)).packets())


def test_an_unknown_link_type_names_those_that_are_known() -> None:
    data = bytearray(pcap(one_packet()))
    data[20] = 105
    with pytest.raises(errors.UnknownVersionError, match=r"link type 105 .* Ethernet \(1\)"):
        segments(bytes(data))


def test_damaged_files_raise_nothing_else() -> None:
    rng = random.Random(5)
    whole = [write(one_packet() * 3, link=link) for write in FILES.values() for link in LINKS]
    for _ in range(3000):
        data = bytearray(rng.choice(whole))
        for _ in range(rng.randint(1, 4)):
            data[rng.randrange(len(data))] = rng.choice((0, 1, 0x7F, 0xFF, rng.randrange(256)))
        try:
            found = segments(bytes(data[: rng.randint(1, len(data))]))
        except errors.CodecError:
            continue
        assert all(isinstance(segment, (Segment, str)) for segment in found)
        assert all(isinstance(s.source, Endpoint) for s in found if isinstance(s, Segment))
