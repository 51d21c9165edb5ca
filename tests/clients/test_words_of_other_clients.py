"""Calls as other clients have them: each is refused with what to call instead."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from kwire import Consumer, Producer, aio, errors

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
    with pytest.raises(errors.NotInThisVersionError) as caught:
        getattr(client, name)
    assert f"Consumer.{name}(): {NAMES[name]}" in str(caught.value)


@pytest.mark.parametrize("name", ["begin", "commit", "abort"])
def test_transactions_under_aiokafkas_older_names(name: str) -> None:
    with pytest.raises(errors.NotInThisVersionError, match=rf"Producer\.{name}\(\): it is {name}_transaction\(\) here"):
        getattr(Producer, name)


@pytest.mark.parametrize("listener", [print, object(), {"on_assigned": print}])
def test_a_listener_that_nothing_can_call_is_refused(listener: object) -> None:
    with Consumer(SERVERS, group_id="g") as consumer:
        with pytest.raises(errors.ConfigError, match=r"listener=.*: an object with on_assigned\(partitions\), on_rev"):
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
        pytest.raises(errors.ConfigError, match=r"partitions=b?'orders': a list of Topic"),
    ):
        consumer.assign(given)


def test_a_callback_that_cannot_be_called_is_refused() -> None:
    with Consumer(SERVERS, group_id="g") as consumer, pytest.raises(errors.ConfigError, match="callback=5: a function"):
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
