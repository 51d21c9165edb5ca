"""`Broker`: an embedded Kafka broker for tests and demonstrations, in this process, on real TCP, without Java.

    with Broker(num_partitions=3) as broker:
        producer = Producer(broker.bootstrap_servers)

It keeps everything in memory and forgets it when it ends. One node unless more are asked for; it refuses what it does
not know, as a Kafka release would. This file is the public face, with `controls.py` for what is done to nodes; the
protocol is in `b00_produce.py` and its neighbours (that of Kafka 0.7 in `wire_0_7.py`), the thread in `server.py`, the
options for TLS and logins in `security.py`.
"""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar

from kwire import records
from kwire.engine.common import other_blocks
from kwire.engine.common.addresses import Address
from kwire.errors import BrokerError, ConfigError, KafkaTimeoutError
from kwire.errors.listing import counted
from kwire.protocol import proposal
from kwire.schema.api_keys import GET_TELEMETRY_SUBSCRIPTIONS, PUSH_TELEMETRY
from kwire.testing.answers.handlers import HANDLERS
from kwire.testing.clock import Clock
from kwire.testing.cluster import ClusterState
from kwire.testing.contents import Contents
from kwire.testing.controls import NodeControls
from kwire.testing.faults import Faults, key_of
from kwire.testing.features import finalized_features
from kwire.testing.records.log_0_7 import ByteLog
from kwire.testing.release import Release
from kwire.testing.serving.apis import BrokerApis
from kwire.testing.serving.listener import AnyApis, Listener
from kwire.testing.serving.security import Security, make_security
from kwire.testing.serving.server import Server
from kwire.testing.serving.wire_0_7 import REQUEST_NAMES, BrokerApis07, ByteTopics
from kwire.testing.serving.wire_proposal import REQUEST_NAMES as PROPOSED_NAMES
from kwire.testing.serving.wire_proposal import ProposalApis
from kwire.testing.settings.config_names import split_topic_defaults
from kwire.testing.settings.listeners import read_listeners
from kwire.testing.settings.properties import BrokerProperties
from kwire.testing.state.authorizer import Authorizer
from kwire.testing.state.nodes import Endpoint, Nodes
from kwire.testing.state.telemetry import Telemetry

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from kwire.testing.certificates import Certificates

_T = TypeVar("_T")
_LARGEST_REQUEST = 104_857_600
_MAX_NODES = 100
_TELEMETRY = {GET_TELEMETRY_SUBSCRIPTIONS, PUSH_TELEMETRY}
_AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
# The names of the requests, and what the broker calls its release.
_GENERATIONS: dict[str, tuple[Mapping[str, int], str]] = {
    "0.7": (REQUEST_NAMES, "0.7.2"),
    "proposal": (PROPOSED_NAMES, "proposal of 2012"),
}


