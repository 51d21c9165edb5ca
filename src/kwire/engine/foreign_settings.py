"""Settings that other clients have and kwire has not: ignored, not there yet, or done in another way.

Layer 3, no I/O. Names are those of Apache's Java client, librdkafka (confluent-kafka), kafka-python and aiokafka, with
dots: `key_of` turns every spelling into that. A name that is here is never called unknown.
"""

from __future__ import annotations

from kwire._typing import NamedTuple

_GROUPS = "consumer groups are not in this version of kwire"
_TRANSACTIONS = "transactions are not in this version of kwire"
_SECURITY = "TLS and SASL are not in this version of kwire"
_ASYNCIO = "asyncio is not in this version of kwire"
_VALUES = "kwire sends bytes: serialize values before send()"
_KEYS = "kwire sends bytes: serialize keys before send()"
_CALLBACK = "use Delivery.add_done_callback(), or Delivery.result()"
_ERRORS = (
    "errors are raised by the call that meets them; what happens in between is logged by logging.getLogger('kwire')"
)


class Verdict(NamedTuple):
    """How a setting is treated: refused because of `refusal`, or ignored if that is None; `warn` adds a warning."""

    refusal: str | None
    warn: bool = False


_REFUSED = {
    "auto.commit.enable": _GROUPS,
    "auto.commit.interval.ms": _GROUPS,
    "default.offset.commit.callback": _GROUPS,
    "enable.auto.commit": _GROUPS,
    "enable.auto.offset.store": _GROUPS,
    "group.instance.id": _GROUPS,
    "group.protocol": _GROUPS,
    "group.remote.assignor": _GROUPS,
    "heartbeat.interval.ms": _GROUPS,
    "max.poll.interval.ms": _GROUPS,
    "offset.commit.cb": _GROUPS,
    "partition.assignment.strategy": _GROUPS,
    "rebalance.cb": _GROUPS,
    "rebalance.timeout.ms": _GROUPS,
    "session.timeout.ms": _GROUPS,
    "share.acknowledgement.mode": _GROUPS,
    "transaction.timeout.ms": _TRANSACTIONS,
    "transactional.id": _TRANSACTIONS,
    "transaction.two.phase.commit.enable": _TRANSACTIONS,
    "enable.sasl.oauthbearer.unsecure.jwt": _SECURITY,
    "enable.ssl.certificate.verification": _SECURITY,
    "oauth.cb": _SECURITY,
    "oauthbearer.token.refresh.cb": _SECURITY,
    "security.providers": _SECURITY,
    "loop": _ASYNCIO,
    "key.serializer": _KEYS,
    "value.serializer": _VALUES,
    "key.deserializer": "kwire returns bytes: decode keys after poll()",
    "value.deserializer": "kwire returns bytes: decode values after poll()",
    "consumer.timeout.ms": "give poll() a timeout in seconds",
    "delivery.report.only.error": _CALLBACK,
    "dr.cb": _CALLBACK,
    "dr.msg.cb": _CALLBACK,
    "on.delivery": _CALLBACK,
    "error.cb": _ERRORS,
    "logger": "kwire logs to logging.getLogger('kwire')",
    "log.cb": "kwire logs to logging.getLogger('kwire')",
    "stats.cb": "statistics are not in this version of kwire",
    "throttle.cb": "statistics are not in this version of kwire",
    "compression.gzip.level": "say level=, with compression='gzip'",
    "compression.lz4.level": "say level=, with compression='lz4'",
    "compression.zstd.level": "say level=, with compression='zstd'",
    "default.topic.config": "give its settings beside the others",
    "enable.partition.eof": "assign(until=consumer.end_offsets(partitions)) ends a read; done() says when",
    "enable.gapless.guarantee": "a record that fails is reported by its Delivery; those after it are sent",
    "interceptor.classes": "kwire has no interceptors",
    "kafka.client": "kwire makes its connections by itself",
    "partitioner.class": "only Java's default partitioner is in this version of kwire; else say send(partition=)",
    "partitioner.ignore.keys": "say send(partition=) for records whose key should not choose their partition",
    "plugin.library.paths": "kwire loads no plugins",
    "proxy.url": "proxies are not in kwire",
    "socks5.proxy": "proxies are not in kwire",
}

