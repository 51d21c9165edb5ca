"""The configuration files of a node: server.properties, zoo.cfg and the logging of each generation.

Times and counts are set so that one small node is ready at once: replication factor 1 where a topic is the broker's
own, no wait for more group members, few partitions for internal topics. All else is the release's default, because
the defaults are what is tested. `overrides` win over everything here; `{port}` and `{controller_port}` in their values
stand for the node's own.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.brokers.ports import LOOPBACK
from tests.brokers.releases import Release

Properties = dict[str, str]


@dataclass(frozen=True, slots=True)
class NodePlace:
    """Where one node lives: its id, its two ports (the second is used with KRaft only), its folders."""

    node_id: int
    port: int
    controller_port: int
    folder: Path

    @property
    def data(self) -> Path:
        """The node's log directory."""
        return self.folder / "data"


def server_properties(
    release: Release, place: NodePlace, nodes: list[NodePlace], zookeeper_port: int | None, overrides: Mapping[str, str]
) -> Properties:
    """What server.properties of this node holds."""
    properties = _common(release, place, len(nodes))
    if zookeeper_port is None:
        properties |= _kraft(release, place, nodes)
    else:
        properties |= _zookeeper(release, place, zookeeper_port)
    if len(nodes) > 1:
        properties |= _quick_failover(zookeeper_port is None)
    ports = {"{port}": str(place.port), "{controller_port}": str(place.controller_port)}
    return properties | {name: _filled_in(value, ports) for name, value in overrides.items()}


def _filled_in(value: str, words: Mapping[str, str]) -> str:
    for word, meaning in words.items():
        value = value.replace(word, meaning)
    return value


def render(properties: Mapping[str, str]) -> str:
    """The text of a .properties file."""
    return "".join(f"{name}={value}\n" for name, value in properties.items())


def _common(release: Release, place: NodePlace, node_count: int) -> Properties:
    replicas = str(min(3, node_count))
    in_sync = str(min(2, node_count))
    properties = {
        "log.dirs": str(place.data),
        "delete.topic.enable": "true",
        "auto.create.topics.enable": "true",
        "num.partitions": "1",
        "default.replication.factor": replicas,
    }
    if release.number >= (0, 8, 2):
        properties |= {"offsets.topic.replication.factor": replicas, "offsets.topic.num.partitions": "4"}
    if release.number >= (0, 9):
        properties["log.cleaner.dedupe.buffer.size"] = str(4 << 20)
    if release.number >= (0, 11):
        properties |= {
            "group.initial.rebalance.delay.ms": "0",
            "transaction.state.log.replication.factor": replicas,
            "transaction.state.log.min.isr": in_sync,
            "transaction.state.log.num.partitions": "4",
        }
    if release.number >= (4, 3):
        for kind in ("consumer", "share"):
            properties[f"group.{kind}.assignment.interval.ms"] = "0"
            properties[f"group.{kind}.assignor.offload.enable"] = "false"
    if release.number >= (4, 1):
        properties |= {
            "share.coordinator.state.topic.replication.factor": replicas,
            "share.coordinator.state.topic.min.isr": in_sync,
            "share.coordinator.state.topic.num.partitions": "4",
        }
    return properties


def _zookeeper(release: Release, place: NodePlace, zookeeper_port: int) -> Properties:
    properties = {
        "broker.id": str(place.node_id),
        "zookeeper.connect": f"{LOOPBACK}:{zookeeper_port}",
        "zookeeper.connection.timeout.ms": "15000",
        "zookeeper.session.timeout.ms": "6000",
    }
    if release.number >= (0, 9):
        properties["listeners"] = f"PLAINTEXT://{LOOPBACK}:{place.port}"
    else:
        properties |= {
            "host.name": LOOPBACK,
            "advertised.host.name": LOOPBACK,
            "port": str(place.port),
            "advertised.port": str(place.port),
        }
    return properties


def _kraft(release: Release, place: NodePlace, nodes: list[NodePlace]) -> Properties:
    properties = {
        "process.roles": "broker,controller",
        "node.id": str(place.node_id),
        "listeners": f"PLAINTEXT://{LOOPBACK}:{place.port},CONTROLLER://{LOOPBACK}:{place.controller_port}",
        "advertised.listeners": f"PLAINTEXT://{LOOPBACK}:{place.port}",
        "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
    }
    if has_dynamic_quorum(release):
        servers = ",".join(f"{LOOPBACK}:{node.controller_port}" for node in nodes)
        properties["controller.quorum.bootstrap.servers"] = servers
    else:
        voters = ",".join(f"{node.node_id}@{LOOPBACK}:{node.controller_port}" for node in nodes)
        properties["controller.quorum.voters"] = voters
    return properties


def _quick_failover(kraft: bool) -> Properties:
    """A dead node is found in 2 s instead of 9 to 11."""
    if not kraft:
        return {"zookeeper.session.timeout.ms": "1500"}
    return {
        "broker.session.timeout.ms": "2000",
        "broker.heartbeat.interval.ms": "300",
        "controller.quorum.election.timeout.ms": "400",
        "controller.quorum.fetch.timeout.ms": "1000",
    }


def has_dynamic_quorum(release: Release) -> bool:
    """From 3.9 on the voters are formatted into the nodes instead of configured (KIP-853)."""
    return release.number >= (3, 9)


def zookeeper_properties(folder: Path, port: int) -> Properties:
    """What zoo.cfg holds."""
    return {
        "tickTime": "500",
        "dataDir": str(folder / "zookeeper-data"),
        "clientPort": str(port),
        "clientPortAddress": LOOPBACK,
        "maxClientCnxns": "0",
    }


LOG4J_1 = """log4j.rootLogger=INFO, out
log4j.appender.out=org.apache.log4j.ConsoleAppender
log4j.appender.out.layout=org.apache.log4j.PatternLayout
log4j.appender.out.layout.ConversionPattern=[%d] %p %m (%c)%n
"""

LOG4J_1_SILENT = "log4j.rootLogger=OFF\n"

LOG4J_2 = """status=warn
rootLogger.level=info
rootLogger.appenderRef.out.ref=out
appender.out.type=Console
appender.out.name=out
appender.out.layout.type=PatternLayout
appender.out.layout.pattern=[%d] %p %m (%c)%n
"""
