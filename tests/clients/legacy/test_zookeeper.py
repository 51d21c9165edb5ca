"""Brokers of Kafka 0.7 found through a real ZooKeeper, which a release of that age brings along."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError

from kwire import errors
from kwire.engine.common.addresses import Address
from kwire.legacy import Client
from kwire.legacy.zookeeper import registered
from kwire.testing import Broker
from tests.brokers import Cluster
from tests.timing import PATIENT

RELEASE = "0.8.2.2"


@pytest.fixture
def keeper(kafka_cluster: Callable[[str], Cluster]) -> Iterator[KazooClient]:
    """A client of the cluster's ZooKeeper, under a folder of its own that is empty at first."""
    servers = kafka_cluster(RELEASE).zookeeper_connect
    root = KazooClient(hosts=servers)
    root.start(30)
    root.ensure_path("/old")
    client = KazooClient(hosts=f"{servers}/old")
    client.start(30)
    yield client
    client.stop()
    client.close()
    root.delete("/old", recursive=True)
    root.stop()
    root.close()


def where(keeper: KazooClient) -> str:
    (address,) = keeper.hosts
    return f"{address[0]}:{address[1]}/old"


@pytest.mark.kafka
def test_brokers_and_topics_are_found(keeper: KazooClient) -> None:
    with Broker(generation="0.7") as one, Broker(generation="0.7") as two:
        for number, broker in ((7, one), (12, two)):
            content = f"127.0.0.1-1321:{broker.bootstrap_servers}".encode()
            keeper.create(f"/brokers/ids/{number}", content, ephemeral=True, makepath=True)
        keeper.create("/brokers/topics/clicks/7", b"2", makepath=True)
        keeper.create("/brokers/topics/clicks/12", b"3", makepath=True)
        found = registered(where(keeper), 30)
        assert found.brokers == {7: Address("127.0.0.1", one.port), 12: Address("127.0.0.1", two.port)}
        assert found.topics == {"clicks": {7: 2, 12: 3}}
        with Client.from_zookeeper(where(keeper), timeout=PATIENT, fetch_max_bytes=100) as client:
            assert client.brokers == tuple(found.brokers.values())
            client.produce("clicks", [b"hi"], broker=client.brokers[1])
            client.flush()
        assert two.offsets("clicks") == (0, 12)


@pytest.mark.kafka
def test_what_is_no_registration(keeper: KazooClient) -> None:
    with pytest.raises(errors.ConnectError, match="no broker is registered"):
        registered(where(keeper), 30)
    keeper.create("/brokers/ids/1", b"nonsense", makepath=True)
    with pytest.raises(errors.CorruptError, match=r"not creator:host:port.*/brokers/ids/1"):
        registered(where(keeper), 30)


def test_nobody_answers() -> None:
    with Broker(generation="0.7") as gone:
        address = gone.bootstrap_servers
    with pytest.raises(errors.ConnectError, match="ZooKeeper does not answer"):
        registered(address, 0.5)


def test_the_library_is_an_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "kazoo.client", None)
    with pytest.raises(errors.ConfigError, match=r"pip install 'kwire\[zookeeper\]'"):
        Client.from_zookeeper("localhost:1")


class Keeper:
    """A ZooKeeper with these nodes, of which those without content have gone away since they were listed."""

    def __init__(self, nodes: dict[str, bytes | None]) -> None:
        self.nodes = nodes

    def __call__(self, **options: object) -> Keeper:
        return self

    def start(self, timeout: float) -> None: ...

    def stop(self) -> None: ...

    def close(self) -> None: ...

    def get_children(self, folder: str) -> list[str]:
        found = {path[len(folder) + 1 :].partition("/")[0] for path in self.nodes if path.startswith(folder + "/")}
        if not found:
            raise NoNodeError
        return sorted(found)

    def get(self, path: str) -> tuple[bytes, None]:
        content = self.nodes.get(path, b"")
        if content is None:
            raise NoNodeError
        return content, None


ONE = {"/brokers/ids/1": b"a-1:host:9092"}


@pytest.mark.parametrize(
    ("nodes", "at"),
    [
        ({**ONE, "/brokers/ids/one": b"a-1:host:9092"}, "/brokers/ids/one"),
        ({"/brokers/ids/1": b"a-1:host:port"}, "/brokers/ids/1"),
        ({**ONE, "/brokers/topics/t/partitions": b""}, "/brokers/topics/t/partitions"),
        ({**ONE, "/brokers/topics/t/1": b"{}"}, "/brokers/topics/t/1"),
        ({**ONE, "/brokers/topics/t/1": b"\xff"}, "/brokers/topics/t/1"),
    ],
)
def test_nodes_of_another_release_are_named(monkeypatch: pytest.MonkeyPatch, nodes: dict[str, Any], at: str) -> None:
    monkeypatch.setattr("kazoo.client.KazooClient", Keeper(nodes))
    with pytest.raises(errors.CorruptError, match=f"field {at}[)]$"):
        registered("keeper:2181")


def test_a_broker_that_goes_away_meanwhile_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = {**ONE, "/brokers/ids/10": None, "/brokers/ids/2": b"b-1:host:9093"}
    monkeypatch.setattr("kazoo.client.KazooClient", Keeper(nodes))
    assert registered("keeper:2181").brokers == {1: Address("host", 9092), 2: Address("host", 9093)}
    monkeypatch.setattr("kazoo.client.KazooClient", Keeper({"/brokers/ids/10": None}))
    with pytest.raises(errors.ConnectError, match="no broker is registered"):
        registered("keeper:2181")
