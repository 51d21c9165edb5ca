"""Properties of Kafka's Java clients that a Spark job shares between them, and that have nothing to do here.

One dictionary often serves all clients of a team: what belongs to another client, or to a consumer group that a Spark
read does not join, is no fault. Unknown names are, and so is what asks for something that kwire does not do.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kwire.engine.foreign_settings import verdict
from kwire.engine.group_settings import GroupSettings
from kwire.engine.setting_kinds import Setting
from kwire.engine.settings import ClientSettings, ConsumerSettings, ProducerSettings

Rows = Mapping[str, Setting]


def _rows_of(table: Mapping[str, Setting]) -> Rows:
    return {name: row for row in table.values() for name in (row.keyword, row.dotted, *row.aliases)}


ROWS: Final[dict[type[ClientSettings], Rows]] = {
    table: _rows_of(table.table) for table in (ConsumerSettings, ProducerSettings)
}
_OTHER: Final[dict[type[ClientSettings], type[ClientSettings]]] = {
    ConsumerSettings: ProducerSettings,
    ProducerSettings: ConsumerSettings,
}
_GROUP: Final = _rows_of(GroupSettings.table).keys() | {"internal.leave.group.on.close", "rebalance.timeout.ms"}
_ONLY: Final[dict[type[ClientSettings], frozenset[str]]] = {
    ConsumerSettings: frozenset(
        {
            "internal.leave.group.on.close",
            "internal.throw.on.fetch.stable.offset.unsupported",
            "key.deserializer",
            "share.acknowledgement.mode",
            "share.acquire.mode",
            "value.deserializer",
        }
    ),
    ProducerSettings: frozenset(
        {
            "compression.gzip.level",
            "compression.lz4.level",
            "compression.zstd.level",
            "key.serializer",
            "partitioner.adaptive.partitioning.enable",
            "partitioner.availability.timeout.ms",
            "partitioner.class",
            "partitioner.ignore.keys",
            "value.serializer",
        }
    ),
}
_OF_ALL: Final = frozenset(
    {
        "default.list.key.serde.inner",
        "default.list.key.serde.type",
        "default.list.value.serde.inner",
        "default.list.value.serde.type",
        "security.providers",
        "ssl.client.auth",
    }
)


def why_without_effect(name: str, value: str, table: type[ClientSettings]) -> str | None:
    """Why a property changes nothing for a client with this table; None if it may, or if nobody has it."""
    if table is ConsumerSettings and name in _GROUP:
        return "a read joins no consumer group"
    if name in ROWS[table]:
        return None
    other = _OTHER[table]
    if name in ROWS[other] or name in _ONLY[other]:
        return f"a property of {other.client.lower()}s"
    judged = verdict(name, value)
    if name in _OF_ALL or (judged is not None and judged.refusal is None):
        return "not needed by kwire"
    return None


def is_as_it_is(name: str, value: str) -> bool:
    """Whether a property that is refused asks for what happens anyway, such as plain bytes and no commits."""
    text = value.strip()
    if name == "partitioner.class":
        return text in ("", "org.apache.kafka.clients.producer.internals.DefaultPartitioner")
    if name.endswith("serializer"):
        return text.startswith("org.apache.kafka.common.serialization.ByteArray")
    return (name, text.lower()) in (("enable.auto.commit", "false"), ("interceptor.classes", ""))
