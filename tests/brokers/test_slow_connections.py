"""One connection to a real broker is slow or dead: it is not taken for an old one, and nothing changes its meaning."""

from collections.abc import Callable, Iterator

import pytest

import kwire
from tests.brokers import Cluster
from tests.brokers.peers.confluent import Confluent
from tests.brokers.ports import LOOPBACK, free_ports
from tests.brokers.slow_proxy import SlowProxy

pytestmark = pytest.mark.wall_clock

_WITHIN_S = 30.0
_DELAYS = [0.7, 0.9, 3.0, None]


@pytest.fixture(scope="module")
def proxied() -> Iterator[tuple[Cluster, SlowProxy, str]]:
    """A broker, the proxy by which all its clients reach it, and where that listens."""
    [port] = free_ports(1)
    with Cluster("3.9.2", overrides={"advertised.listeners": f"PLAINTEXT://{LOOPBACK}:{port}"}) as cluster:
        target = int(cluster.bootstrap_servers.rpartition(":")[2])
        with SlowProxy(port, target) as proxy:
            yield cluster, proxy, f"{LOOPBACK}:{port}"


@pytest.mark.kafka
@pytest.mark.parametrize("seconds", _DELAYS)
def test_a_record_keeps_its_headers_and_timestamp(
    proxied: tuple[Cluster, SlowProxy, str], seconds: float | None, new_topic: Callable[[], str]
) -> None:
    topic, (_, proxy, servers) = new_topic(), proxied
    proxy.hold_next(seconds)
    with kwire.Producer(servers, enable_idempotence=True) as producer:
        producer.send(topic, b"v", headers=[("a", b"1")], timestamp=1_700_000_000_000).result(_WITHIN_S)
    with kwire.Consumer(servers, auto_offset_reset="earliest") as consumer:
        consumer.assign([(topic, 0)])
        [record] = consumer.poll(_WITHIN_S)
        assert (list(record.headers), record.timestamp) == ([("a", b"1")], 1_700_000_000_000)


@pytest.mark.kafka
@pytest.mark.parametrize("seconds", _DELAYS)
def test_aborted_records_are_not_read(
    proxied: tuple[Cluster, SlowProxy, str], seconds: float | None, new_topic: Callable[[], str]
) -> None:
    topic, (cluster, proxy, servers) = new_topic(), proxied
    Confluent(cluster).produce_transactions(topic, [([b"kept"], True), ([b"dropped", b"too"], False)])
    proxy.hold_next(seconds)
    with kwire.Consumer(servers, auto_offset_reset="earliest", isolation_level="read_committed") as consumer:
        consumer.assign([(topic, 0)])
        assert [record.value for record in consumer.poll(_WITHIN_S)] == [b"kept"]
        assert not consumer.poll(1.0)
