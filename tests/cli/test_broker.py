"""`kwire broker`: a process that says where it listens, serves, and ends when it is told to."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient

from kwire.cli.broker import parse_topic
from kwire.cli.main import main
from kwire.errors import ConfigError
from kwire.testing.serving.server import Server
from tests.subprocesses import with_this_kwire
from tests.timing import PATIENT

WITHIN_S = PATIENT


@contextmanager
def running(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The command as a process, with the address that it printed; killed if the test does not end it."""
    process = subprocess.Popen(
        [sys.executable, "-m", "kwire", "broker", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=with_this_kwire(),
    )
    guard = threading.Timer(WITHIN_S, process.kill)
    guard.start()
    try:
        assert process.stdout is not None
        yield process, process.stdout.readline().strip()
    finally:
        guard.cancel()
        process.kill()
        process.communicate()


def line_with(phrase: str, stream: IO[str] | None) -> str:
    """The next line with that phrase of what a process prints; lines before it are gone."""
    assert stream is not None
    return next(line for line in stream if phrase in line)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_serves_and_ends_cleanly(number: signal.Signals) -> None:
    with running("--topic", "orders:3", "--topic", "single") as (process, address):
        topics = AdminClient({"bootstrap.servers": address}).list_topics(timeout=WITHIN_S).topics
        assert {name: len(topic.partitions) for name, topic in topics.items()} == {"orders": 3, "single": 1}
        producer = Producer({"bootstrap.servers": address, "log_level": 0})
        producer.produce("orders", b"value")
        assert producer.flush(WITHIN_S) == 0
        assert line_with("Ctrl-C", process.stderr)
        process.send_signal(number)
        _, said = process.communicate(timeout=WITHIN_S)
        assert process.returncode == 0
        assert "Traceback" not in said
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", int(address.rpartition(":")[2])), 1)


def test_it_ends_with_an_error_when_its_broker_does(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(server: Server) -> None:
        raise RuntimeError("an injected fault")

    monkeypatch.setattr(Server, "_turn", fail)
    assert main(["broker"]) == 1
    said = capsys.readouterr().err
    assert "kwire broker: the broker has ended by an internal error" in said


def test_nodes_and_properties() -> None:
    with running("--nodes", "3", "--property", "default.replication.factor=2", "--topic", "t") as (_, addresses):
        assert addresses.count(",") == 2
        told = AdminClient({"bootstrap.servers": addresses}).list_topics(timeout=WITHIN_S)
        assert sorted(told.brokers) == [1, 2, 3]
        assert told.topics["t"].partitions[0].replicas == [1, 2]


def test_racks_features_and_an_address_for_clients() -> None:
    arguments = ["--nodes", "2", "--rack", "a", "--rack", "b", "--feature", "transaction.version=1"]
    with running(*arguments, "--advertised", "localhost", "--topic", "t") as (_, addresses):
        assert addresses.startswith("localhost:")
        admin = AdminClient({"bootstrap.servers": addresses})
        told = admin.describe_cluster().result(WITHIN_S)
        assert {(node.host, node.rack) for node in told.nodes} == {("localhost", "a"), ("localhost", "b")}


def test_acls_and_who_goes_over_them() -> None:
    users = ["--user", "alice:a", "--user", "bob:b", "--mechanism", "PLAIN"]
    with running("--authorizer", "--super-user", "User:alice", *users, "--topic", "t") as (_, address):
        seen = {}
        for name in ("alice", "bob"):
            login = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN"}
            secret = {"sasl.username": name, "sasl.password": name[0]}
            admin = AdminClient({"bootstrap.servers": address, **login, **secret})
            seen[name] = set(admin.list_topics(timeout=WITHIN_S).topics)
        assert seen == {"alice": {"t"}, "bob": set()}


def test_a_port_that_is_taken_is_one_line_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert main(["broker", "--port", str(port)]) == 1
    said = capsys.readouterr().err
    assert said.startswith(f"kwire broker: cannot listen on 127.0.0.1:{port}")
    assert said.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--release", "1.2.3.4"], "1.2.3.4"),
        (["--topic", "orders:many"], "orders:12"),
        (["--topic", "a b"], "'a b'"),
        (["--partitions", "0"], "--partitions 0"),
        (["--port", "70000"], "--port 70000"),
        (["--nodes", "0"], "--nodes 0"),
        (["--nodes", "3", "--generation", "0.7"], "nodes 3"),
        (["--property", "group.max.size"], "NAME=VALUE"),
        (["--property", "no.such=1"], "no.such"),
        (["--property", "num.partitions=4"], "--partitions does that here"),
        (["--property", "auto.create.topics.enable=false"], "--no-auto-create does that here"),
        (["--property", "log.retention.ms=long"], "log_retention_ms 'long'"),
        (["--property", "group.max.size=no"], "--property group.max.size 'no': expected a whole number"),
        (["--super-user", "bob"], "write User:NAME"),
        (["--feature", "no.such=1"], "release 4.4.0 has eligible.leader.replicas.version, group.version"),
        (["--feature", "transaction.version"], "NAME=LEVEL"),
        (["--feature", "transaction.version=9"], "transaction.version 9"),
        (["--rack", "a", "--rack", "b"], "--rack 'a', 'b': expected one for each of 1 nodes"),
        (["--host", "0.0.0.0"], "set advertised"),
        (["--advertised", "0.0.0.0:9092"], "advertised '0.0.0.0'"),
        (["--advertised", "kafka:"], "localhost:9092"),
        (["--advertised", "kafka:0"], "advertised 0"),
        (["--advertised", "kafka:65535", "--nodes", "3"], "advertised 65535"),
        (["--advertised", "a", "--advertised", "b", "--nodes", "3"], "each of 3 nodes"),
        (["--listener", "0.0.0.0:29092"], "0.0.0.0:29092=localhost:29092"),
        (["--listener", "0.0.0.0=localhost:29092"], "0.0.0.0:29092"),
        (["--property", "group.max.size=many"], "group.max.size 'many'"),
    ],
)
def test_wrong_options_say_what_would_work(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["broker", *arguments]) == 2
    assert said in capsys.readouterr().err


def test_help_teaches(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["broker", "--help"])
    assert ended.value.code == 0
    assert "kwire broker --port 9092 --topic orders:12" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["--help"])
    assert "start an embedded Kafka broker" in capsys.readouterr().out


def test_topics_on_the_command_line() -> None:
    assert parse_topic("orders", 4) == ("orders", 4)
    assert parse_topic("orders:12", 4) == ("orders", 12)
    for wrong in ("orders:", "orders:0", "orders:-1", "orders:x"):
        with pytest.raises(ConfigError, match="NAME:PARTITIONS"):
            parse_topic(wrong, 4)
