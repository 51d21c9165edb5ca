"""What is known of the cluster: brokers, controller, topics, partition leaders; and when to ask again.

Layer 3, no I/O. One question is in flight at most; a broker that does not answer it soon may hang, so another one is
asked beside it. It is sent when somebody wants a topic that is not known, when a response said that the metadata is
stale, when a connection was lost, and at the latest after metadata_max_age_ms; failures and topics that are still
missing or without a leader are asked for again after a growing wait.

Metadata v0 cannot ask for no topic at all: an empty list means all of them there, null does from v1 on. Before v4 every
topic asked for by name may be created by the asking, so a client that forbids that asks for all topics instead.
Releases 0.8.0 and 0.8.1 list only brokers that a partition names, at first none: the bootstrap addresses stay in use.
A broker that says that it is of another cluster by now (KIP-1102) makes the client begin at those again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kwire import errors, protocol
from kwire._codec import Timer, no_uuid
from kwire._typing import TYPE_CHECKING, Any, NamedTuple
from kwire.engine.addresses import Address
from kwire.engine.api_keys import METADATA
from kwire.engine.error_codes import (
    NONE,
    REBOOTSTRAP_REQUIRED,
    REPLICA_NOT_AVAILABLE,
    UNKNOWN_SERVER_ERROR,
    UNKNOWN_TOPIC_OR_PARTITION,
)
from kwire.engine.request import ANY, Request
from kwire.errors import KafkaError, UnknownTopicError

if TYPE_CHECKING:
    from uuid import UUID

    from kwire.engine.core import Core

    TopicRow = protocol.MetadataResponse.MetadataResponseTopic

_MAY_PASS_IN_METADATA = frozenset({UNKNOWN_SERVER_ERROR, NONE})
"""Beside the retriable codes: Kafka 0.8 answers UNKNOWN_SERVER_ERROR while it cannot create the topic yet."""

_FIRST_VERSION_WITH_NULL = 1
_FIRST_VERSION_WITH_AUTO_CREATE_FLAG = 4
_FIRST_VERSION_WITH_ALL_BROKERS_SURELY = 1

SECOND_TRY_AFTER_S = 2.0
"""Seconds after which a second broker is asked, because the first may hang."""

Listener = Callable[[float], None]


class PartitionInfo(NamedTuple):
    """One partition as the metadata has it; `leader` is -1 while there is none, `leader_epoch` -1 where not told."""

    partition: int
    leader: int
    leader_epoch: int
    replicas: Sequence[int]
    isr: Sequence[int]
    error: int


class TopicInfo(NamedTuple):
    """One topic as the metadata has it. `error` is the topic's own code: 0, or e.g. 3 where it does not exist."""

    name: str
    topic_id: UUID
    is_internal: bool
    error: int
    partitions: dict[int, PartitionInfo]


