"""The settings of a topic, by Kafka's names. Those that are fields of `TopicSettings` have an effect here, and so have
min.insync.replicas and unclean.leader.election.enable; the others are checked, kept and shown: there is nothing here
that they could change.

Source: Kafka's topic configuration, release 4.4. An unknown name is refused, as Kafka does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kwire.errors import broker as codes
from kwire.testing.records.log import SegmentLimits
from kwire.testing.settings.config_names import Config, is_valid

_UNLIMITED = 2**63 - 1
_NUMBERS = (
    "max.message.bytes",
    "retention.ms",
    "retention.bytes",
    "segment.ms",
    "segment.bytes",
    "message.timestamp.before.max.ms",
    "message.timestamp.after.max.ms",
    "message.timestamp.difference.max.ms",
    "min.compaction.lag.ms",
    "max.compaction.lag.ms",
    "delete.retention.ms",
)
_DIFFERENCE = "message.timestamp.difference.max.ms"


@dataclass(frozen=True, slots=True)
class TopicSettings:
    """Times in ms, None is no limit. `append_time`: the broker's clock stamps the records.

    `timestamp_before`, `timestamp_after`: how far a record's time may be from the broker's. `retention_is_set`: it is
    not only the default. `given` is what was set for the topic, `values` is what holds.
    """

    append_time: bool
    max_message_bytes: int
    retention_bytes: int | None
    retention_ms: int | None
    retention_is_set: bool
    deletes: bool
    compacts: bool
    segments: SegmentLimits
    timestamp_before: int | None
    timestamp_after: int | None
    min_compaction_lag: int
    max_compaction_lag: int | None
    min_cleanable_ratio: float
    delete_retention: int
    values: Mapping[str, str]
    given: Mapping[str, str]

    @classmethod
    def parse(
        cls, given: Mapping[str, str | None], known: Mapping[str, Config], from_brokers: Mapping[str, str]
    ) -> TopicSettings:
        """Reads settings as they stand in a CreateTopics request; a value of None is the default.

        `known` are the configs of the release; `from_brokers` holds for what is not given. Raises BrokerError
        (INVALID_CONFIG) for an unknown name or a value that is none.
        """
        unknown = sorted(set(given) - set(known))
        if unknown:
            raise codes.INVALID_CONFIG(f"unknown topic setting {unknown[0]!r}")
        values = {name: config.default for name, config in known.items()}
        values.update((name, value) for name, value in from_brokers.items() if name in known)
        own = {name: value for name, value in given.items() if value is not None}
        for name, value in own.items():
            if not is_valid(known[name], value):
                raise codes.INVALID_CONFIG(f"{name} {value!r} is not a valid value")
        values |= own
        return cls._made(values, own, retention_is_set="retention.ms" in own or "retention.ms" in from_brokers)

    @classmethod
    def _made(cls, values: dict[str, str], own: dict[str, str], *, retention_is_set: bool) -> TopicSettings:
        numbers = {name: _whole_number(name, values) for name in _NUMBERS if name in values}
        stamp = values.get("message.timestamp.type", "CreateTime")
        if stamp not in {"CreateTime", "LogAppendTime"}:
            raise codes.INVALID_CONFIG(f"message.timestamp.type {stamp!r}: CreateTime or LogAppendTime")
        policies = values["cleanup.policy"].split(",")
        max_lag = _limit(numbers.get("max.compaction.lag.ms"))
        compacts, segment_ms = "compact" in policies, numbers["segment.ms"]
        return cls(
            append_time=stamp == "LogAppendTime",
            max_message_bytes=numbers["max.message.bytes"],
            retention_bytes=_limit(numbers["retention.bytes"]),
            retention_ms=_limit(numbers["retention.ms"]),
            retention_is_set=retention_is_set,
            deletes="delete" in policies,
            compacts=compacts,
            segments=SegmentLimits(
                numbers["segment.bytes"], min(segment_ms, max_lag) if compacts and max_lag else segment_ms
            ),
            timestamp_before=_timestamp_limit("message.timestamp.before.max.ms", numbers),
            timestamp_after=_timestamp_limit("message.timestamp.after.max.ms", numbers),
            min_compaction_lag=numbers.get("min.compaction.lag.ms", 0),
            max_compaction_lag=max_lag,
            min_cleanable_ratio=float(values["min.cleanable.dirty.ratio"]),
            delete_retention=numbers["delete.retention.ms"],
            values=values,
            given=own,
        )


def _whole_number(name: str, values: Mapping[str, str]) -> int:
    try:
        return int(values[name])
    except ValueError:
        raise codes.INVALID_CONFIG(f"{name} {values[name]!r} is not a whole number") from None


def _limit(number: int | None) -> int | None:
    return None if number is None or number < 0 or number == _UNLIMITED else number


def _timestamp_limit(name: str, numbers: Mapping[str, int]) -> int | None:
    """The limit on one side of the present; as long as it is not set, the one that once held for both (KIP-937)."""
    limit = _limit(numbers.get(name))
    return _limit(numbers.get(_DIFFERENCE)) if limit is None else limit
