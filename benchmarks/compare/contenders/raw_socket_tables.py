"""A blocking socket and nothing else: sends a table as Produce requests made beforehand. No client costs less.

The requests are as large, and as many are in flight, as those of a client.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from itertools import cycle

import pyarrow as pa

from benchmarks.compare.contenders.meters import Meter
from benchmarks.compare.contenders.raw_socket import check, connected
from benchmarks.compare.contenders.tables import table_of
from benchmarks.compare.contenders.task import Task
from kwire import protocol, records

_VERSION = 7
_REQUEST_BYTES = 1_000_000
_IN_FLIGHT = 5
_RECORD_OVERHEAD = 20


def write_table(task: Task) -> dict[str, float]:
    """Sends the requests; each response is read, and looked into once all are there."""
    frames = list(_requests(task, table_of(task)))
    responses: list[bytes] = []
    with connected(task) as connection, Meter() as meter:
        for number, frame in enumerate(frames):
            if number >= _IN_FLIGHT:
                responses.append(_response(connection))
            connection.sendall(frame)
        while len(responses) < len(frames):
            responses.append(_response(connection))
    for response in responses:
        check(response, task.topic)
    return meter.per_record(task.count)


def _response(connection: socket.socket) -> bytes:
    head = connection.recv(4, socket.MSG_WAITALL)
    (size,) = struct.unpack(">i", head)
    return head + connection.recv(size, socket.MSG_WAITALL)


def _requests(task: Task, table: pa.Table) -> Iterator[bytes]:
    data = protocol.ProduceRequest.TopicProduceData
    entries: list[data.PartitionProduceData] = []
    for partition, batch in zip(cycle(range(task.partitions)), _batches(task, table), strict=False):
        entries.append(data.PartitionProduceData(index=partition, records=batch))
        if sum(len(entry.records or b"") for entry in entries) + len(batch) > _REQUEST_BYTES:
            yield _request(task, entries)
            entries = []
    if entries:
        yield _request(task, entries)


def _request(task: Task, entries: list[protocol.ProduceRequest.TopicProduceData.PartitionProduceData]) -> bytes:
    topic = protocol.ProduceRequest.TopicProduceData(name=task.topic, partition_data=entries)
    request = protocol.ProduceRequest(acks=1, timeout_ms=30_000, topic_data=[topic])
    return protocol.encode_request(request, _VERSION, correlation_id=1, client_id="raw")


def _batches(task: Task, table: pa.Table) -> Iterator[bytes]:
    rows = task.batch_size // (task.size + _RECORD_OVERHEAD)
    for batch in table.combine_chunks().to_batches(max_chunksize=rows):
        yield records.encode_arrow(batch, compression=task.compression)
