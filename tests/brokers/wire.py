"""A bare connection to a broker that speaks kwire's messages: for tests in which no client takes part."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kwire import protocol
from kwire.testing import Broker
from tests.brokers.cluster import Cluster

_TIMEOUT_S = 10.0


class Wire:
    """One connection that sends a request of a version and decodes its answer strictly."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._correlation_id = 0

    def call(self, request: Any, version: int) -> Any:
        """The answer to a request."""
        self._correlation_id += 1
        frame = protocol.encode_request(request, version, correlation_id=self._correlation_id, client_id="tests")
        self._connection.sendall(frame)
        size = self._read(4)
        answer = size + self._read(int.from_bytes(size, "big"))
        self._on_exchange(frame, answer)
        header, response = protocol.decode_response(answer, request.__api_key__, version)
        assert header.correlation_id == self._correlation_id
        return response

    def _on_exchange(self, request: bytes, answer: bytes) -> None:
        """The frames of one exchange, with their sizes: for a subclass that keeps them."""

    def _read(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            part = self._connection.recv(size - len(data))
            assert part, "the broker closed the connection"
            data += part
        return bytes(data)


@contextmanager
def wire_to(cluster: Cluster | Broker) -> Iterator[Wire]:
    """A connection to the first node."""
    host, _, port = cluster.bootstrap_servers.partition(",")[0].partition(":")
    with socket.create_connection((host, int(port)), timeout=_TIMEOUT_S) as connection:
        yield Wire(connection)
