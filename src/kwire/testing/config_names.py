"""The names of configs by resource, with their types, defaults and where a broker's property stands behind them.

Seen on release 4.4.0; the last two topic configs are of releases before 4.0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32
BOOLEAN, STRING, INT, LONG, DOUBLE, LIST = 1, 2, 3, 5, 6, 7

_MAX = "9223372036854775807"


class Config(NamedTuple):
    """`property` is the broker's name for the default; empty where it has none."""

    type: int
    default: str
    property: str = ""


TOPIC_CONFIGS = {
    "cleanup.policy": Config(LIST, "delete", "log.cleanup.policy"),
    "compression.gzip.level": Config(INT, "-1", "compression.gzip.level"),
    "compression.lz4.level": Config(INT, "9", "compression.lz4.level"),
    "compression.type": Config(STRING, "producer", "compression.type"),
    "compression.zstd.level": Config(INT, "3", "compression.zstd.level"),
    "delete.retention.ms": Config(LONG, "86400000", "log.cleaner.delete.retention.ms"),
    "errors.deadletterqueue.group.enable": Config(BOOLEAN, "false"),
    "file.delete.delay.ms": Config(LONG, "60000", "log.segment.delete.delay.ms"),
    "flush.messages": Config(LONG, _MAX, "log.flush.interval.messages"),
    "flush.ms": Config(LONG, _MAX),
    "follower.replication.throttled.replicas": Config(LIST, ""),
    "index.interval.bytes": Config(INT, "4096", "log.index.interval.bytes"),
    "leader.replication.throttled.replicas": Config(LIST, ""),
    "local.retention.bytes": Config(LONG, "-2", "log.local.retention.bytes"),
    "local.retention.ms": Config(LONG, "-2", "log.local.retention.ms"),
    "max.compaction.lag.ms": Config(LONG, _MAX, "log.cleaner.max.compaction.lag.ms"),
    "max.decompressed.message.bytes": Config(INT, "2147483639", "max.decompressed.message.bytes"),
    "max.message.bytes": Config(INT, "1048588", "message.max.bytes"),
    "message.timestamp.after.max.ms": Config(LONG, "3600000", "log.message.timestamp.after.max.ms"),
    "message.timestamp.before.max.ms": Config(LONG, _MAX, "log.message.timestamp.before.max.ms"),
    "message.timestamp.difference.max.ms": Config(LONG, _MAX, "log.message.timestamp.difference.max.ms"),
    "message.timestamp.type": Config(STRING, "CreateTime", "log.message.timestamp.type"),
    "min.cleanable.dirty.ratio": Config(DOUBLE, "0.5", "log.cleaner.min.cleanable.ratio"),
    "min.compaction.lag.ms": Config(LONG, "0", "log.cleaner.min.compaction.lag.ms"),
    "min.insync.replicas": Config(INT, "1", "min.insync.replicas"),
    "preallocate": Config(BOOLEAN, "false", "log.preallocate"),
    "remote.copy.lag.bytes": Config(LONG, "-1", "log.remote.copy.lag.bytes"),
    "remote.copy.lag.ms": Config(LONG, "0", "log.remote.copy.lag.ms"),
    "remote.log.copy.disable": Config(BOOLEAN, "false"),
    "remote.log.delete.on.disable": Config(BOOLEAN, "false"),
    "remote.storage.enable": Config(BOOLEAN, "false"),
    "retention.bytes": Config(LONG, "-1", "log.retention.bytes"),
    "retention.ms": Config(LONG, "604800000"),
    "segment.bytes": Config(INT, "1073741824", "log.segment.bytes"),
    "segment.index.bytes": Config(INT, "10485760", "log.index.size.max.bytes"),
    "segment.jitter.ms": Config(LONG, "0"),
    "segment.ms": Config(LONG, "604800000"),
    "unclean.leader.election.enable": Config(BOOLEAN, "false", "unclean.leader.election.enable"),
    "message.downconversion.enable": Config(BOOLEAN, "true", "log.message.downconversion.enable"),
    "message.format.version": Config(STRING, "3.0-IV1", "log.message.format.version"),
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
    INT: int,
    LONG: int,
    DOUBLE: float,
}


def is_valid(config: Config, value: str) -> bool:
    """Whether a value is one of the config's type."""
    allowed = _ALLOWED.get(config)
    if allowed is not None:
        return {each for each in value.split(",") if each} <= allowed if config.type == LIST else value in allowed
    parse = _PARSERS.get(config.type)
    if parse is None:
        return True
    try:
        parse(value.lower())
    except (KeyError, ValueError):
        return False
    return True