class Cluster:
    """The metadata cache of one core."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self.topics: dict[str, TopicInfo] = {}
        self.names: dict[UUID, str] = {}
        self.brokers: dict[int, Address] = {}
        self.controller_id = -1
        self.cluster_id: str | None = None
        self.generation = 0
        self.failure: KafkaError | None = None
        self.listeners: list[Listener] = []
        self.allow_auto_create = bool(getattr(core.settings, "allow_auto_create_topics", False))
        self._wanted: dict[str, dict[int, bool]] = {}
        self._creates = True
        self._in_flight: list[Request] = []
        self._second_try: Timer | None = None
        self._asked_for: frozenset[str] = frozenset()
        self._again = False
        self._timer: Timer | None = None
        self._failures = 0
        self._next_allowed = 0.0
        self._stopped = False
        core.recovered.append(self._recover)

    # -- questions --------------------------------------------------------------------------------------------------

    def topic(self, name: str) -> TopicInfo | None:
        """What is known of the topic; None before an answer named it."""
        return self.topics.get(name)

    def leader(self, topic: str, partition: int) -> int:
        """The id of the partition's leader; -1 where none is known."""
        info = self.topics.get(topic)
        found = info.partitions.get(partition) if info is not None else None
        return found.leader if found is not None else -1

    def leader_epoch(self, topic: str, partition: int) -> int:
        """The epoch of that leader; -1 where not told."""
        info = self.topics.get(topic)
        found = info.partitions.get(partition) if info is not None else None
        return found.leader_epoch if found is not None else -1

    def topic_id(self, name: str) -> UUID:
        """The topic's id; all zeros where the cluster gives none."""
        info = self.topics.get(name)
        return info.topic_id if info is not None else no_uuid()

    def unknown_topic(self, name: str) -> UnknownTopicError | None:
        """The error for a topic that the brokers say they do not have; None for any other."""
        info = self.topics.get(name)
        if info is None or info.error != UNKNOWN_TOPIC_OR_PARTITION:
            return None
        asked = ", ".join(str(address) for address in self.brokers.values())
        return UnknownTopicError(f"topic {name!r} does not exist; asked: {asked}; {self.how_to_make_a_topic}")

    @property
    def how_to_make_a_topic(self) -> str:
        """What would work where a topic is missing, in words."""
        if self.allow_auto_create:
            return "no broker makes it by itself when asked for it: create it first (Admin.create_topics)"
        return "create it first (Admin.create_topics), or set allow_auto_create_topics, which is off"

    def definite_error(self, name: str, partition: int, *, newer_than: int) -> KafkaError | None:
        """Why no waiting will help: a topic that may not be used, or a partition beyond the topic's.

        A partition is only called missing by metadata that came after generation `newer_than`.
        """
        info = self.topics.get(name)
        if info is None or (info.error and may_pass(info.error)):
            return None
        if info.error:
            return errors.broker.error_for(info.error, f"topic {name!r}")
        if info.partitions and partition not in info.partitions and self.generation > newer_than:
            most = max(info.partitions)
            return UnknownTopicError(f"topic {name!r} has no partition {partition}: its partitions are 0 to {most}")
        return None

    def why_no_leader(self, topic: str, partition: int) -> str:
        """In words, why it is not known where records of that partition would have to go; "" where it is known."""
        info = self.topics.get(topic)
        found = info.partitions.get(partition) if info is not None else None
        if found is not None and found.leader >= 0:
            return ""
        if info is None or self.failure is not None:
            return f"no metadata of the topic: {self.failure or 'none was asked for or answered yet'}"
        if info.error:
            return str(errors.broker.error_for(info.error, "the topic"))
        if found is not None and found.error:
            return f"the partition has no leader: {errors.broker.error_for(found.error)}"
        if found is not None:
            return "the partition has no leader"
        return f"the topic has {len(info.partitions)} partitions"

    # -- wishes -----------------------------------------------------------------------------------------------------

    def track(self, topics: Sequence[str], now: float, owner: object = None, *, may_create: bool = True) -> None:
        """Keeps these topics in the cache until the same owner untracks them; asks at once for new ones, after the
        backoff for missing ones. Without `may_create` the asking creates none, whatever the settings allow."""
        fresh = [name for name in topics if name not in self._wanted]
        for name in topics:
            self._wanted.setdefault(name, {})[id(owner)] = may_create
        if fresh:
            self._failures = 0
            self._next_allowed = now
            self.refresh(now)
        elif any(name not in self.topics for name in topics):
            self.require_leader(now)

    def untrack(self, topics: Sequence[str], owner: object = None) -> None:
        """These topics are of no more interest to the owner."""
        for name in topics:
            owners = self._wanted.get(name)
            if owners is not None:
                owners.pop(id(owner), None)
                if not owners:
                    del self._wanted[name]
                    self._drop(name)

    def refresh(self, now: float) -> None:
        """Asks again as soon as the backoff allows: the metadata proved to be stale."""
        if self._stopped:
            return
        if self._in_flight:
            self._again = True
            return
        self._ask_at(max(now, self._next_allowed), now)

    def require_leader(self, now: float) -> None:
        """A leader is missing: asks, unless the answer to come may name it (one that does not is followed up)."""
        if not self._in_flight:
            self.refresh(now)

    def connection_trouble(self, now: float) -> None:
        """A connection failed or ended: leaders may have moved. A client that wants nothing does not ask."""
        if self._wanted:
            self.refresh(now)

    def update_leader(self, topic: str, partition: int, leader: int, epoch: int) -> bool:
        """An answer named the new leader (KIP-951); True if that is news and was taken in."""
        info = self.topics.get(topic)
        found = info.partitions.get(partition) if info is not None else None
        if found is None or info is None or leader < 0 or epoch <= found.leader_epoch:
            return False
        info.partitions[partition] = found._replace(leader=leader, leader_epoch=epoch, error=0)
        self.generation += 1
        return True

    def stop(self) -> None:
        """Asks no more."""
        self._stopped = True
        self._wanted.clear()
        if self._timer is not None:
            self._timer.cancel()
        self._cancel_requests()

    def _recover(self, now: float) -> None:
        """After a step that was cut: asks anew."""
        self._cancel_requests()
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None
        if self._wanted or self.listeners:
            self.refresh(now)

    # -- asking -----------------------------------------------------------------------------------------------------

    def _ask_at(self, when: float, now: float) -> None:
        if self._timer is not None:
            if self._timer.active and self._timer.when <= when:
                return
            self._timer.cancel()
        if when <= now:
            self._ask(now)
        else:
            self._timer = self._core.call_at(when, self._ask)

    def _ask(self, now: float) -> None:
        if self._in_flight or self._stopped:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._again = False
        self._asked_for, self._creates = self._next_question()
        self._send(now)
        self._second_try = self._core.call_at(now + SECOND_TRY_AFTER_S, self._ask_another)

    def _send(self, now: float) -> None:
        request = self._core.request(ANY, METADATA, self._request, self._on_answer, self._on_error, now)
        if not request.done:
            self._in_flight.append(request)

    def _ask_another(self, now: float) -> None:
        """The broker asked may hang: asks a second one, too, and takes the first response."""
        if self._in_flight:
            self._send(now)

    def _cancel_requests(self) -> None:
        requests, self._in_flight = self._in_flight, []
        for request in requests:
            request.cancel()
        if self._second_try is not None:
            self._second_try.cancel()

    def _next_question(self) -> tuple[frozenset[str], bool]:
        """The topics to ask for, and whether the asking may create those that are missing.

        Where some may be created and others may not, the former are asked for by themselves every other time.
        """
        missing = {name for name in self._wanted if name not in self.topics or self.unknown_topic(name)}
        uncreatable = {name for name in missing if not any(self._wanted[name].values())}
        if not self.allow_auto_create or not uncreatable:
            return frozenset(self._wanted), self.allow_auto_create
        if missing == uncreatable or self._creates:
            return frozenset(self._wanted), False
        return frozenset(self._wanted.keys() - uncreatable), True

    def _request(self, version: int) -> Any:
        return metadata_request(version, sorted(self._asked_for), allow_auto_create=self._creates)

    def _on_answer(self, response: Any, version: int, now: float) -> None:
        if response.error_code:
            if response.error_code == REBOOTSTRAP_REQUIRED:
                self._core.forget_brokers(now)
            self._on_error(errors.broker.error_for(response.error_code, "Metadata"), now)
            return
        self._cancel_requests()
        self.failure = None
        self._take_in(response, version, now)
        self.generation += 1
        unsettled = any(self._is_unsettled(name) for name in self._wanted)
        self._failures = self._failures + 1 if unsettled else 0
        wait = self._core.retry_backoff.wait(max(self._failures, 1))
        self._next_allowed = now + wait
        if unsettled or self._again or not self._wanted.keys() <= self._asked_for:
            self._ask_at(self._next_allowed if self._wanted.keys() <= self._asked_for else now, now)
        else:
            self._ask_at(now + self._core.settings.metadata_max_age_ms / 1000, now)
        for listener in list(self.listeners):
            listener(now)

    def _on_error(self, error: KafkaError, now: float) -> None:
        self._in_flight = [request for request in self._in_flight if not request.done]
        if self._in_flight:
            return
        self._cancel_requests()
        self.failure = error
        self._failures += 1
        self._next_allowed = now + self._core.retry_backoff.wait(self._failures)
        if not self._stopped:
            self._ask_at(self._next_allowed, now)
            for listener in list(self.listeners):
                listener(now)

    def _is_unsettled(self, name: str) -> bool:
        info = self.topics.get(name)
        if info is None or info.error:
            return True
        return any(partition.leader < 0 for partition in info.partitions.values())

    # -- answers ----------------------------------------------------------------------------------------------------

    def _take_in(self, response: Any, version: int, now: float) -> None:
        brokers = {row.node_id: Address(row.host, row.port) for row in response.brokers}
        complete = version >= _FIRST_VERSION_WITH_ALL_BROKERS_SURELY
        self.brokers = brokers if complete else {**self.brokers, **brokers}
        self._core.update_brokers(brokers, complete=complete, now=now)
        if response.controller_id >= 0:
            self.controller_id = response.controller_id
        self.cluster_id = response.cluster_id
        for row in response.topics:
            if row.name is not None and row.name in self._wanted:
                self._take_in_topic(topic_info(row))
        answered = {row.name for row in response.topics}
        for name in self._asked_for - answered:
            if name in self._wanted:
                self._take_in_topic(TopicInfo(name, no_uuid(), False, UNKNOWN_TOPIC_OR_PARTITION, {}))

    def _take_in_topic(self, fresh: TopicInfo) -> None:
        known = self.topics.get(fresh.name)
        if known is not None and known.topic_id == fresh.topic_id:
            for partition, info in fresh.partitions.items():
                old = known.partitions.get(partition)
                if old is not None and 0 <= info.leader_epoch < old.leader_epoch:
                    fresh.partitions[partition] = old
        self._drop(fresh.name)
        self.topics[fresh.name] = fresh
        if fresh.topic_id != no_uuid():
            self.names[fresh.topic_id] = fresh.name

    def _drop(self, name: str) -> None:
        known = self.topics.pop(name, None)
        if known is not None:
            self.names.pop(known.topic_id, None)


