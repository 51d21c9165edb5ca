"""A blocking socket and nothing else: sends a prepared Produce request and reads the response."""

from __future__ import annotations

import socket
import struct

from benchmarks.compare.contenders.meters import round_trips
from benchmarks.compare.contenders.task import Task, values_of
from kwire import protocol, records

_VERSION = 7


def round_trip(task: Task) -> dict[str, float]:
    """The same request again and again."""
    frame = produce_frame(task)
    with connected(task) as connection:
        check(exchange(connection, frame), task.topic)
        return round_trips(lambda: exchange(connection, frame), task.count)


def connected(task: Task) -> socket.socket:
    """A socket to the broker that sends at once."""
    host, _, port = task.bootstrap.rpartition(":")
    connection = socket.create_connection((host, int(port)))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def produce_frame(task: Task) -> bytes:
    """A Produce request of one record."""
    data = protocol.ProduceRequest.TopicProduceData
    entry = data.PartitionProduceData(index=0, records=records.encode([values_of(task.size)[0]]))
    request = protocol.ProduceRequest(
        acks=1, timeout_ms=30_000, topic_data=[data(name=task.topic, partition_data=[entry])]
    )
    return protocol.encode_request(request, _VERSION, correlation_id=1, client_id="raw")


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
    _, response = protocol.decode_response(frame, 0, _VERSION)
    code = response.responses[0].partition_responses[0].error_code
    if code:
        raise SystemExit(f"the broker refused a record for {topic}: error {code}")
