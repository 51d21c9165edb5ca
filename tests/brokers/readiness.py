"""Asks a broker whether it serves: Metadata v0 over a raw socket, which every release from 0.8.0 to 4.4.0 answers.

    request  size i32, api_key i16 = 3, version i16 = 0, correlation_id i32, client_id string, topics i32 = 0
    response size i32, correlation_id i32, brokers [node_id i32, host string, port i32], topics ...

Source: the protocol guide's "Metadata API", versions 0; a string is an i16 length and its bytes.
"""

import socket
import struct

_CLIENT_ID = b"tests.brokers"
_REQUEST_BODY = struct.pack(">hhih", 3, 0, 1, len(_CLIENT_ID)) + _CLIENT_ID + struct.pack(">i", 0)
_REQUEST = struct.pack(">i", len(_REQUEST_BODY)) + _REQUEST_BODY


def listed_nodes(host: str, port: int, timeout: float = 2.0) -> set[int] | None:
    """The node ids that the broker lists, or None where nobody answers."""
    try:
        with socket.create_connection((host, port), timeout=timeout) as connection:
            connection.settimeout(timeout)
            connection.sendall(_REQUEST)
            (size,) = struct.unpack(">i", _read(connection, 4))
            return _node_ids(_read(connection, size))
    except OSError:
        return None


def _read(connection: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        part = connection.recv(size - len(data))
        if not part:
            raise ConnectionError("closed before the answer was whole")
        data += part
    return bytes(data)


def _node_ids(body: bytes) -> set[int]:
    (count,) = struct.unpack_from(">i", body, 4)
    nodes, at = set(), 8
    for _ in range(count):
        node, host_size = struct.unpack_from(">ih", body, at)
        at += 6 + host_size + 4
        nodes.add(node)
    return nodes
