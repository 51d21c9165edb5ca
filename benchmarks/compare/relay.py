"""A relay in front of a broker that notes when each record arrives.

    python -m benchmarks.compare.relay HOST:PORT

Prints its own address, relays until its stdin ends, then prints one line of JSON: for each record, how many
microseconds after its `send()` it arrived. A record says when it was sent: `SENT_AT` and 20 digits of CLOCK_REALTIME in
nanoseconds. It arrives when the kernel takes it in: Linux stamps what the loopback device receives with the same clock,
so it does not matter when this process gets to run. Elsewhere the time of the read counts. Brokers tell their address
in Metadata responses; the relay replaces it by its own, which has the same length.
"""

from __future__ import annotations

import json
import re
import socket
import struct
import sys
import threading
import time

SENT_AT = b"sent-at:"
_SENT = re.compile(re.escape(SENT_AT) + rb"(\d{20})")
_CHUNK = 65_536
_TIMESPEC = struct.Struct("@ll")
_SO_TIMESTAMPNS = 35
"""Linux's asm-generic/socket.h: the option, and the type of the ancillary message that it adds (socket(7))."""


def sent_now() -> bytes:
    """The value of a record that is sent now."""
    return SENT_AT + b"%020d" % time.time_ns()


def stamp_arrivals(connection: socket.socket) -> None:
    """Has the kernel stamp what `receive` reads from this connection."""
    if sys.platform == "linux":
        connection.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)


def receive(connection: socket.socket) -> tuple[bytes, int]:
    """The bytes there are to read and when they arrived, in nanoseconds: the kernel's stamp, or now without one."""
    data, ancillary, _, _ = connection.recvmsg(_CHUNK, socket.CMSG_SPACE(_TIMESPEC.size))
    for level, kind, content in ancillary:
        if level == socket.SOL_SOCKET and kind == _SO_TIMESTAMPNS:
            seconds, nanoseconds = _TIMESPEC.unpack(content[: _TIMESPEC.size])
            return data, seconds * 1_000_000_000 + nanoseconds
    return data, time.time_ns()


class Relay:
    """Relays to one broker; `delays_us` is how long each record took."""

    def __init__(self, host: str, port: int) -> None:
        self._broker = (host, port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.delays_us: list[float] = []

    def serve(self) -> None:
        """Accepts connections until the process ends."""
        while True:
            client, _ = self._listener.accept()
            broker = socket.create_connection(self._broker)
            for end in (client, broker):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            stamp_arrivals(client)
            threading.Thread(target=self._relay_requests, args=(client, broker), daemon=True).start()
            threading.Thread(target=self._relay_responses, args=(broker, client), daemon=True).start()

    def _relay_requests(self, client: socket.socket, broker: socket.socket) -> None:
        while True:
            data, arrived = receive(client)
            if not data:
                break
            broker.sendall(data)
            self.delays_us += [(arrived - int(sent)) / 1000 for sent in _SENT.findall(data)]
        broker.shutdown(socket.SHUT_WR)

    def _relay_responses(self, broker: socket.socket, client: socket.socket) -> None:
        host = self._broker[0].encode()
        theirs, ours = (host + struct.pack(">i", port) for port in (self._broker[1], self.port))
        while data := broker.recv(_CHUNK):
            client.sendall(data.replace(theirs, ours))
        client.shutdown(socket.SHUT_WR)


def main(address: str) -> None:
    """Serves until stdin ends."""
    host, _, port = address.rpartition(":")
    relay = Relay(host, int(port))
    threading.Thread(target=relay.serve, daemon=True).start()
    print(f"127.0.0.1:{relay.port}", flush=True)
    sys.stdin.read()
    print(json.dumps(relay.delays_us), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
