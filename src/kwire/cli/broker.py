"""`kwire broker`: the embedded broker as a process of its own, until Ctrl-C or SIGTERM."""

from __future__ import annotations

import argparse
import logging
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType

from kwire.cli.broker_clients import as_lines, read_users, write_client_files
from kwire.cli.usage import Commands, UsageError, natural
from kwire.errors import ConfigError

_OPTIONS_FOR = {
    "advertised.listeners": "--advertised",
    "allow.everyone.if.no.acl.found": "--allow-everyone-if-no-acl-found",
    "authorizer.class.name": "--authorizer",
    "auto.create.topics.enable": "--no-auto-create",
    "broker.rack": "--rack",
    "connections.max.reauth.ms": "--max-reauth-ms",
    "listeners": "--host with --port, or --listener",
    "num.partitions": "--partitions",
    "sasl.enabled.mechanisms": "--mechanism",
    "super.users": "--super-user",
}
"""Kafka's properties that have options of their own."""

_OPTION_OF = {
    "advertised": "--advertised",
    "feature": "--feature",
    "listeners": "--listener",
    "max_reauth_ms": "--max-reauth-ms",
    "mechanism": "--mechanism",
    "nodes": "--nodes",
    "num_partitions": "--partitions",
    "port": "--port",
    "property": "--property",
    "racks": "--rack",
    "release": "--release",
    "retention_bytes": "--retention-bytes",
}
"""The options by which the arguments of a Broker are given."""

_EPILOG = """\
examples:
  kwire broker                                   any free port; the address is printed on the first line of stdout
  kwire broker --port 9092 --topic orders:12     the usual port, one topic of 12 partitions
  kwire broker --release 0.9.0.1                 behaves as that Kafka release does: versions, formats, quirks
  kwire broker --generation 0.7                  the broker before 0.8, whose offsets are byte positions
  kwire broker --no-auto-create --verbose        topics only by CreateTopics; every refused request is reported
  kwire broker --tls --user alice:secret         behind TLS, with a login; says which settings a client needs
  kwire broker --nodes 3 --port 9092             three brokers, on 9092, 9093 and 9094; topics have three replicas
  kwire broker --host 0.0.0.0 --port 9092 --advertised kafka:9092 --listener 0.0.0.0:29092=localhost:29092
                                                 behind mapped ports: kafka to containers, localhost to others
  kwire broker --authorizer --super-user User:alice --user alice:secret
                                                 alice may do everything, others what ACLs allow them

Records are kept in memory and are gone when the broker ends. In tests use kwire.testing.Broker, whose nodes can be
killed, or the pytest fixture kwire_broker.
"""


def add_parser(commands: Commands) -> None:
    """Adds the command and its options."""
    parser = commands.add_parser(
        "broker",
        help="start an embedded Kafka broker",
        description="Starts a Kafka broker inside this process: real TCP, no Java, up in milliseconds.",
        epilog=_EPILOG,
    )
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default %(default)s)")
    parser.add_argument("--port", type=natural, default=0, help="port to listen on (default: a free one)")
    parser.add_argument(
        "--advertised",
        action="append",
        metavar="HOST[:PORT]",
        help="where clients are told to come (default: --host, and the port listened on); ports of several nodes follow"
        ", or once for each node",
    )
    parser.add_argument(
        "--listener",
        action="append",
        default=[],
        metavar="HOST:PORT=HOST[:PORT]",
        help="listen there, too, and tell clients that come by it to come to the second address; may be repeated",
    )
    parser.add_argument(
        "--nodes", type=natural, default=1, metavar="N", help="how many brokers; their ports follow --port"
    )
    parser.add_argument(
        "--rack", action="append", default=[], metavar="NAME", help="rack of a node; once for each node, in their order"
    )
    parser.add_argument("--release", default="4.4.0", help="Apache Kafka release to speak as (default %(default)s)")
    parser.add_argument(
        "--generation", choices=["0.7", "proposal"], help="a protocol before 0.8 instead of a release's"
    )
    parser.add_argument(
        "--topic", action="append", default=[], metavar="NAME[:PARTITIONS]", help="create this topic; may be repeated"
    )
    parser.add_argument(
        "--partitions",
        type=natural,
        default=1,
        metavar="N",
        help="of topics given without a number (default %(default)s)",
    )
    parser.add_argument("--no-auto-create", action="store_true", help="do not create topics that clients ask for")
    parser.add_argument(
        "--retention-bytes",
        type=natural,
        metavar="BYTES",
        help="per partition; the oldest records go (default: keep all)",
    )
    parser.add_argument(
        "--property",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a broker's property by Kafka's name, as in group.initial.rebalance.delay.ms=3000; may be repeated",
    )
    parser.add_argument(
        "--feature",
        action="append",
        default=[],
        metavar="NAME=LEVEL",
        help="a feature at another level than the release's, as in transaction.version=1; may be repeated",
    )
    _add_security(parser)
    _add_authorizer(parser)
    parser.add_argument("--verbose", action="store_true", help="report on stderr what is refused, and why")
    parser.set_defaults(run=run)


