"""Calls about several things of which some fail: the error has the results of the others."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

import kwire.aio
from kwire import Admin, Consumer, Producer, TopicPartition, errors
from kwire.admin import ConfigResource
from kwire.testing import Broker
from tests.each import each

GOOD, MISSING = ConfigResource("topic", "t"), ConfigResource("topic", "missing")


@pytest.fixture(scope="module")
def broker() -> Any:
    with Broker(topics={"t": 1}, release="4.4.0") as broker:
        with Producer(broker.bootstrap_servers) as producer:
            producer.send("t", b"v")
        for protocol in ("classic", "consumer"):
            with Consumer(
                broker.bootstrap_servers, group_id=protocol, group_protocol=protocol, auto_offset_reset="earliest"
            ) as consumer:
                consumer.subscribe(["t"])
                while not consumer.poll(1.0):
                    pass
                consumer.commit()
        yield broker


CALLS: dict[str, tuple[Callable[[Any], Any], list[Any], list[Any]]] = {
    "topics": (lambda a: a.describe_topics(["missing", "t"]), ["missing"], ["t"]),
    "configs": (lambda a: a.describe_configs([GOOD, MISSING]), [MISSING], [GOOD]),
    "groups": (
        lambda a: a.describe_consumer_groups(["no", "classic", "consumer", "none"]),
        ["no", "none"],
        ["classic", "consumer"],
    ),
    "classic groups": (lambda a: a.describe_classic_groups(["consumer", "classic"]), ["consumer"], ["classic"]),
    "log dirs": (lambda a: a.describe_log_dirs([7, 1], timeout=2), [7], [1]),
    "offsets": (
        lambda a: a.list_offsets({("t", 0): "latest", ("missing", 0): "latest"}, timeout=2),
        [TopicPartition("missing", 0)],
        [TopicPartition("t", 0)],
    ),
    "producers": (
        lambda a: a.describe_producers([("t", 0), ("missing", 0)], timeout=2),
        [TopicPartition("missing", 0)],
        [TopicPartition("t", 0)],
    ),
    "created topics": (lambda a: a.create_topics({"t": 1, "u": 1}, validate_only=True), ["t"], ["u"]),
}


@each("name", CALLS)
def test_the_error_of_a_call_has_the_results_of_what_did_not_fail(broker: Broker, name: str) -> None:
    call, failed, found = CALLS[name]
    with Admin(broker.bootstrap_servers) as admin, pytest.raises(errors.KafkaError) as raised:
        call(admin)
    assert list(raised.value.failures) == failed
    assert list(raised.value.results) == found
    assert all(raised.value.results.values())


def test_an_admin_on_an_event_loop_has_them_too(broker: Broker) -> None:
    async def results() -> Any:
        async with kwire.aio.Admin(broker.bootstrap_servers) as admin:
            with pytest.raises(errors.UnknownTopicError) as raised:
                await admin.describe_topics(["missing", "t"])
            return raised.value.results

    assert asyncio.run(results())["t"].name == "t"


def test_results_are_those_of_the_call(broker: Broker) -> None:
    with Admin(broker.bootstrap_servers) as admin:
        whole = admin.describe_topics(["t"])
        with pytest.raises(errors.UnknownTopicError) as raised:
            admin.describe_topics(["t", "missing"])
    assert raised.value.results == whole


def test_a_call_that_returns_nothing_has_no_results(broker: Broker) -> None:
    with Admin(broker.bootstrap_servers) as admin:
        admin.create_topics({"gone": 1})
        with pytest.raises(errors.KafkaError) as raised:
            admin.delete_topics(["gone", "missing"])
    assert list(raised.value.failures) == ["missing"]
    assert raised.value.results == {}
