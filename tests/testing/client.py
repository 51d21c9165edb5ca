"""A plain blocking socket that speaks frames: a client with no cleverness of its own."""

from __future__ import annotations

import socket
import struct
from types import TracebackType
from typing import Any, Self

from kwire import protocol
from kwire.testing import Broker
from tests.timing import PATIENT


class Client:
    """One connection to a node of a broker."""

    def __init__(self, broker: Broker, node: int = 1) -> None:
        host, port = broker.address_of(node).rsplit(":", 1)
        self.socket = socket.create_connection((host, int(port)), PATIENT)
        self._asked: list[tuple[int, int]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.socket.close()

    def send(self, request: protocol.Request, version: int) -> None:
        """Sends a request and remembers what answer belongs to it."""
        self._asked.append((request.__api_key__, version))
        self.socket.sendall(protocol.encode_request(request, version, correlation_id=len(self._asked), client_id="c"))

    def receive(self) -> Any:
        """The answer to the oldest request that has none. Raises EOFError where the broker closed the connection."""
        key, version = self._asked[0]
        frame = self.read_frame()
        self._asked.pop(0)
        return protocol.decode_response(frame, key, version)[1]

    def ask(self, request: protocol.Request, version: int) -> Any:
        """Sends and receives."""
        self.send(request, version)
        return self.receive()

    def read_frame(self) -> bytes:
        """The next frame, size included."""
        head = self._read(4)
        return head + self._read(struct.unpack(">i", head)[0])

    def is_closed(self) -> bool:
        """Whether the broker ends the connection, without a byte more; waits for it."""
        try:
            return self.socket.recv(1) == b""
        except ConnectionError:
            return True

    def _read(self, count: int) -> bytes:
        data = bytearray()
        while len(data) < count:
            piece = self.socket.recv(count - len(data))
            if not piece:
                raise EOFError(f"closed after {len(data)} of {count} bytes")
            data += piece
        return bytes(data)
