"""Settings that other clients have and kwire has not: ignored, not there yet, or done in another way.

Layer 3, no I/O. Names are those of Apache's Java client, librdkafka (confluent-kafka), kafka-python and aiokafka, with
dots: `key_of` turns every spelling into that. A name that is here is never called unknown. Shell and Spark ask here,
too, which kinds of clients such a setting is for.
"""

from __future__ import annotations

from kwire._typing import NamedTuple
from kwire.errors.wording import Wording

_COMMITS = "give commit_async() a callback, for each commit of its own"
_STORED = (
    "kwire has no store of offsets: in place of store_offsets() set {enable_auto_commit}=False and call "
    "commit(records) or commit_async(records) when they are done; with {enable_auto_commit}=True a poll commits what "
    "earlier ones got"
)
_LOOP = "leave it out: a client of kwire.aio takes the event loop that runs when it is first used"
_TOKEN = "give {sasl_oauth_token}: a callable without arguments that returns (token, lifetime in seconds)"
_CREDENTIALS = "kwire asks a token endpoint for client credentials only; for another grant give {sasl_oauth_token}"
_UNSECURED = "for a token without a signature give {sasl_oauthbearer_unsecured_claims}"
_CONTEXT = "Python's ssl has no such setting by itself; make an ssl.SSLContext and give it as {ssl_context}"
_VALUES = "kwire sends bytes: serialize values before send()"
_KEYS = "kwire sends bytes: serialize keys before send()"
_REGISTRY = "schema registries are not in this version of kwire; encode values before send()"
_CALLBACK = "use Delivery.add_done_callback(), or Delivery.result()"
_ERRORS = (
    "errors are raised by the call that meets them; what happens in between is logged by logging.getLogger('kwire')"
)


class Verdict(NamedTuple):
    """How a setting is treated: refused because of `refusal`, or ignored if that is None; `warn` adds a warning."""

    refusal: str | None
    warn: bool = False


_REFUSED = {
    "default.offset.commit.callback": _COMMITS,
    "enable.auto.offset.store": _STORED,
    "offset.commit.cb": _COMMITS,
    "on.commit": _COMMITS,
    "rebalance.cb": "give subscribe() a listener with on_assigned, on_revoked and on_lost",
    "enable.sasl.oauthbearer.unsecure.jwt": _UNSECURED,
    "oauth.cb": _TOKEN,
    "oauthbearer.token.refresh.cb": _TOKEN,
    "sasl.client.callback.handler.class": _TOKEN,
    "sasl.kerberos.domain.name": "kwire asks for a ticket for each broker's host, by the name in its metadata",
    "sasl.kerberos.name": "give {sasl_kerberos_principal} and {sasl_kerberos_service_name}",
    "sasl.login.callback.handler.class": _TOKEN,
    "sasl.login.class": _TOKEN,
    "sasl.oauth.token.provider": _TOKEN,
    "sasl.oauthbearer.assertion.algorithm": _CREDENTIALS,
    "sasl.oauthbearer.config": _UNSECURED,
    "sasl.oauthbearer.grant.type": _CREDENTIALS,
    "sasl.oauthbearer.jwt.retriever.class": _CREDENTIALS,
    "sasl.oauthbearer.metadata.authentication.type": _CREDENTIALS,
    "sasl.oauthbearer.method": _CREDENTIALS,
    "security.providers": _CONTEXT,
    "ssl.curves.list": _CONTEXT,
    "ssl.engine.factory.class": _CONTEXT,
    "ssl.engine.id": _CONTEXT,
    "ssl.engine.location": _CONTEXT,
    "ssl.provider": _CONTEXT,
    "ssl.providers": _CONTEXT,
    "ssl.sigalgs.list": _CONTEXT,
    "loop": _LOOP,
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
    "default.topic.config": "give its settings beside the others",
    "enable.partition.eof": "assign(until=consumer.end_offsets(partitions)) ends a read; done() says when",
    "enable.gapless.guarantee": "a record that fails is reported by its Delivery; those after it are sent",
    "interceptor.classes": "kwire has no interceptors",
    "kafka.client": "kwire makes its connections by itself",
    "plugin.library.paths": "kwire loads no plugins",
    "proxy.url": "proxies are not in kwire",
    "socks5.proxy": "proxies are not in kwire",
}

_SERDE_PREFIXES = ("basic.auth.", "schema.registry.")
_REFUSED_PREFIXES = {
    "sasl.oauthbearer.assertion.": _CREDENTIALS,
    **dict.fromkeys(_SERDE_PREFIXES, _REGISTRY),
}

_AS_IT_IS = {
    "enable.auto.offset.store": True,
    "enable.partition.eof": False,
    "enable.gapless.guarantee": False,
    "delivery.report.only.error": False,
    "enable.sasl.oauthbearer.unsecure.jwt": False,
    "sasl.oauthbearer.grant.type": "client_credentials",
    "sasl.oauthbearer.metadata.authentication.type": "none",
}
"""Values that ask for what kwire does anyway."""

_BYTES_SERIALIZERS = ("ByteArraySerializer", "ByteBufferSerializer", "BytesSerializer")
_BYTES_DESERIALIZERS = ("ByteArrayDeserializer", "ByteBufferDeserializer", "BytesDeserializer")

