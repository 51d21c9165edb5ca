"""Deserializers of share consumers, for threads and asyncio: polls, and records that cannot be read."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kwire import ShareConsumer, TopicPartition, aio, errors, registry
from kwire.errors import SerializationError
from kwire.testing import Broker
from tests.clients.test_share_consumer import begin_at_first, broker, read, write
from tests.registry.server import RegistryServer, serving

__all__ = ["broker"]


class Blocking:
    """`kwire.aio.ShareConsumer` with the calls of the other one."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        self._runner = asyncio.Runner()
        self._consumer = aio.ShareConsumer(*arguments, **settings)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._consumer, name)

        async def call(*arguments: Any, **keywords: Any) -> Any:
            given = found(*arguments, **keywords)
            return await given if asyncio.iscoroutine(given) else given

        return lambda *arguments, **keywords: self._runner.run(call(*arguments, **keywords))

    def __enter__(self) -> Blocking:
        return self

    def __exit__(self, *error: object) -> None:
        self._runner.run(self._consumer.close())
        self._runner.close()


@pytest.fixture(params=[ShareConsumer, Blocking], ids=["threads", "asyncio"])
def member(request: pytest.FixtureRequest, broker: Broker) -> Callable[..., Any]:
    def made(**options: Any) -> Any:
        settings = {"group_id": "g", "fetch_max_wait_ms": 100, "value_deserializer": "json", **options}
        consumer = request.param(broker.bootstrap_servers, **settings)
        consumer.subscribe(["t"])
        return consumer

    return made


@pytest.fixture
def server() -> Iterator[RegistryServer]:
    with serving() as found:
        yield found


def fault_of(consumer: Any) -> SerializationError:
    try:
        while not (found := consumer.poll(timeout=2.0)):
            pass
    except SerializationError as error:
        return error
    raise AssertionError(found)


def outcomes(consumer: Any) -> dict[TopicPartition, object]:
    found: dict[TopicPartition, object] = consumer.commit()
    return found


def test_values_are_read_and_counted(broker: Broker, member: Callable[..., Any]) -> None:
    write(broker, [b"1", b'{"a": 2}'])
    with member(key_deserializer="string") as consumer:
        found = consumer.poll(timeout=10)
        assert found.values() == [1, {"a": 2}]
        assert [record.value for record in found] == found.values()
        assert found.delivery_counts() == [1, 1]
        assert found.delivery_count(found[1]) == 1
        assert found.to_arrow(["value"]).column("value").to_pylist() == [b"1", b'{"a": 2}']
        consumer.acknowledge(found[0], "release")
        assert outcomes(consumer) == {TopicPartition("t", 0): None}
        assert [record.value for record in read(consumer, 1)] == [1]


def test_what_cannot_be_read_is_raised_once_and_released_for_another_try(
    broker: Broker,
    member: Callable[..., Any],
) -> None:
    write(broker, [b"1", b"2", b"not JSON", b"4", b"5"])
    with member() as consumer:
        assert consumer.poll(timeout=10).values() == [1, 2]
        error = fault_of(consumer)
        assert (error.topic, error.partition, error.offset, error.field, error.raw) == ("t", 0, 2, "value", b"not JSON")
        assert [record.value for record in read(consumer, 2)] == [4, 5]
        assert fault_of(consumer).offset == 2  # delivered once more
        consumer.commit()
    with member(value_deserializer=None) as other:
        found = other.poll(timeout=10)
        assert (found.values(), found.delivery_counts()) == ([b"not JSON"], [3])


@pytest.mark.parametrize("kind", ["accept", "reject"])
def test_the_program_may_end_that_by_acknowledging_the_error(
    broker: Broker,
    member: Callable[..., Any],
    kind: str,
) -> None:
    write(broker, [b"not JSON", b"2"])
    with member() as consumer:
        consumer.acknowledge(fault_of(consumer), kind)
        assert [record.value for record in read(consumer, 1)] == [2]
        assert outcomes(consumer) == {TopicPartition("t", 0): None}
        assert not consumer.poll(timeout=0.5)
        with pytest.raises(errors.ConfigError, match="t-0, offset 0: only a record that a poll returned"):
            consumer.acknowledge(SerializationError("x", topic="t", partition=0, offset=0))


def test_closing_releases_it_and_what_comes_after(broker: Broker, member: Callable[..., Any]) -> None:
    write(broker, [b"not JSON", b"2"])
    with member() as consumer:
        fault_of(consumer)
    with member(value_deserializer=None) as other:
        assert sorted(record.value for record in read(other, 2)) == [b"2", b"not JSON"]


def test_in_explicit_mode_it_counts_as_acknowledged(broker: Broker, member: Callable[..., Any]) -> None:
    write(broker, [b"1", b"not JSON", b"3"])
    with member(share_acknowledgement_mode="explicit") as consumer:
        first = consumer.poll(timeout=10)
        with pytest.raises(errors.ConfigError, match="1 record of earlier polls not acknowledged"):
            consumer.poll(timeout=0)
        consumer.acknowledge(first)
        fault_of(consumer)
        third = consumer.poll(timeout=10)
        assert third.values() == [3]
        consumer.acknowledge(third)


def test_errors_may_be_kept_or_replaced(broker: Broker, member: Callable[..., Any]) -> None:
    write(broker, [b"1", b"not JSON"])
    with member(deserialize_errors="keep") as consumer:
        kept = consumer.poll(timeout=10)
        assert isinstance(kept[1].value, SerializationError)
        consumer.acknowledge(kept[1], "release")
        consumer.commit()
    with member(deserialize_errors=lambda error, record: (record.offset, error.raw)) as consumer:
        assert consumer.poll(timeout=10).values() == [(1, b"not JSON")]


def test_a_registry_that_has_to_be_awaited(broker: Broker, server: RegistryServer) -> None:
    async def main() -> list[Any]:
        r = aio.Registry(server.url)
        write_avro = registry.AvroSerializer(r, '"int"')
        await write_avro.prepare("t")
        async with aio.Producer(broker.bootstrap_servers, value_serializer=write_avro) as producer:
            await producer.send("t", 7, partition=0)
        settings: Any = {"value_deserializer": registry.AvroDeserializer(aio.Registry(server.url))}
        async with aio.ShareConsumer(broker.bootstrap_servers, group_id="g", **settings) as consumer:
            consumer.subscribe(["t"])
            return (await consumer.poll(timeout=10)).values()

    assert asyncio.run(main()) == [7]


def test_settings_of_other_clients_are_taken(broker: Broker) -> None:
    java = "org.apache.kafka.common.serialization.LongDeserializer"
    begin_at_first(broker, "h")
    write(broker, [(7).to_bytes(8, "big"), json.dumps(8).encode()])
    config = {"bootstrap.servers": broker.bootstrap_servers, "group.id": "h", "value.deserializer": java}
    with ShareConsumer.from_config(config, deserialize_errors="keep") as consumer:
        consumer.subscribe(["t"])
        assert [type(record.value) for record in read(consumer, 2)] == [int, SerializationError]
