"""Keys and values that clients write and read by serializers: names, callables, those of other clients and of a
registry; and records that cannot be read."""

from __future__ import annotations

import asyncio
import json
import pickle
import time
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient, header_schema_id_serializer
from confluent_kafka.schema_registry import avro as confluent_avro
from confluent_kafka.serialization import DoubleSerializer, IntegerDeserializer, StringSerializer

from kwire import Consumer, Producer, TopicPartition, aio, registry
from kwire.errors import ConfigError, RegistryError, SerializationError
from kwire.testing import Broker
from tests.each import each
from tests.registry.server import RegistryServer, serving

AN_ID = UUID("12345678-1234-5678-1234-567812345678")
USER = '{"type": "record", "name": "User", "fields": [{"name": "name", "type": "string"}]}'


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as made:
        yield made


@pytest.fixture
def topic(broker: Broker, request: pytest.FixtureRequest) -> str:
    name = f"t{abs(hash(request.node.nodeid))}"
    broker.create_topic(name)
    return name


@pytest.fixture
def server() -> Iterator[RegistryServer]:
    with serving() as found:
        yield found


def reading(broker: Broker, topic: str, **settings: Any) -> Consumer:
    consumer = Consumer(broker.bootstrap_servers, auto_offset_reset="earliest", **settings)
    consumer.assign([(topic, 0)])
    return consumer


def raw(broker: Broker, topic: str) -> list[tuple[bytes | None, bytes | None]]:
    with reading(broker, topic) as consumer:
        return [(record.key, record.value) for record in consumer.poll(timeout=10)]


# --- names and callables ---

NAMED = [
    ("string", "ä", "ä".encode()),
    ("json", {"a": [1, None, "ä"]}, '{"a":[1,null,"ä"]}'.encode()),
    ("int32", -2, b"\xff\xff\xff\xfe"),
    ("int64", 2**40, b"\0\0\1\0\0\0\0\0"),
    ("float64", 1.5, b"\x3f\xf8\0\0\0\0\0\0"),
    ("uuid", AN_ID, str(AN_ID).encode()),
    ("bytes", b"x", b"x"),
]


@each(("name", "value", "written"), NAMED)
def test_values_are_written_and_read_by_name(broker: Broker, name: str, value: Any, written: bytes) -> None:
    topic = f"named-{name}"
    broker.create_topic(topic)
    with Producer(broker.bootstrap_servers, key_serializer=name, value_serializer=name) as producer:  # type: ignore[arg-type]
        producer.send(topic, value, key=value)
        producer.send(topic, None)
    assert raw(broker, topic) == [(written, written), (None, None)]
    with reading(broker, topic, key_deserializer=name, value_deserializer=name) as consumer:
        first, second = consumer.poll(timeout=10)
        assert (first.key, first.value) == (value, value)
        assert (second.key, second.value) == (None, None)


def test_one_side_alone_has_a_serializer(broker: Broker, topic: str) -> None:
    with Producer(broker.bootstrap_servers, value_serializer="json") as producer:
        producer.send(topic, [1], key=b"k")
    with reading(broker, topic, key_deserializer="string") as consumer:
        (record,) = consumer.poll(timeout=10)
        assert (record.key, record.value) == ("k", b"[1]")


def test_many_values_of_any_kind_are_sent_at_once(broker: Broker, topic: str) -> None:
    with Producer(broker.bootstrap_servers, key_serializer="string", value_serializer="json") as producer:
        producer.send_many(topic, [{"a": 1}, ({"b": 2}, "k"), ([3], "l", 5, [("h", b"x")])])
    assert raw(broker, topic) == [(None, b'{"a":1}'), (b"k", b'{"b":2}'), (b"l", b"[3]")]


