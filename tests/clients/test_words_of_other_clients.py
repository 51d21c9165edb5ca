"""Calls as other clients have them: each is refused with what to call instead."""

from __future__ import annotations

import asyncio
import importlib
import pickle
import pydoc
import re
from collections.abc import Callable
from inspect import getdoc, signature
from typing import Any

import pytest

import kwire
from kwire import (
    Consumer,
    ConsumerRecord,
    ConsumerRecords,
    Producer,
    ShareConsumer,
    TopicPartition,
    aio,
    errors,
    records,
)
from kwire.engine.common.absent import MODULE, RECORDS
from kwire.errors.elsewhere import ERRORS

SERVERS = "127.0.0.1:1"

CALLS: list[tuple[Callable[[Any], object], str]] = [
    (lambda c: c.commit(asynchronous=True), "commit() got an unexpected keyword argument 'asynchronous': commit() wai"),
    (lambda c: c.commit(message=1), "'message': it is commit(record) here"),
    (lambda c: c.commit(offsets={}), "'offsets': it is commit({(topic, partition): offset}) here"),
    (lambda c: c.commit(callback=print), "'callback': commit_async() takes a callback"),
    (lambda c: c.commit(now=True), "commit() got an unexpected keyword argument 'now'"),
    (
        lambda c: c.commit_async(offsets={}),
        "commit_async() got an unexpected keyword argument 'offsets': it is commit(",
    ),
    (lambda c: c.subscribe(["t"], on_assign=print), "'on_assign': give listener=, an object with on_assigned,"),
    (lambda c: c.subscribe(["t"], topic="t"), "subscribe() got an unexpected keyword argument 'topic'"),
    (
        lambda c: c.poll(timeout_ms=500),
        "poll() got an unexpected keyword argument 'timeout_ms': it is timeout= here, in s",
    ),
    (lambda c: c.poll(1.0, num_messages=5), "'num_messages': it is max_records= here"),
    (lambda c: c.poll(now=True), "poll() got an unexpected keyword argument 'now'"),
]
SENDS: list[tuple[dict[str, Any], str]] = [
    ({"callback": print}, "'callback': it returns a Delivery, send(...).add_done_callback(f) calls f(delivery)"),
    ({"on_delivery": print}, "'on_delivery': it returns a Delivery, send(...).add_done_callback(f)"),
    ({"timestamp_ms": 5}, "'timestamp_ms': it is timestamp= here, int milliseconds or a datetime"),
    ({"now": True}, "'now'"),
]
NAMES = {
    "commit_sync": "it is commit() here",
    "consumer_group_metadata": "it is group_metadata() here",
    "current_lag": "it is lag() here",
    "highwater": "it is end_offsets([partition]) here",
    "incremental_assign": "not needed",
    "incremental_unassign": "not needed",
    "memberid": "it is group_metadata().member_id here",
    "partitions_for_topic": "it is partitions_for(topic) here",
    "seek_to_committed": "it is seek(partition, offset) here",
    "unassign": "it is unsubscribe() here",
}


class JavasListener:
    def on_partitions_assigned(self, partitions: object) -> None:
        """Does nothing."""

    def on_partitions_revoked(self, partitions: object) -> None:
        """Does nothing."""


@pytest.mark.parametrize(("call", "words"), CALLS)
def test_keywords_of_other_clients(call: Callable[[Any], object], words: str) -> None:
    with Consumer(SERVERS, group_id="g") as consumer, pytest.raises(TypeError) as caught:
        call(consumer)
    assert words in str(caught.value)


@pytest.mark.parametrize(("call", "words"), CALLS)
def test_keywords_of_other_clients_on_asyncio(call: Callable[[Any], object], words: str) -> None:
    async def main() -> None:
        async with aio.Consumer(SERVERS, group_id="g") as consumer:
            outcome = call(consumer)
            if asyncio.iscoroutine(outcome):
                await outcome

    with pytest.raises(TypeError) as caught:
        asyncio.run(main())
    assert words in str(caught.value)


