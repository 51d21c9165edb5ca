"""Values by a registry's schemas, by pytest-benchmark: `make bench-codec`. Each call reads the 10,000 records of one
poll, of three fields each, whose ids are in front.

kwire makes columns of them, or a dict of each; confluent-kafka's deserializer makes a dict of each, as does a loop
around fastavro that knows the one schema. All have asked the registry before.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from typing import Any

import fastavro
import pytest
from confluent_kafka import schema_registry as confluent
from confluent_kafka.schema_registry.avro import AvroDeserializer as ConfluentDeserializer
from confluent_kafka.serialization import MessageField
from confluent_kafka.serialization import SerializationContext as ConfluentContext
from tests.registry.server import RegistryServer, serving

from kwire import TopicPartition, records, registry
from kwire.engine.consumer.records import ConsumerRecords

COUNT = 10_000
ROWS = [{"id": 1_000_003 * n, "price": n / 2, "symbol": f"symbol-{n % 997}"} for n in range(COUNT)]
SCHEMA = json.dumps(
    {
        "type": "record",
        "name": "Trade",
        "fields": [
            {"name": "id", "type": "long"},
            {"name": "price", "type": "double"},
            {"name": "symbol", "type": "string"},
        ],
    }
)


@pytest.fixture(scope="module")
def server() -> Iterator[RegistryServer]:
    with serving() as found:
        yield found


@pytest.fixture(scope="module")
def polled(server: RegistryServer) -> ConsumerRecords:
    serializer = registry.AvroSerializer(registry.Registry(server.url), SCHEMA)
    context = registry.SerializationContext("trades")
    values = [serializer(row, context) for row in ROWS]
    return ConsumerRecords([(TopicPartition("trades", 0), records.decode(records.encode(values)))])


def test_kwire_columns(benchmark: Any, server: RegistryServer, polled: ConsumerRecords) -> None:
    deserializer = registry.AvroDeserializer(registry.Registry(server.url))
    batch = benchmark(lambda: polled.to_arrow(["offset", "id", "price", "symbol"], value=deserializer))
    assert batch.select(["id", "price", "symbol"]).to_pylist() == ROWS


def test_kwire_dicts(benchmark: Any, server: RegistryServer, polled: ConsumerRecords) -> None:
    deserializer = registry.AvroDeserializer(registry.Registry(server.url))
    context = registry.SerializationContext("trades")
    assert benchmark(lambda: [deserializer(record.value, context) for record in polled]) == ROWS


def test_confluent_dicts(benchmark: Any, server: RegistryServer, polled: ConsumerRecords) -> None:
    deserializer = ConfluentDeserializer(confluent.SchemaRegistryClient({"url": server.url}))
    context = ConfluentContext("trades", MessageField.VALUE)
    assert benchmark(lambda: [deserializer(record.value, context) for record in polled]) == ROWS


def test_fastavro_dicts(benchmark: Any, polled: ConsumerRecords) -> None:
    schema = fastavro.parse_schema(json.loads(SCHEMA))
    read = fastavro.schemaless_reader

    def loop() -> list[Any]:
        return [read(io.BytesIO((record.value or b"")[5:]), schema, None) for record in polled]

    assert benchmark(loop) == ROWS
