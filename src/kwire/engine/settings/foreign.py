"""Settings of other clients that kwire does not have: ignored, not supported yet, or set in another way.

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
    "earlier polls returned"
)
_LOOP = "leave it out: a client of kwire.aio takes the event loop that runs when it is first used"
_TOKEN = "give {sasl_oauth_token}: a callable without arguments that returns (token, lifetime in seconds)"
_TOKEN_UNTIL = (
    "give {sasl_oauth_token}: a callable without arguments that returns (token, lifetime in seconds), where that of "
    "librdkafka returns the time at which it ends"
)
_TOKEN_PROVIDER = (
    "give {sasl_oauth_token}: a callable without arguments, `async def` in kwire.aio if it likes, that returns (what "
    "token() returns, its lifetime in seconds)"
)
_CREDENTIALS = "kwire asks a token endpoint for client credentials only; for another grant give {sasl_oauth_token}"
_UNSECURED = "for a token without a signature give {sasl_oauthbearer_unsecured_claims}"
_CONTEXT = "Python's ssl has no such setting by itself; make an ssl.SSLContext and give it as {ssl_context}"
_SENDS = "in kwire a Producer has {value_serializer} and {key_serializer}"
_READS_BYTES = "in kwire a Consumer has {value_deserializer} and {key_deserializer}, and so has a ShareConsumer"
_REGISTRY = "make a kwire.registry.Registry of it, and give serializers that use it as {value_serializer}"
_METRICS = "call metrics() or health() of the client whenever they are wanted; kwire.contrib hands them to others"
_PROXY = "kwire connects to brokers without a proxy: they have to be reached at the addresses that they advertise"
_CALLBACK = "use Delivery.add_done_callback(), or Delivery.result()"
_ERRORS = (
    "errors are raised by the call that meets them; what happens in between is logged by logging.getLogger('kwire')"
)


class Foreign(NamedTuple):
    """A setting that kwire has not. `refusal` says what to do instead, a template of a Wording; None: it is ignored.

    `kinds` are the clients that it is for, none where it is for all. `as_it_is` are values that ask for what kwire does
    anyway: words, and Java's classes without their packages. `has_counterpart` is False where nothing can be given or
    called in its place.
    """

    refusal: str | None = None
    kinds: tuple[str, ...] = ()
    as_it_is: tuple[str, ...] = ()
    has_counterpart: bool = True


class Verdict(NamedTuple):
    """How a setting is treated: refused because of `refusal`, or ignored if that is None; `warn` adds a warning."""

    refusal: str | None
    warn: bool = False
    has_counterpart: bool = True


_PRODUCER = ("Producer",)
_CONSUMER = ("Consumer",)
_CONSUMERS = ("Consumer", "ShareConsumer")
# A StringSerializer writes the bytes that `text.encode()` gives; where a StringDeserializer is wanted a program would
# get bytes unawares.
_SERIALIZERS = ("ByteArraySerializer", "ByteBufferSerializer", "BytesSerializer", "StringSerializer")
_BYTES_DESERIALIZERS = ("ByteArrayDeserializer", "ByteBufferDeserializer", "BytesDeserializer")
_IGNORED = Foreign()

_TABLE = {
    "consumer.timeout.ms": Foreign("give poll() a timeout in seconds", _CONSUMER),
    "default.offset.commit.callback": Foreign(_COMMITS, _CONSUMER),
    "default.topic.config": Foreign("give its settings beside the others"),
    "delivery.report.only.error": Foreign(_CALLBACK, _PRODUCER, as_it_is=("false",)),
    "dr.cb": Foreign(_CALLBACK, _PRODUCER),
    "dr.msg.cb": Foreign(_CALLBACK, _PRODUCER),
    "enable.auto.offset.store": Foreign(_STORED, _CONSUMER, as_it_is=("true",)),
    "enable.gapless.guarantee": Foreign(
        "a record that fails is reported by its Delivery; those after it are sent", _PRODUCER, as_it_is=("false",)
    ),
    "enable.partition.eof": Foreign(
        "assign(until=consumer.end_offsets(partitions)) ends a read; done() says when", _CONSUMER, as_it_is=("false",)
    ),
    "enable.sasl.oauthbearer.unsecure.jwt": Foreign(_UNSECURED, as_it_is=("false",)),
    "error.cb": Foreign(_ERRORS),
    "interceptor.classes": Foreign("kwire takes objects: interceptors=[...] of a Producer or Consumer"),
    "kafka.client": Foreign("kwire makes its own connections", has_counterpart=False),
    "key.deserializer": Foreign(_READS_BYTES, _CONSUMERS, as_it_is=_BYTES_DESERIALIZERS),
    "key.serializer": Foreign(_SENDS, _PRODUCER, as_it_is=_SERIALIZERS),
    "log.cb": Foreign("kwire logs to logging.getLogger('kwire')"),
    "logger": Foreign("kwire logs to logging.getLogger('kwire')"),
    "loop": Foreign(_LOOP),
    "oauth.cb": Foreign(_TOKEN_UNTIL),
    "oauthbearer.token.refresh.cb": Foreign(_TOKEN),
    "offset.commit.cb": Foreign(_COMMITS, _CONSUMER),
    "on.commit": Foreign(_COMMITS, _CONSUMER),
    "on.delivery": Foreign(_CALLBACK, _PRODUCER),
    "plugin.library.paths": Foreign("kwire loads no plugins", has_counterpart=False),
    "proxy.url": Foreign(_PROXY, has_counterpart=False),
    "rebalance.cb": Foreign("give subscribe() a listener with on_assigned, on_revoked and on_lost", _CONSUMER),
    "sasl.client.callback.handler.class": Foreign(_TOKEN),
    "sasl.kerberos.domain.name": Foreign("kwire asks for a ticket for each broker's host, by the name in its metadata"),
    "sasl.kerberos.name": Foreign("give {sasl_kerberos_principal} and {sasl_kerberos_service_name}"),
    "sasl.login.callback.handler.class": Foreign(
        _TOKEN,
        as_it_is=(
            "OAuthBearerLoginCallbackHandler",
            "OAuthBearerUnsecuredLoginCallbackHandler",
        ),
    ),
    "sasl.login.class": Foreign(
        _TOKEN,
        as_it_is=(
            "DefaultLogin",
            "KerberosLogin",
            "OAuthBearerRefreshingLogin",
        ),
    ),
    "sasl.oauth.token.provider": Foreign(_TOKEN_PROVIDER),
    "sasl.oauthbearer.assertion.algorithm": Foreign(_CREDENTIALS),
    "sasl.oauthbearer.config": Foreign(_UNSECURED),
    "sasl.oauthbearer.grant.type": Foreign(_CREDENTIALS, as_it_is=("client_credentials",)),
    "sasl.oauthbearer.jwt.retriever.class": Foreign(
        _CREDENTIALS,
        as_it_is=(
            "ClientCredentialsJwtRetriever",
            "DefaultJwtRetriever",
        ),
    ),
    "sasl.oauthbearer.metadata.authentication.type": Foreign(_CREDENTIALS, as_it_is=("none",)),
    "sasl.oauthbearer.method": Foreign(
        _CREDENTIALS,
        as_it_is=(
            "default",
            "oidc",
        ),
    ),
    "security.providers": Foreign(_CONTEXT),
    "socks5.proxy": Foreign(_PROXY, has_counterpart=False),
    "ssl.curves.list": Foreign(_CONTEXT),
    "ssl.engine.factory.class": Foreign(_CONTEXT),
    "ssl.engine.id": Foreign(_CONTEXT),
    "ssl.engine.location": Foreign(_CONTEXT),
    "ssl.provider": Foreign(_CONTEXT),
    "ssl.providers": Foreign(_CONTEXT),
    "ssl.sigalgs.list": Foreign(_CONTEXT),
    "stats.cb": Foreign(_METRICS),
    "throttle.cb": Foreign("clients wait as long as brokers tell them to, and do not report it", has_counterpart=False),
    "value.deserializer": Foreign(_READS_BYTES, _CONSUMERS, as_it_is=_BYTES_DESERIALIZERS),
    "value.serializer": Foreign(_SENDS, _PRODUCER, as_it_is=_SERIALIZERS),
    "internal.leave.group.on.close": Foreign(kinds=_CONSUMER),
    "internal.throw.on.fetch.stable.offset.unsupported": Foreign(kinds=_CONSUMER),
    "partitioner.adaptive.partitioning.enable": Foreign(kinds=_PRODUCER),
    "partitioner.availability.timeout.ms": Foreign(kinds=_PRODUCER),
    "rebalance.timeout.ms": Foreign(kinds=_CONSUMER),
    "sticky.partitioning.linger.ms": Foreign(kinds=_PRODUCER),
    **dict.fromkeys(
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
            "enable.random.seed",
            "enable.sparse.connections",
            "exclude.internal.topics",
            "fetch.error.backoff.ms",
            "fetch.queue.backoff.ms",
            "group.protocol.type",
            "heartbeat.interval.ms",
            "internal.termination.signal",
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
            "produce.offset.report",
            "queuing.strategy",
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
            "ssl.client.auth",
            "ssl.keymanager.algorithm",
            "ssl.protocol",
            "ssl.secure.random.implementation",
            "ssl.trustmanager.algorithm",
            "statistics.interval.ms",
            "topic.metadata.propagation.max.ms",
            "topic.metadata.refresh.fast.cnt",
            "topic.metadata.refresh.fast.interval.ms",
            "topic.metadata.refresh.sparse",
        ),
        _IGNORED,
    ),
}
_SERDES = Foreign(_REGISTRY, ("Producer", *_CONSUMERS))
_PREFIXES = {
    "basic.auth.": _SERDES,
    "bearer.auth.": _SERDES,
    "schema.registry.": _SERDES,
    "sasl.oauthbearer.assertion.": Foreign(_CREDENTIALS),
    **dict.fromkeys(("default.list.key.serde.", "default.list.value.serde."), _IGNORED),
    **dict.fromkeys(("metrics.", "queue.buffering.", "queued.", "sasl.oauthbearer.jwks."), _IGNORED),
}


def key_of(name: str) -> str:
    """A setting's name in the spelling of these tables."""
    return name.lower().replace("_", ".")


