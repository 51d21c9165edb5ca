"""A producer without sockets or threads, and a broker that acknowledges all: what a batch costs on its way.

From `send()` to the batch, on to the bytes of a request, and from those of its response to the result. Time is an
input: batches linger until the loop flushes.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any
from uuid import UUID

from kwire import protocol
from kwire._codec import ProducerBase
from kwire.engine.common.addresses import Address
from kwire.engine.connections.connection import CONNECT, WRITE, Connection
from kwire.engine.core import Core
from kwire.engine.producer.sender import Sender
from kwire.engine.settings.clients import ProducerSettings
from kwire.fronts.producer import new_accumulator
from kwire.schema.api_keys import API_VERSIONS, INIT_PRODUCER_ID, METADATA, PRODUCE

_TOPIC, _TOPIC_ID = "topic", UUID(int=1)
_RELEASE = "4.4.0"
_HERE = Address("here", 9092)
_OFFSET = 1_000_000


class LoneProducer:
    """A producer of one topic, and the broker that leads all its partitions."""

    def __init__(self, partitions: int) -> None:
        settings = ProducerSettings(bootstrap_servers=[tuple(_HERE)], max_request_size=1 << 26)
        self._partitions = partitions
        self._now = 1.0
        self._core = Core(settings, lambda: 0.5)
        self._accumulator = new_accumulator(settings, 1, self._core.after_step)
        self._sender = Sender(self._core, settings, self._accumulator, print)
        self._producer = ProducerBase()
        self._producer._accumulator = self._accumulator

    def send(self, values: list[bytes]) -> None:
        """Sends the values to the partitions in turn, by one request, and takes in that they were written."""
        send, partitions = self._producer.send, self._partitions
        self._set_clock()
        for number, value in enumerate(values):
            send(_TOPIC, value, partition=number % partitions)
        self._deliver()

    def send_and_look(self, values: list[bytes]) -> None:
        """Sends the values wherever they go, and looks at each Delivery in the end."""
        send = self._producer.send
        self._set_clock()
        deliveries = [send(_TOPIC, value) for value in values]
        self._deliver()
        if any(delivery.exception() is not None for delivery in deliveries):
            raise AssertionError("a record was not delivered")

    def _set_clock(self) -> None:
        self._accumulator.set_clock(self._now, int(1000 * self._now))

    def _deliver(self) -> None:
        self._sender.flush(self._now)
        while not self._accumulator.is_empty:
            self._take_step()

    def _take_step(self) -> None:
        if not self._core.events:
            self._now = max(self._now, self._core.get_timer())
            self._core.handle_timer(self._now)
            return
        kind, connection = self._core.events.popleft()
        if kind is CONNECT:
            self._core.connection_made(connection, self._now)
        elif kind is WRITE:
            self._answer(connection)
        else:
            raise AssertionError(f"{kind}: {connection}")

    def _answer(self, connection: Connection) -> None:
        """Takes the requests that are to be written."""
        written: list[Any] = []
        while parts := connection.data_to_send():
            written += parts
            connection.sent(sum(map(len, parts)), self._now)
        for begin in _beginnings(written):
            header = protocol.decode_request_header(begin)
            answer = _answer_to(header.request_api_key, header.request_api_version, self._partitions)
            answer = answer[:4] + header.correlation_id.to_bytes(4, "big") + answer[8:]
            connection.receiver.buffer(len(answer))[: len(answer)] = answer
            self._core.received(connection, len(answer), self._now)


def _beginnings(written: list[Any]) -> Iterator[bytes]:
    """The first buffer of each frame, without the frame's size."""
    left = 0
    for part in written:
        if not left:
            left = 4 + int.from_bytes(part[:4], "big")
            yield bytes(part[4:])
        left -= len(part)


@cache
def _answer_to(api_key: int, version: int, partitions: int) -> bytes:
    """The frame with what a broker with so many partitions says."""
    make = {PRODUCE: _acknowledgement, METADATA: _metadata, API_VERSIONS: _versions, INIT_PRODUCER_ID: _producer_id}
    made = make[api_key](partitions)
    return protocol.encode_response(made, version)


def _producer_id(_: int) -> protocol.InitProducerIdResponse:
    return protocol.InitProducerIdResponse(producer_id=1)


def _versions(_: int) -> protocol.ApiVersionsResponse:
    row = protocol.ApiVersionsResponse.ApiVersion
    versions = protocol.versions_of(_RELEASE)
    return protocol.ApiVersionsResponse(
        api_keys=[row(api_key=key, min_version=low, max_version=high) for key, (low, high) in versions.items()]
    )


def _metadata(partitions: int) -> protocol.MetadataResponse:
    made = protocol.MetadataResponse
    topic = made.MetadataResponseTopic
    return made(
        brokers=[made.MetadataResponseBroker(node_id=0, host=_HERE.host, port=_HERE.port)],
        topics=[
            topic(
                name=_TOPIC,
                topic_id=_TOPIC_ID,
                partitions=[
                    topic.MetadataResponsePartition(partition_index=index, leader_id=0) for index in range(partitions)
                ],
            )
        ],
    )


def _acknowledgement(partitions: int) -> protocol.ProduceResponse:
    topic = protocol.ProduceResponse.TopicProduceResponse
    return protocol.ProduceResponse(
        responses=[
            topic(
                topic_id=_TOPIC_ID,
                partition_responses=[
                    topic.PartitionProduceResponse(index=index, base_offset=_OFFSET + index)
                    for index in range(partitions)
                ],
            )
        ]
    )