def may_pass(error: int) -> bool:
    """Whether a topic with that error may still become usable; also for 0."""
    return error in _MAY_PASS_IN_METADATA or errors.broker.by_code(error).retriable


def metadata_request(
    version: int, topics: Sequence[str] | None, *, allow_auto_create: bool
) -> protocol.MetadataRequest:
    """A MetadataRequest for these topics (None: all) that means the same at every version."""
    everything = topics is None
    if version < _FIRST_VERSION_WITH_AUTO_CREATE_FLAG and topics and not allow_auto_create:
        everything = True
    if version < _FIRST_VERSION_WITH_NULL:
        names: Sequence[str] | None = [] if everything else topics
    else:
        names = None if everything else topics
    row = protocol.MetadataRequest.MetadataRequestTopic
    request = protocol.MetadataRequest(topics=None if names is None else [row(name=name) for name in names])
    if version >= _FIRST_VERSION_WITH_AUTO_CREATE_FLAG:
        request.allow_auto_topic_creation = allow_auto_create
    return request


def topic_info(row: TopicRow) -> TopicInfo:
    """A topic of a MetadataResponse. A partition with REPLICA_NOT_AVAILABLE is usable: another replica is down."""
    partitions = {
        part.partition_index: PartitionInfo(
            part.partition_index,
            part.leader_id if part.error_code in (NONE, REPLICA_NOT_AVAILABLE) else -1,
            part.leader_epoch,
            part.replica_nodes,
            part.isr_nodes,
            part.error_code,
        )
        for part in row.partitions
    }
    return TopicInfo(row.name or "", row.topic_id, row.is_internal, row.error_code, partitions)
