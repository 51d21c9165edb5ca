"""The listeners of a broker, and the addresses that clients are told; with clients in peers/test_advertised.py."""

from __future__ import annotations

import socket
import ssl
from typing import Any

import pytest

from kwire import Admin
from kwire.errors import ConfigError
from kwire.testing import Broker
from tests.brokers.ports import free_ports
from tests.each import each
from tests.timing import PATIENT


def connected(address: str) -> socket.socket:
    host, _, port = address.rpartition(":")
    return socket.create_connection((host, int(port)), PATIENT)


def test_advertised_ports_follow_as_those_of_the_nodes_do() -> None:
    with Broker(nodes=3, advertised="kafka:9092") as broker:
        assert broker.bootstrap_servers == "kafka:9092,kafka:9093,kafka:9094"
        assert len({broker.bound_address_of(node) for node in broker.nodes}) == 3


def test_a_host_alone_keeps_the_ports_that_are_listened_on() -> None:
    with Broker(nodes=2, advertised="::1") as broker:
        ports = [broker.bound_address_of(node).removeprefix("127.0.0.1:") for node in broker.nodes]
        assert [broker.address_of(node) for node in broker.nodes] == [f"[::1]:{port}" for port in ports]
    with Broker(nodes=2, advertised=["a", "[::1]:7"]) as broker:
        assert broker.address_of(1) == "a:" + broker.bound_address_of(1).removeprefix("127.0.0.1:")
        assert broker.address_of(2) == "[::1]:7"


def test_a_dead_node_refuses_connections_at_every_listener() -> None:
    with Broker(nodes=2, listeners={"127.0.0.1:0": "localhost"}) as broker:
        second = broker.bound_address_of(2, listener=1)
        with connected(second) as client:
            broker.kill(2)
            assert client.recv(1) == b""
        with pytest.raises(ConnectionRefusedError):
            connected(second)
        broker.revive(2)
        connected(second).close()


def test_configs_list_every_listener_by_a_name_of_its_own() -> None:
    near, other = free_ports(2)
    with Broker(port=near, listeners={f"0.0.0.0:{other}": "kafka:9092"}) as broker:
        with Admin(broker.bootstrap_servers) as admin:
            [told] = admin.describe_configs([("broker", "1")]).values()
        assert told["listeners"].value == f"PLAINTEXT://127.0.0.1:{near},PLAINTEXT_2://0.0.0.0:{other}"
        assert told["advertised.listeners"].value == f"PLAINTEXT://127.0.0.1:{near},PLAINTEXT_2://kafka:9092"


def test_the_certificate_is_for_every_advertised_host() -> None:
    with Broker(tls=True, advertised="kafka:9092", listeners={"127.0.0.1:0": "outside.example"}) as broker:
        context = ssl.create_default_context(cadata=broker.ca_pem)
        for name in ("kafka", "outside.example", "localhost", "127.0.0.1"):
            with connected(broker.bound_address_of(1)) as plain:
                context.wrap_socket(plain, server_hostname=name).close()


@each(
    ("options", "words"),
    [
        ({"host": "0.0.0.0"}, "set advertised"),
        ({"listeners": {"0.0.0.0:29092": ""}}, "set advertised"),
        ({"advertised": "[::]:9092"}, "advertised '::'"),
        ({"advertised": "kafka:port"}, "localhost:9092"),
        ({"advertised": "kafka 1"}, "localhost:9092"),
        ({"advertised": "[::1]9092"}, "localhost:9092"),
        ({"advertised": "kafka:65536"}, "advertised 65536: expected 1 to 65535"),
        ({"advertised": "kafka:65535", "nodes": 2}, "advertised 65535: expected 1 to 65534"),
        ({"port": 65535, "nodes": 2}, "port 65535: expected 0 to 65534"),
        ({"advertised": ["a", "b"], "nodes": 3}, "each of 3 nodes"),
        ({"listeners": {"0.0.0.0": "kafka"}}, "HOST:PORT"),
    ],
)
def test_what_clients_could_not_come_to_is_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError) as refused:
        Broker(**options)
    assert words in str(refused.value)
