"""The cluster as one client sees it: its metadata, kept fresh for the topics that somebody tracks.

Layer 3, no I/O. Metadata is asked for when a topic is tracked that is not known, when a response said that it is stale,
when a connection was lost, while a broker does not answer, and at the latest after metadata_max_age_ms: see
`refresh.py`. While a leader is elected, other leaders hold back their answers to writes that the dead replica was to
have as well, and with them all that comes after on those connections: so it is asked for on a connection of its own.
A broker that says that it is of another cluster by now (KIP-1102) makes the client begin at the bootstrap addresses
again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Sequence

from kwire import errors, protocol
from kwire._typing import TYPE_CHECKING, Any, override
from kwire.engine.common.outage import ELECTION_WITHIN_S
from kwire.engine.common.recovery import Recoverable
from kwire.engine.common.request import ANY, Purpose, Request
from kwire.engine.common.retry import afresh
from kwire.engine.metadata.metadata import Metadata, metadata_request
from kwire.engine.metadata.refresh import Refresh
from kwire.errors import AuthError, ConnectError, KafkaError, KafkaTimeoutError, UnknownTopicError
from kwire.errors.listing import counted
from kwire.errors.wording import Wording, joined
from kwire.schema.api_keys import METADATA
from kwire.schema.error_codes import REBOOTSTRAP_REQUIRED, UNKNOWN_TOPIC_OR_PARTITION

if TYPE_CHECKING:
    from typing import Protocol

    from kwire._codec import Timer
    from kwire.engine.common.addresses import Address
    from kwire.engine.common.request import MessageOrBuilder, OnError, OnResponse
    from kwire.engine.common.retry import Backoff
else:
    Protocol = object

Listener = Callable[[float], None]
_MAX_NAMED = 5
"""How many brokers that have answered are named in errors."""

TopicFilter = Callable[[str, bool], bool]
"""matches(name, is_internal): whether a topic is of interest."""


class ClusterOwner(Protocol):
    """What the metadata asks of the core that it belongs to."""

    settings: Any
    retry_backoff: Backoff
    recovered: list[Recoverable]

    def call_at(self, when: float, callback: Callable[[float], object]) -> Timer: ...

    def request(
        self,
        target: int,
        api_key: int,
        message: MessageOrBuilder,
        on_response: OnResponse,
        on_error: OnError,
        now: float,
        *,
        purpose: int = Purpose.DATA,
    ) -> Request: ...

    def connect_error(self) -> ConnectError | None: ...

    def update_brokers(self, addresses: dict[int, Address], *, complete: bool, now: float) -> None: ...

    def forget_brokers(self, now: float) -> None: ...

    def has_lost(self, node_id: int, now: float) -> bool: ...

    @property
    def is_busy(self) -> bool: ...

    def hang_up(self, node_id: int, purpose: int, now: float) -> None: ...

    def warn(self, text: str) -> None: ...


class Cluster(Metadata, Recoverable):
    """The metadata of one core. `listeners` are called with the time after each response, and after each failure."""

    def __init__(self, core: ClusterOwner) -> None:
        super().__init__()
        self._core = core
        self.failure: KafkaError | None = None
        self.listeners: list[Listener] = []
        self.allow_auto_create = bool(getattr(core.settings, "allow_auto_create_topics", False))
        self._wanted: dict[str, dict[int, bool]] = {}
        self._patterns: dict[int, TopicFilter] = {}
        self._followed: frozenset[int] = frozenset()
        self._creates = True
        self._asked_for: frozenset[str] | None = frozenset()
        self._leaderless: dict[str, float] = {}
        self._asks_apart = False
        self._warned_of: set[str] = set()
        self._answered: deque[str] = deque(maxlen=_MAX_NAMED)
        max_age = core.settings.metadata_max_age_ms / 1000
        self._refresh = Refresh(core.call_at, core.retry_backoff, max_age, self._new_question, self._ask)
        self.recover_with(core)

    # -- in words ---------------------------------------------------------------------------------------------------

    def unknown_topic(self, name: str) -> UnknownTopicError | None:
        """The error for a topic that the brokers say they do not have; None for any other."""
        info = self.topics.get(name)
        if info is None or info.error != UNKNOWN_TOPIC_OR_PARTITION:
            return None
        return UnknownTopicError(f"topic {name!r} does not exist; asked: {self.asked}; {self.how_to_make_a_topic}")

    @property
    def asked(self) -> str:
        """The brokers that have answered about topics of late, in words."""
        return ", ".join(self._answered) or "none"

    def no_answer(self, what: str) -> KafkaError:
        """The error for `what`, which needs metadata that no broker has returned yet: why, or how far the client is."""
        failure = self.failure or self._core.connect_error()
        if isinstance(failure, AuthError):
            return afresh(failure)
        if isinstance(failure, ConnectError):
            return ConnectError(joined(": ", (what, failure.message)), failure.causes)
        return KafkaTimeoutError(joined(": ", (what, str(failure or self.how_far))))

    @property
    def how_far(self) -> str:
        """What the question in flight is at, in words, while a broker is connected."""
        silent = ", ".join(self._refresh.silent)
        return (
            f"connected to {silent}, but Metadata has not been answered yet"
            if silent
            else "Metadata has not been requested yet"
        )

    def missing(self, topic: str, partition: int) -> UnknownTopicError | None:
        """The error for a partition that the brokers say they do not have, or whose topic they do not have."""
        return self.unknown_topic(topic) or self.beyond(topic, partition)

    def is_missing(self, topic: str, partition: int) -> bool:
        """Whether `missing` has an error: without making it."""
        info = self.topics.get(topic)
        if info is None or info.error == UNKNOWN_TOPIC_OR_PARTITION:
            return info is not None
        return bool(info.partitions) and partition not in info.partitions

    @property
    def how_to_make_a_topic(self) -> str:
        """What would work where a topic is missing, in words."""
        if self.allow_auto_create:
            return "brokers do not, or cannot, create it automatically: create it first (Admin.create_topics)"
        return Wording("create it first (Admin.create_topics), or set {allow_auto_create_topics}, which is off")

    def why_no_leader(self, topic: str, partition: int) -> str:
        """In words, why it is not known where records of that partition would have to go; "" where it is known."""
        info = self.topics.get(topic)
        found = info.partitions.get(partition) if info is not None else None
        if found is not None and found.leader >= 0:
            return ""
        if info is None or self.failure is not None:
            why = self.failure or self._core.connect_error() or self.how_far
            return f"no metadata of the topic: {why}"
        if info.error:
            return str(errors.broker.error_for(info.error, "the topic"))
        if found is not None and found.error:
            return f"the partition has no leader: {errors.broker.error_for(found.error)}"
        if found is not None:
            return "the partition has no leader"
        return f"the topic has {counted(len(info.partitions), 'partition')}"

    # -- wishes -----------------------------------------------------------------------------------------------------

    def track(self, topics: Sequence[str], now: float, owner: object = None, *, may_create: bool = True) -> None:
        """Keeps these topics in the cache until the same owner untracks them; asks at once for new ones, after the
        backoff for missing ones. Without `may_create` the asking creates none, whatever the settings allow."""
        fresh = [name for name in topics if name not in self._wanted]
        for name in topics:
            self._wanted.setdefault(name, {})[id(owner)] = may_create
        if fresh:
            self._refresh.at_once(now)
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
                    self.forget(name)

    def follow(self, matches: TopicFilter, now: float, owner: object) -> None:
        """Keeps every topic that matches in the cache, one pattern for each owner: asks for all topics from now on."""
        self._patterns[id(owner)] = matches
        self._followed -= {id(owner)}
        self._refresh.at_once(now)

    def unfollow(self, owner: object) -> None:
        """The owner has no pattern any more."""
        matches = self._patterns.pop(id(owner), None)
        for name in list(self.topics) if matches is not None else ():
            if not self._is_wanted(name, self.topics[name].is_internal):
                self.forget(name)

    def is_followed(self, owner: object) -> bool:
        """Whether it is known which topics match the owner's pattern."""
        return id(owner) in self._followed

    def followed(self, owner: object) -> list[str]:
        """The topics known to match the owner's pattern."""
        matches = self._patterns[id(owner)]
        return [name for name, info in self.topics.items() if not info.error and matches(name, info.is_internal)]

    def _wanted_of(self, response: protocol.MetadataResponse) -> Collection[str]:
        """The topics of the response to keep, and those that are wanted by name."""
        if not self._patterns:
            return self._wanted
        matching = (row.name for row in response.topics if row.name and self._is_wanted(row.name, row.is_internal))
        return {*self._wanted, *matching}

    def _is_wanted(self, name: str, is_internal: bool) -> bool:
        return name in self._wanted or any(matches(name, is_internal) for matches in self._patterns.values())

    def refresh(self, now: float) -> None:
        """Asks again as soon as the backoff allows: the metadata proved to be stale."""
        self._refresh.soon(now)

    def require_leader(self, now: float) -> None:
        """A leader is missing: asks, unless the answer to come may name it (one that does not is followed up)."""
        if not self._refresh.in_flight:
            self.refresh(now)

    def connection_trouble(self, now: float) -> None:
        """A connection failed or ended: leaders may have moved. A client that wants nothing does not ask."""
        if self._wanted or self._patterns:
            if self._is_electing(now):
                self._refresh.press(now)
            self.refresh(now)

    def stop(self) -> None:
        """Asks no more."""
        self._wanted.clear()
        self._patterns.clear()
        self._refresh.stop()

    @override
    def recover(self, now: float) -> None:
        """After an interrupted step: asks anew."""
        self._refresh.recover(now)
        if self._wanted or self._patterns or self.listeners:
            self.refresh(now)

    # -- asking -----------------------------------------------------------------------------------------------------

    def _new_question(self) -> None:
        self._asked_for, self._creates = self._next_question()

    def _next_question(self) -> tuple[frozenset[str] | None, bool]:
        """The topics to ask for (None: all), and whether the asking may create those that are missing.

        Where some may be created and others may not, also if they are deleted later, the former are asked for by
        themselves every other time that one of them is missing.
        """
        if self._patterns:
            return None, False
        uncreatable = {name for name, owners in self._wanted.items() if not any(owners.values())}
        if not self.allow_auto_create or not uncreatable:
            return frozenset(self._wanted), self.allow_auto_create
        creatable = self._wanted.keys() - uncreatable
        if self._creates or not any(name not in self.topics or self.unknown_topic(name) for name in creatable):
            return frozenset(self._wanted), False
        return frozenset(creatable), True

    def _ask(self, now: float) -> Request:
        purpose = Purpose.METADATA if self._core.is_busy and self._is_electing(now) else Purpose.DATA
        self._asks_apart |= purpose == Purpose.METADATA
        return self._core.request(ANY, METADATA, self._request, self._on_answer, self._on_error, now, purpose=purpose)

    def _request(self, version: int) -> protocol.MetadataRequest:
        names = None if self._asked_for is None else sorted(self._asked_for)
        return metadata_request(version, names, allow_auto_create=self._creates)

    def _on_answer(self, response: protocol.MetadataResponse, version: int, now: float) -> None:
        if response.error_code:
            if response.error_code == REBOOTSTRAP_REQUIRED:
                self._core.forget_brokers(now)
            self._on_error(errors.broker.error_for(response.error_code, "Metadata"), now)
            return
        if (address := self._refresh.answered_by) and address not in self._answered:
            self._answered.append(address)
        self._refresh.end_question()
        self.failure = None
        asked_for: Collection[str] = self._wanted if self._asked_for is None else self._asked_for
        if self._asked_for is None:
            self._followed = frozenset(self._patterns)
            self.forget_all_but({*self._wanted, *(row.name or "" for row in response.topics)})
        changes = self.apply(response, version, asked_for=asked_for, wanted=self._wanted_of(response), now=now)
        self._warn_of_refused()
        self._core.update_brokers(changes.brokers, complete=changes.complete, now=now)
        self._note_leaderless(now)
        electing = self._is_electing(now)
        if self._asks_apart and not electing:
            self._end_asking_apart(now)
        self._refresh.on_response(
            now,
            unsettled=any(self.is_unsettled(name) for name in {*self._wanted, *self.topics}),
            outdated=self._asked_for is not None and bool(self._patterns or self._wanted.keys() - self._asked_for),
            electing=electing,
        )
        self._tell(now)

    def _is_electing(self, now: float) -> bool:
        """Whether a leader was lost of late, or a partition is without one, so that another is about to be elected."""
        if any(now - since < ELECTION_WITHIN_S for since in self._leaderless.values()):
            return True
        lost = {node_id for node_id in self.brokers if self._core.has_lost(node_id, now)}
        return bool(lost) and any(
            partition.leader in lost for info in self.topics.values() for partition in info.partitions.values()
        )

    def _note_leaderless(self, now: float) -> None:
        """Since when topics have had a partition without a leader."""
        leaderless = (name for name, info in self.topics.items() if info.lacks_leader)
        self._leaderless = {name: self._leaderless.get(name, now) for name in leaderless}

    def _end_asking_apart(self, now: float) -> None:
        self._asks_apart = False
        for node_id in self.brokers:
            self._core.hang_up(node_id, Purpose.METADATA, now)

    def _warn_of_refused(self) -> None:
        """Warns of each topic whose partitions were refused; once, until a response can be believed as a whole."""
        for name, info in self.topics.items():
            if info.refused and name not in self._warned_of:
                self._core.warn(
                    f"the metadata of topic {name!r} is refused in part: {info.refused}; it is requested again"
                )
        self._warned_of = {name for name, info in self.topics.items() if info.refused}

    def _on_error(self, error: KafkaError, now: float) -> None:
        if self._refresh.may_be_answered():
            return
        self._refresh.end_question()
        self.failure = error
        self._refresh.on_error(now)
        if not self._refresh.stopped:
            self._tell(now)

    def _tell(self, now: float) -> None:
        for listener in list(self.listeners):
            listener(now)
