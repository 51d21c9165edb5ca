"""Writes docs/settings.md from the tables in kwire.engine.settings."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from scripts.sources import DOCS

from kwire.engine.settings.clients import ClientSettings, ConsumerSettings, ProducerSettings, ShareConsumerSettings
from kwire.engine.settings.connection import ConnectionSettings
from kwire.engine.settings.kinds import Setting
from kwire.engine.settings.values import PARTITIONERS

PAGE = DOCS / "settings.md"

HEAD = """# Settings

Generated from `src/kwire/engine/settings/clients.py` by `make docs`.

A setting is a keyword of the client's constructor, or a dotted name in the mapping given to `from_config`:

    Producer("localhost:9092", linger_ms=20, compression="zstd")
    Producer.from_config({"bootstrap.servers": "localhost:9092", "linger.ms": "20", "compression.type": "zstd"})

`from_config` also takes the other names in the tables: those of librdkafka (confluent-kafka), kafka-python and aiokafka
where they differ from Java's, with dots or underscores, and any of them with `kafka.` before it. Values may be strings.
Everything that cannot be used is refused by one ConfigError that lists it all: unknown names with the nearest known
one, values out of range, and what this version does not have. Settings of other libraries that make no difference here,
such as `statistics.interval.ms` or `log_level`, are ignored with one warning. One mapping may serve a producer, a
consumer and an admin: what only another kind of client has, such as `acks` for a Consumer, is passed over, with a line
of the logger `kwire.clients` at DEBUG.

[limits.md](limits.md) says what happens where a size, a time or a number of tries is reached.

Java's serializers and deserializers of bytes ask for what is done anyway. Of `compression.zstd.level` and its like,
that of the codec in use is the `level`.

Passwords, keys and client secrets are shown as `[hidden]` by reprs, dumps of attributes, errors and logs. They are in a
pickle of a client, which opens it again elsewhere; an `ssl_context` cannot be pickled, files and PEM text can.
"""

UNITS = {
    "partitioner": ", ".join(f"`{name!r}`" for name in PARTITIONERS) + ", or a callable",
    "batch_size": "bytes",
    "buffer_memory": "bytes",
    "max_request_size": "bytes",
}


def wanted() -> dict[Path, str]:
    """The one page."""
    return {PAGE: page()}


def page() -> str:
    """The whole page."""
    common = ClientSettings.table
    security = (row for key, row in common.items() if key not in ConnectionSettings.table)
    parts = [
        HEAD,
        _section("All clients", ConnectionSettings.table.values()),
        _section("All clients: TLS and SASL", security),
        _section("Producer", (row for key, row in ProducerSettings.table.items() if key not in common)),
        _section("Consumer", (row for key, row in ConsumerSettings.table.items() if key not in common)),
        _section("ShareConsumer", (row for key, row in ShareConsumerSettings.table.items() if key not in common)),
    ]
    return "\n".join(parts)


def _section(title: str, rows: Iterable[Setting]) -> str:
    lines = [
        f"## {title}",
        "",
        "| keyword | dotted name | other names | default | unit or values | meaning |",
        "|---|---|---|---|---|---|",
        *map(_line, rows),
    ]
    return "\n".join(lines) + "\n"


def _line(row: Setting) -> str:
    others = ", ".join(f"`{name}`" for name in row.aliases if name != row.dotted)
    return f"| `{row.keyword}` | `{row.dotted}` | {others} | `{row.default!r}` | {_values(row)} | {row.doc} |"


def _values(row: Setting) -> str:
    if row.choices:
        return ", ".join(f"`{choice!r}`" for choice in row.choices)
    if row.secret:
        return "secret"
    if row.kind is bool:
        return "`True`, `False`"
    if row.kind is int and row.keyword.endswith("_ms"):
        return "ms"
    if row.kind is int and row.keyword.endswith("_bytes"):
        return "bytes"
    return UNITS.get(row.keyword, "")
