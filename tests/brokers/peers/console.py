"""Apache's own console producer and consumer of the release as a peer: values and keys of printable text only.

Class names and options changed over the years; what is here was run with each release of the matrix.
"""

import subprocess
from collections.abc import Sequence
from typing import ClassVar

from tests.brokers.cluster import Cluster
from tests.brokers.java import find_java
from tests.brokers.maven import resolve_tools
from tests.brokers.peers.peer import WITHIN_S, PeerRecord
from tests.brokers.processes import JVM_FLAGS, dying_with_parent

_SEPARATOR = "\t"
_NO_KEY = "null"


class Console:
    """See Peer; timestamps and headers are neither written nor read."""

    writes_null_headers: ClassVar[bool] = False

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._number = cluster.release.number

    def produce(self, topic: str, records: Sequence[PeerRecord], *, compression: str = "none") -> None:
        """See Peer; every record needs a key."""
        arguments = [self._servers_of_producer(), self._cluster.bootstrap_servers, "--topic", topic]
        arguments += ["--property", "parse.key=true", "--property", f"key.separator={_SEPARATOR}"]
        if self._number < (0, 11):
            # Its default asks for no acknowledgement, so that what is sent while a topic is being made is lost.
            arguments += ["--request-required-acks", "-1"]
        arguments += self._compression(compression)
        lines = "".join(f"{_text(record.key)}{_SEPARATOR}{_text(record.value)}\n" for record in records)
        self.run(self._producer_class(), *arguments, stdin=lines)

    def consume(self, topic: str, count: int) -> list[PeerRecord]:
        """See Peer."""
        arguments = [*self._servers_of_consumer(), "--topic", topic, "--from-beginning", "--max-messages", str(count)]
        arguments += ["--property", "print.key=true", "--property", f"key.separator={_SEPARATOR}"]
        if self._number >= (0, 9):
            arguments += ["--timeout-ms", str(int(WITHIN_S * 1000))]
        lines = self.run(self._consumer_class(), *arguments).splitlines()
        pairs = [line.split(_SEPARATOR, 1) for line in lines if _SEPARATOR in line]
        if len(pairs) != count:
            raise TimeoutError(f"the console consumer read {len(pairs)} of {count} records of {topic}: {lines}")
        return [PeerRecord(value.encode(), None if key == _NO_KEY else key.encode()) for key, value in pairs]

    def _producer_class(self) -> str:
        if self._number >= (4,):
            return "org.apache.kafka.tools.ConsoleProducer"
        return "kafka.tools.ConsoleProducer" if self._number >= (0, 8, 2) else "kafka.producer.ConsoleProducer"

    def _consumer_class(self) -> str:
        if self._number >= (3, 8):
            return "org.apache.kafka.tools.consumer.ConsoleConsumer"
        return "kafka.tools.ConsoleConsumer" if self._number >= (0, 8, 2) else "kafka.consumer.ConsoleConsumer"

    def _compression(self, name: str) -> list[str]:
        if name == "none":
            return []
        if self._number >= (0, 8, 2):
            return ["--compression-codec", name]
        if name != "gzip":
            raise ValueError(f"the console producer of {self._cluster.release.version} compresses with gzip only")
        return ["--compress"]

    def _servers_of_producer(self) -> str:
        return "--bootstrap-server" if self._number >= (2, 5) else "--broker-list"

    def _servers_of_consumer(self) -> list[str]:
        if self._number < (0, 9):
            return ["--zookeeper", self._cluster.zookeeper_connect]
        new = ["--new-consumer"] if self._number < (0, 10, 1) else []
        return [*new, "--bootstrap-server", self._cluster.bootstrap_servers]

    def run(self, main: str, *arguments: str, stdin: str = "") -> str:
        """What a tool of the release prints; `main` is its class."""
        jars = self._cluster.jars if main.startswith("kafka.") else resolve_tools(self._cluster.release)
        command = [
            find_java(),
            *JVM_FLAGS,
            f"-Dlog4j.configuration=file:{self._cluster.folder / 'log4j-silent.properties'}",
        ]
        command += ["-cp", f"{jars}/*", main, *arguments]
        run = subprocess.run(
            dying_with_parent(command), input=stdin, capture_output=True, text=True, timeout=2 * WITHIN_S, check=False
        )
        if run.returncode != 0:
            raise RuntimeError(f"{main} ended with exit code {run.returncode}:\n{run.stdout}\n{run.stderr}")
        return run.stdout


def _text(data: bytes | None) -> str:
    if data is None:
        raise ValueError("the console cannot write null")
    return data.decode("ascii")
