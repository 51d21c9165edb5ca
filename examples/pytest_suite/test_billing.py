"""Tests of a service with threads. Where kwire is installed pytest has the fixtures; there is nothing to import.

    pytest examples/pytest_suite

kwire_broker            a broker for one test, empty at its start
kwire_broker_factory    starts brokers of other kinds: several nodes, an old release, with logins
kwire_session_broker    one broker for the whole run, and kwire_topic, a new topic on it for each test
"""

import json
from collections.abc import Callable

import pytest
from billing import bill

from kwire import Producer
from kwire.testing import Broker

ORDERS = [b'{"number": %d, "cents": %d}' % (number, number * 100) for number in range(1, 6)]


def test_each_order_becomes_a_bill(kwire_broker: Broker) -> None:
    kwire_broker.create_topic("orders", partitions=3)
    kwire_broker.append("orders", ORDERS, partition=2)
    assert bill(kwire_broker.bootstrap_servers, limit=5) == 1500
    bills = [json.loads(value or b"") for value in kwire_broker.values("bills")]
    assert bills == [{"order": number, "cents": number * 100} for number in range(1, 6)]


def test_billing_goes_on_where_it_was(kwire_broker: Broker) -> None:
    kwire_broker.create_topic("orders")
    kwire_broker.append("orders", ORDERS)
    assert bill(kwire_broker.bootstrap_servers, limit=2) == 100 + 200
    assert bill(kwire_broker.bootstrap_servers, limit=3) == 300 + 400 + 500


def test_billing_outlives_the_leader_of_its_partition(kwire_broker_factory: Callable[..., Broker]) -> None:
    cluster = kwire_broker_factory(nodes=3, topics={"orders": 1, "bills": 1})
    cluster.append("orders", ORDERS)
    cluster.kill(cluster.leader_of("orders", 0))
    assert bill(cluster.bootstrap_servers, limit=5) == 1500
    assert len(cluster.values("bills")) == 5


@pytest.mark.parametrize("release", ["0.10.2.2", "2.8.2", "4.4.0"])
def test_billing_works_with_the_releases_that_we_run(kwire_broker_factory: Callable[..., Broker], release: str) -> None:
    broker = kwire_broker_factory(release=release, topics={"orders": 1})
    broker.append("orders", ORDERS)
    assert bill(broker.bootstrap_servers, limit=5) == 1500


def test_what_is_sent_is_stored(kwire_session_broker: Broker, kwire_topic: str) -> None:
    with Producer(kwire_session_broker.bootstrap_servers) as producer:
        producer.send(kwire_topic, b"17.50", key=b"customer-3")
    assert kwire_session_broker.values(kwire_topic) == [b"17.50"]
