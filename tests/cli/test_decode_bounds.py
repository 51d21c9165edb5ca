"""`kwire decode` of input that is made to take memory: it ends with an error or a count, and holds little."""

from __future__ import annotations

import gzip
import io
import os
import struct
import threading
import tracemalloc
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from kwire import protocol, records
from kwire.cli.capture import conversations, notes
from kwire.cli.capture.conversations import Conversations, Message
from kwire.cli.capture.files import Reader
from kwire.cli.capture.packets import Segment, segment_of
from tests.cli.captures import ACK, PSH, START_NS, SYN, Packet, Wire, pcap, tcp
from tests.cli.conftest import Kwire

MIB = 1 << 20
SERVER = ("10.0.0.2", 9092)
ALERT = b"\x15\x03\x03\x00\x02\x02\x46"
REQUEST = protocol.encode_request(protocol.ApiVersionsRequest(), 3, correlation_id=1, client_id="app")


def client(number: int) -> tuple[str, int]:
    return f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}", 40_000


def taken(packets: Iterable[Packet], held: Conversations) -> Iterator[Message]:
    for packet in Reader(io.BytesIO(pcap(packets))).packets():
        segment = segment_of(packet)
        assert isinstance(segment, Segment)
        yield from held.take(segment)
    yield from held.end()


# --- compressed input ---


@pytest.mark.parametrize("content", [b"\0", b"00 ", records.encode([b"\0" * 900])], ids=["zeros", "hex", "batches"])
def test_gzip_data_are_unpacked_up_to_a_limit(kwire: Kwire, tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.gz"
    path.write_bytes(gzip.compress(content * (64 * MIB // len(content))))
    tracemalloc.start()
    outcome = kwire("decode", "--max-input", str(4 * MIB), str(path))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (outcome.code, outcome.out) == (1, b"")
    assert "the input has more than 4194304 bytes, the limit for gzip data or a pipe" in outcome.err
    assert peak < 32 * MIB
    piped = kwire("decode", "--max-input", "1000", "-", stdin=path.read_bytes())
    assert (piped.code, "more than 1000 bytes" in piped.err) == (1, True)


def test_what_is_within_the_limit_is_read_whole(kwire: Kwire, tmp_path: Path) -> None:
    data = records.encode([b"value"])
    path = tmp_path / "x.gz"
    path.write_bytes(gzip.compress(data))
    for limit, code in ((len(data), 0), (len(data) - 1, 1)):
        assert kwire("decode", "--max-input", str(limit), str(path)).code == code
        assert kwire("decode", "--max-input", str(limit), "-", stdin=data).code == code
        assert kwire("decode", "--max-input", str(limit), "--hex", "-", stdin=data).code == 1


def test_a_pipe_has_the_limit_and_a_file_has_none(kwire: Kwire, tmp_path: Path) -> None:
    data = records.encode([b"value"] * 1000)
    plain, pipe = tmp_path / "plain.log", tmp_path / "pipe"
    plain.write_bytes(data)
    assert kwire("decode", "--max-input", "1000", str(plain)).code == 0
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(data), daemon=True)
    writer.start()
    outcome = kwire("decode", "--max-input", "1000", str(pipe))
    assert (outcome.code, "more than 1000 bytes" in outcome.err) == (1, True)


def test_a_capture_is_not_held_and_has_no_limit(kwire: Kwire, tmp_path: Path) -> None:
    wire = Wire().open()
    for _ in range(200):
        wire.ask(REQUEST)
    path = tmp_path / "trace.pcap.gz"
    path.write_bytes(gzip.compress(pcap(wire.packets)))
    outcome = kwire("decode", "--summary", "--max-input", "1000", str(path))
    assert (outcome.code, outcome.out.count(b"ApiVersions")) == (0, 200)


# --- captures ---


def test_connections_that_only_begin_are_held_in_a_limited_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conversations, "_MAX_CONNECTIONS", 500)
    held = Conversations()
    packets = [Packet(tcp(client(i), SERVER, 7, flags=SYN), START_NS + i) for i in range(20_000)]
    assert list(taken(packets[:-500], held)) == []
    assert held.counts["connections"] == 19_500
    assert held.counts["connections treated as ended, because too many were open"] == 19_000
    assert not held._connections


def test_a_busy_connection_outlives_those_that_only_begin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conversations, "_MAX_CONNECTIONS", 10)
    wire = Wire().open()
    packets = list(wire.packets)
    for i in range(300):
        packets.append(Packet(tcp(client(i), SERVER, 7, flags=SYN), START_NS + i))
        before = len(wire.packets)
        wire.ask(REQUEST)
        packets += wire.packets[before:]
    assert [message.connection for message in taken(packets, Conversations())] == [1] * 300


def test_bytes_that_wait_are_held_in_a_limited_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each connection has the beginning of a frame of 100 MB, another segment that came early, and no end."""
    monkeypatch.setattr(conversations, "_MAX_HELD_BYTES", 4 * MIB)
    head = struct.pack(">ihhih", 100_000_000, 1, 4, 1, -1)

    def packets() -> Iterator[Packet]:
        for i in range(600):
            yield Packet(tcp(client(i), SERVER, 6, flags=SYN), START_NS + i * 10)
            yield Packet(tcp(client(i), SERVER, 7, head + bytes(30_000)), START_NS + i * 10 + 1)
            yield Packet(tcp(client(i), SERVER, 7 + len(head) + 60_000, bytes(30_000)), START_NS + i * 10 + 2)

    held = Conversations()
    most = 0
    for packet in packets():
        list(held.take(only_segment(packet)))
        counted = sum(each.held_bytes for each in held._connections.values())
        assert held._held_bytes == counted
        most = max(most, counted)
    assert 3 * MIB < most <= 4 * MIB
    list(held.end())
    assert held._held_bytes == 0


def only_segment(packet: Packet) -> Segment:
    (found,) = Reader(io.BytesIO(pcap([packet]))).packets()
    segment = segment_of(found)
    assert isinstance(segment, Segment)
    return segment


@pytest.mark.parametrize("kind", ["alerts", "lost", "brokers"])
def test_notes_of_a_kind_are_few(kwire: Kwire, tmp_path: Path, kind: str) -> None:
    wire = Wire().open()
    if kind == "alerts":
        wire.ask(b"\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00").answer(ALERT)
        for _ in range(300):
            wire.ask(ALERT)
    elif kind == "lost":
        wire.ask(REQUEST)
        for _ in range(300):
            wire.client_sequence += 50
            wire.time_ns += 2_000_000_000
            wire.ask(REQUEST).ask(REQUEST)
    else:
        for i in range(300):
            wire.packets.append(Packet(tcp(("10.9.9.9", 40_000 + i), client(i), 6, flags=SYN), START_NS + i))
            wire.packets.append(Packet(tcp(("10.9.9.9", 40_000 + i), client(i), 7, REQUEST, ACK | PSH), START_NS + i))
    path = tmp_path / "trace.pcap"
    path.write_bytes(pcap(wire.packets))
    outcome = kwire("decode", "--summary", str(path))
    assert outcome.code == 0
    told = [line for line in outcome.err.splitlines() if line.startswith("note: ")]
    assert notes.MAX_OF_A_KIND < len(told) < 2 * notes.MAX_OF_A_KIND + 10
    assert any("more notes about" in line for line in told)
