"""Receives the records of partitions by Fetch requests over one blocking socket, into the same memory, and looks at
none: what the kernel does for each byte that comes from a broker, whoever reads it.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterable, Iterator

from kwire import protocol

_VERSION = 4
_BYTES = 2**20
_SIZE = struct.Struct(">i")
_LENGTH, _LAST_OFFSET_DELTA, _BEFORE_LENGTH = 8, 23, 12
"""Places in the header of a batch, which begins with its first offset; its length counts what comes after it."""

_Fetch = protocol.FetchRequest.FetchTopic


def rows_received(servers: str, topic: str, partitions: Iterable[int]) -> Iterator[int]:
    """How many offsets each answer has, from the first to the last of each partition, at the one broker there is."""
    host, _, port = servers.rpartition(":")
    # The error, the high watermark and the length of the records, in a response about one partition.
    head = struct.Struct(f">12x2x{len(topic)}x4x4xhq8x4xi")
    room = memoryview(bytearray(2 * _BYTES))
    with socket.create_connection((host, int(port))) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for partition in partitions:
            offset, end = 0, 1
            while offset < end:
                connection.sendall(_request(topic, partition, offset))
                (size,) = _SIZE.unpack(connection.recv(_SIZE.size, socket.MSG_WAITALL))
                answer = room[: connection.recv_into(room, size, socket.MSG_WAITALL)]
                error, end, length = head.unpack_from(answer)
                if error or len(answer) != size:
                    raise OSError(f"{topic}-{partition}, offset {offset}: error {error}, {len(answer)} of {size} bytes")
                after = _offset_after(answer[head.size : head.size + length], offset)
                yield after - offset
                offset = after


def _request(topic: str, partition: int, offset: int) -> bytes:
    entry = _Fetch.FetchPartition(partition=partition, fetch_offset=offset, partition_max_bytes=_BYTES)
    topics = [_Fetch(topic=topic, partitions=[entry])]
    request = protocol.FetchRequest(max_bytes=_BYTES, max_wait_ms=100, topics=topics)
    return protocol.encode_request(request, _VERSION, correlation_id=1, client_id="received")


def _offset_after(batches: memoryview, offset: int) -> int:
    """That of the last batch which is there whole; batches stand one after the other."""
    place = 0
    while place + _BEFORE_LENGTH <= len(batches):
        (first,) = struct.unpack_from(">q", batches, place)
        end = place + _BEFORE_LENGTH + _SIZE.unpack_from(batches, place + _LENGTH)[0]
        if end > len(batches):
            break
        offset = first + _SIZE.unpack_from(batches, place + _LAST_OFFSET_DELTA)[0] + 1
        place = end
    return offset
