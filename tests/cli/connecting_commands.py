"""A call of each command that has to do with brokers. One that is missing here fails the tests that use it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from kwire import records
from tests.cli.parsers import every_command


class Call(NamedTuple):
    """The arguments behind the command, and what it reads."""

    arguments: tuple[str, ...] = ()
    stdin: bytes = b""


CALLS: Mapping[str, Call] = {
    "topics list": Call(),
    "topics describe": Call(("orders",)),
    "topics create": Call(("new:1",)),
    "topics alter": Call(("orders", "--partitions", "9")),
    "topics delete": Call(("orders", "--yes")),
    "groups list": Call(),
    "groups describe": Call(("billing",)),
    "groups delete": Call(("billing", "--yes")),
    "groups reset": Call(("billing", "--to", "earliest", "--topic", "orders")),
    "lag": Call(("billing",)),
    "configs list": Call(),
    "configs describe": Call(("topics", "orders")),
    "configs set": Call(("topics", "orders", "retention.ms=5000")),
    "configs unset": Call(("topics", "orders", "retention.ms")),
    "cluster describe": Call(),
    "brokers list": Call(),
    "transactions list": Call(),
    "transactions describe": Call(("t",)),
    "transactions abort": Call(("orders:0", "--yes")),
    "transactions terminate": Call(("t", "--yes")),
    "acls list": Call(),
    "acls create": Call(("topic", "orders", "--principal", "User:bob", "--operation", "read")),
    "acls delete": Call(("--principal", "User:bob", "--yes")),
    "users list": Call(),
    "users set": Call(("bob",), b"secret\n"),
    "users delete": Call(("bob", "--yes")),
    "quotas list": Call(),
    "quotas set": Call(("producer_byte_rate=5", "--user", "bob")),
    "quotas unset": Call(("producer_byte_rate", "--user", "bob")),
    "tokens list": Call(),
    "tokens create": Call(),
    "tokens renew": Call(("id",)),
    "tokens delete": Call(("id", "--yes")),
    "shares list": Call(),
    "shares describe": Call(("billing",)),
    "shares offsets": Call(("billing",)),
    "shares reset": Call(("billing", "--to", "earliest", "--topic", "orders")),
    "shares forget": Call(("billing", "orders", "--yes")),
    "shares delete": Call(("billing", "--yes")),
    "partitions list": Call(),
    "partitions reassign": Call(("orders:0=1",)),
    "partitions cancel": Call(("orders:0",)),
    "partitions elect": Call(("orders:0",)),
    "producers list": Call(),
    "producers fence": Call(("t", "--yes")),
    "produce": Call(("orders",), b"a\n"),
    "consume": Call(("orders",)),
    "ping": Call(("-c", "1")),
    "bench": Call(("produce", "--topic", "orders", "--duration", "1")),
    "copy": Call(("--from", "{folder}", "--to", "{servers}/clicks")),
}


def old_log(folder: Path) -> str:
    """The folder of a partition of Kafka 0.7, made in this one."""
    log = folder / "clicks-0"
    log.mkdir()
    (log / f"{0:020d}.kafka").write_bytes(records.encode([b"a"], generation="0.7"))
    return str(log)


def connecting() -> list[str]:
    """The commands that have to do with brokers, not with a schema registry alone."""
    waiting = [command for command, parser in every_command().items() if "--timeout" in parser._option_string_actions]
    return [command for command in waiting if not command.startswith("registry ")]


def arguments_of(command: str, servers: str, folder: str) -> list[str]:
    """`kwire` of the command on these brokers, without --timeout; `folder` has a log of Kafka 0.7."""
    at = () if "-b" not in every_command()[command]._option_string_actions else ("-b", servers)
    given = [text.format(servers=servers, folder=folder) for text in CALLS[command].arguments]
    return [*command.split(), *given, *at]
