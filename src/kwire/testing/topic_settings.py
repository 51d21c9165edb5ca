"""The settings of a topic, by Kafka's names: three have an effect here, the others are kept and shown.

Source: Kafka's topic configuration, release 4.4. An unknown name is refused, as Kafka does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kwire.errors import broker as codes

_DEFAULTS = {
    "cleanup.policy": "delete",
    "compression.gzip.level": "-1",
    "compression.lz4.level": "9",
    "compression.type": "producer",
    "compression.zstd.level": "3",
    "delete.retention.ms": "86400000",
    "file.delete.delay.ms": "60000",
    "flush.messages": "9223372036854775807",
    "flush.ms": "9223372036854775807",
    "follower.replication.throttled.replicas": "",
    "index.interval.bytes": "4096",
    "leader.replication.throttled.replicas": "",
    "local.retention.bytes": "-2",
    "local.retention.ms": "-2",
    "max.compaction.lag.ms": "9223372036854775807",
    "max.message.bytes": "1048588",
    "message.downconversion.enable": "true",
    "message.format.version": "3.0-IV1",
    "message.timestamp.after.max.ms": "3600000",
    "message.timestamp.before.max.ms": "9223372036854775807",
    "message.timestamp.difference.max.ms": "9223372036854775807",
    "message.timestamp.type": "CreateTime",
    "min.cleanable.dirty.ratio": "0.5",
    "min.compaction.lag.ms": "0",
    "min.insync.replicas": "1",
    "preallocate": "false",
    "remote.storage.enable": "false",
    "retention.bytes": "-1",
    "retention.ms": "604800000",
    "segment.bytes": "1073741824",
    "segment.index.bytes": "10485760",
    "segment.jitter.ms": "0",
    "segment.ms": "604800000",
    "unclean.leader.election.enable": "false",
}


@dataclass(frozen=True, slots=True)
class TopicSettings:
    """`append_time`: the broker's clock stamps the records. `retention_bytes`: None keeps everything."""

    append_time: bool
    max_message_bytes: int
    retention_bytes: int | None
    values: Mapping[str, str]

    @classmethod
    def parse(
        cls, given: Mapping[str, str | None], *, max_message_bytes: int, retention_bytes: int | None
    ) -> TopicSettings:
        """Reads settings as they stand in a CreateTopics request; a value of None is the default.

        Raises BrokerError (INVALID_CONFIG) for an unknown name or a value that is none.
        """
        unknown = sorted(set(given) - set(_DEFAULTS))
        if unknown:
            raise codes.INVALID_CONFIG(f"unknown topic setting {unknown[0]!r}")
        values = dict(_DEFAULTS)
        values["max.message.bytes"] = str(max_message_bytes)
        values["retention.bytes"] = str(-1 if retention_bytes is None else retention_bytes)
        values.update((name, value) for name, value in given.items() if value is not None)
        stamp = values["message.timestamp.type"]
        if stamp not in {"CreateTime", "LogAppendTime"}:
            raise codes.INVALID_CONFIG(f"message.timestamp.type {stamp!r}: CreateTime or LogAppendTime")
        retention = _whole_number("retention.bytes", values)
        return cls(
            stamp == "LogAppendTime",
            _whole_number("max.message.bytes", values),
            None if retention < 0 else retention,
            values,
        )


def _whole_number(name: str, values: Mapping[str, str]) -> int:
    try:
        return int(values[name])
    except ValueError:
        raise codes.INVALID_CONFIG(f"{name} {values[name]!r} is not a whole number") from None


def is_default(name: str, value: str) -> bool:
    """Whether a setting has the value that Kafka ships."""
    return _DEFAULTS[name] == value
