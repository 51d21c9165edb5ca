"""Three nodes whose clients come through a proxy each; the nodes among themselves do not."""

from contextlib import ExitStack
from types import TracebackType
from typing import Self

from tests.brokers.cluster import Cluster
from tests.brokers.ports import LOOPBACK, free_ports
from tests.chaos.proxy import FaultyProxy

RELEASE = "4.4.0"
SETTINGS = {
    "min.insync.replicas": "2",
    "auto.create.topics.enable": "false",
    "group.min.session.timeout.ms": "1000",
    "group.consumer.session.timeout.ms": "6000",
    "group.consumer.min.session.timeout.ms": "6000",
    "group.consumer.heartbeat.interval.ms": "1000",
    "group.consumer.min.heartbeat.interval.ms": "1000",
    "group.share.session.timeout.ms": "6000",
    "group.share.min.session.timeout.ms": "6000",
    "group.share.heartbeat.interval.ms": "1000",
    "group.share.min.heartbeat.interval.ms": "1000",
    "group.share.record.lock.duration.ms": "3000",
    "group.share.min.record.lock.duration.ms": "1000",
    "group.share.max.delivery.count.limit": "25",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "500",
}


class ChaosCluster(Cluster):
    """`bootstrap_servers` is the way of nodes and judges, `proxied` that of the clients under test."""

    def __init__(self, seed: int) -> None:
        super().__init__(RELEASE, nodes=3, overrides=SETTINGS)
        self._seed = seed
        self._proxied: dict[int, int] = {}
        self._behind: dict[int, int] = {}
        self._open = ExitStack()
        self.proxies: dict[int, FaultyProxy] = {}

    @property
    def proxied(self) -> str:
        """All proxies, `127.0.0.1:port` with commas between."""
        return ",".join(f"{LOOPBACK}:{port}" for port in self._proxied.values())

    def __enter__(self) -> Self:
        super().__enter__()
        for node, port in self._proxied.items():
            proxy = FaultyProxy(port, self._behind[node], self._seed + node)
            self.proxies[node] = self._open.enter_context(proxy)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.close()
        super().__exit__(kind, error, trace)

    def _configure(self) -> None:
        super()._configure()
        for place in self._places:
            self._proxied[place.node_id], self._behind[place.node_id] = free_ports(2)
            plain = f"PLAINTEXT://{LOOPBACK}:{place.port}"
            behind, proxied = self._behind[place.node_id], self._proxied[place.node_id]
            controller = f"CONTROLLER://{LOOPBACK}:{place.controller_port}"
            lines = [
                f"listeners={plain},CLIENTS://{LOOPBACK}:{behind},{controller}",
                f"advertised.listeners={plain},CLIENTS://{LOOPBACK}:{proxied}",
                "listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CLIENTS:PLAINTEXT,CONTROLLER:PLAINTEXT",
            ]
            # The last of two lines with one name counts.
            with (place.folder / "server.properties").open("a", encoding="utf-8") as file:
                file.writelines(f"{line}\n" for line in lines)

    def launch_node(self, node_id: int) -> None:
        """Starts a killed node and does not wait for it."""
        self._launch(next(place for place in self._places if place.node_id == node_id))

    def wait_until_ready(self) -> None:
        """Until every node answers and lists the others."""
        self._wait_until_ready()