def names() -> tuple[str, ...]:
    """All names of the table, in its spelling."""
    return tuple(_TABLE)


def kinds_of(name: str) -> tuple[str, ...]:
    """The kinds of clients that a setting is for which no table of kwire has; none where it is for all, or unknown."""
    row = _row(name)
    return () if row is None else row.kinds


def is_of_serdes(name: str) -> bool:
    """Whether it says how values and keys become bytes, or bytes values: what Java's programs have besides a client."""
    return key_of(name).endswith(".serializer") or key_of(name).endswith(".deserializer") or _row(name) is _SERDES


def verdict(name: str, value: object) -> Verdict | None:
    """Returns how a setting is treated that no table of kwire has; None when no client has it."""
    row = _row(name)
    if row is None:
        return None
    asks_for_nothing = value is None or value in ("", [], ())
    if row.refusal is None:
        return Verdict(None, warn=not asks_for_nothing)
    if asks_for_nothing or _is_as_it_is(row, value):
        return Verdict(None)
    return Verdict(Wording(row.refusal), has_counterpart=row.has_counterpart)


def _row(name: str) -> Foreign | None:
    key = key_of(name)
    if key in _TABLE:
        return _TABLE[key]
    return next((row for prefix, row in _PREFIXES.items() if key.startswith(prefix)), None)


def _is_as_it_is(row: Foreign, value: object) -> bool:
    word = str(value).strip().rpartition(".")[2].rpartition("$")[2].lower()
    return any(word == each.lower() for each in row.as_it_is)