def _add_security(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("TLS and logins")
    group.add_argument("--tls", action="store_true", help="speak TLS, with certificates made at the start")
    group.add_argument("--mutual-tls", action="store_true", help="ask clients for a certificate, too")
    group.add_argument(
        "--user", action="append", default=[], metavar="NAME:PASSWORD", help="who may log in; may be repeated"
    )
    group.add_argument(
        "--users-file", metavar="FILE", help="the same, one per line; `ps` does not show these passwords"
    )
    group.add_argument(
        "--mechanism",
        action="append",
        metavar="NAME",
        help="SASL mechanism; may be repeated (default: all with passwords)",
    )
    group.add_argument(
        "--max-reauth-ms",
        type=natural,
        default=0,
        metavar="MS",
        help="end sessions that have not logged in again by then",
    )
    group.add_argument(
        "--client-files", metavar="FOLDER", help="write client.properties and certificates here (default: a new folder)"
    )


def _add_authorizer(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("ACLs")
    group.add_argument(
        "--authorizer", action="store_true", help="clients may do only what ACLs allow; they create the ACLs"
    )
    group.add_argument(
        "--super-user", action="append", default=[], metavar="User:NAME", help="who may do everything; may be repeated"
    )
    group.add_argument(
        "--allow-everyone-if-no-acl-found",
        action="store_true",
        help="everyone may use resources that no ACL covers",
    )


def run(options: argparse.Namespace) -> int:
    """Serves until a signal comes. Raises KafkaError when the broker ends by a fault of its own before that."""
    from kwire.testing import Broker
    from kwire.testing.settings.properties import read_properties

    level = logging.INFO if options.verbose else logging.ERROR
    logging.basicConfig(level=level, format="%(asctime)s %(message)s", stream=sys.stderr)
    with _usage_errors():
        users = read_users(options.user, options.users_file)
        broker = Broker(
            host=options.host,
            port=options.port,
            advertised=options.advertised,
            listeners=dict(map(parse_listener, options.listener)),
            release=options.release,
            generation=options.generation,
            topics=dict(parse_topic(text, options.partitions) for text in options.topic),
            auto_create_topics=not options.no_auto_create,
            num_partitions=options.partitions,
            retention_bytes=options.retention_bytes,
            users=users or None,
            mechanisms=options.mechanism,
            max_reauth_ms=options.max_reauth_ms,
            tls="mutual" if options.mutual_tls else options.tls,
            nodes=options.nodes,
            racks=options.rack,
            features=dict(map(parse_feature, options.feature)) or None,
            authorizer=options.authorizer,
            super_users=list(map(parse_super_user, options.super_user)),
            allow_everyone_if_no_acl_found=options.allow_everyone_if_no_acl_found,
            **read_properties(dict(map(parse_property, options.property))),
        )
    asked_to_end = _when_signalled()
    broker.notify_fault(asked_to_end.set)
    with broker, ExitStack() as folders:
        print(broker.bootstrap_servers, flush=True)
        print(f"kwire broker, as Kafka {broker.release}; Ctrl-C ends it", file=sys.stderr, flush=True)
        if options.tls or options.mutual_tls or users:
            folder = options.client_files or folders.enter_context(TemporaryDirectory(prefix="kwire-broker-"))
            shown, path = write_client_files(broker, next(iter(users), None), Path(folder))
            print(as_lines(shown), end="", flush=True)
            print(f"clients log in with --config {path}", file=sys.stderr, flush=True)
        asked_to_end.wait()
        broker.topics()  # raises if it was the fault that ended the wait
    return 0


@contextmanager
def _usage_errors() -> Iterator[None]:
    """A ConfigError about an argument of Broker, as one about the option that gives it."""
    try:
        yield
    except ConfigError as error:
        name, blank, rest = str(error).partition(" ")
        raise UsageError(f"{_OPTION_OF.get(name, name)}{blank}{rest}") from error


def parse_super_user(text: str) -> str:
    """A principal. UsageError for what is none, as it would never be anyone's."""
    kind, _, name = text.partition(":")
    if not kind or not name:
        raise UsageError(f"--super-user {text!r}: write User:NAME, as in User:alice")
    return text


def parse_topic(text: str, default_partitions: int) -> tuple[str, int]:
    """("orders", 12) from "orders:12". UsageError for anything else."""
    name, colon, count = text.partition(":")
    if not colon:
        return name, default_partitions
    if not count.isdecimal() or not int(count):
        raise UsageError(f"--topic {text!r}: write NAME or NAME:PARTITIONS, as in orders:12")
    return name, int(count)


def parse_listener(text: str) -> tuple[str, str]:
    """("0.0.0.0:29092", "localhost:29092") from "0.0.0.0:29092=localhost:29092". UsageError for anything else."""
    bound, _, advertised = text.partition("=")
    if not bound or not advertised:
        raise UsageError(f"--listener {text!r}: write HOST:PORT=HOST:PORT, as in 0.0.0.0:29092=localhost:29092")
    return bound, advertised


def parse_property(text: str) -> tuple[str, str]:
    """("group.max.size", "3") from "group.max.size=3". UsageError for anything else, and for what an option does."""
    name, equals, value = text.partition("=")
    if name in _OPTIONS_FOR:
        raise UsageError(f"--property {text!r}: {_OPTIONS_FOR[name]} does that here")
    if not equals:
        raise UsageError(f"--property {text!r}: write NAME=VALUE, as in group.initial.rebalance.delay.ms=3000")
    return name, value


def parse_feature(text: str) -> tuple[str, int]:
    """("transaction.version", 1) from "transaction.version=1". UsageError for anything else."""
    name, _, level = text.partition("=")
    if not level.isdecimal():
        raise UsageError(f"--feature {text!r}: write NAME=LEVEL, as in transaction.version=1")
    return name, int(level)


def _when_signalled() -> threading.Event:
    """An event that is set by the first Ctrl-C or SIGTERM."""
    event = threading.Event()

    def on_signal(number: int, frame: FrameType | None) -> None:
        event.set()

    signal.signal(signal.SIGINT, on_signal)
    signal.signal(signal.SIGTERM, on_signal)
    return event
