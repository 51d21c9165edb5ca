"""What `kwire decode` is given: captures, frames, records and hex of them, whole commands in process.

captures        packets of drawn conversations, damaged, out of order, doubled, in each link type and file format
capture-files   bytes of pcap and pcapng files as they come
decoded-bytes   frames, records and dumps in hex on standard input
"""

from __future__ import annotations

import argparse
import contextlib
import io
from collections.abc import Iterator
from functools import cache

from kwire import errors, protocol, records
from kwire.cli import decode
from kwire.cli.usage import UsageError
from tests.cli.captures import FILES, LINKS, Packet, Wire
from tests.fuzz.drawing import Drawing
from tests.fuzz.records import wants_a_large_window
from tests.fuzz.targets import target

MEMORY = (16 << 20, 256 << 10)
_OPTIONS = ([], ["--summary"], ["--json"], ["--errors"], ["--port", "9092"], ["--generation", "0.7"], ["--at", "40"],
            ["--items", "2"], ["--secrets"], ["--key", "Metadata"])  # fmt: skip


@cache
def _parsed(number: int) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    decode.add_parser(parser.add_subparsers())
    return parser.parse_args(["decode", "-", *_OPTIONS[number % len(_OPTIONS)]])


def _run(data: bytes, number: int) -> None:
    if wants_a_large_window(data):
        return
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        with contextlib.suppress(errors.KafkaError, UsageError):
            decode._decode_stream(io.BytesIO(data), None, _parsed(number), False)


@cache
def _frames() -> list[bytes]:
    asked = [
        protocol.encode_request(protocol.ApiVersionsRequest(), 3, correlation_id=1, client_id="c"),
        protocol.encode_request(protocol.MetadataRequest(), 9, correlation_id=2, client_id="c"),
        protocol.encode_request(protocol.SaslHandshakeRequest(mechanism="PLAIN"), 0, correlation_id=3, client_id="c"),
        b"\0\0\0\x08\0user\0pw",
        protocol.encode_request(protocol.ProduceRequest(acks=0), 3, correlation_id=4, client_id="c"),
        protocol.kafka_0_7.encode_request(protocol.kafka_0_7.FetchRequest(topic="t")),
        b"\x16\x03\x01\0\x05\x01\0\0\0\0", b"\x15\x03\x01\0\x02\x02\x28",
    ]  # fmt: skip
    answers = [
        protocol.encode_response(protocol.ApiVersionsResponse(), 3, correlation_id=1),
        protocol.encode_response(protocol.MetadataResponse(), 9, correlation_id=2),
        protocol.encode_response(protocol.SaslHandshakeResponse(mechanisms=["PLAIN"]), 0, correlation_id=3),
        b"\0\0\0\0",
    ]
    return asked + answers


def _damaged(drawing: Drawing, data: bytes) -> bytes:
    if drawing.byte() < 200 or not data:
        return data
    at = drawing.byte() % len(data)
    return data[:at] + drawing.take(drawing.below(4)) + data[at + drawing.below(4) :]


@target(seeds=lambda: [bytes(range(n, n + 60)) for n in range(0, 180, 10)], traced="cli", max_len=200, budget=MEMORY)
def captures(data: bytes) -> None:
    """captures of drawn conversations, damaged, out of order, doubled"""
    drawing = Drawing(data)
    number, link, kind = drawing.byte(), drawing.choice(list(LINKS)), drawing.choice(list(FILES))
    wires = [Wire(), Wire(client=("::1", 40000), server=("::2", 9092))][: 1 + drawing.below(2)]
    for wire in wires:
        if drawing.byte() < 200:
            wire.open()
        for _ in range(drawing.below(6)):
            frame = _damaged(drawing, drawing.choice(_frames()))
            say = wire.ask if drawing.byte() < 128 else wire.answer
            say(frame, size=drawing.choice((1448, 7, 1)) if len(frame) < 60 else 1448)
        if drawing.flag():
            wire.close()
    packets = [packet for wire in wires for packet in wire.packets]
    for _ in range(drawing.below(5)):
        if packets:
            moved = packets.pop(drawing.byte() % len(packets))
            packets.insert(drawing.byte() % (len(packets) + 1), moved)
            if drawing.flag():
                packets.append(Packet(_damaged(drawing, moved.data), moved.time_ns, drawing.choice((None, 20, 40))))
    file = FILES[kind](packets, link=link, order="<>"[drawing.below(2)], nanoseconds=drawing.flag())
    _run(_damaged(drawing, file), number)


def _file_seeds() -> Iterator[bytes]:
    wire = Wire().open().ask(_frames()[0]).answer(_frames()[8]).close()
    for number, (name, make) in enumerate(FILES.items()):
        for link in LINKS:
            yield bytes([number]) + make(wire.packets[2:5], link=link)
        assert name


@target(seeds=_file_seeds, traced="cli/capture", max_len=1000, budget=MEMORY,
        words=(b"\x0a\x0d\x0d\x0a", b"\x4d\x3c\x2b\x1a", b"\xff\xff\xff\xff", b"\x08\x00\x45"))  # fmt: skip
def capture_files(data: bytes) -> None:
    """bytes of pcap and pcapng files"""
    _run(data[1:], data[0] if data else 0)


def _byte_seeds() -> Iterator[bytes]:
    for number, frame in enumerate(_frames()):
        yield bytes([number]) + frame
        yield bytes([number + 5]) + frame.hex(" ").encode()
    yield b"\0" + records.encode([b"v"] * 3)
    yield b"\0" + b"00000000: 0000 0014 0012 0000  ................\n"
    yield b"\1" + b"0000000 00 00 00 14\n*\n0000010\n"


@target(
    seeds=_byte_seeds, traced="cli", max_len=300, budget=MEMORY, words=(b"0x", b"*\n", b"\x1f\x8b\x08\0", b"0000000 ")
)
def decoded_bytes(data: bytes) -> None:
    """frames, records and dumps in hex, as kwire decode reads them"""
    _run(data[1:], data[0] if data else 0)
