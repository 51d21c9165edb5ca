"""A broker of several nodes: ports, kills and returns, moved leaders, and a clock turned by hand."""

from __future__ import annotations

import socket

import pytest

import kwire
from kwire.errors import ConfigError
from kwire.protocol import MetadataRequest
from kwire.testing import Broker, Clock
from tests.testing.client import Client
from tests.testing.wire import fetch, values
from tests.timing import PATIENT


def test_every_node_has_a_port_of_its_own() -> None:
    with Broker(nodes=3, racks=["a", "b", "c"], topics={"t": 3}) as broker:
        assert broker.nodes == [1, 2, 3]
        addresses = broker.bootstrap_servers.split(",")
        assert len(set(addresses)) == 3
        assert addresses[1] == broker.address_of(2)
        for node in broker.nodes:
            with Client(broker, node) as client:
                told = client.ask(MetadataRequest(topics=None), 12)
            assert [f"{each.host}:{each.port}" for each in told.brokers] == addresses
            assert [each.rack for each in told.brokers] == ["a", "b", "c"]
        assert [broker.leader_of("t", index) for index in range(3)] == [1, 2, 3]


def test_ports_follow_the_one_that_is_given() -> None:
    for port in range(21000, 30000, 100):
        try:
            with Broker(nodes=2, port=port) as broker:
                assert broker.bootstrap_servers == f"127.0.0.1:{port},127.0.0.1:{port + 1}"
                return
        except ConfigError:
            continue
    raise AssertionError("no two free ports")


def test_one_node_is_the_default() -> None:
    with Broker(topics=["t"]) as broker:
        assert broker.nodes == [1]
        assert broker.in_sync("t") == [1]
    with pytest.raises(ConfigError, match="nodes 3"):
        Broker(nodes=3, generation="0.7")
    with pytest.raises(ConfigError, match="racks"):
        Broker(nodes=3, racks=["a"])
    with pytest.raises(TypeError, match="num_partition'"):
        Broker(num_partition=3)


def test_a_dead_node_refuses_connections_until_it_is_back() -> None:
    with Broker(nodes=2, topics={"t": 2}) as broker:
        host, port = broker.address_of(1).rsplit(":", 1)
        with Client(broker, 1) as client:
            client.ask(MetadataRequest(topics=None), 12)
            broker.kill(1)
            assert client.is_closed()
        assert not broker.is_alive(1)
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection((host, int(port)), 1)
        assert (broker.leader_of("t", 0), broker.controller, broker.in_sync("t")) == (2, 2, [2])
        broker.revive(1)
        with Client(broker, 1) as client:
            assert len(client.ask(MetadataRequest(topics=None), 12).brokers) == 2
        assert (broker.leader_of("t", 0), broker.in_sync("t")) == (2, [1, 2])


def test_a_dead_node_stays_dead_over_stop_and_start() -> None:
    broker = Broker(nodes=2, topics={"t": 2})
    with broker:
        broker.kill(2)
    with broker:
        with pytest.raises(ConnectionRefusedError):
            Client(broker, 2)
        broker.revive(2)
        Client(broker, 2).socket.close()


def test_kwire_goes_on_while_nodes_die() -> None:
    with (
        Broker(nodes=3, topics={"t": 6}) as broker,
        kwire.Producer(broker.bootstrap_servers, linger_ms=1) as producer,
        kwire.Consumer(broker.bootstrap_servers, auto_offset_reset="earliest") as consumer,
    ):
        consumer.subscribe(["t"])
        read: list[bytes | None] = []
        for turn in range(12):
            node = turn % 3 + 1
            broker.kill(node)
            for n in range(50):
                producer.send("t", b"%d" % (turn * 50 + n), partition=n % 6)
            producer.flush()
            broker.revive(node)
            read += consumer.poll(timeout=0.2).values()
        while len(read) < 600:
            read += consumer.poll(timeout=PATIENT).values()
        assert sorted(int(value) for value in read if value is not None) == list(range(600))


def test_coordinators_move() -> None:
    with Broker(nodes=3) as broker:
        first = broker.coordinator_of("g")
        broker.kill(first)
        second = broker.coordinator_of("g")
        assert second != first
        broker.revive(first)
        broker.move_coordinator("g", first)
        assert broker.coordinator_of("g") == first
        with pytest.raises(ConfigError, match="node 7"):
            broker.move_coordinator("g", 7)
        with pytest.raises(ConfigError, match="kind"):
            broker.coordinator_of("g", "table")


def test_a_frozen_clock_moves_by_hand() -> None:
    clock = Clock(frozen=True)
    with Broker(clock=clock, topics=["t"]) as broker, Client(broker) as client:
        client.send(fetch(0, topic="t", max_wait_ms=60_000), 11)
        broker.wait_for_waiting()
        clock.advance(59.9)
        broker.wait_for_waiting()
        clock.advance(0.1)
        assert values(client.receive().responses[0].partitions[0].records) == []


def test_a_running_clock_jumps_by_hand() -> None:
    with Broker(topics=["t"]) as broker, Client(broker) as client:
        before = broker.clock.time_ms()
        client.send(fetch(0, topic="t", max_wait_ms=3_600_000), 11)
        broker.wait_for_waiting()
        broker.clock.advance(3600)
        assert values(client.receive().responses[0].partitions[0].records) == []
        assert 3_600_000 <= broker.clock.time_ms() - before < 3_700_000
        with pytest.raises(ConfigError):
            broker.clock.advance(-1)