_REFUSED_PREFIXES = {
    "sasl.": _SECURITY,
    "ssl.": _SECURITY,
    "https.": _SECURITY,
    "schema.registry.": "schema registries are not in this version of kwire; encode values before send()",
}

_AS_IT_IS = {
    "enable.auto.commit": False,
    "auto.commit.enable": False,
    "enable.auto.offset.store": False,
    "enable.partition.eof": False,
    "enable.gapless.guarantee": False,
    "partitioner.ignore.keys": False,
    "delivery.report.only.error": False,
}
"""Values that ask for what kwire does anyway."""

_IGNORED = frozenset(
    (
        "api.version",
        "api.version.auto.timeout.ms",
        "api.version.fallback.ms",
        "api.version.request",
        "api.version.request.timeout.ms",
        "auto.include.jmx.reporter",
        "batch.num.messages",
        "bootstrap.timeout.ms",
        "broker.address.family",
        "broker.address.ttl",
        "broker.version.fallback",
        "client.dns.lookup",
        "connections.max.idle.ms",
        "consume.callback.max.messages",
        "coordinator.query.interval.ms",
        "debug",
        "enable.incremental.fetch.sessions",
        "enable.metrics.push",
        "enable.random.seed",
        "enable.sparse.connections",
        "exclude.internal.topics",
        "fetch.error.backoff.ms",
        "fetch.queue.backoff.ms",
        "group.protocol.type",
        "internal.termination.signal",
        "log.connection.close",
        "log.level",
        "log.queue",
        "log.thread.name",
        "message.copy.max.bytes",
        "metadata.recovery.rebootstrap.trigger.ms",
        "metadata.recovery.strategy",
        "metric.group.prefix",
        "metric.reporters",
        "offset.store.method",
        "offset.store.path",
        "offset.store.sync.interval.ms",
        "partitioner.adaptive.partitioning.enable",
        "partitioner.availability.timeout.ms",
        "produce.offset.report",
        "queuing.strategy",
        "reconnect.backoff.jitter.ms",
        "selector",
        "sock.chunk.buffer.count",
        "sock.chunk.bytes",
        "socket.blocking.max.ms",
        "socket.connection.setup.timeout.max.ms",
        "socket.keepalive.enable",
        "socket.max.fails",
        "socket.nagle.disable",
        "socket.options",
        "statistics.interval.ms",
        "sticky.partitioning.linger.ms",
        "topic.metadata.propagation.max.ms",
        "topic.metadata.refresh.fast.cnt",
        "topic.metadata.refresh.fast.interval.ms",
        "topic.metadata.refresh.sparse",
    )
)
_IGNORED_PREFIXES = ("metrics.", "queue.buffering.", "queued.")


def key_of(name: str) -> str:
    """A setting's name in the spelling of these tables."""
    return name.lower().replace("_", ".")


def verdict(name: str, value: object) -> Verdict | None:
    """Returns how a setting is treated that no table of kwire has; None when no client has it."""
    key = key_of(name)
    refusal = _REFUSED.get(key)
    for prefix, text in _REFUSED_PREFIXES.items():
        if refusal is None and key.startswith(prefix):
            refusal = text
    if refusal is not None:
        asks_for_nothing = value is None or value in ("", [], ()) or _is_as_it_is(key, value)
        return Verdict(None) if asks_for_nothing else Verdict(refusal)
    if key in _IGNORED or key.startswith(_IGNORED_PREFIXES):
        return Verdict(None, warn=True)
    return None


def _is_as_it_is(key: str, value: object) -> bool:
    return key in _AS_IT_IS and str(value).strip().lower() == str(_AS_IT_IS[key]).lower()