def test_a_callable_may_take_the_context_or_the_value_alone(broker: Broker, topic: str) -> None:
    seen = []

    def with_context(value: str, context: registry.SerializationContext) -> bytes:
        seen.append((context.topic, context.field))
        context.headers.append(("by", b"me"))
        return value.upper().encode()

    with Producer(
        broker.bootstrap_servers, key_serializer=lambda value: value.encode(), value_serializer=with_context
    ) as producer:
        producer.send(topic, "v", key="k", headers=[("a", b"b")])
    assert seen == [(topic, "value")]
    with reading(
        broker, topic, value_deserializer=bytes.decode, key_deserializer=lambda raw, ctx: ctx.headers
    ) as consumer:
        (record,) = consumer.poll(timeout=10)
        assert record.value == "V"
        assert record.key == [("a", b"b"), ("by", b"me")]
        assert list(record.headers) == [("a", b"b"), ("by", b"me")]


def test_settings_of_javas_clients_name_their_classes(broker: Broker, topic: str) -> None:
    package = "org.apache.kafka.common.serialization"
    config = {
        "bootstrap.servers": broker.bootstrap_servers,
        "key.serializer": f"{package}.LongSerializer",
        "value.serializer": f"{package}.StringSerializer",
        "key.deserializer": f"{package}.LongDeserializer",
        "value.deserializer": f"{package}.StringDeserializer",
        "auto.offset.reset": "earliest",
    }
    with Producer.from_config(config) as producer:
        producer.send(topic, "v", key=1)
    with Consumer.from_config(config) as consumer:
        consumer.assign([(topic, 0)])
        (record,) = consumer.poll(timeout=10)
        assert (record.key, record.value) == (1, "v")


