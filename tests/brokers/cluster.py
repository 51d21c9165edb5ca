"""Starts and ends a cluster of one release: ZooKeeper or KRaft, one node or several, all on loopback.

It may start and kill only processes of its own, and it leaves nothing on disk. Start it from the main thread (see
processes.py).
"""

import base64
import shutil
import time
import uuid
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.brokers import properties
from tests.brokers.failures import BrokerError
from tests.brokers.folders import new_folder
from tests.brokers.java import find_java
from tests.brokers.maven import resolve_release
from tests.brokers.ports import LOOPBACK, free_ports
from tests.brokers.processes import JVM_FLAGS, Child
from tests.brokers.properties import NodePlace
from tests.brokers.readiness import listed_nodes
from tests.brokers.releases import Release, find_release

_READY_WITHIN_S = 240.0
_FORMAT_WITHIN_S = 60.0
_PORT_TRIES = 3
_STARTED = "started (kafka.server.kafkaserver)"
_PORT_TAKEN = "Address already in use"


class Cluster:
    """A context manager: on entry the nodes serve, on exit they are killed and their folders removed.

    `release` is a Release or its name, `overrides` goes over the broker's properties by their dotted names. Raises
    BrokerError with the end of the log when a process does not come up.
    """

    def __init__(self, release: str | Release, *, nodes: int = 1, overrides: Mapping[str, str] | None = None) -> None:
        self.release = find_release(release) if isinstance(release, str) else release
        if nodes > 1 and self.release.name == "2.8.2-kraft":
            raise ValueError("2.8.2's preview of KRaft crashes with several nodes: use ZooKeeper ('2.8.2')")
        self._node_count = nodes
        self._overrides = dict(overrides or {})
        self._jvm_flags: list[str] = []
        self._classes: list[str] = []
        self._format_arguments: list[str] = []
        self._folder: Path | None = None
        self._jars = Path()
        self._places: list[NodePlace] = []
        self._zookeeper_port: int | None = None
        self._zookeeper: Child | None = None
        self._brokers: dict[int, Child] = {}

    @property
    def bootstrap_servers(self) -> str:
        """All nodes, `127.0.0.1:port` with commas between."""
        return ",".join(f"{LOOPBACK}:{place.port}" for place in self._places)

    @property
    def zookeeper_connect(self) -> str:
        """ZooKeeper's `127.0.0.1:port`; a KRaft cluster has none."""
        if self._zookeeper_port is None:
            raise ValueError(f"{self.release.name} runs without ZooKeeper")
        return f"{LOOPBACK}:{self._zookeeper_port}"

    @property
    def node_ids(self) -> list[int]:
        """The ids of all nodes, running or not; they count from 1."""
        return [place.node_id for place in self._places]

    @property
    def folder(self) -> Path:
        """The folder of configurations, logs and data, as long as the cluster lives."""
        if self._folder is None:
            raise RuntimeError("the cluster is not started")
        return self._folder

    def segments(self, topic: str, partition: int = 0, *, node_id: int = 1) -> list[Path]:
        """The log segments of a partition on one node, oldest first: the bytes as the broker wrote them."""
        place = next(place for place in self._places if place.node_id == node_id)
        return sorted((place.data / f"{topic}-{partition}").glob("*.log"))

    @property
    def jars(self) -> Path:
        """The folder of the release's jars, known once it has started."""
        return self._jars

    def broker(self, node_id: int = 1) -> Child:
        """The process of a node, to pause, resume or kill."""
        return self._brokers[node_id]

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Starts all and returns when every node answers and lists the others."""
        for attempt in range(1, _PORT_TRIES + 1):
            try:
                self._start_all()
                return
            except BrokerError as failure:
                self.stop()
                if _PORT_TAKEN not in str(failure) or attempt == _PORT_TRIES:
                    raise
            except BaseException:
                self.stop()
                raise

    def stop(self) -> None:
        """Kills every process of the cluster and removes its folder; harmless when it never started."""
        for child in [*self._brokers.values(), *([self._zookeeper] if self._zookeeper else [])]:
            child.kill()
        self._brokers.clear()
        self._zookeeper = None
        self._places.clear()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    def kill_node(self, node_id: int) -> None:
        """Ends one node as a crash would; its data stay for `start_node`."""
        self._brokers[node_id].kill()

    def start_node(self, node_id: int) -> None:
        """Starts a killed node again on its old port and data, and waits until all running nodes list it."""
        self._launch(next(place for place in self._places if place.node_id == node_id))
        self._wait_until_ready()

    def _start_all(self) -> None:
        self._jars = resolve_release(self.release)
        self._folder = new_folder(self.release.name)
        (self._folder / "log4j.properties").write_text(properties.LOG4J_1, encoding="utf-8")
        (self._folder / "log4j-silent.properties").write_text(properties.LOG4J_1_SILENT, encoding="utf-8")
        (self._folder / "log4j2.properties").write_text(properties.LOG4J_2, encoding="utf-8")
        ports = free_ports(2 * self._node_count + 1)
        if self.release.mode == "zookeeper":
            self._zookeeper_port = ports[-1]
            self._launch_zookeeper(ports[-1])
        for index in range(self._node_count):
            node_folder = self._folder / f"node-{index + 1}"
            node_folder.mkdir()
            self._places.append(NodePlace(index + 1, ports[2 * index], ports[2 * index + 1], node_folder))
        self._prepare()
        self._configure()
        for place in self._places:
            self._launch(place)
        self._wait_until_ready()

    def _prepare(self) -> None:
        """For subclasses: the folder and the ports are there, ZooKeeper has been launched, no node is configured."""

    def _overrides_of(self, place: NodePlace) -> Mapping[str, str]:
        """What goes over the properties of one node."""
        return self._overrides

    def _java(self, main: str, *arguments: str) -> list[str]:
        logging = [
            f"-Dlog4j.configuration=file:{self.folder / 'log4j.properties'}",
            f"-Dlog4j2.configurationFile={self.folder / 'log4j2.properties'}",
            # With reload4j in log4j's place ZooKeeper 3.4 would look for a class that is not there.
            "-Dzookeeper.jmx.log4j.disable=true",
            "-Dzookeeper.admin.enableServer=false",
        ]
        classes = ":".join([*self._classes, f"{self._jars}/*"])
        return [find_java(), *JVM_FLAGS, *logging, *self._jvm_flags, "-cp", classes, main, *arguments]

    def _launch_zookeeper(self, port: int) -> None:
        config = self.folder / "zoo.cfg"
        config.write_text(properties.render(properties.zookeeper_properties(self.folder, port)), encoding="utf-8")
        command = self._java("org.apache.zookeeper.server.quorum.QuorumPeerMain", str(config))
        self._zookeeper = Child("ZooKeeper", command, self.folder / "zookeeper.log", self.folder)

    def _configure(self) -> None:
        for place in self._places:
            config = properties.server_properties(
                self.release, place, self._places, self._zookeeper_port, self._overrides_of(place)
            )
            (place.folder / "server.properties").write_text(properties.render(config), encoding="utf-8")
        if self.release.mode == "kraft":
            self._format()

    def _format(self) -> None:
        cluster_id = _kafka_uuid()
        quorum: list[str] = []
        if properties.has_dynamic_quorum(self.release):
            quorum = ["--standalone"]
            if len(self._places) > 1:
                voters = [f"{node.node_id}@{LOOPBACK}:{node.controller_port}:{_kafka_uuid()}" for node in self._places]
                quorum = ["--initial-controllers", ",".join(voters)]
        formats = []
        for place in self._places:
            arguments = ["format", f"--cluster-id={cluster_id}", "-c", str(place.folder / "server.properties"), *quorum]
            arguments += self._format_arguments
            command = self._java("kafka.tools.StorageTool", *arguments)
            formats.append(Child("format", command, place.folder / "format.log", place.folder))
        deadline = time.monotonic() + _FORMAT_WITHIN_S
        while any(child.exit_code is None for child in formats) and time.monotonic() < deadline:
            time.sleep(0.02)
        for child in formats:
            if child.exit_code != 0:
                child.kill()
                raise BrokerError(f"Kafka {self.release.name}: format did not succeed\n{child.tail()}")

    def _launch(self, place: NodePlace) -> None:
        command = self._java("kafka.Kafka", str(place.folder / "server.properties"))
        log = place.folder / "server.log"
        self._brokers[place.node_id] = Child(f"node {place.node_id}", command, log, place.folder)

    def _wait_until_ready(self) -> None:
        deadline = time.monotonic() + _READY_WITHIN_S
        waiting = [place for place in self._places if self._brokers[place.node_id].exit_code is None]
        running = {place.node_id for place in waiting}
        while waiting:
            self._check_alive()
            if time.monotonic() > deadline:
                raise BrokerError(self._report(f"not ready within {_READY_WITHIN_S:.0f} s"))
            waiting = [place for place in waiting if not self._serves(place, running)]
            time.sleep(0.02)

    def _serves(self, place: NodePlace, running: set[int]) -> bool:
        listed = listed_nodes(LOOPBACK, place.port)
        if listed is None:
            return False
        if self.release.number < (0, 9):
            # It lists only those that a partition names, so none until the first topic, and answers before it has
            # registered itself: a topic asked for until then could not be created.
            return _STARTED in self._brokers[place.node_id].log.read_text(encoding="utf-8", errors="replace").lower()
        return running <= listed

    def _children(self) -> list[Child]:
        return [*self._brokers.values(), *([self._zookeeper] if self._zookeeper else [])]

    def _check_alive(self) -> None:
        for child in self._children():
            if child.exit_code is not None and child.exit_code >= 0:
                raise BrokerError(self._report(f"{child.name} ended with exit code {child.exit_code}"))

    def _report(self, what: str) -> str:
        """With the logs of its processes, not those that Kafka keeps records in, which are named alike."""
        logs = "\n".join(f"--- {child.name}\n{child.tail()}" for child in self._children())
        return f"Kafka {self.release.name}: {what}\n{logs}"


def _kafka_uuid() -> str:
    return base64.urlsafe_b64encode(uuid.uuid4().bytes).decode("ascii").rstrip("=")