@pytest.mark.parametrize("client", [Consumer, aio.Consumer])
@pytest.mark.parametrize("name", NAMES)
def test_methods_of_other_consumers(client: Any, name: str) -> None:
    with pytest.raises(errors.UnsupportedError) as caught:
        getattr(client, name)
    assert f"Consumer.{name}(): {NAMES[name]}" in str(caught.value)


def test_a_share_consumer_polls_in_seconds_too() -> None:
    with ShareConsumer(SERVERS, group_id="g") as consumer, pytest.raises(TypeError, match="it is timeout= here"):
        consumer.poll(timeout_ms=500)  # type: ignore[call-arg]

    async def main() -> None:
        async with aio.ShareConsumer(SERVERS, group_id="g") as consumer:
            await consumer.poll(timeout_ms=500)  # type: ignore[call-arg]

    with pytest.raises(TypeError, match="it is timeout= here"):
        asyncio.run(main())


@pytest.mark.parametrize(("keywords", "words"), SENDS)
def test_keywords_of_other_producers(keywords: dict[str, Any], words: str) -> None:
    with Producer(SERVERS) as producer, pytest.raises(TypeError) as caught:
        producer.send("t", b"v", **keywords)
    assert f"send() got an unexpected keyword argument {words}" in str(caught.value)

    async def main() -> None:
        async with aio.Producer(SERVERS) as producer:
            producer.send("t", b"v", **keywords)

    with pytest.raises(TypeError) as caught:
        asyncio.run(main())
    assert f"send() got an unexpected keyword argument {words}" in str(caught.value)


@pytest.mark.parametrize("kind", [Producer, aio.Producer])
def test_the_signature_of_send_has_nothing_of_them(kind: Any) -> None:
    expected = ["self", "topic", "value", "key", "partition", "timestamp", "headers", "nowait"]
    assert list(signature(kind.send).parameters) == expected
    assert (getdoc(kind.send) or "").startswith("Hands one record over for delivery and returns its Delivery at once")


@pytest.mark.parametrize("client", [Producer, aio.Producer])
@pytest.mark.parametrize("name", ["produce", "produce_batch", "send_batch", "create_batch"])
def test_batches_of_other_producers(client: Any, name: str) -> None:
    with pytest.raises(errors.UnsupportedError, match=rf"^Producer\.{name}\(\): .*send"):
        getattr(client, name)


def test_a_producer_has_no_length_and_is_no_empty_thing() -> None:
    with Producer(SERVERS) as producer:
        assert producer
        with pytest.raises(TypeError, match=r"a Producer has no len\(\): flush\(\) waits"):
            len(producer)


@pytest.mark.parametrize("name", RECORDS)
def test_what_a_poll_returns_is_neither_a_message_nor_a_dict(name: str) -> None:
    polled = ConsumerRecords()
    with pytest.raises(errors.UnsupportedError, match=rf"^ConsumerRecords\.{name}\(\): "):
        getattr(polled, name)
    assert name not in dir(polled)


def test_a_record_is_no_error_and_has_attributes() -> None:
    record = ConsumerRecord(records.decode(records.encode([b"v"]))[0], "t", 0)
    with pytest.raises(errors.UnsupportedError, match=r"errors are raised.*record\.value without \(\)"):
        getattr(record, "error")  # noqa: B009 - type checkers know that it is not there
    assert not hasattr(record, "error")


@pytest.mark.parametrize("more", [{"offset": 5}, {}])
def test_a_partition_with_an_offset(more: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match="no more fields: an offset is given beside it, as in seek"):
        TopicPartition("t", 0, *([] if more else [5]), **more)
    partition = TopicPartition(partition=0, topic="t")
    assert partition == ("t", 0) == pickle.loads(pickle.dumps(partition))
    assert partition._replace(partition=1) == ("t", 1)


@pytest.mark.parametrize("name", MODULE)
def test_names_of_other_packages(name: str) -> None:
    with pytest.raises(ImportError, match=rf"^kwire\.{name}: it is kwire\."):
        exec(f"from kwire import Producer, {name}")
    with pytest.raises(AttributeError, match=rf"^kwire\.{name}: it is kwire\."):
        getattr(kwire, name)
    assert not hasattr(kwire, name)


