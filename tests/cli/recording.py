"""What goes over a TCP connection of the loopback, written down as a capture."""

from __future__ import annotations

import socket
import threading
from types import TracebackType
from typing import Self

from tests.cli.captures import Packet, Wire

_PART = 65536


class Recording:
    """Passes connections on to a broker and keeps what is said on them. A context manager."""

    def __init__(self, target: str) -> None:
        self._target = int(target.rpartition(":")[2])
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._lock = threading.Lock()
        self._wires: list[Wire] = []
        self._sockets: list[socket.socket] = []

    @property
    def packets(self) -> list[Packet]:
        """All packets so far, connection after connection."""
        with self._lock:
            return [packet for wire in self._wires for packet in wire.packets]

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._thread.join()  # or it would accept from whatever has the listener's number next
        self._listener.close()
        for each in self._sockets:
            each.close()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            far = socket.create_connection(("127.0.0.1", self._target))
            with self._lock:
                wire = Wire(client=("10.0.0.1", 50_000 + len(self._wires))).open()
                self._wires.append(wire)
                self._sockets += [near, far]
            for source, sink, asks in ((near, far, True), (far, near, False)):
                threading.Thread(target=self._pass_on, args=(wire, source, sink, asks), daemon=True).start()

    def _pass_on(self, wire: Wire, source: socket.socket, sink: socket.socket, asks: bool) -> None:
        try:
            while data := source.recv(_PART):
                with self._lock:
                    (wire.ask if asks else wire.answer)(data)
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            return
