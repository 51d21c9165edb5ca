"""One node of real Kafka whose plugin writes down what clients push of their metrics (KIP-714)."""

import subprocess
from pathlib import Path
from typing import NamedTuple

from tests.brokers.cluster import Cluster
from tests.brokers.java import find_java
from tests.brokers.processes import JVM_FLAGS, dying_with_parent
from tests.oracle.compiling import compiled

_HERE = Path(__file__).parent
_WITHIN_S = 90


class Push(NamedTuple):
    """As the plugin was given it."""

    instance_id: str
    terminating: bool
    content_type: str
    client_id: str
    data: bytes


class TelemetryCluster(Cluster):
    """`pushes` are those of all clients, oldest first."""

    def __init__(self, release: str) -> None:
        super().__init__(release, overrides={"metric.reporters": "FileReceiver"})

    @property
    def _received(self) -> Path:
        return self.folder / "pushes"

    def _prepare(self) -> None:
        self._received.mkdir()
        self._jvm_flags = [f"-Dkwire.telemetry={self._received}"]
        self._classes = [str(self._compiled("FileReceiver"))]

    def pushes(self, client_id: str) -> list[Push]:
        """Those of one client."""
        found = []
        for path in sorted(self._received.glob(f"[0-9]*,{client_id}")):
            _, instance_id, terminating, content_type, who = path.name.split(",")
            found.append(Push(instance_id, terminating == "true", content_type, who, path.read_bytes()))
        return found

    def run_java_clients(self, topic: str) -> None:
        """JavaClients, to their end."""
        classes = f"{self._compiled('JavaClients')}:{self.jars}/*"
        command = [find_java(), *JVM_FLAGS, "-cp", classes, "JavaClients", self.bootstrap_servers, topic]
        subprocess.run(dying_with_parent(command), check=True, timeout=_WITHIN_S, capture_output=True, text=True)

    def _compiled(self, name: str) -> Path:
        return compiled(f"{name}-{self.release.name}", [_HERE / f"{name}.java"], self._jars)