@pytest.mark.parametrize(("module", "name"), [("aio", "AIOKafkaConsumer"), ("admin", "AdminClient")])
def test_names_of_other_packages_modules(module: str, name: str) -> None:
    with pytest.raises(ImportError, match=rf"^kwire\.{module}\.{name}: it is kwire\."):
        exec(f"from kwire.{module} import {name}")
    assert not hasattr(importlib.import_module(f"kwire.{module}"), name)


@pytest.mark.parametrize("name", [*ERRORS, "UnknownTopicOrPartitionError", "OffsetOutOfRangeError"])
def test_errors_of_other_packages(name: str) -> None:
    with pytest.raises(ImportError, match=rf"^kwire\.errors\.{name}: ") as caught:
        exec(f"from kwire.errors import KafkaError, {name}")
    named = re.findall(r"kwire[.\w]*\.(?=[A-Z])\w+", str(caught.value).partition(": ")[2])
    assert all(issubclass(pydoc.locate(one), kwire.KafkaError) for one in named)
    with pytest.raises(AttributeError, match=rf"^kwire\.errors\.{name}: "):
        getattr(errors, name)


@pytest.mark.parametrize("module", ["kwire", "kwire.aio", "kwire.admin", "kwire.errors"])
def test_other_names_are_missing_as_ever(module: str) -> None:
    with pytest.raises(ImportError, match=f"cannot import name 'Produser' from '{module}'"):
        exec(f"from {module} import Produser")


@pytest.mark.parametrize("name", ["begin", "commit", "abort"])
def test_transactions_under_aiokafkas_older_names(name: str) -> None:
    with pytest.raises(errors.UnsupportedError, match=rf"Producer\.{name}\(\): it is {name}_transaction\(\) here"):
        getattr(Producer, name)


@pytest.mark.parametrize("listener", [print, object(), {"on_assigned": print}])
def test_a_listener_that_nothing_can_call_is_refused(listener: object) -> None:
    with Consumer(SERVERS, group_id="g") as consumer:
        with pytest.raises(errors.ConfigError, match=r"listener=.*: expected an object with on_assigned\("):
            consumer.subscribe(["t"], listener=listener)
        assert consumer.subscription() == set()


def test_a_listener_of_another_client_is_refused() -> None:
    with (
        Consumer(SERVERS, group_id="g") as consumer,
        pytest.raises(
            errors.ConfigError,
            match="on_assigned in place of on_partitions_assigned, on_revoked in place of on_partitions_rev",
        ),
    ):
        consumer.subscribe(["t"], listener=JavasListener())


def test_a_pattern_among_the_topics_names_the_keyword() -> None:
    with Consumer(SERVERS) as consumer, pytest.raises(errors.ConfigError, match=r"name: subscribe\(pattern=\) takes"):
        consumer.subscribe(["^orders.*"])


@pytest.mark.parametrize("given", ["orders", b"orders"])
def test_a_topic_is_not_a_list_of_partitions(given: Any) -> None:
    with (
        Consumer(SERVERS) as consumer,
        pytest.raises(errors.ConfigError, match=r"partitions=b?'orders': expected a list of Topic"),
    ):
        consumer.assign(given)


def test_a_callback_that_cannot_be_called_is_refused() -> None:
    with (
        Consumer(SERVERS, group_id="g") as consumer,
        pytest.raises(errors.ConfigError, match="callback=5: expected a func"),
    ):
        consumer.commit_async({("t", 0): 1}, callback=5)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"enable.auto.offset.store": False}, "in place of store_offsets() set enable_auto_commit=False"),
        ({"on_commit": print}, "'on_commit': give commit_async() a callback"),
        ({"partition.assignment.strategy": "com.acme.Mine"}, "one or more of 'range', 'roundrobin'"),
        ({"group.protocol": "consumer", "partition.assignment.strategy": "range"}, "group_remote_assignor names its"),
    ],
)
def test_settings_of_other_clients(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(errors.ConfigError) as caught:
        Consumer.from_config({"bootstrap.servers": SERVERS, "group.id": "g", **settings})
    assert words in str(caught.value)
