"""Members of groups as processes: Java's VerifiableConsumer, and kwire's; and what they said."""

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tests.brokers import Cluster, find_release
from tests.brokers.java import find_java
from tests.brokers.maven import resolve, resolve_tools
from tests.brokers.processes import JVM_FLAGS, Child
from tests.brokers.releases import ALWAYS_EXCLUDED

PARTITIONS = 6
SESSION_MS = 3_000
ENDS_WITHIN_S = 30.0
_ROOT = Path(__file__).parents[3]
_PACKAGE = "org.apache.kafka.clients.consumer."
_JAVA_ASSIGNORS = {
    "range": f"{_PACKAGE}RangeAssignor",
    "roundrobin": f"{_PACKAGE}RoundRobinAssignor",
    "sticky": f"{_PACKAGE}StickyAssignor",
    "cooperative-sticky": f"{_PACKAGE}CooperativeStickyAssignor",
}

Partition = tuple[str, int]
QUICK_GROUPS = {
    "group.min.session.timeout.ms": "1000",
    "group.consumer.session.timeout.ms": str(SESSION_MS),
    "group.consumer.min.session.timeout.ms": "1000",
    "group.consumer.heartbeat.interval.ms": "500",
    "group.consumer.min.heartbeat.interval.ms": "500",
}
"""Broker properties with which a killed member is gone after SESSION_MS."""


class Kind(NamedTuple):
    """How the members of a group do it: the classic assignor's name, or "consumer" for KIP-848."""

    assignor: str
    instance_id: str | None = None

    @property
    def is_classic(self) -> bool:
        return self.assignor != "consumer"


class Member:
    """A running member; `events` are those that it has said until now."""

    def __init__(self, name: str, child: Child) -> None:
        self.name = name
        self.child = child
        self.ended_at: float | None = None

    @property
    def story(self) -> str:
        """What it said, without the records."""
        lines = self.child.log.read_text().splitlines()
        told = [line for line in lines if "records_consumed" not in line and "offsets_committed" not in line]
        return "\n".join([self.name, *told[-40:]])

    @property
    def events(self) -> list[dict[str, Any]]:
        lines = self.child.log.read_bytes().split(b"\n")
        return [event for line in lines[:-1] if line.startswith(b"{") and "name" in (event := json.loads(line))]

    def named(self, name: str) -> list[dict[str, Any]]:
        """Its events of that name."""
        return [event for event in self.events if event["name"] == name]

    @property
    def owned(self) -> set[Partition]:
        """What it has by its events."""
        owned: set[Partition] = set()
        for event in self.events:
            if event["name"] == "partitions_assigned":
                owned |= partitions_of(event)
            elif event["name"] == "partitions_revoked":
                owned -= partitions_of(event)
        return owned

    @property
    def has_failed(self) -> bool:
        """Whether it ended by itself."""
        return self.ended_at is None and self.child.exit_code is not None

    def kill(self) -> None:
        """SIGKILL."""
        self.ended_at = time.time() * 1000
        self.child.kill()

    def end(self) -> None:
        """Has it end in order; it must."""
        self.ended_at = time.time() * 1000
        os.kill(self.child.pid, signal.SIGTERM)
        code = self.child.wait(ENDS_WITHIN_S)
        assert code in (0, 128 + signal.SIGTERM), f"{self.name} ended with {code}: {self.child.tail()}"
        assert self.named("shutdown_complete"), self.child.tail()


