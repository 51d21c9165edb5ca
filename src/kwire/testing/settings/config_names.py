"""The names of configs by resource, with their types, defaults and the broker's properties that they override.

Seen on releases 4.4.0 and 3.9.2; since when a topic's config exists is told by the KIPs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from kwire.errors import ConfigError
from kwire.testing.settings.broker_configs import BOOLEAN, DOUBLE, INT, LIST, LONG, SHORT, STRING

TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32

_MAX = "9223372036854775807"
_OPTIONS = {"min.insync.replicas", "unclean.leader.election.enable"}


class Config(NamedTuple):
    """`property` is the broker's name for the default; empty where it has none. `override` is that of another property,
    which has no default and goes over it.

    Numbers are `minimum` that, if not None. Releases have it from `since` on and `before` another one.
    """

    type: int
    default: str
    property: str = ""
    override: str = ""
    minimum: int | None = None
    since: tuple[int, ...] = ()
    before: tuple[int, ...] = (1000,)

    def names(self) -> list[str]:
        """The broker's properties that it follows, the strongest first."""
        return [name for name in (self.override, self.property) if name]


TOPIC_CONFIGS = {
    "cleanup.policy": Config(LIST, "delete", "log.cleanup.policy"),
    "compression.gzip.level": Config(INT, "-1", "compression.gzip.level", since=(3, 8)),
    "compression.lz4.level": Config(INT, "9", "compression.lz4.level", since=(3, 8)),
    "compression.type": Config(STRING, "producer", "compression.type"),
    "compression.zstd.level": Config(INT, "3", "compression.zstd.level", since=(3, 8)),
    "delete.retention.ms": Config(LONG, "86400000", "log.cleaner.delete.retention.ms", minimum=0),
    "errors.deadletterqueue.group.enable": Config(BOOLEAN, "false", since=(4, 4)),
    "file.delete.delay.ms": Config(LONG, "60000", "log.segment.delete.delay.ms"),
    "flush.messages": Config(LONG, _MAX, "log.flush.interval.messages"),
    "flush.ms": Config(LONG, _MAX, override="log.flush.interval.ms"),
    "follower.replication.throttled.replicas": Config(LIST, "", since=(0, 10, 1)),
    "index.interval.bytes": Config(INT, "4096", "log.index.interval.bytes"),
    "leader.replication.throttled.replicas": Config(LIST, "", since=(0, 10, 1)),
    "local.retention.bytes": Config(LONG, "-2", "log.local.retention.bytes", since=(3,)),
    "local.retention.ms": Config(LONG, "-2", "log.local.retention.ms", since=(3,)),
    "max.compaction.lag.ms": Config(LONG, _MAX, "log.cleaner.max.compaction.lag.ms", minimum=1, since=(2, 3)),
    "max.decompressed.message.bytes": Config(INT, "2147483639", "max.decompressed.message.bytes", since=(4, 4)),
    "max.message.bytes": Config(INT, "1048588", "message.max.bytes", minimum=0),
    "message.timestamp.after.max.ms": Config(
        LONG, "3600000", "log.message.timestamp.after.max.ms", minimum=0, since=(3, 6)
    ),
    "message.timestamp.before.max.ms": Config(
        LONG, _MAX, "log.message.timestamp.before.max.ms", minimum=0, since=(3, 6)
    ),
    "message.timestamp.difference.max.ms": Config(
        LONG, _MAX, "log.message.timestamp.difference.max.ms", minimum=0, since=(0, 10), before=(4,)
    ),
    "message.timestamp.type": Config(STRING, "CreateTime", "log.message.timestamp.type", since=(0, 10)),
    "min.cleanable.dirty.ratio": Config(DOUBLE, "0.5", "log.cleaner.min.cleanable.ratio"),
    "min.compaction.lag.ms": Config(LONG, "0", "log.cleaner.min.compaction.lag.ms", minimum=0, since=(0, 10, 1)),
    "min.insync.replicas": Config(INT, "1", "min.insync.replicas", minimum=1),
    "preallocate": Config(BOOLEAN, "false", "log.preallocate"),
    "remote.copy.lag.bytes": Config(LONG, "-1", "log.remote.copy.lag.bytes", since=(4, 4)),
    "remote.copy.lag.ms": Config(LONG, "0", "log.remote.copy.lag.ms", since=(4, 4)),
    "remote.log.copy.disable": Config(BOOLEAN, "false", since=(3, 9)),
    "remote.log.delete.on.disable": Config(BOOLEAN, "false", since=(3, 9)),
    "remote.storage.enable": Config(BOOLEAN, "false", since=(3,)),
    "retention.bytes": Config(LONG, "-1", "log.retention.bytes"),
    "retention.ms": Config(LONG, "604800000", override="log.retention.ms", minimum=-1),
    "segment.bytes": Config(INT, "1073741824", "log.segment.bytes", minimum=1048576),
    "segment.index.bytes": Config(INT, "10485760", "log.index.size.max.bytes"),
    "segment.jitter.ms": Config(LONG, "0", override="log.roll.jitter.ms"),
    "segment.ms": Config(LONG, "604800000", override="log.roll.ms", minimum=1),
    "unclean.leader.election.enable": Config(BOOLEAN, "false", "unclean.leader.election.enable"),
    "message.downconversion.enable": Config(
        BOOLEAN, "true", "log.message.downconversion.enable", since=(2,), before=(4,)
    ),
    "message.format.version": Config(STRING, "3.0-IV1", "log.message.format.version", since=(0, 10), before=(4,)),
}

