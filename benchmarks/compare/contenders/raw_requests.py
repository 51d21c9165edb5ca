"""Requests made beforehand over a blocking socket and nothing else: no client moves the same bytes for less.

What comes is received into one buffer and not looked at, what is sent lies ready. So the cost is the kernel's, of which
most is copying from and to its memory.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable, Iterable, Iterator
from itertools import cycle

from benchmarks.compare.contenders.meters import Meter
from benchmarks.compare.contenders.task import Task, values_of
from kwire import protocol, records

_PRODUCE_VERSION, _FETCH_VERSION = 7, 11
_REQUEST_BYTES = 1_000_000
_FETCH_BYTES = 2**21
_IN_FLIGHT = 5
_FETCHES_IN_FLIGHT = 2

_Data = protocol.ProduceRequest.TopicProduceData
_Fetch = protocol.FetchRequest.FetchTopic


def connected(task: Task) -> socket.socket:
    """A socket to the broker, the first if there are several, that sends at once."""
    host, _, port = task.bootstrap.partition(",")[0].rpartition(":")
    return connected_to(host, int(port))


def connected_to(host: str, port: int) -> socket.socket:
    """A socket to that broker."""
    connection = socket.create_connection((host, port))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def produce_frame(task: Task) -> bytes:
    """A Produce request of one record."""
    entry = _Data.PartitionProduceData(index=0, records=records.encode([values_of(task.size)[0]]))
    return _produce_request(task, [entry])


def exchange(connection: socket.socket, frame: bytes) -> bytes:
    """Sends the frame, returns the response."""
    connection.sendall(frame)
    response = connection.recv(65_536)
    (size,) = struct.unpack_from(">i", response)
    while len(response) < size + 4:
        response += connection.recv(65_536)
    return response


def check(frame: bytes, topic: str) -> None:
    """Ends the run if this response says that the record was not taken."""
    _, response = protocol.decode_response(frame, 0, _PRODUCE_VERSION)
    code = response.responses[0].partition_responses[0].error_code
    if code:
        raise SystemExit(f"the broker refused a record for {topic}: error {code}")


def send(task: Task, batches: Iterable[bytes], per_record: Callable[[], object] = lambda: None) -> dict[str, float]:
    """Sends these to the partitions in turn, by requests as large, and as many in flight, as those of a client.

    Each response is read, and looked into once all are there. `per_record` is what a caller does with the records.
    """
    frames = list(_produce_requests(task, batches))
    responses: list[bytes] = []
    with connected(task) as connection, Meter() as meter:
        per_record()
        for number, frame in enumerate(frames):
            if number >= _IN_FLIGHT:
                responses.append(_response(connection))
            connection.sendall(frame)
        while len(responses) < len(frames):
            responses.append(_response(connection))
    for response in responses:
        check(response, task.topic)
    return meter.per_record(task.count)


def receive(task: Task) -> dict[str, float]:
    """Receives what a consumer of `count` records would; a first pass finds by which requests, and how much comes."""
    with connected(task) as connection:
        fetches = list(_fetches(connection, task))
        count = sum(fetched for _, _, fetched in fetches)
        room = memoryview(bytearray(max(size for _, size, _ in fetches)))
        sizes = [size for _, size, _ in fetches]
        with Meter() as meter:
            for number, (frame, _, _) in enumerate(fetches):
                if number >= _FETCHES_IN_FLIGHT:
                    connection.recv_into(room, sizes[number - _FETCHES_IN_FLIGHT], socket.MSG_WAITALL)
                connection.sendall(frame)
            for size in sizes[-_FETCHES_IN_FLIGHT:]:
                connection.recv_into(room, size, socket.MSG_WAITALL)
    return meter.per_record(count)


def _fetches(connection: socket.socket, task: Task) -> Iterator[tuple[bytes, int, int]]:
    """Fetch requests of one partition each, the size of the response, and how many records it has."""
    offsets = dict.fromkeys(range(task.partitions), 0)
    left = task.count
    for partition in cycle(offsets):
        entry = _Fetch.FetchPartition(
            partition=partition, fetch_offset=offsets[partition], partition_max_bytes=_FETCH_BYTES
        )
        request = protocol.FetchRequest(
            max_bytes=_FETCH_BYTES, max_wait_ms=100, topics=[_Fetch(topic=task.topic, partitions=[entry])]
        )
        frame = protocol.encode_request(request, _FETCH_VERSION, correlation_id=1, client_id="raw")
        answer = exchange(connection, frame)
        _, response = protocol.decode_response(answer, 1, _FETCH_VERSION)
        found = len(records.decode(response.responses[0].partitions[0].records or b""))
        offsets[partition] += found
        left -= found
        yield frame, len(answer), found
        if left <= 0:
            return


def _response(connection: socket.socket) -> bytes:
    head = connection.recv(4, socket.MSG_WAITALL)
    (size,) = struct.unpack(">i", head)
    return head + connection.recv(size, socket.MSG_WAITALL)


def _produce_requests(task: Task, batches: Iterable[bytes]) -> Iterator[bytes]:
    entries: list[_Data.PartitionProduceData] = []
    for partition, batch in zip(cycle(range(task.partitions)), batches, strict=False):
        entries.append(_Data.PartitionProduceData(index=partition, records=batch))
        if sum(len(entry.records or b"") for entry in entries) + len(batch) > _REQUEST_BYTES:
            yield _produce_request(task, entries)
            entries = []
    if entries:
        yield _produce_request(task, entries)


def _produce_request(task: Task, entries: list[_Data.PartitionProduceData]) -> bytes:
    request = protocol.ProduceRequest(
        acks=1, timeout_ms=30_000, topic_data=[_Data(name=task.topic, partition_data=entries)]
    )
    return protocol.encode_request(request, _PRODUCE_VERSION, correlation_id=1, client_id="raw")