class Members:
    """Starts members of one group on one cluster; a context manager that ends them all."""

    def __init__(self, cluster: Cluster, folder: Path, group: str, topic: str, *, servers: str | None = None) -> None:
        self.cluster = cluster
        self.group = group
        self.topic = topic
        self._folder = folder
        self._servers = servers or cluster.bootstrap_servers
        self.all: list[Member] = []

    def __enter__(self) -> "Members":
        return self

    def __exit__(self, *_: object) -> None:
        for member in self.all:
            member.child.kill()

    @property
    def alive(self) -> list[Member]:
        return [member for member in self.all if member.child.exit_code is None]

    def aio(self, kind: Kind, **settings: object) -> Member:
        """Starts one by kwire on an event loop."""
        return self.kwire(kind, aio=True, **settings)

    def kwire(self, kind: Kind, *, aio: bool = False, **settings: object) -> Member:
        """Starts one by kwire."""
        chosen: dict[str, object] = {"bootstrap_servers": self._servers, "group_id": self.group}
        chosen |= {
            "enable_auto_commit": True,
            "auto_commit_interval_ms": 200,
            "auto_offset_reset": "earliest",
            "group_instance_id": kind.instance_id,
        }
        if kind.is_classic:
            chosen |= {"partition_assignment_strategy": [kind.assignor], "session_timeout_ms": SESSION_MS}
            chosen["heartbeat_interval_ms"] = 500
        else:
            chosen["group_protocol"] = "consumer"
        name = f"{'aio' if aio else 'kwire'}-{len(self.all)}"
        said = json.dumps({"aio": aio, "topics": [self.topic], "settings": {**chosen, "client_id": name, **settings}})
        return self._start(name, [sys.executable, "-m", "tests.brokers.groups.member", said])

    def java(self, kind: Kind) -> Member:
        """Starts one by Java."""
        name = f"java-{len(self.all)}"
        settings = {"client.id": name}
        arguments = ["--topic", self.topic, "--group-id", self.group]
        arguments += ["--group-instance-id", kind.instance_id] if kind.instance_id else []
        if kind.is_classic:
            settings["heartbeat.interval.ms"] = "500"
            arguments += ["--session-timeout", str(SESSION_MS)]
        else:
            arguments += ["--group-protocol", "consumer"]
        number = self.cluster.release.number
        if kind.is_classic and number >= (0, 10):
            arguments += ["--assignment-strategy", _JAVA_ASSIGNORS[kind.assignor]]
        elif kind.is_classic:
            settings["partition.assignment.strategy"] = _JAVA_ASSIGNORS[kind.assignor]
        arguments += ["--broker-list" if number < (2, 1) else "--bootstrap-server", self._servers]
        path = self._folder / f"{self.group}-{name}.properties"
        path.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
        arguments += ["--consumer.config" if number < (2, 1) else "--command-config", str(path)]
        command = [find_java(), *JVM_FLAGS, "-cp", f"{_tools_for(self.cluster)}/*"]
        return self._start(name, [*command, "org.apache.kafka.tools.VerifiableConsumer", *arguments])

    def _start(self, name: str, command: Sequence[str]) -> Member:
        log = self._folder / f"{self.group}-{name}.log"
        member = Member(name, Child(name, command, log, _ROOT))
        self.all.append(member)
        return member

    def wait_balanced(self, partitions: int = PARTITIONS, *, within: float = 40.0) -> Mapping[str, set[Partition]]:
        """Waits until the living members have all partitions among them, each of them some, for two looks."""
        give_up = time.monotonic() + within
        before: dict[str, set[Partition]] = {}
        while True:
            owned = {member.name: member.owned for member in self.alive}
            count = sum(map(len, owned.values()))
            union = set().union(*owned.values()) if owned else set()
            if count == len(union) == partitions and all(owned.values()) and owned == before:
                return owned
            before = owned
            ended = [member for member in self.all if member.has_failed]
            if ended or time.monotonic() > give_up:
                stories = "\n".join(member.story for member in self.all)
                raise AssertionError(f"not balanced within {within} s: {owned}\n{stories}")
            time.sleep(0.3)


def wait_until(holds: Callable[[], bool], why: Callable[[], str], *, within: float = 30.0) -> None:
    """Waits until it holds; fails with the reason."""
    give_up = time.monotonic() + within
    while not holds():
        assert time.monotonic() < give_up, why()
        time.sleep(0.2)


def partitions_of(event: Mapping[str, Any]) -> set[Partition]:
    """The partitions that an event names."""
    return {(row["topic"], row["partition"]) for row in event["partitions"]}


def _tools_for(cluster: Cluster) -> Path:
    """The tools whose clients the release still serves."""
    number = cluster.release.number
    if number >= (2, 1):
        return resolve_tools(find_release("4.4.0"))
    version = cluster.release.version
    tools = [f"org.apache.kafka:kafka-tools:{version}", f"org.apache.kafka:kafka-clients:{version}"]
    return resolve(f"tools-{version}", tools, ALWAYS_EXCLUDED)