GROUP_CONFIGS = {
    "consumer.assignment.interval.ms": Config(INT, "1000", "group.consumer.assignment.interval.ms"),
    "consumer.heartbeat.interval.ms": Config(INT, "5000", "group.consumer.heartbeat.interval.ms"),
    "consumer.session.timeout.ms": Config(INT, "45000", "group.consumer.session.timeout.ms"),
    "errors.deadletterqueue.copy.record.enable": Config(BOOLEAN, "false", "errors.deadletterqueue.copy.record.enable"),
    "errors.deadletterqueue.topic.name": Config(STRING, "", "errors.deadletterqueue.topic.name"),
    "share.assignment.interval.ms": Config(INT, "1000", "group.share.assignment.interval.ms"),
    "share.auto.offset.reset": Config(STRING, "latest", "share.auto.offset.reset"),
    "share.delivery.count.limit": Config(INT, "5", "group.share.delivery.count.limit"),
    "share.heartbeat.interval.ms": Config(INT, "5000", "group.share.heartbeat.interval.ms"),
    "share.isolation.level": Config(STRING, "read_uncommitted", "share.isolation.level"),
    "share.partition.max.record.locks": Config(INT, "2000", "group.share.partition.max.record.locks"),
    "share.record.lock.duration.ms": Config(INT, "30000", "group.share.record.lock.duration.ms"),
    "share.renew.acknowledge.enable": Config(BOOLEAN, "true", "share.renew.acknowledge.enable"),
    "share.session.timeout.ms": Config(INT, "45000", "group.share.session.timeout.ms"),
    "streams.assignment.interval.ms": Config(INT, "1000", "group.streams.assignment.interval.ms"),
    "streams.assignor.name": Config(STRING, "sticky", "group.streams.assignors"),
    "streams.heartbeat.interval.ms": Config(INT, "5000", "group.streams.heartbeat.interval.ms"),
    "streams.initial.rebalance.delay.ms": Config(INT, "3000", "group.streams.initial.rebalance.delay.ms"),
    "streams.num.standby.replicas": Config(INT, "0", "group.streams.num.standby.replicas"),
    "streams.rack.aware.assignment.tags": Config(LIST, "", "group.streams.rack.aware.assignment.tags"),
    "streams.session.timeout.ms": Config(INT, "45000", "group.streams.session.timeout.ms"),
}

CLIENT_METRICS_CONFIGS = {
    "interval.ms": Config(INT, "300000"),
    "match": Config(LIST, ""),
    "metrics": Config(LIST, ""),
}

_ALLOWED = {
    TOPIC_CONFIGS["cleanup.policy"]: {"compact", "delete"},
    TOPIC_CONFIGS["compression.type"]: {"uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"},
    TOPIC_CONFIGS["message.timestamp.type"]: {"CreateTime", "LogAppendTime"},
}
_PARSERS: dict[int, Callable[[str], object]] = {
    BOOLEAN: {"true": True, "false": False}.__getitem__,
    DOUBLE: float,
}
_BITS = {SHORT: 16, INT: 32, LONG: 64}
_WHOLE = re.compile(r"[+-]?[0-9]{1,40}")


def topic_configs(release: tuple[int, ...]) -> dict[str, Config]:
    """Those that a release has. Before 4.0 records may be of any time to come, and segments of any size (KIP-1030)."""
    known = {name: each for name, each in TOPIC_CONFIGS.items() if each.since <= release < each.before}
    after = known.get("message.timestamp.after.max.ms")
    if after is not None and release < (4,):
        known["message.timestamp.after.max.ms"] = after._replace(default=_MAX)
    if release < (4,):
        known["segment.bytes"] = known["segment.bytes"]._replace(minimum=14)
    return known


TOPIC_DEFAULTS = {
    name.replace(".", "_"): key for key, each in TOPIC_CONFIGS.items() for name in each.names() if name not in _OPTIONS
}
"""The topic config that a broker's property is the default of; its name has underscores."""


def split_topic_defaults(properties: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """(the other properties, topic configs by their own names) of a broker's, which have underscores.

    Raises ConfigError for a value that the config cannot have.
    """
    others, defaults = {}, {}
    for name, value in properties.items():
        if name not in TOPIC_DEFAULTS:
            others[name] = value
            continue
        text = str(value).lower() if isinstance(value, bool) else str(value)
        if not is_valid(TOPIC_CONFIGS[TOPIC_DEFAULTS[name]], text):
            raise ConfigError(f"{name} {value!r} is not a valid value")
        defaults[TOPIC_DEFAULTS[name]] = text
    return others, defaults


def is_valid(config: Config, value: str) -> bool:
    """Whether a value is one that the config can have."""
    allowed = _ALLOWED.get(config)
    if allowed is not None:
        return {each for each in value.split(",") if each} <= allowed if config.type == LIST else value in allowed
    if config.type in _BITS:
        return _is_in_range(config, value.strip())
    parse = _PARSERS.get(config.type)
    if parse is None:
        return True
    try:
        parse(value.strip().lower())
    except (KeyError, ValueError):
        return False
    return True


def _is_in_range(config: Config, text: str) -> bool:
    """Whether a text is a number that Java's type of it can hold."""
    if _WHOLE.fullmatch(text) is None:
        return False
    limit: int = 1 << (_BITS[config.type] - 1)
    least = -limit if config.minimum is None else config.minimum
    return least <= int(text) < limit
