"""Messages in and out, side by side with kio, kafka-python and aiokafka. Only ratios within one run travel.

Metadata with 1,000 partitions in one topic, Fetch with 100 partitions of 1.1 KB, and a Produce of one record. Each peer
decodes the bytes that kwire encoded and encodes what it decoded itself; that these are the same bytes is asserted.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pytest
from aiokafka.protocol.fetch import FetchResponse_v10
from aiokafka.protocol.metadata import MetadataResponse_v5
from aiokafka.protocol.produce import ProduceRequest_v7
from kafka.protocol import consumer, metadata, producer
from kio.schema.fetch.v10.response import FetchResponse as KioFetch
from kio.schema.metadata.v5.response import MetadataResponse as KioMetadata
from kio.schema.produce.v7.request import ProduceRequest as KioProduce
from kio.serial import entity_reader, entity_writer

from kwire.protocol import FetchResponse, MetadataResponse, ProduceRequest
from kwire.schema.messages import Message

TOPIC = MetadataResponse.MetadataResponseTopic
FETCHED = FetchResponse.FetchableTopicResponse
PRODUCED = ProduceRequest.TopicProduceData
RECORD = b"r" * 100

METADATA = MetadataResponse(
    brokers=[MetadataResponse.MetadataResponseBroker(node_id=i, host=f"broker-{i}", port=9092) for i in range(3)],
    cluster_id="cluster",
    controller_id=1,
    topics=[
        TOPIC(
            name="topic",
            partitions=[
                TOPIC.MetadataResponsePartition(
                    partition_index=i,
                    leader_id=i % 3,
                    replica_nodes=[i % 3, (i + 1) % 3, (i + 2) % 3],
                    isr_nodes=[i % 3, (i + 1) % 3, (i + 2) % 3],
                )
                for i in range(1000)
            ],
        )
    ],
)
FETCH = FetchResponse(
    responses=[
        FETCHED(
            topic="topic",
            partitions=[
                FETCHED.PartitionData(
                    partition_index=i, high_watermark=1_000_000 + i, last_stable_offset=1_000_000, records=b"x" * 1100
                )
                for i in range(100)
            ],
        )
    ]
)
PRODUCE = ProduceRequest(
    acks=-1,
    timeout_ms=30000,
    topic_data=[PRODUCED(name="topic", partition_data=[PRODUCED.PartitionProduceData(index=3, records=RECORD)])],
)
# name: (message, version, classes of kio, kafka-python and aiokafka)
WORK: dict[str, tuple[Message, int, Any, Any, Any]] = {
    "metadata": (METADATA, 5, KioMetadata, metadata.MetadataResponse, MetadataResponse_v5),
    "fetch": (FETCH, 10, KioFetch, consumer.FetchResponse, FetchResponse_v10),
    "produce": (PRODUCE, 7, KioProduce, producer.ProduceRequest, ProduceRequest_v7),
}


def kio_encode(entity: Any, message: Any) -> bytes:
    out = io.BytesIO()
    entity_writer(entity)(out, message)
    return out.getvalue()


def with_header_slot(message: Any) -> Any:
    """kafka-python's messages miss an attribute after decoding that encoding reads."""
    message._header = None
    return message


def decoders(name: str) -> dict[str, Callable[[], Any]]:
    message, version, kio, kafka_python, aiokafka = WORK[name]
    data = message.encode(version)
    read = entity_reader(kio)
    return {
        "kwire": lambda: type(message).decode(data, version),
        "kio": lambda: read(data, 0)[0],
        "kafka-python": lambda: kafka_python.decode(data, version=version),
        "aiokafka": lambda: aiokafka.decode(io.BytesIO(data)),
    }


def encoders(name: str) -> dict[str, Callable[[], Any]]:
    message, version, kio, _, _ = WORK[name]
    decoded = {peer: decode() for peer, decode in decoders(name).items()}
    theirs = with_header_slot(decoded["kafka-python"])
    return {
        "kwire": lambda: message.encode(version),
        "kio": lambda: kio_encode(kio, decoded["kio"]),
        "kafka-python": lambda: theirs.encode(version=version),
        "aiokafka": decoded["aiokafka"].encode,
    }


PEERS = ("kwire", "kio", "kafka-python", "aiokafka")


@pytest.mark.parametrize("peer", PEERS)
@pytest.mark.parametrize("name", ["metadata", "fetch"])
def test_decode(benchmark: Any, name: str, peer: str) -> None:
    benchmark.group = f"decode {name}"
    assert benchmark(decoders(name)[peer]) is not None


@pytest.mark.parametrize("peer", PEERS)
@pytest.mark.parametrize("name", ["metadata", "produce"])
def test_encode(benchmark: Any, name: str, peer: str) -> None:
    benchmark.group = f"encode {name}"
    encode = encoders(name)[peer]
    assert bytes(encode()) == WORK[name][0].encode(WORK[name][1])
    benchmark(encode)