class Broker(NodeControls):
    """A broker on loopback; a context manager that starts on entry and stops on exit.

    `release` is the Apache Kafka release whose versions (and manners towards requests that it does not know) it shows,
    "0.8.0" to "4.4.0". `topics` are created at the start: {name: partitions}, or names alone for `num_partitions` each.
    `auto_create_topics` creates a topic with `num_partitions` partitions when a client asks for its metadata.
    `max_message_bytes` is the largest record batch. `retention_bytes` limits each partition: the oldest records go.
    `port` 0 takes a free port. Clients are told to come to `advertised`, "HOST" or "HOST:PORT", else to `host`; those
    that come by others of the `listeners`, {"0.0.0.0:29092": "localhost:29092"}, are told to come there again.

    `nodes` is how many brokers make up the cluster, with the ids 1, 2, 3 ... and ports that follow `port`; `racks` are
    where they stand. Advertised ports follow, too, but a list has an address for each node. Topics have three replicas
    then, or as many as there are nodes. `clock` is the broker's time.

    `users` are passwords by name: clients have to log in, by one of `mechanisms`: SCRAM-SHA-512, SCRAM-SHA-256 and
    PLAIN, those of the release, unless others are named; OAUTHBEARER takes unsecured tokens of anyone. With
    `max_reauth_ms` they have to log in again that often. `tls=True` encrypts, `tls="mutual"` asks for a client
    certificate, too; `certificates` are made afresh unless given. `client_settings` has what clients of kwire need.

    With `client_telemetry` it takes metrics of clients (KIP-714): `telemetry.pushes` has them. What it asks for are
    configs of ("client-metrics", name), as on Kafka.

    With `authorizer` clients may do what ACLs allow, which CreateAcls makes; `super_users` ("User:admin") everything.

    `generation="0.7"` speaks Kafka 0.7 instead of a release: topics come to be on first use, always, and offsets are
    byte positions. Three settings go by their names there: `max_message_size` is the largest payload, `log_file_size`
    the size at which a segment ends, `log_flush_interval` how many messages stay hidden until all are flushed.
    `generation="proposal"` speaks the wire format proposed in 2012 over such logs, in a `dialect` of it.

    `features` are levels of finalized features that are not to be the release's: {"transaction.version": 1}.
    `properties` are the broker's own, by Kafka's names with underscores: group_initial_rebalance_delay_ms=3000
    (`BrokerProperties` has all of them), and those that hold for topics that say nothing else: log_retention_ms=60_000.

    Sizes in bytes. Raises ConfigError for values that cannot work.
    """

    def __init__(
        self,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        advertised: str | Sequence[str] | None = None,
        listeners: Mapping[str, str | Sequence[str]] | None = None,
        release: str = "4.4.0",
        generation: str | None = None,
        topics: Mapping[str, int] | Iterable[str] | None = None,
        auto_create_topics: bool = True,
        num_partitions: int = 1,
        max_message_bytes: int = 1_048_588,
        retention_bytes: int | None = None,
        max_request_bytes: int = _LARGEST_REQUEST,
        log_file_size: int = 512 * 1024 * 1024,
        log_flush_interval: int = 1,
        max_message_size: int = 1_000_000,
        dialect: proposal.Dialect | None = None,
        users: Mapping[str, str] | None = None,
        mechanisms: Iterable[str] | None = None,
        scram_iterations: int = 4096,
        max_reauth_ms: int = 0,
        tls: bool | Literal["mutual"] = False,
        certificates: Certificates | None = None,
        nodes: int = 1,
        racks: Sequence[str | None] = (),
        clock: Clock | None = None,
        features: Mapping[str, int] | None = None,
        authorizer: bool = False,
        super_users: Iterable[str] = (),
        client_telemetry: bool = False,
        allow_everyone_if_no_acl_found: bool = False,
        **properties: float | str,
    ) -> None:
        _check_options(generation, num_partitions, max_request_bytes)
        _check_range("nodes", nodes, 1, 1 if generation else _MAX_NODES)
        self._listener_options = read_listeners(host, port, advertised, listeners or {}, nodes)
        self.clock = clock or Clock()
        super_users = tuple(super_users)
        if generation is None:
            own, topic_defaults = split_topic_defaults(properties)
            chosen = BrokerProperties.parse(own)
            keys = [key for key in HANDLERS if client_telemetry or key not in _TELEMETRY]
            known = Release.find(release, keys, unstable=chosen.unstable_api_versions_enable)
            self._security = make_security(
                known,
                [told for options in self._listener_options for told, _ in options.advertised],
                users=users,
                mechanisms=mechanisms,
                scram_iterations=scram_iterations,
                max_reauth_ms=max_reauth_ms,
                tls=tls,
                certificates=certificates,
            )
            cluster = ClusterState(
                auto_create_topics=auto_create_topics,
                num_partitions=num_partitions,
                max_message_bytes=max_message_bytes,
                retention_bytes=retention_bytes,
                nodes=Nodes(nodes, racks),
                clock=self.clock.time_ms,
                now=self.clock.now,
                properties=chosen,
                features=finalized_features(known, features),
                release=known.number,
                topic_defaults=topic_defaults,
                values_at_start=self._security.configs()
                | {
                    "socket.request.max.bytes": str(max_request_bytes),
                    "authorizer.class.name": _AUTHORIZER if authorizer else "",
                    "process.roles": "broker,controller" if known.is_kraft else "",
                },
                security_protocol=self._security.protocol,
                authorizer=Authorizer(
                    enabled=authorizer,
                    super_users=super_users,
                    allow_everyone_if_no_acl_found=allow_everyone_if_no_acl_found,
                ),
            )
            apis = self._apis_of_release(known, cluster)
        else:
            if users or tls:
                raise ConfigError(f"users, tls: generation {generation!r} has no security")
            if properties:
                raise ConfigError(f"{', '.join(properties)}: generation {generation!r} has no such properties")
            self._security = Security()
            new_log = _log_maker(self.clock, log_file_size, log_flush_interval, max_message_size, retention_bytes)
            byte_topics = ByteTopics(num_partitions=num_partitions, new_log=new_log)
            apis = {1: self._apis_of_generation(generation, byte_topics, dialect)}
        self._cluster = apis[1].cluster
        new_transport = self._security.new_transport()
        self._listeners = {
            node: [
                Listener(each, options.host, options.bound_port(node), max_request_bytes, new_transport, number)
                for number, options in enumerate(self._listener_options)
            ]
            for node, each in apis.items()
        }
        self._server = Server(self._all_listeners, self.clock)
        for name, partitions in _counts(topics or {}, num_partitions).items():
            self.create_topic(name, partitions)

    def _apis_of_release(self, release: Release, cluster: ClusterState) -> dict[int, AnyApis]:
        self._contents: Contents | ByteTopics = Contents(cluster)
        self._keys: Mapping[str, int] | None = None
        self.faults: Faults = Faults()
        self._release, self._newest_magic = release.name, release.newest_magic
        accounts = self._security.accounts
        if accounts is not None:
            cluster.scram.attach(accounts)
            accounts.tokens = cluster.tokens
        return {node: BrokerApis(cluster, release, self.faults, accounts, node) for node in cluster.nodes.ids}

    def _apis_of_generation(self, name: str, topics: ByteTopics, dialect: proposal.Dialect | None) -> AnyApis:
        self._contents = topics
        self._keys, self._release = _GENERATIONS[name]
        self._newest_magic = 0
        self.faults = Faults(self._keys)
        if name == "proposal":
            return ProposalApis(topics, dialect or proposal.Dialect(), self.faults, self.clock.now)
        return BrokerApis07(topics, self.faults, self.clock.now)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    if not TYPE_CHECKING:
        __aenter__ = other_blocks.WITH_BROKER

    def __repr__(self) -> str:
        if not hasattr(self, "_server"):
            return "<kwire.testing.Broker, not made>"
        where = self.bootstrap_servers if self._server.running else "stopped"
        return f"<kwire.testing.Broker {self._release} {where}>"

    def start(self) -> None:
        """Listens and serves; topics and records of an earlier start are still there."""
        if self._server.running:
            raise ConfigError(f"the broker is already running, on {self.bootstrap_servers}")
        self._server.start()
        self.clock.attach(self._advance_to)
        if isinstance(self._cluster, ClusterState):
            for node in self._cluster.nodes:
                node.endpoints = [self._endpoint(node.node_id, number) for number in range(len(self._listener_options))]

    def stop(self) -> None:
        """Closes every connection and ends the thread; harmless when it does not run."""
        self.clock.detach(self._advance_to)
        self._server.stop()

    def notify_fault(self, callback: Callable[[], object]) -> None:
        """Has `callback` called when the broker's thread ends by a fault of its own, on that thread.

        Whatever is asked of the broker after that raises KafkaError.
        """
        self._server.notify_fault(callback)

    @property
    def bootstrap_servers(self) -> str:
        """`host:port`, of every node. Raises ConfigError before the first start, when there is no port yet."""
        return ",".join(map(self.address_of, self._listeners))

    def address_of(self, node: int, *, listener: int = 0) -> str:
        """`host:port` of one node as clients are told, by the first listener or another one.

        Raises ConfigError before the first start.
        """
        return str(self._endpoint(node, listener).advertised)

    def bound_address_of(self, node: int, *, listener: int = 0) -> str:
        """`host:port` where one node listens, whatever clients are told. Raises ConfigError before the first start."""
        return str(self._endpoint(node, listener).bound)

    @property
    def port(self) -> int:
        """The port of the first node; it stays the same over stop and start."""
        return self._listeners[1][0].port

    @property
    def release(self) -> str:
        """The release that it shows."""
        return self._release

    @property
    def telemetry(self) -> Telemetry:
        """The metrics that clients have pushed; see `client_telemetry`."""
        return self._state().telemetry

    @property
    def client_settings(self) -> dict[str, Any]:
        """What kwire's clients need to get in, as keywords: they log in as the first user, by the first mechanism."""
        return self._security.client_settings()

    @property
    def ca_pem(self) -> str:
        """The certificate of the authority that clients have to trust, for other clients than kwire's."""
        return self._security.ca_pem

    @property
    def certificates(self) -> Certificates | None:
        """The certificates, with one for clients and its key; None without TLS."""
        return self._security.certificates

    # Topics and records, without a client. Every one raises UnknownTopicError for what is not there.

    def create_topic(self, name: str, partitions: int = 1, *, settings: Mapping[str, str] | None = None) -> None:
        """Makes a topic; `settings` are Kafka's ("message.timestamp.type", ...). Raises ConfigError."""
        self._run(lambda: self._contents.create_topic(name, partitions, settings))

    def delete_topic(self, name: str) -> None:
        """Removes a topic with its records."""
        self._run(lambda: self._contents.delete_topic(name))

    def topics(self) -> dict[str, int]:
        """The number of partitions of each topic, but for Kafka's own."""
        return self._run(self._contents.partition_counts)

    def append(self, topic: str, what: Buffer | Iterable[Any], *, partition: int = 0) -> int:
        """Appends records; returns the first one's offset.

        `what` is a list of records as `kwire.records.encode` takes them: values, (value, key, ...), `Records`. Those
        without a time get the present one. Or it is the bytes of a record set as a producer sends it. Raises
        ConfigError if a producer would have been refused, and for bytes that are not whole record batches.
        """
        record_set = self._record_set(what)
        return self._run(lambda: self._contents.append(topic, partition, record_set))

    def values(self, topic: str, *, partition: int | None = None, committed: bool = False) -> list[bytes | None]:
        """The values of a partition's records; for None of all partitions, one partition after the other.

        With `committed` only what a reader with isolation_level="read_committed" gets.
        """
        chosen = range(self.topics().get(topic, 1)) if partition is None else [partition]
        return [value for number in chosen for value in self._values(topic, number, committed)]

    def _values(self, topic: str, partition: int, committed: bool) -> list[bytes | None]:
        contents = self._contents
        whole, hidden = self._run(
            lambda: (contents.whole(topic, partition), contents.hidden(topic, partition, committed=committed))
        )
        decoded = records.decode(whole, generation=contents.generation)
        gaps = [(batch.base_offset, batch.last_offset) for batch in decoded.batches if hidden.hides(batch)]
        if not gaps:
            return decoded.values()
        return [record.value for record in decoded if not _is_within(gaps, record.offset)]

    def record_set(self, topic: str, *, partition: int = 0) -> bytes:
        """Every byte of a partition's log, as `kwire.records.decode` takes it."""
        return self._run(lambda: self._contents.whole(topic, partition))

    def offsets(self, topic: str, *, partition: int = 0) -> tuple[int, int]:
        """(start, end): the first offset that can be read, and the one that the next record gets."""
        return self._run(lambda: self._contents.offsets(topic, partition))

    def delete_records(self, topic: str, *, before: int, partition: int = 0) -> None:
        """Moves the start of a partition to the offset `before` (0.7: to the segment that holds it)."""
        self._run(lambda: self._contents.delete_before(topic, partition, before))

    def compact(self, topic: str | None = None) -> None:
        """Compacts a topic now, or every one with cleanup.policy=compact: of each key the last record stays.

        To the end of the log, where the log cleaner leaves the last segment alone; not what is younger than
        min.compaction.lag.ms, nor after the beginning of an open transaction. Raises ConfigError for a topic that is
        not compacted.
        """
        state = self._state()
        self._run(lambda: Contents(state).compact(topic))

    # What a test wants to see or to break.

    def request_count(self, api: str, version: int | None = None, *, node: int | None = None) -> int:
        """How many requests of an API ("Produce") came in, of one version or of all, at one node or at all."""
        key = key_of(api, self._keys)
        chosen = self._listeners if node is None else [node]
        seen = [self._listeners[each][0].apis.seen for each in chosen]
        return self._run(
            lambda: sum(n for each in seen for at, n in each.items() if at[0] == key and version in (None, at[1]))
        )

    def wait_for_requests(self, api: str, count: int = 1, *, timeout: float = 60.0) -> None:
        """Returns once `count` requests of an API have come in since the broker was made. Raises KafkaTimeoutError."""
        self._wait(lambda: self.request_count(api) >= count, timeout, f"{counted(count, 'request')} of {api}")

    def wait_for_waiting(self, count: int = 1, *, timeout: float = 60.0) -> None:
        """Returns once `count` requests wait for records or for time to pass. Raises KafkaTimeoutError."""
        self._wait(lambda: self._run(lambda: self._server.waiting) >= count, timeout, f"{count} waiting requests")

    wait_for_parked = wait_for_waiting

    def close_connections(self) -> int:
        """Closes every connection, as a restart would; returns how many there were."""

        def work() -> int:
            connections = [each for listener in self._all_listeners for each in listener.connections]
            for connection in connections:
                connection.close()
            return len(connections)

        return self._run(work)

    def refuse_connections(self) -> None:
        """New connections are refused from now on; the present ones stay."""
        for listener in self._all_listeners:
            self._run(partial(self._server.stop_listening, listener))

    def accept_connections(self) -> None:
        """Takes new connections again, on the same port."""
        for listener in self._all_listeners:
            self._run(partial(self._server.listen, listener))

    @property
    def _all_listeners(self) -> list[Listener]:
        return [listener for each in self._listeners.values() for listener in each]

    def _endpoint(self, node: int, number: int) -> Endpoint:
        listener, options = self._listeners[node][number], self._listener_options[number]
        if not listener.port:
            raise ConfigError("the broker has no port before it is started: use `with Broker() as broker` or start()")
        bound = Address(listener.host, listener.port)
        return Endpoint(bound, options.advertised_address(node, listener.port))

    def _state(self) -> ClusterState:
        if not isinstance(self._cluster, ClusterState):
            raise ConfigError("a broker before 0.8 has one node, which can neither be stopped nor made a leader")
        return self._cluster

    def _advance_to(self, moment: float) -> None:
        def work() -> None:
            self._server.advance_to(moment)
            if isinstance(self._cluster, ClusterState):
                self._cluster.upkeep.run_all()

        self._server.run(work)

    def _record_set(self, what: Any) -> Buffer:
        """Bytes as they are; items in the newest format of the release, as of now where they have no time."""
        if _has_buffer(what):
            record_set: Buffer = what
            return record_set
        if self._contents.generation is not None:
            return records.encode(what, generation=self._contents.generation)
        now = self.clock.time_ms() if self._newest_magic else None
        return records.encode([_at_time(item, now) for item in what], magic=self._newest_magic)

    def _run(self, work: Callable[[], _T]) -> _T:
        try:
            return self._server.run(work)
        except BrokerError as refused:
            raise ConfigError(refused.context) from refused

    @staticmethod
    def _wait(condition: Callable[[], bool], timeout: float, what: str) -> None:
        until = time.monotonic() + timeout
        while not condition():
            if time.monotonic() > until:
                raise KafkaTimeoutError(f"the broker did not see {what} within {timeout:g} s")
            time.sleep(0.002)


