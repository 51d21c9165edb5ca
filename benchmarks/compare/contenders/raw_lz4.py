"""What no consumer of lz4 can leave out: receiving, decompressing, and a copy of what came of it into a column.

A first pass finds the Fetch requests that bring all of a topic, and where the lz4 blocks lie in the responses. Then the
same requests are sent again, one in flight at each leader, over blocking sockets. All memory lies ready.
"""

from __future__ import annotations

import socket
import struct
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import zip_longest
from typing import NamedTuple

from cramjam import lz4

from benchmarks.compare.contenders.meters import Meter
from benchmarks.compare.contenders.raw_requests import connected, connected_to, exchange
from benchmarks.compare.contenders.task import Task
from kwire import protocol, records
from kwire.schema.api_keys import FETCH, METADATA

_METADATA_VERSION, _FETCH_VERSION = 4, 11
_FETCH_BYTES = 2**21
_ASKED_AT_ONCE = 40
_BATCH_HEADER, _LZ4_HEADER = 61, 7
_BLOCK_BYTES = 2**16
_STORED = 2**31

_Fetch = protocol.FetchRequest.FetchTopic


class _Answer(NamedTuple):
    """A Fetch, the size of its response, and where each block of it lies, and whether it is stored as it is."""

    connection: socket.socket
    frame: bytes
    size: int
    blocks: list[tuple[int, int, bool]]


def consume(task: Task) -> dict[str, float]:
    """Reads all of the topic."""
    with ExitStack() as stack:
        led = [list(_answers(connection, task, led)) for connection, led in _leaders(task, stack)]
        answers = [answer for turn in zip_longest(*led) for answer in turn if answer is not None]
        room = memoryview(bytearray(max(answer.size for answer in answers)))
        content, column = memoryview(bytearray(_BLOCK_BYTES)), memoryview(bytearray(_BLOCK_BYTES))
        blocks = [[(room[begin:end], stored) for begin, end, stored in answer.blocks] for answer in answers]
        decompress = lz4.decompress_block_into
        with Meter() as meter:
            for answer in answers[: len(led)]:
                answer.connection.sendall(answer.frame)
            for answer, mine, later in zip_longest(answers, blocks, answers[len(led) :]):
                answer.connection.recv_into(room, answer.size, socket.MSG_WAITALL)
                if later is not None:
                    later.connection.sendall(later.frame)
                for block, is_stored in mine:
                    if is_stored:
                        column[: len(block)] = block
                    else:
                        size = decompress(block, content)
                        column[:size] = content[:size]
    return meter.per_record(task.count)


def _leaders(task: Task, stack: ExitStack) -> Iterator[tuple[socket.socket, list[int]]]:
    """A connection to each leader, with the partitions that it leads."""
    request = protocol.MetadataRequest(topics=[protocol.MetadataRequest.MetadataRequestTopic(name=task.topic)])
    with connected(task) as connection:
        answer = exchange(connection, protocol.encode_request(request, _METADATA_VERSION, correlation_id=1))
    _, cluster = protocol.decode_response(answer, METADATA, _METADATA_VERSION)
    led = defaultdict(list)
    for partition in cluster.topics[0].partitions:
        led[partition.leader_id].append(partition.partition_index)
    for broker in cluster.brokers:
        if broker.node_id in led:
            yield stack.enter_context(connected_to(broker.host, broker.port)), led[broker.node_id]


def _answers(connection: socket.socket, task: Task, partitions: list[int]) -> Iterator[_Answer]:
    """What is asked until the ends of all these partitions are reached."""
    offsets = dict.fromkeys(partitions, 0)
    while offsets:
        asked = [
            _Fetch.FetchPartition(partition=partition, fetch_offset=offset, partition_max_bytes=_FETCH_BYTES)
            for partition, offset in list(offsets.items())[:_ASKED_AT_ONCE]
        ]
        topics = [_Fetch(topic=task.topic, partitions=asked)]
        request = protocol.FetchRequest(max_bytes=_FETCH_BYTES, max_wait_ms=100, topics=topics)
        frame = protocol.encode_request(request, _FETCH_VERSION, correlation_id=1)
        answer = exchange(connection, frame)
        _, response = protocol.decode_response(answer, FETCH, _FETCH_VERSION)
        blocks: list[tuple[int, int, bool]] = []
        for row in response.responses[0].partitions:
            found = records.decode(row.records or b"")
            if len(found):
                begin = answer.index(bytes(row.records))
                blocks += [each for batch in found.batches for each in blocks_of(answer, begin + batch.position)]
                offsets[row.partition_index] = found.batches[-1].last_offset + 1
            if offsets[row.partition_index] >= row.high_watermark:
                del offsets[row.partition_index]
        yield _Answer(connection, frame, len(answer), blocks)


def blocks_of(answer: bytes, batch: int) -> Iterator[tuple[int, int, bool]]:
    """Where the blocks of one batch begin and end, and whether each is stored as it is."""
    at = batch + _BATCH_HEADER + _LZ4_HEADER
    while head := struct.unpack_from("<I", answer, at)[0]:
        begin, at = at + 4, at + 4 + head % _STORED
        yield begin, at, head >= _STORED
