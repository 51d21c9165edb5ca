"""Admin on the embedded cluster, old and new: its brokers, its controller and what a client may do there."""

from __future__ import annotations

import asyncio

import pytest

import kwire
from kwire import Admin, errors
from kwire.testing import Broker


@pytest.mark.parametrize("release", ["0.9.0.1", "0.10.2.2", "2.7.2", "2.8.2", "4.4.0"])
def test_a_cluster_is_described(release: str) -> None:
    with Broker(release=release, nodes=3, topics=["t"]) as broker, Admin(broker.bootstrap_servers) as admin:
        found = admin.describe_cluster()
        assert {f"{each.host}:{each.port}" for each in found.brokers.values()} == {
            broker.address_of(node) for node in (1, 2, 3)
        }
        assert [each.id for each in found.brokers.values()] == list(found.brokers) == [1, 2, 3]
        assert found.authorized_operations is None
        if release == "0.9.0.1":
            assert (found.cluster_id, found.controller) == (None, None)
        else:
            assert found.cluster_id
            assert found.controller == found.brokers[broker.controller]


@pytest.mark.parametrize("release", ["2.7.2", "4.4.0"])
def test_what_a_client_may_do_is_told_if_asked_for(release: str) -> None:
    with Broker(release=release) as broker, Admin(broker.bootstrap_servers) as admin:
        broker.deny("alter_configs", "cluster")
        operations = admin.describe_cluster(include_authorized_operations=True).authorized_operations
        assert operations is not None
        assert {"describe", "alter", "describe_configs"} <= operations
        assert "alter_configs" not in operations


def test_brokers_that_do_not_serve_are_told_if_asked_for() -> None:
    with Broker(nodes=3) as broker, Admin(broker.bootstrap_servers) as admin:
        admin.describe_cluster()
        broker.kill(3)
        assert list(admin.describe_cluster().brokers) == [1, 2]
        found = admin.describe_cluster(include_fenced_brokers=True).brokers
        assert {node: each.is_fenced for node, each in found.items()} == {1: False, 2: False, 3: True}


def test_what_a_broker_cannot_tell_is_an_error() -> None:
    with Broker(release="2.0.1") as broker, Admin(broker.bootstrap_servers) as admin:
        with pytest.raises(errors.broker.UnsupportedVersionError, match=r"told from Kafka 2\.3 on"):
            admin.describe_cluster(include_authorized_operations=True)
        with pytest.raises(errors.broker.UnsupportedVersionError, match=r"listed from Kafka 4\.0 on"):
            admin.describe_cluster(include_fenced_brokers=True)


def test_a_code_in_the_response_is_raised() -> None:
    with Broker() as broker, Admin(broker.bootstrap_servers) as admin:
        broker.faults.error("DescribeCluster", 31)
        with pytest.raises(errors.broker.ClusterAuthorizationFailedError, match="DescribeCluster"):
            admin.describe_cluster()


def test_a_cluster_is_described_on_an_event_loop() -> None:
    async def use(servers: str) -> list[int]:
        async with kwire.aio.Admin(servers) as admin:
            return list((await admin.describe_cluster()).brokers)

    with Broker(nodes=2) as broker:
        assert asyncio.run(use(broker.bootstrap_servers)) == [1, 2]
