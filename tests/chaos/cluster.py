"""Three nodes whose clients come through a proxy each; the nodes among themselves do not."""

from contextlib import ExitStack
from types import TracebackType
from typing import Self

from tests.brokers.cluster import Cluster
from tests.brokers.ports import LOOPBACK, free_ports
from tests.chaos.passwords import MECHANISM
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
    "group.share.initialize.retry.interval.ms": "1000",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "500",
}


PLAIN, LOGINS = "CLIENTS", "LOGINS"
"""Listeners for the clients under test: one for all who come, and one where they log in, again and again."""
_PROTOCOLS = {"PLAINTEXT": "PLAINTEXT", "CONTROLLER": "PLAINTEXT", PLAIN: "PLAINTEXT", LOGINS: "SASL_PLAINTEXT"}
_LOGIN = f"listener.name.{LOGINS.lower()}"
_SCRAM = f"{_LOGIN}.{MECHANISM.lower()}"
_LOGIN_SETTINGS = {
    "sasl.enabled.mechanisms": f"OAUTHBEARER,{MECHANISM}",
    f"{_LOGIN}.oauthbearer.sasl.jaas.config": "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule "
    "required;",
    f"{_LOGIN}.oauthbearer.connections.max.reauth.ms": "3000",
    f"{_SCRAM}.sasl.jaas.config": "org.apache.kafka.common.security.scram.ScramLoginModule required;",
    f"{_SCRAM}.connections.max.reauth.ms": "3000",
}


class ChaosCluster(Cluster):
    """`bootstrap_servers` is the way of nodes and judges, `proxied` that of the clients under test.

    _ways  of each listener for these clients, by node: the port of its proxy, and that behind it
    """

    def __init__(self, seed: int) -> None:
        super().__init__(RELEASE, nodes=3, overrides=SETTINGS | _LOGIN_SETTINGS)
        self._seed = seed
        self._ways: dict[str, dict[int, tuple[int, int]]] = {PLAIN: {}, LOGINS: {}}
        self._open = ExitStack()
        self.proxies: dict[int, list[FaultyProxy]] = {}

    def proxied(self, listener: str) -> str:
        """The proxies of all nodes, `127.0.0.1:port` with commas between."""
        return ",".join(f"{LOOPBACK}:{port}" for port, _ in self._ways[listener].values())

    def __enter__(self) -> Self:
        super().__enter__()
        for ways in self._ways.values():
            for node, (port, behind) in ways.items():
                proxy = self._open.enter_context(FaultyProxy(port, behind, self._seed + node))
                self.proxies.setdefault(node, []).append(proxy)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.close()
        super().__exit__(kind, error, trace)

    def _configure(self) -> None:
        super()._configure()
        for place in self._places:
            for ways in self._ways.values():
                port, behind = free_ports(2)
                ways[place.node_id] = port, behind
            plain = f"PLAINTEXT://{LOOPBACK}:{place.port}"
            controller = f"CONTROLLER://{LOOPBACK}:{place.controller_port}"
            ours = {name: ways[place.node_id] for name, ways in self._ways.items()}
            behind_all = [f"{name}://{LOOPBACK}:{behind}" for name, (_, behind) in ours.items()]
            proxied = [f"{name}://{LOOPBACK}:{port}" for name, (port, _) in ours.items()]
            lines = [
                f"listeners={','.join([plain, *behind_all, controller])}",
                f"advertised.listeners={','.join([plain, *proxied])}",
                f"listener.security.protocol.map={','.join(f'{name}:{value}' for name, value in _PROTOCOLS.items())}",
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
