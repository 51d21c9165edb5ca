"""Low-water marks over TLS: a driver sleeps until enough of a large frame is there, never for what does not come."""

from __future__ import annotations

import fcntl
import itertools
import queue
import random
import shutil
import socket
import ssl
import struct
import subprocess
import sys
import termios
import time
from array import array
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from kwire import Consumer
from kwire.drivers.reactor import Reactor
from tests.drivers.low_water import AWAITED_AT_ONCE, VALUES, dribbling, never_look, note_marks
from tests.drivers.tls_sides import Listener, ServerSide, client_context, server_context
from tests.drivers.waiting import Answer, Make, until
from tests.each import each
from tests.timing import PATIENT, SOON

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="low-water marks are set on Linux only")

FRAME = 1_700_000
NOT_SENT = 0x894B  # SIOCOUTQNSD
VERSIONS = pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3], ids=["1.2", "1.3"])
Sizes = Callable[[], Iterable[int]]
RECORDS: dict[str, Sizes] = {
    "as large as can be": lambda: itertools.repeat(16384),
    "as Kafka writes a file": lambda: itertools.cycle([16367, 16367, 34]),
    "of any size": lambda: map(random.Random(4).randint, itertools.repeat(1), itertools.repeat(16384)),
    "small": lambda: itertools.repeat(500),
}


class Half:
    """A client's connection, which waits for the answer to its first request, and the server's end of it."""

    def __init__(self, reactor: Reactor, ends: queue.Queue[tuple[socket.socket, ServerSide]]) -> None:
        self.reactor = reactor
        self.answer = Answer(reactor)
        until(lambda: reactor.poll_once() is None and not ends.empty())
        self.near, self.side = ends.get()
        until(lambda: reactor.poll_once() is None and any(sock.connected for sock in reactor._sockets.values()))
        [self.sock] = reactor._sockets.values()

    @property
    def mark(self) -> int:
        return self.sock.socket.getsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT)

    @property
    def unread(self) -> int:
        """Bytes that the kernel holds: in the client's socket, and not sent yet in the server's."""
        total = 0
        for end, what in ((self.sock.socket, termios.FIONREAD), (self.near, NOT_SENT)):
            count = array("i", [0])
            fcntl.ioctl(end, what, count)
            total += count[0]
        return total

    @property
    def gone(self) -> bool:
        self.reactor.poll_once()
        return self.sock.connection not in self.reactor._sockets

    def encrypt(self, frame: bytes, sizes: Iterable[int] = itertools.repeat(16384)) -> bytes:
        at, records = 0, []
        for size in sizes:
            records.append(self.side.send(frame[at : at + size]))
            at += size
            if at >= len(frame):
                return b"".join(records)
        raise AssertionError


@pytest.fixture
def half(make: Make, tmp_path: Path) -> Iterator[Callable[..., Half]]:
    made: list[Listener] = []

    def begin(version: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3) -> Half:
        context = server_context(tmp_path)
        context.maximum_version = version
        ends: queue.Queue[tuple[socket.socket, ServerSide]] = queue.Queue()

        def serve(near: socket.socket) -> None:
            side = ServerSide(context)
            while not side.received:
                near.sendall(side.feed(near.recv(65536)))
            ends.put((near, side))
            time.sleep(PATIENT)

        made.append(Listener(serve))
        servers = f"127.0.0.1:{made[-1].port}"
        return Half(make(servers, security_protocol="SSL", ssl_context=client_context()), ends)

    yield begin
    for each_ in made:
        each_.close()


def frame_to_nothing(size: int = FRAME) -> bytes:
    """An answer that no request asked for: who has read it whole closes the connection."""
    return struct.pack(">ii", size - 4, 99) + bytes(size - 8)


@pytest.fixture
def never_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    never_look(monkeypatch)


@VERSIONS
@each("records", RECORDS)
def test_a_mark_is_never_above_what_must_still_come(
    half: Callable[..., Half], never_looks: None, version: ssl.TLSVersion, records: str
) -> None:
    pieces = random.Random(7)
    wire = half(version)
    left = wire.encrypt(frame_to_nothing(), RECORDS[records]())
    marks = set()
    while left:
        size = pieces.choice([1, 300, 16_000, 50_000])
        wire.near.sendall(left[:size])
        left = left[size:]
        wire.reactor.poll_once()
        if wire.gone:
            break
        marks.add(wire.mark)
        assert wire.mark == 1 or wire.mark <= wire.unread + len(left)
    until(lambda: wire.gone)
    assert not left
    assert max(marks) == AWAITED_AT_ONCE


