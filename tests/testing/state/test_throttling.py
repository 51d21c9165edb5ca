"""Clients over a quota: what they are told, and that they are not read from."""

from __future__ import annotations

import pytest

from kwire.errors import ConfigError
from kwire.protocol import MetadataRequest
from kwire.testing import Broker, Clock
from kwire.testing.state.quotas import CLIENT_ID, USER, Quotas
from tests.testing.client import Client
from tests.testing.in_process import InProcess
from tests.testing.wire import batch, fetch, produce, values

ALL = MetadataRequest(topics=None)


def test_a_throttled_client_is_told_and_not_read_from() -> None:
    clock = Clock(frozen=True)
    with Broker(topics=["orders"], clock=clock) as broker, Client(broker) as client, Client(broker) as other:
        broker.throttle("Metadata", 500, times=1)
        assert client.ask(ALL, 12).throttle_time_ms == 500
        client.send(ALL, 12)
        assert other.ask(ALL, 12).throttle_time_ms == 0
        assert broker.request_count("Metadata") == 2
        clock.advance(0.5)
        assert client.receive().throttle_time_ms == 0


def test_one_client_may_be_throttled_until_it_is_over() -> None:
    with Broker(topics=["orders"]) as broker, Client(broker) as client:
        broker.throttle(None, 1, client_id="another")
        assert client.ask(ALL, 12).throttle_time_ms == 0
        broker.throttle(None, 1, client_id="c")
        assert client.ask(ALL, 12).throttle_time_ms == 1
        assert client.ask(ALL, 12).throttle_time_ms == 1
        broker.throttle(None, 0)
        assert client.ask(ALL, 12).throttle_time_ms == 0
        with pytest.raises(ConfigError, match="ms -1"):
            broker.throttle(None, -1)


def test_before_2_0_the_answer_comes_late() -> None:
    broker = InProcess("1.1.1")
    broker.cluster.create_topic("orders", 1)
    broker.faults.throttle("Produce", 500, times=1)
    waiting = broker.begin(produce(batch(b"a")), 5)
    assert waiting.answer is None
    broker.now = 0.5
    assert waiting.wake()
    assert waiting.response.throttle_time_ms == 500


def test_a_throttled_reader_gets_nothing_at_once() -> None:
    broker = InProcess()
    broker.cluster.create_topic("orders", 1)
    broker.ask(produce(batch(b"a")), 9)
    broker.faults.throttle("Fetch", 100, times=1)
    response = broker.ask(fetch(0), 12)
    assert (response.throttle_time_ms, response.error_code, response.responses) == (100, 0, ())
    assert values(broker.ask(fetch(0), 12).responses[0].partitions[0].records) == [b"a"]


def test_a_byte_rate_throttles_what_goes_beyond_a_second_of_it() -> None:
    now = 0.0
    quotas = Quotas(lambda: now)
    quotas.set(frozenset({(CLIENT_ID, "c")}), "producer_byte_rate", 1000.0)
    assert quotas.charge("producer_byte_rate", "ANONYMOUS", "other", 10**9) == 0
    assert quotas.charge("producer_byte_rate", "ANONYMOUS", "c", 1000) == 0
    assert quotas.charge("producer_byte_rate", "ANONYMOUS", "c", 500) == 500
    now = 0.5
    assert quotas.charge("producer_byte_rate", "ANONYMOUS", "c", 0) == 0
    quotas.set(frozenset({(CLIENT_ID, "c")}), "producer_byte_rate", None)
    assert quotas.limits == {}


def test_the_most_precise_quota_holds() -> None:
    quotas = Quotas(lambda: 0.0)
    entities = [
        {(USER, "u"), (CLIENT_ID, "c")}, {(USER, "u"), (CLIENT_ID, None)}, {(USER, "u")},
        {(USER, None), (CLIENT_ID, "c")}, {(USER, None), (CLIENT_ID, None)}, {(USER, None)}, {(CLIENT_ID, "c")},
        {(CLIENT_ID, None)},
    ]  # fmt: skip
    for number, entity in reversed(list(enumerate(entities))):
        quotas.set(frozenset(entity), "producer_byte_rate", float(number))
        assert quotas.limit("producer_byte_rate", "u", "c") == number
    assert quotas.limit("producer_byte_rate", "x", "y") == 4
    assert quotas.limit("consumer_byte_rate", "u", "c") is None


def test_a_broker_keeps_quotas_of_writers_and_readers() -> None:
    broker = InProcess()
    broker.cluster.create_topic("orders", 1)
    for name in ("producer_byte_rate", "consumer_byte_rate"):
        broker.cluster.quotas.set(frozenset({(CLIENT_ID, None)}), name, 1000.0)
    assert broker.ask(produce(batch(b"x" * 100)), 9).throttle_time_ms == 0
    assert broker.ask(produce(batch(b"x" * 3000)), 9).throttle_time_ms > 2000
    read = broker.ask(fetch(0), 12)
    assert (read.throttle_time_ms, len(read.responses)) == (0, 1)
    read = broker.ask(fetch(0), 12)
    assert read.throttle_time_ms > 2000
    assert read.responses == ()
    broker.now = 10.0
    assert len(broker.ask(fetch(0), 12).responses) == 1
