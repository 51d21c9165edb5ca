"""Brokers that listen elsewhere than clients are told, as in containers: a relay stands before each node."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager

import aiokafka
import confluent_kafka
import kafka
import pytest

import kwire
import kwire.aio
from kwire.testing import Broker
from tests.brokers.counting_proxy import CountingProxy
from tests.brokers.ports import free_ports
from tests.cli.test_broker import running
from tests.timing import PATIENT

SENT = [b"%d" % number for number in range(60)]
NODES = 3


def by_kwire(servers: str, group: str) -> list[bytes | None]:
    with kwire.Producer(servers) as producer:
        producer.send_many("orders", SENT)
        producer.flush(PATIENT)
    with kwire.Consumer(servers, group_id=group, auto_offset_reset="earliest") as consumer:
        consumer.subscribe(["orders"])
        found: list[bytes | None] = []
        while len(found) < len(SENT):
            found += consumer.poll(PATIENT).values()
        consumer.commit()
    return found


def by_kwire_aio(servers: str, group: str) -> list[bytes | None]:
    async def exchange() -> list[bytes | None]:
        async with kwire.aio.Producer(servers) as producer:
            producer.send_many("orders", SENT)
            await producer.flush(PATIENT)
        async with kwire.aio.Consumer(servers, group_id=group, auto_offset_reset="earliest") as consumer:
            consumer.subscribe(["orders"])
            found: list[bytes | None] = []
            while len(found) < len(SENT):
                found += (await consumer.poll(PATIENT)).values()
            await consumer.commit()
        return found

    return asyncio.run(exchange())


def by_confluent(servers: str, group: str) -> list[bytes | None]:
    producer = confluent_kafka.Producer({"bootstrap.servers": servers, "log_level": 3})
    for value in SENT:
        producer.produce("orders", value)
    assert producer.flush(PATIENT) == 0
    consumer = confluent_kafka.Consumer(
        {"bootstrap.servers": servers, "group.id": group, "auto.offset.reset": "earliest", "log_level": 3}
    )
    consumer.subscribe(["orders"])
    found: list[bytes | None] = []
    while len(found) < len(SENT):
        found += [message.value() for message in consumer.consume(len(SENT), timeout=PATIENT)]
    consumer.close()
    return found


def by_aiokafka(servers: str, group: str) -> list[bytes | None]:
    async def exchange() -> list[bytes | None]:
        async with aiokafka.AIOKafkaProducer(bootstrap_servers=servers) as producer:
            await asyncio.gather(*[await producer.send("orders", value) for value in SENT])
        consumer = aiokafka.AIOKafkaConsumer(
            "orders", bootstrap_servers=servers, group_id=group, auto_offset_reset="earliest"
        )
        async with consumer:
            return [(await consumer.getone()).value for _ in SENT]

    return asyncio.run(asyncio.wait_for(exchange(), PATIENT))


def by_kafka_python(servers: str, group: str) -> list[bytes | None]:
    producer = kafka.KafkaProducer(bootstrap_servers=servers)
    for value in SENT:
        producer.send("orders", value)
    producer.close(PATIENT)
    consumer = kafka.KafkaConsumer(
        "orders", bootstrap_servers=servers, group_id=group, auto_offset_reset="earliest", consumer_timeout_ms=60_000
    )
    found = [next(consumer).value for _ in SENT]
    consumer.close()
    return found


CLIENTS: dict[str, Callable[[str, str], Sequence[bytes | None]]] = {
    "kwire": by_kwire,
    "kwire.aio": by_kwire_aio,
    "confluent-kafka": by_confluent,
    "aiokafka": by_aiokafka,
    "kafka-python": by_kafka_python,
}


@contextmanager
def relayed(bound: Sequence[int], told: Sequence[int]) -> Iterator[list[CountingProxy]]:
    """A relay from each port that clients are told to the one on which a node listens."""
    with ExitStack() as started:
        yield [started.enter_context(CountingProxy(near, far)) for near, far in zip(told, bound, strict=True)]


@pytest.mark.parametrize("client", CLIENTS)
def test_clients_go_to_the_advertised_address_of_every_node(client: str) -> None:
    told = free_ports(NODES)
    advertised = [f"localhost:{port}" for port in told]
    with Broker(nodes=NODES, topics={"orders": NODES}, advertised=advertised) as broker:
        assert broker.bootstrap_servers == ",".join(advertised)
        bound = [int(broker.bound_address_of(node).rpartition(":")[2]) for node in broker.nodes]
        assert not set(bound) & set(told)
        broker.move_coordinator(f"group-of-{client}", 3)
        with relayed(bound, told) as relays:
            found = CLIENTS[client](advertised[0], f"group-of-{client}")
            assert sorted(found, key=lambda value: int(value or b"")) == SENT
            assert all(relay.connections for relay in relays), "leaders on every node, and a coordinator on the third"


@pytest.mark.parametrize("client", CLIENTS)
def test_clients_stay_on_the_listener_that_they_came_by(client: str) -> None:
    near, told = free_ports(2)
    with Broker(topics={"orders": 1}, listeners={f"0.0.0.0:{near}": f"localhost:{told}"}) as broker:
        assert broker.address_of(1, listener=1) == f"localhost:{told}"
        with relayed([near], [told]) as [relay]:
            found = CLIENTS[client](f"localhost:{told}", f"group-of-{client}")
            assert found == SENT
            came_by_relay = relay.connections
            assert came_by_relay >= 2, "a client of its own for reading and for writing"
            read = kwire.Consumer(broker.bootstrap_servers, auto_offset_reset="earliest")
            with read as consumer:
                consumer.assign([("orders", 0)])
                assert consumer.poll(PATIENT).values() == SENT
            assert relay.connections == came_by_relay, "who comes by the first listener stays there"


def test_the_command_advertises_a_relay_to_processes_of_other_clients() -> None:
    bound, told = free_ports(2)
    with running("--host", "0.0.0.0", "--port", str(bound), "--advertised", f"localhost:{told}") as (_, address):
        assert address == f"localhost:{told}"
        with relayed([bound], [told]) as [relay]:
            ping = [sys.executable, "-m", "kwire", "ping", "-b", address]
            reached = subprocess.run(ping, env=os.environ, capture_output=True, text=True, timeout=PATIENT, check=False)
            assert reached.returncode == 0, reached.stderr
            assert by_confluent(address, "group") == SENT
            assert relay.connections > 2
