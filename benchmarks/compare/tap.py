"""A relay in front of a broker that notes when the bytes of a record arrive.

    python -m benchmarks.compare.tap HOST:PORT

Prints its own address, relays until its stdin ends, then prints one line of JSON: how many microseconds after its
`send()` each record came in. A record says when it was sent by `MARK` and 20 digits of CLOCK_REALTIME in nanoseconds.
That is the clock of the stamps which Linux puts on what the loopback device takes in: they say when bytes came, however
late this process got to read them. Elsewhere the time is that of the read. Brokers tell their address in Metadata;
there the relay puts its own instead, which has the same length.
"""

from __future__ import annotations

import json
import re
import socket
import struct
import sys
import threading
import time

MARK = b"sent-at:"
_STAMP = re.compile(re.escape(MARK) + rb"(\d{20})")
_CHUNK = 65_536
_NANOSECONDS = 1_000_000_000
_TIMESPEC = struct.Struct("@ll")
_SO_TIMESTAMPNS = 35
"""Linux's asm-generic/socket.h; both the option and the type of the message that it adds (socket(7))."""


def mark_now() -> bytes:
    """What a record has to begin with."""
    return MARK + b"%020d" % time.time_ns()


def stamp_arrivals(connection: socket.socket) -> None:
    """From now on `receive` on it tells when the bytes came in."""
    if sys.platform == "linux":
        connection.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)


def receive(connection: socket.socket) -> tuple[bytes, int]:
    """What there is to read, and when it came, in nanoseconds: as stamped, or now if it was not."""
    data, extra, _, _ = connection.recvmsg(_CHUNK, socket.CMSG_SPACE(_TIMESPEC.size))
    for level, kind, content in extra:
        if level == socket.SOL_SOCKET and kind == _SO_TIMESTAMPNS:
            seconds, rest = _TIMESPEC.unpack(content[: _TIMESPEC.size])
            return data, seconds * _NANOSECONDS + rest
    return data, time.time_ns()


class Tap:
    """Relays to one broker; `late_us` has what was noted."""

    def __init__(self, host: str, port: int) -> None:
        self._broker = (host, port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.late_us: list[float] = []

    def serve(self) -> None:
        """Takes connections until the process ends."""
        while True:
            client, _ = self._listener.accept()
            broker = socket.create_connection(self._broker)
            for end in (client, broker):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            stamp_arrivals(client)
            threading.Thread(target=self._up, args=(client, broker), daemon=True).start()
            threading.Thread(target=self._down, args=(broker, client), daemon=True).start()

    def _up(self, client: socket.socket, broker: socket.socket) -> None:
        while True:
            data, arrived = receive(client)
            if not data:
                break
            broker.sendall(data)
            self.late_us += [(arrived - int(stamp)) / 1000 for stamp in _STAMP.findall(data)]
        broker.shutdown(socket.SHUT_WR)

    def _down(self, broker: socket.socket, client: socket.socket) -> None:
        host = self._broker[0].encode()
        theirs, ours = (host + struct.pack(">i", port) for port in (self._broker[1], self.port))
        while data := broker.recv(_CHUNK):
            client.sendall(data.replace(theirs, ours))
        client.shutdown(socket.SHUT_WR)


def main(address: str) -> None:
    """Serves until stdin ends."""
    host, _, port = address.rpartition(":")
    tap = Tap(host, int(port))
    threading.Thread(target=tap.serve, daemon=True).start()
    print(f"127.0.0.1:{tap.port}", flush=True)
    sys.stdin.read()
    print(json.dumps(tap.late_us), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
