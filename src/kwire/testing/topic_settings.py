"""The settings of a topic, by Kafka's names: three have an effect here, the others are kept and shown.

Source: Kafka's topic configuration, release 4.4. An unknown name is refused, as Kafka does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kwire.errors import broker as codes
from kwire.testing.config_names import TOPIC_CONFIGS, is_valid

_DEFAULTS = {name: config.default for name, config in TOPIC_CONFIGS.items()}


@dataclass(frozen=True, slots=True)
class TopicSettings:
    """`append_time`: the broker's clock stamps the records. `retention_bytes`: None keeps everything.

    `given` is what was set for the topic, `values` is what holds.
    """

    append_time: bool
    max_message_bytes: int
    retention_bytes: int | None
    values: Mapping[str, str]
    given: Mapping[str, str]

    @classmethod
    def parse(
        cls,
        given: Mapping[str, str | None],
        *,
        max_message_bytes: int,
        retention_bytes: int | None,
        min_insync_replicas: int = 1,
        from_brokers: Mapping[str, str] | None = None,
    ) -> TopicSettings:
        """Reads settings as they stand in a CreateTopics request; a value of None is the default. `from_brokers` holds
        for what they do not say.

        Raises BrokerError (INVALID_CONFIG) for an unknown name or a value that is none.
        """
        unknown = sorted(set(given) - set(_DEFAULTS))
        if unknown:
            raise codes.INVALID_CONFIG(f"unknown topic setting {unknown[0]!r}")
        values = dict(_DEFAULTS)
        values["max.message.bytes"] = str(max_message_bytes)
        values["retention.bytes"] = str(-1 if retention_bytes is None else retention_bytes)
        values["min.insync.replicas"] = str(min_insync_replicas)
        values.update(from_brokers or {})
        own = {name: value for name, value in given.items() if value is not None}
        for name, value in own.items():
            if not is_valid(TOPIC_CONFIGS[name], value):
                raise codes.INVALID_CONFIG(f"{name} {value!r} is not of its type")
        values |= own
        stamp = values["message.timestamp.type"]
        if stamp not in {"CreateTime", "LogAppendTime"}:
            raise codes.INVALID_CONFIG(f"message.timestamp.type {stamp!r}: CreateTime or LogAppendTime")
        retention = _whole_number("retention.bytes", values)
        return cls(
            stamp == "LogAppendTime",
            _whole_number("max.message.bytes", values),
            None if retention < 0 else retention,
            values,
            own,
        )


def _whole_number(name: str, values: Mapping[str, str]) -> int:
    try:
        return int(values[name])
    except ValueError:
        raise codes.INVALID_CONFIG(f"{name} {values[name]!r} is not a whole number") from None