@each(
    ("settings", "said"),
    [
        ({"value_serializer": "xml"}, "value_serializer='xml': expected one of 'string', 'json'"),
        ({"value_serializer": 5}, "value_serializer=5: expected one of"),
        ({"key_serializer": "io.confluent.kafka.serializers.KafkaAvroSerializer"}, "or a callable"),
    ],
)
def test_serializers_that_are_none(settings: Any, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        Producer("localhost", **settings)
    consumers = {name.replace("serializer", "deserializer"): given for name, given in settings.items()}
    with pytest.raises(ConfigError, match=said.replace("serializer=", "deserializer=")):
        Consumer("localhost", **consumers)


def test_what_becomes_of_errors_is_one_of_the_words_or_a_callable() -> None:
    with pytest.raises(ConfigError, match="expected 'raise', 'keep', or a callable"):
        Consumer("localhost", deserialize_errors="drop")  # type: ignore[arg-type]


def test_a_client_with_serializers_pickles(broker: Broker, topic: str) -> None:
    with pickle.loads(pickle.dumps(Producer(broker.bootstrap_servers, value_serializer="json"))) as producer:
        producer.send(topic, 1)
    with pickle.loads(pickle.dumps(Consumer(broker.bootstrap_servers, value_deserializer="json"))) as consumer:
        consumer.assign([(topic, 0)], at={(topic, 0): 0})
        assert consumer.poll(timeout=10).values() == [1]


# --- what cannot be written ---


def test_what_cannot_be_written_is_not_sent(broker: Broker, topic: str) -> None:
    with Producer(broker.bootstrap_servers, key_serializer="int32", value_serializer="json") as producer:
        with pytest.raises(
            SerializationError, match=rf"the value for {topic} cannot be serialized: TypeError: "
        ) as caught:
            producer.send(topic, {1, 2})
        assert (caught.value.topic, caught.value.field) == (topic, "value")
        with pytest.raises(SerializationError, match="cannot be serialized: OverflowError"):
            producer.send(topic, 1, key=2**40)
        with pytest.raises(SerializationError, match="expected int, got str"):
            producer.send_many(topic, [(1, 1), (2, "2")])
        producer.send(topic, 3)
    assert raw(broker, topic) == [(b"\0\0\0\1", b"1"), (None, b"3")]


# --- what cannot be read ---


@pytest.fixture
def poisoned(broker: Broker, topic: str) -> str:
    """Numbers as JSON, but for the values at the offsets 2 and 3, and the key at 6."""
    values = [b"0", b"1", b"{", b"}", b"4", b"5", b"6", b"7"]
    with Producer(broker.bootstrap_servers) as producer:
        producer.send_many(topic, [(value, b"\xff" if value == b"6" else b"k") for value in values])
    return topic


SETTINGS: dict[str, Any] = {"value_deserializer": "json", "key_deserializer": "string"}


def test_a_record_that_cannot_be_read_is_raised_after_those_before_it_until_it_is_passed(
    broker: Broker, poisoned: str
) -> None:
    tp = TopicPartition(poisoned, 0)
    with reading(broker, poisoned, **SETTINGS) as consumer:
        assert consumer.poll(timeout=10).values() == [0, 1]
        for _ in range(3):
            with pytest.raises(SerializationError, match=f"the value of {poisoned}-0 at offset 2 cannot be") as caught:
                consumer.poll(timeout=10)
            error = caught.value
            assert (error.topic, error.partition, error.offset, error.field, error.raw) == (
                poisoned,
                0,
                2,
                "value",
                b"{",
            )
            assert isinstance(error.__cause__, ValueError)
            assert consumer.position(tp) == 2
        assert error.seek_to is not None
        consumer.seek(tp, error.seek_to)
        with pytest.raises(SerializationError) as caught:
            consumer.poll(timeout=10)
        assert caught.value.offset == 3
        consumer.seek(tp, 4)
        assert consumer.poll(timeout=10).values() == [4, 5]
        with pytest.raises(SerializationError) as caught:
            consumer.poll(timeout=10)
        assert (caught.value.field, caught.value.raw) == ("key", b"\xff")
        consumer.seek(tp, 7)
        assert consumer.poll(timeout=10).values() == [7]


def test_a_loop_raises_at_the_record_that_cannot_be_read(broker: Broker, poisoned: str) -> None:
    seen: list[Any] = []
    with reading(broker, poisoned, **SETTINGS) as consumer:
        while 7 not in seen:
            try:
                for record in consumer:
                    seen.append(record.value)
                    if record.value == 7:
                        break
            except SerializationError as error:
                seen.append(error.offset)
                consumer.seek((poisoned, 0), error.seek_to or 0)
    assert seen == [0, 1, 2, 3, 4, 5, 6, 7]


def test_a_record_that_cannot_be_read_is_not_committed(broker: Broker, poisoned: str) -> None:
    tp = TopicPartition(poisoned, 0)
    with Consumer(
        broker.bootstrap_servers, group_id=poisoned, auto_offset_reset="earliest", enable_auto_commit=False, **SETTINGS
    ) as consumer:
        consumer.subscribe([poisoned])
        records = consumer.poll(timeout=10)
        assert records.values() == [0, 1]
        consumer.commit(records[0])
        assert consumer.committed([tp])[tp].offset == 1  # type: ignore[union-attr]
        with pytest.raises(SerializationError):
            consumer.poll(timeout=10)
        consumer.commit()
        assert consumer.committed([tp])[tp].offset == 2  # type: ignore[union-attr]
        consumer.seek(tp, 4)
        records = consumer.poll(timeout=10)
        consumer.commit(records)
        assert consumer.committed([tp])[tp].offset == 6  # type: ignore[union-attr]


def test_errors_are_kept_in_the_place_of_what_they_are_about(broker: Broker, poisoned: str) -> None:
    with reading(broker, poisoned, deserialize_errors="keep", **SETTINGS) as consumer:
        records = consumer.poll(timeout=10)
        kept = [value.offset if isinstance(value, SerializationError) else value for value in records.values()]
        assert kept == list(range(8))
        assert isinstance(records[2].value, SerializationError)
        keys = records.keys()
        assert [type(key) for key in keys] == [str] * 6 + [SerializationError, str]
        assert [record.offset for record in records[2:4]] == [2, 3]


def test_a_callable_says_what_stands_in_the_place_of_what_cannot_be_read(broker: Broker, poisoned: str) -> None:
    def instead(error: SerializationError, record: Any) -> Any:
        if error.field == "key":
            raise error
        return (record.offset, error.raw)

    with reading(broker, poisoned, deserialize_errors=instead, **SETTINGS) as consumer:
        assert consumer.poll(timeout=10).values() == [0, 1, (2, b"{"), (3, b"}"), 4, 5]
        with pytest.raises(SerializationError):
            consumer.poll(timeout=10)


def test_what_a_loop_has_not_taken_comes_again(broker: Broker, poisoned: str) -> None:
    with reading(broker, poisoned, deserialize_errors="keep", **SETTINGS) as consumer:
        for record in consumer:
            if record.value == 1:
                break
        assert consumer.position((poisoned, 0)) == 2
        assert [record.offset for record in consumer.poll(timeout=10)] == [2, 3, 4, 5, 6, 7]


def test_records_have_what_those_of_bytes_have(broker: Broker, topic: str) -> None:
    with Producer(broker.bootstrap_servers, value_serializer="json") as producer:
        producer.send(topic, {"a": 1}, key=b"k", timestamp=5, headers=[("h", None)])
    with reading(broker, topic, value_deserializer="json") as consumer:
        records = consumer.poll(timeout=10)
        (record,) = records
        assert (record.topic, record.partition, record.offset, record.timestamp) == (topic, 0, 0, 5)
        assert (list(record.headers), record.timestamp_type) == ([("h", None)], 0)
        assert (record.received.value, record.key) == (b'{"a":1}', b"k")  # type: ignore[attr-defined]
        assert "value={'a': 1}" in repr(record)
        assert records.to_arrow(["value"]).to_pydict() == {"value": [b'{"a":1}']}
        assert records.keys() == [b"k"]


# --- a registry, and other clients ---


def test_avro_goes_there_and_back_by_a_registry(broker: Broker, topic: str, server: RegistryServer) -> None:
    r = registry.Registry(server.url)
    with Producer(
        broker.bootstrap_servers, value_serializer=registry.AvroSerializer(r, USER, framing="header")
    ) as producer:
        producer.send(topic, {"name": "x"}, headers=[("a", b"b")])
    with reading(broker, topic, value_deserializer=registry.AvroDeserializer(r)) as consumer:
        (record,) = consumer.poll(timeout=10)
        assert record.value == {"name": "x"}
        assert [name for name, _ in record.headers] == ["a", "__value_schema_id"]


def test_serializers_of_confluent_kafka_are_taken_as_they_are(
    broker: Broker, topic: str, server: RegistryServer
) -> None:
    client = SchemaRegistryClient({"url": server.url})
    avro = confluent_avro.AvroSerializer(client, USER, conf={"schema.id.serializer": header_schema_id_serializer})
    with Producer(broker.bootstrap_servers, key_serializer=StringSerializer(), value_serializer=avro) as producer:
        producer.send(topic, {"name": "a name"}, key="k")
    with Producer(broker.bootstrap_servers, value_serializer=DoubleSerializer()) as producer:
        producer.send(topic, 1.5)
    with reading(
        broker, topic, key_deserializer="string", value_deserializer=confluent_avro.AvroDeserializer(client)
    ) as consumer:
        (record,) = consumer.poll(timeout=10)
        assert (record.key, record.value) == ("k", {"name": "a name"})
        with pytest.raises(SerializationError, match="at offset 1"):
            consumer.poll(timeout=10)
    with reading(broker, topic, value_deserializer=IntegerDeserializer()) as consumer:
        with pytest.raises(SerializationError, match="at offset 0"):
            consumer.poll(timeout=10)


def test_a_registry_that_cannot_be_reached_is_the_cause_of_the_error(broker: Broker, topic: str) -> None:
    r = registry.Registry("http://127.0.0.1:1", retries=0)
    with Producer(broker.bootstrap_servers, value_serializer=registry.AvroSerializer(r, USER)) as producer:
        with pytest.raises(SerializationError, match="refused") as caught:
            producer.send(topic, {"name": "x"})
        assert isinstance(caught.value.__cause__, RegistryError)


# --- on an event loop ---


def test_asyncio_clients_take_the_same(broker: Broker, poisoned: str) -> None:
    async def main() -> None:
        async with aio.Producer(broker.bootstrap_servers, value_serializer="json") as producer:
            await producer.send(poisoned, 8)
            producer.send_many(poisoned, [9, ([10], None)])
            with pytest.raises(SerializationError):
                producer.send(poisoned, {1})
        async with aio.Consumer(broker.bootstrap_servers, auto_offset_reset="earliest", **SETTINGS) as consumer:
            consumer.assign([(poisoned, 0)])
            assert (await consumer.poll(timeout=10)).values() == [0, 1]
            with pytest.raises(SerializationError):
                await consumer.poll(timeout=10)
            assert await consumer.position((poisoned, 0)) == 2
            consumer.seek((poisoned, 0), 7)
            seen: list[Any] = []
            async for record in consumer:
                seen.append(record.value)
                if record.value == [10]:
                    break
            assert seen == [7, 8, 9, [10]]

    asyncio.run(main())


def test_what_an_asyncio_loop_has_not_taken_comes_again(broker: Broker, poisoned: str) -> None:
    async def main() -> None:
        async with aio.Consumer(
            broker.bootstrap_servers, auto_offset_reset="earliest", deserialize_errors="keep", **SETTINGS
        ) as consumer:
            consumer.assign([(poisoned, 0)])
            async for record in consumer:
                if record.value == 1:
                    break
            assert await consumer.position((poisoned, 0)) == 2
            assert [record.offset for record in await consumer.poll(timeout=10)] == [2, 3, 4, 5, 6, 7]

    asyncio.run(main())


def test_a_consumer_of_asyncio_asks_its_registry_before_it_reads(
    broker: Broker, topic: str, server: RegistryServer
) -> None:
    async def main() -> None:
        r = aio.Registry(server.url)
        serializer = registry.AvroSerializer(r, USER)
        await serializer.prepare(topic)
        async with aio.Producer(broker.bootstrap_servers, value_serializer=serializer) as producer:
            producer.send(topic, {"name": "x"})
        async with aio.Consumer(
            broker.bootstrap_servers, auto_offset_reset="earliest", value_deserializer=registry.AvroDeserializer(r)
        ) as consumer:
            consumer.assign([(topic, 0)])
            assert (await consumer.poll(timeout=10)).values() == [{"name": "x"}]

    asyncio.run(main())
    assert json.loads(server.model.subjects[f"{topic}-value"].versions[1].text) == json.loads(USER)


def test_an_event_loop_turns_while_many_records_are_read(broker: Broker, topic: str) -> None:
    turns = 0

    def read(raw: bytes | None, context: object) -> int:
        time.sleep(0.00001)
        return turns

    async def main() -> list[int]:
        nonlocal turns
        async with aio.Producer(broker.bootstrap_servers) as producer:
            producer.send_many(topic, [b"x"] * 5000)
        settings: dict[str, Any] = {"auto_offset_reset": "earliest", "max_poll_records": 5000}
        async with aio.Consumer(broker.bootstrap_servers, value_deserializer=read, **settings) as consumer:
            consumer.assign([(topic, 0)])
            polled = asyncio.create_task(consumer.poll(timeout=10))
            while not polled.done():
                await asyncio.sleep(0)
                turns += 1
            return [int(value or 0) for value in (await polled).values()]

    seen = asyncio.run(main())
    assert len(seen) == 5000
    assert len(set(seen)) > 2