@VERSIONS
def test_the_last_records_of_a_frame_are_awaited_together(
    half: Callable[..., Half], never_looks: None, version: ssl.TLSVersion
) -> None:
    wire = half(version)
    frame = frame_to_nothing(100_000)
    wire.near.sendall(wire.encrypt(frame[:60_000], RECORDS["as Kafka writes a file"]()))
    until(lambda: wire.reactor.poll_once() is None and wire.mark == 40_000)
    wire.near.sendall(wire.encrypt(frame[60_000:-30]))
    until(lambda: wire.reactor.poll_once() is None and wire.mark == 30)
    wire.near.sendall(wire.encrypt(frame[-30:]))
    until(lambda: wire.gone)


def test_a_record_that_is_there_in_part_is_not_awaited_again(half: Callable[..., Half], never_looks: None) -> None:
    wire = half()
    ciphertext = wire.encrypt(frame_to_nothing(200_000))
    wire.near.sendall(ciphertext[:50_000])
    until(lambda: wire.reactor.poll_once() is None and wire.mark > 1)
    assert wire.mark == 200_000 - 3 * 16384 - 16384


def test_what_a_broker_that_stops_has_sent_is_read_all_the_same(half: Callable[..., Half]) -> None:
    wire = half()
    ciphertext = wire.encrypt(frame_to_nothing())
    wire.near.sendall(ciphertext[:50_000])
    until(lambda: wire.reactor.poll_once() is None and wire.mark > 1)
    wire.near.sendall(ciphertext[50_000:100_000])
    until(lambda: wire.reactor.poll_once() is None and not wire.unread)
    assert wire.sock.connection.receiver.pending > 90_000
    assert wire.sock.connection.in_flight, "it waits for the rest"
    wire.near.sendall(ciphertext[100_000:])
    until(lambda: wire.gone)


@pytest.mark.parametrize("how", ["closed", "closed in TLS", "reset"])
def test_an_end_in_the_middle_of_a_frame_is_noticed_at_once(
    half: Callable[..., Half], never_looks: None, how: str
) -> None:
    wire = half()
    wire.near.sendall(wire.encrypt(frame_to_nothing())[:50_000])
    until(lambda: wire.reactor.poll_once() is None and wire.mark > 1)
    if how == "closed in TLS":
        wire.near.sendall(wire.side.close())
    if how == "reset":
        wire.near.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    begun = time.monotonic()
    wire.near.shutdown(socket.SHUT_RDWR) if how != "reset" else wire.near.close()
    until(lambda: wire.gone)
    assert time.monotonic() - begun < SOON


def test_a_request_ends_in_time_although_its_answer_goes_on_for_ever(half: Callable[..., Half]) -> None:
    """A mark does not keep timers from being run."""
    wire = half()
    wire.near.sendall(wire.encrypt(frame_to_nothing())[:50_000])
    until(lambda: wire.reactor.poll_once() is None and wire.mark > 1)
    rung: list[float] = []
    wire.reactor.call(lambda now: wire.reactor.core.call_at(now + 0.3, rung.append))
    begun = time.monotonic()
    assert wire.reactor.wait(lambda: bool(rung), PATIENT)
    assert 0.3 <= time.monotonic() - begun < SOON


@pytest.mark.parametrize("piece", [65536, 5000, 999])
def test_a_consumer_reads_what_comes_dribbling(
    never_looks: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, piece: int
) -> None:
    marks = note_marks(monkeypatch)
    found: list[bytes] = []
    with dribbling(tmp_path, piece) as settings, Consumer(**settings, auto_offset_reset="earliest") as consumer:
        consumer.assign([("t", 0)])
        while len(found) < len(VALUES):
            polled = consumer.poll(timeout=PATIENT)
            assert polled
            found += polled.values()
    assert found == VALUES
    assert max(marks) > len(VALUES[0])


@pytest.mark.skipif(shutil.which("setarch") is None, reason="needs setarch, of util-linux")
@pytest.mark.parametrize("driver", ["threads", "loop"])
def test_no_mark_is_set_before_linux_4_18(tmp_path: Path, driver: str) -> None:
    """There a mark that falls to what is there wakes no event loop, and a fetch would wait until its time-out."""
    program = [sys.executable, "-m", "tests.drivers.low_water_program", driver, str(tmp_path)]
    older = subprocess.run(["setarch", "--uname-2.6", *program], capture_output=True, text=True, check=True)
    assert older.stdout.split() == ["1"]