def _check_options(generation: str | None, num_partitions: int, max_request_bytes: int) -> None:
    if generation not in (None, *_GENERATIONS):
        raise ConfigError(
            f"generation {generation!r}: expected {' or '.join(map(repr, _GENERATIONS))}; leave it out and choose a "
            "`release` for 0.8 and newer"
        )
    _check_range("num_partitions", num_partitions, 1, 10_000)
    _check_range("max_request_bytes", max_request_bytes, 64, 2**31 - 1)


def _log_maker(
    clock: Clock, segment_bytes: int, flush_interval: int, max_message_size: int, retention_bytes: int | None
) -> Callable[[], ByteLog]:
    """What makes the log of a partition before 0.8."""
    return partial(
        ByteLog,
        segment_bytes=segment_bytes,
        max_message_size=max_message_size,
        flush_interval=flush_interval,
        retention_bytes=retention_bytes,
        clock=clock.time_ms,
    )


def _check_range(name: str, value: int, minimum: int, maximum: int) -> None:
    if not minimum <= value <= maximum:
        raise ConfigError(f"{name} {value}: expected {minimum} to {maximum}")


def _counts(topics: Mapping[str, int] | Iterable[str], default: int) -> Mapping[str, int]:
    """The number of partitions of each topic, but for Kafka's own."""
    if isinstance(topics, Mapping):
        return topics
    return dict.fromkeys([topics] if isinstance(topics, str) else topics, default)


def _is_within(gaps: list[tuple[int, int]], offset: int) -> bool:
    """Whether one of these ranges of offsets, in their order, has this one."""
    at = bisect_right(gaps, offset, key=lambda gap: gap[0]) - 1
    return at >= 0 and offset <= gaps[at][1]


def _has_buffer(what: Any) -> bool:
    try:
        memoryview(what).release()
    except TypeError:
        return False
    return True


def _at_time(item: Any, now: int | None) -> Any:
    """The item as a Record, of the time `now` unless it has one; what is not an item is left to the encoder."""
    if isinstance(item, tuple):
        item = records.Record(*item)
    elif item is None or _has_buffer(item):
        item = records.Record(item)
    if not isinstance(item, records.Record) or item.timestamp >= 0:
        return item
    return records.Record(item.value, item.key, now, item.headers)
