"""The brokers that clients are measured against, each a process of its own on loopback.

`mock` is librdkafka's mock cluster: it costs little and answers at once. `embedded` is kwire's own broker, which can be
a broker of any release. `kafka` is Apache Kafka and `kafka-3` three nodes of it, started by the tests' launcher (needs
Java and Maven).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import NamedTuple

from benchmarks.compare.processes import LineProcess

KINDS = ("mock", "embedded", "kafka", "kafka-3")
KAFKA_NODES = {"kafka": 1, "kafka-3": 3}
NEWEST = "4.4.0"
_REPLICAS = 1
_RETENTION_BYTES = 5 * 1024 * 1024
_START_LIMIT_S = {"mock": 20.0, "embedded": 20.0, "kafka": 120.0, "kafka-3": 120.0}


class Running(NamedTuple):
    """A broker's address; if it speaks TLS itself, its address with TLS and the file with the certificate to trust."""

    bootstrap: str
    tls: str = ""
    ca_file: str = ""


@contextmanager
def running(kind: str, topics: Mapping[str, int], release: str = "") -> Iterator[Running]:
    """A broker that has these topics (name -> partitions)."""
    process = LineProcess(f"the broker {kind!r}", _command(kind, topics, release or NEWEST))
    try:
        broker = Running(*process.read_line(_START_LIMIT_S[kind]).split())
        if kind in KAFKA_NODES:
            _create_topics(broker.bootstrap, topics)
        yield broker
    finally:
        process.stop(terminate=kind not in KAFKA_NODES)


def _command(kind: str, topics: Mapping[str, int], release: str) -> list[str]:
    named = [f"{name}:{partitions}" for name, partitions in topics.items()]
    if kind == "mock":
        return ["-m", "benchmarks.compare.mock_cluster", *named]
    if kind in KAFKA_NODES:
        return ["-m", "benchmarks.compare.kafka", release, str(KAFKA_NODES[kind])]
    options = ["--release", release, "--retention-bytes", str(_RETENTION_BYTES)]
    return ["-m", "kwire", "broker", *options, *(option for text in named for option in ("--topic", text))]


def _create_topics(bootstrap: str, topics: Mapping[str, int]) -> None:
    from kwire import Admin
    from kwire.admin import NewTopic

    with Admin(bootstrap) as admin:
        admin.create_topics({name: NewTopic(partitions, _REPLICAS) for name, partitions in topics.items()})


class RunningRelay:
    """A relay's address while it runs, and the delays in µs that it noted once it has stopped."""

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap
        self.delays_us: list[float] = []


@contextmanager
def relayed(bootstrap: str) -> Iterator[RunningRelay]:
    """A relay in front of the broker at `bootstrap`."""
    process = LineProcess("the relay", ["-m", "benchmarks.compare.relay", bootstrap])
    output = "[]"
    try:
        relay = RunningRelay(process.read_line(20.0))
        yield relay
    finally:
        output = process.stop()
    relay.delays_us = json.loads(output)


def behind_tls(bootstrap: str) -> AbstractContextManager[tuple[str, str]]:
    """The address where the broker at `bootstrap` speaks TLS, and the file with the certificate to trust."""
    return _trusted("the TLS relay", "benchmarks.compare.tls_relay", bootstrap)


def with_login() -> AbstractContextManager[tuple[str, str]]:
    """The address of a broker where clients log in over TLS, and the file with the certificate to trust."""
    return _trusted("the broker with a login", "benchmarks.compare.login_broker")


@contextmanager
def _trusted(what: str, module: str, *arguments: str) -> Iterator[tuple[str, str]]:
    process = LineProcess(what, ["-m", module, *arguments])
    try:
        address, _, ca_file = process.read_line(20.0).partition(" ")
        yield address, ca_file
    finally:
        process.stop()