_WORDS_AS_IT_IS = {
    "sasl.login.callback.handler.class": (
        "OAuthBearerLoginCallbackHandler",
        "OAuthBearerUnsecuredLoginCallbackHandler",
    ),
    "sasl.login.class": ("DefaultLogin", "KerberosLogin", "OAuthBearerRefreshingLogin"),
    "sasl.oauthbearer.method": ("default", "oidc"),
    "sasl.oauthbearer.jwt.retriever.class": ("ClientCredentialsJwtRetriever", "DefaultJwtRetriever"),
    **dict.fromkeys(("key.serializer", "value.serializer"), (*_BYTES_SERIALIZERS, "StringSerializer")),
    **dict.fromkeys(("key.deserializer", "value.deserializer"), _BYTES_DESERIALIZERS),
}
"""Words, and Java's classes without their packages, that ask for what kwire does anyway.

A StringSerializer writes the bytes that `text.encode()` gives, and send() refuses a str; where a StringDeserializer is
wanted a program would get bytes unawares.
"""

_CONSUMERS = ("Consumer", "ShareConsumer")
_OF_RECORDS = ("Producer", *_CONSUMERS)
_KINDS = {
    **dict.fromkeys(
        (
            "compression.gzip.level",
            "compression.lz4.level",
            "compression.zstd.level",
            "delivery.report.only.error",
            "dr.cb",
            "dr.msg.cb",
            "enable.gapless.guarantee",
            "key.serializer",
            "on.delivery",
            "partitioner.adaptive.partitioning.enable",
            "partitioner.availability.timeout.ms",
            "partitioner.ignore.keys",
            "sticky.partitioning.linger.ms",
            "value.serializer",
        ),
        ("Producer",),
    ),
    **dict.fromkeys(
        (
            "consumer.timeout.ms",
            "default.offset.commit.callback",
            "enable.auto.offset.store",
            "enable.partition.eof",
            "internal.leave.group.on.close",
            "internal.throw.on.fetch.stable.offset.unsupported",
            "offset.commit.cb",
            "on.commit",
            "rebalance.cb",
            "rebalance.timeout.ms",
        ),
        ("Consumer",),
    ),
    "key.deserializer": _CONSUMERS,
    "value.deserializer": _CONSUMERS,
}

_IGNORED = frozenset(
    (
        "api.version",
        "api.version.auto.timeout.ms",
        "api.version.fallback.ms",
        "api.version.request",
        "api.version.request.timeout.ms",
        "auto.commit.interval.ms",
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
        "heartbeat.interval.ms",
        "internal.leave.group.on.close",
        "internal.termination.signal",
        "internal.throw.on.fetch.stable.offset.unsupported",
        "log.connection.close",
        "log.level",
        "log.queue",
        "log.thread.name",
        "max.poll.interval.ms",
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
        "rebalance.timeout.ms",
        "reconnect.backoff.jitter.ms",
        "sasl.kerberos.kinit.cmd",
        "sasl.kerberos.min.time.before.relogin",
        "sasl.kerberos.ticket.renew.jitter",
        "sasl.kerberos.ticket.renew.window.factor",
        "sasl.login.connect.timeout.ms",
        "sasl.login.read.timeout.ms",
        "sasl.login.refresh.buffer.seconds",
        "sasl.login.refresh.min.period.seconds",
        "sasl.login.refresh.window.factor",
        "sasl.login.refresh.window.jitter",
        "sasl.login.retry.backoff.max.ms",
        "sasl.login.retry.backoff.ms",
        "sasl.oauthbearer.clock.skew.seconds",
        "sasl.oauthbearer.expected.audience",
        "sasl.oauthbearer.expected.issuer",
        "sasl.oauthbearer.iat.validation.enabled",
        "sasl.oauthbearer.jwt.validator.class",
        "sasl.oauthbearer.scope.claim.name",
        "sasl.oauthbearer.sub.claim.name",
        "selector",
        "session.timeout.ms",
        "sock.chunk.buffer.count",
        "sock.chunk.bytes",
        "socket.blocking.max.ms",
        "socket.connection.setup.timeout.max.ms",
        "socket.keepalive.enable",
        "socket.max.fails",
        "socket.nagle.disable",
        "socket.options",
        "ssl.ca.certificate.stores",
        "ssl.keymanager.algorithm",
        "ssl.protocol",
        "ssl.secure.random.implementation",
        "ssl.trustmanager.algorithm",
        "statistics.interval.ms",
        "sticky.partitioning.linger.ms",
        "topic.metadata.propagation.max.ms",
        "topic.metadata.refresh.fast.cnt",
        "topic.metadata.refresh.fast.interval.ms",
        "topic.metadata.refresh.sparse",
    )
)
_IGNORED_PREFIXES = ("metrics.", "queue.buffering.", "queued.", "sasl.oauthbearer.jwks.")


def key_of(name: str) -> str:
    """A setting's name in the spelling of these tables."""
    return name.lower().replace("_", ".")


def kinds_of(name: str) -> tuple[str, ...]:
    """The kinds of clients that a setting is for which no table of kwire has; none where it is for all, or unknown."""
    key = key_of(name)
    return _OF_RECORDS if key.startswith(_SERDE_PREFIXES) else _KINDS.get(key, ())


def verdict(name: str, value: object) -> Verdict | None:
    """Returns how a setting is treated that no table of kwire has; None when no client has it."""
    key = key_of(name)
    asks_for_nothing = value is None or value in ("", [], ())
    refusal = _REFUSED.get(key)
    for prefix, text in _REFUSED_PREFIXES.items():
        if refusal is None and key.startswith(prefix):
            refusal = text
    if refusal is not None:
        return Verdict(None if asks_for_nothing or _is_as_it_is(key, value) else Wording(refusal))
    if key in _IGNORED or key.startswith(_IGNORED_PREFIXES):
        return Verdict(None, warn=not asks_for_nothing)
    return None


def _is_as_it_is(key: str, value: object) -> bool:
    text = str(value).strip()
    if key in _WORDS_AS_IT_IS:
        return text.rpartition(".")[2].rpartition("$")[2] in _WORDS_AS_IT_IS[key]
    return key in _AS_IT_IS and text.lower() == str(_AS_IT_IS[key]).lower()
