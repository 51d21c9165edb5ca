"""Interceptors of producers and consumers: what they see, what they may change, and what they cannot break."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from kwire import Consumer, Producer, TopicPartition, aio
from kwire.errors import ConfigError, DeliveryError
from kwire.testing import Broker


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker() as made:
        made.create_topic("orders", 1)
        yield made


class Seen:
    """Notes all calls; adds a header to what is sent."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []

    def on_send(self, topic: str, record: Any) -> Any:
        self.calls.append(("send", topic, record.value, record.headers))
        return record._replace(headers=(*record.headers, ("by", b"seen")))

    def on_acknowledged(self, metadata: Any, error: Exception | None) -> None:
        self.calls.append(("acknowledged", metadata and metadata.offset, type(error).__name__))

    def on_consume(self, records: Any) -> None:
        self.calls.append(("consume", records.values()))

    def on_commit(self, offsets: Any) -> None:
        self.calls.append(("commit", {tp: row.offset for tp, row in offsets.items()}))


class Failing:
    def __getattr__(self, name: str) -> Any:
        if not name.startswith("on_"):
            raise AttributeError(name)
        raise_it: dict[str, int] = {}
        return lambda *arguments: raise_it[name]


def values_and_headers(broker: Broker) -> list[tuple[bytes | None, Any]]:
    with Consumer(broker.bootstrap_servers, auto_offset_reset="earliest") as consumer:
        consumer.assign([("orders", 0)])
        return [(record.value, record.headers) for record in consumer.poll(timeout=10)]


def test_what_is_sent_is_seen_changed_and_acknowledged(broker: Broker) -> None:
    seen = Seen()
    with Producer(broker.bootstrap_servers, interceptors=[seen]) as producer:
        producer.send("orders", b"a", headers=[("h", b"1")])
        producer.flush()
        producer.send_many("orders", [b"b"])
    assert seen.calls == [
        ("send", "orders", b"a", (("h", b"1"),)),
        ("acknowledged", 0, "NoneType"),
        ("send", "orders", b"b", ()),
        ("acknowledged", 1, "NoneType"),
    ]
    found = values_and_headers(broker)
    assert [value for value, _ in found] == [b"a", b"b"]
    assert list(found[0][1]) == [("h", b"1"), ("by", b"seen")]


def test_values_are_seen_before_they_are_serialized(broker: Broker) -> None:
    seen = Seen()
    with Producer(broker.bootstrap_servers, value_serializer="json", interceptors=[seen]) as producer:
        producer.send("orders", {"a": 1})
    assert seen.calls[0] == ("send", "orders", {"a": 1}, ())
    assert values_and_headers(broker)[0][0] == b'{"a":1}'


def test_an_interceptor_that_looks_at_errors_leaves_them_to_flush(broker: Broker) -> None:
    seen = Seen()
    options: Any = {"max_block_ms": 100, "allow_auto_create_topics": False, "interceptors": [seen]}
    with Producer(broker.bootstrap_servers, **options) as producer:
        producer.send("nowhere", b"v")
        with pytest.raises(DeliveryError):
            producer.flush()
    assert seen.calls[-1] == ("acknowledged", None, "UnknownTopicError")


def test_a_record_that_send_refuses_is_acknowledged_with_its_error(broker: Broker) -> None:
    seen = Seen()
    with Producer(broker.bootstrap_servers, interceptors=[seen]) as producer:
        with pytest.raises(TypeError):
            producer.send("orders", 17)
    assert seen.calls[-1] == ("acknowledged", None, "TypeError")


@pytest.mark.parametrize("by", ["call", "auto"])
def test_what_polls_return_and_the_group_stores_is_seen(broker: Broker, by: str) -> None:
    with Producer(broker.bootstrap_servers) as producer:
        producer.send_many("orders", [b"a", b"b"])
    seen = Seen()
    options: Any = {"enable_auto_commit": by == "auto", "auto_offset_reset": "earliest", "interceptors": [seen]}
    with Consumer(broker.bootstrap_servers, group_id="g", **options) as consumer:
        consumer.subscribe(["orders"])
        while not consumer.poll(timeout=10):
            pass
        if by == "call":
            consumer.commit()
        else:
            consumer.poll(timeout=0)
    assert seen.calls[0] == ("consume", [b"a", b"b"])
    assert ("commit", {TopicPartition("orders", 0): 2}) in seen.calls


def test_what_one_raises_is_logged_and_breaks_nothing(broker: Broker, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR, "kwire.clients"):
        with Producer(broker.bootstrap_servers, interceptors=[Failing(), Seen()]) as producer:
            assert producer.send("orders", b"a").result(timeout=10).offset == 0
        options: Any = {"auto_offset_reset": "earliest", "interceptors": [Failing()]}
        with Consumer(broker.bootstrap_servers, group_id="g", **options) as consumer:
            consumer.subscribe(["orders"])
            while not consumer.poll(timeout=10):
                pass
            consumer.commit()
    named = {str(record.exc_info[1]) for record in caplog.records if record.exc_info}
    assert named == {"'on_send'", "'on_acknowledged'", "'on_consume'", "'on_commit'"}


def test_what_one_returns_instead_of_a_record_is_logged_and_the_record_goes_as_it_was(
    broker: Broker, caplog: pytest.LogCaptureFixture
) -> None:
    class Text:
        def on_send(self, topic: str, record: Any) -> Any:
            return "no record"

    class Short:
        def on_send(self, topic: str, record: Any) -> Any:
            return b"value", b"key"

    class Async:
        async def on_send(self, topic: str, record: Any) -> Any:
            return record

    with Producer(broker.bootstrap_servers, interceptors=[Text(), Seen(), Short(), Async()]) as producer:
        producer.send("orders", b"v")
    assert values_and_headers(broker) == [(b"v", (("by", b"seen"),))]
    assert [record.message for record in caplog.records] == ["an interceptor raised"] * 3
    assert "nothing awaits an interceptor" in caplog.text


def test_interceptors_see_the_clients_of_an_event_loop(broker: Broker) -> None:
    async def use() -> list[tuple[Any, ...]]:
        seen = Seen()
        async with aio.Producer(broker.bootstrap_servers, interceptors=[seen]) as producer:
            await producer.send("orders", b"a")
        options: Any = {"auto_offset_reset": "earliest", "interceptors": [seen]}
        async with aio.Consumer(broker.bootstrap_servers, **options) as consumer:
            consumer.assign([("orders", 0)])
            async for _ in consumer:
                break
        return seen.calls

    assert [call[0] for call in asyncio.run(use())] == ["send", "acknowledged", "consume"]


def test_classes_and_names_are_refused() -> None:
    for wrong in ([Seen], "audit.Interceptor", Seen()):
        with pytest.raises(ConfigError, match="interceptors"):
            Producer("127.0.0.1:1", interceptors=wrong)  # type: ignore[arg-type]
