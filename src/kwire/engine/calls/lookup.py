"""Which broker to ask about something: any, the controller, every one, a partition's leader, a coordinator.

Layer 3, no I/O. A call (`fan_out.py`) asks its lookup anew for each try, so it follows what moves in between. Java's
AdminApiLookupStrategy is the same idea.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from kwire import errors, protocol
from kwire._typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar, override
from kwire.engine.calls.hedged_request import HedgedRequest
from kwire.engine.common.addresses import Address, TopicPartition
from kwire.engine.common.recovery import Recoverable
from kwire.engine.common.request import ANY, CONTROLLER, Purpose
from kwire.engine.common.retry import is_retriable
from kwire.engine.connections.versions import BEFORE_0_10, KAFKA_0_9
from kwire.engine.metadata.metadata import NO_LEADER
from kwire.errors import BrokerError, ConnectError, KafkaError, KafkaTimeoutError, UnknownTopicError
from kwire.schema.api_keys import FIND_COORDINATOR
from kwire.schema.error_codes import (
    BROKER_NOT_AVAILABLE,
    COORDINATOR_NOT_AVAILABLE,
    NOT_CONTROLLER,
    NOT_COORDINATOR,
    UNSUPPORTED_VERSION,
)

if TYPE_CHECKING:
    from typing import Protocol

    from kwire.engine.ports import Services
else:
    Protocol = object

Key = TypeVar("Key")

GROUP = 0
TRANSACTION = 1
_NEW_TOPIC_S = 5.0
"""Seconds for which brokers may not know of a topic that was just made."""

_TOLD_TO_COORDINATORS = KAFKA_0_9.ranges.keys() - BEFORE_0_10.ranges.keys()
_FIRST_VERSION_WITH_KINDS = 1
_FIRST_VERSION_WITH_MANY_KEYS = 4
_VERSIONS_WITH_MANY_KEYS = protocol.APIS[FIND_COORDINATOR].versions[_FIRST_VERSION_WITH_MANY_KEYS:]


class FoundCoordinator(NamedTuple):
    """The node id of a coordinator, and its address."""

    node: int
    address: Address


def find_coordinators_request(kind: int, keys: Sequence[str], version: int) -> protocol.FindCoordinatorRequest:
    """Asks for the coordinators of several groups or transactional ids, which only some versions can."""
    return protocol.FindCoordinatorRequest(key_type=kind, coordinator_keys=list(keys))


def find_coordinator_request(kind: int, key: str, version: int) -> protocol.FindCoordinatorRequest:
    """Asks for the coordinator of the GROUP or TRANSACTION of that id; the BrokerError of code 35 where the version
    knows no transactions."""
    if version >= _FIRST_VERSION_WITH_MANY_KEYS:
        return find_coordinators_request(kind, [key], version)
    request = protocol.FindCoordinatorRequest(key=key)
    if kind != GROUP:
        if version < _FIRST_VERSION_WITH_KINDS:
            error = errors.broker.error_for(
                UNSUPPORTED_VERSION, f"FindCoordinator of {key!r}: the broker knows coordinators of groups only"
            )
            error.api_key = FIND_COORDINATOR
            raise error
        request.key_type = kind
    return request


def coordinator_in(response: protocol.FindCoordinatorResponse, key: str, version: int) -> FoundCoordinator:
    """Returns the coordinator that a response names; raises the BrokerError that it has instead."""
    row: protocol.FindCoordinatorResponse | protocol.FindCoordinatorResponse.Coordinator | None = response
    if version >= _FIRST_VERSION_WITH_MANY_KEYS:
        row = next((each for each in response.coordinators if each.key == key), None)
    if row is None:
        raise errors.broker.error_for(COORDINATOR_NOT_AVAILABLE, f"FindCoordinator of {key!r} returned no coordinator")
    if row.error_code:
        raise errors.broker.error_for(row.error_code, f"FindCoordinator of {key!r}")
    if row.node_id < 0:
        raise errors.broker.error_for(
            COORDINATOR_NOT_AVAILABLE, f"FindCoordinator of {key!r} returned node {row.node_id}"
        )
    return FoundCoordinator(row.node_id, Address(row.host, row.port))


def has_moved(error: KafkaError) -> bool:
    """Whether the error says that the coordinator that was asked is none, or cannot be reached."""
    if isinstance(error, BrokerError):
        return error.code in (NOT_COORDINATOR, COORDINATOR_NOT_AVAILABLE)
    return isinstance(error, ConnectError | KafkaTimeoutError)


class LookupCall(Protocol):
    """The call that a lookup is for: a `FanOutCall`."""

    core: Services
    what: str

    @property
    def keys(self) -> Sequence[Any] | None:
        """What it asks about; None while that is not known."""

    def send(self, now: float) -> None:
        """Asks about each key that has no result and that a broker is known for."""

    def retry(self, again: Callable[[float], None], why: KafkaError, now: float) -> None:
        """Calls `again` after a wait, unless time is over."""

    def on_failed(self, errors: Mapping[Any, KafkaError], now: float) -> None:
        """Keys that no broker will be found for."""


class Lookup(Recoverable, Generic[Key]):
    """Finds the broker for each key of one call."""

    call: LookupCall
    purpose = Purpose.DATA
    """The connections that are asked."""

    def asks_coordinators(self, error: KafkaError, purpose: int) -> bool:
        """Whether what failed with this error is to be asked again over connections for coordinators: a broker from
        before 0.10 says only there what it can do for groups."""
        if purpose == Purpose.COORDINATOR or getattr(error, "api_key", None) not in _TOLD_TO_COORDINATORS:
            return False
        self.purpose = Purpose.COORDINATOR
        return True

    def begin(self, now: float) -> None:
        """`call` begins, and has this lookup to itself."""

    def end(self) -> None:
        """The call has ended."""

    @override
    def recover(self, now: float) -> None:
        """Forgets requests in flight: they will not be answered."""

    def find(self, key: Key, now: float) -> int | None:
        """Where to ask about the key: a node id, ANY or CONTROLLER. None while that has to be found out: then
        `call.send` is called later. Raises KafkaError where waiting would not help."""
        raise NotImplementedError

    def ask(self, now: float) -> None:
        """`find` was asked about every key that matters by now: asks for what has to be found out."""

    def is_elsewhere(self, key: Key, target: int) -> bool:
        """Whether by now another broker than that one would be asked."""
        return False

    def refused(self, key: Key, error: KafkaError, now: float) -> None:
        """The broker that `find` returned was asked, and the request failed with an error that may pass."""

    def why_not_found(self, key: Key) -> KafkaError | None:
        """When time has run out: why there is no broker to ask about the key; None if there is one."""
        return None

    def under_way(self) -> str:
        """What was asked to find brokers and is not answered yet, in words."""
        return ""


class AnyBroker(Lookup[Key]):
    """Whichever broker can be reached. For APIs that only read: a second one is asked where the first is silent."""

    @override
    def find(self, key: Key, now: float) -> int:
        return ANY


class Controller(Lookup[Key]):
    """The controller; metadata has to say who that is."""

    @override
    def find(self, key: Key, now: float) -> int | None:
        cluster = self.call.core.cluster
        if cluster.generation == 0:
            cluster.refresh(now)
            return None
        return CONTROLLER

    @override
    def refused(self, key: Key, error: KafkaError, now: float) -> None:
        if not isinstance(error, BrokerError) or error.stale_metadata or error.code == NOT_CONTROLLER:
            self.call.core.cluster.refresh(now)


class AllBrokers:
    """The ids of all brokers, as metadata has them that came after they were asked for: what is cached may leave out
    one that is new, and with it whatever only that one tells."""

    def __init__(self) -> None:
        self._older: int | None = None

    def ids(self, core: Services) -> list[int] | None:
        """None until they are known."""
        if self._older is None:
            self._older = core.cluster.generation
        return list(core.cluster.brokers) or None if core.cluster.generation > self._older else None


class EachBroker(Lookup[int]):
    """The keys are node ids, `ids` of all: for calls that ask every broker of the cluster."""

    def __init__(self) -> None:
        self.ids = AllBrokers().ids

    @override
    def find(self, key: int, now: float) -> int:
        return key

    @override
    def refused(self, key: int, error: KafkaError, now: float) -> None:
        _look_for_broker(self.call.core, error, now)


class NamedBroker(Lookup[Key]):
    """The broker that the key names; one that is not in fresh metadata is not waited for."""

    def __init__(self, broker_of: Callable[[Key], int]) -> None:
        self._broker_of = broker_of
        self._began = 0

    @override
    def begin(self, now: float) -> None:
        self._began = self.call.core.cluster.generation

    @override
    def find(self, key: Key, now: float) -> int | None:
        return named_broker(self.call.core, self._broker_of(key), newer_than=self._began, now=now)

    @override
    def refused(self, key: Key, error: KafkaError, now: float) -> None:
        _look_for_broker(self.call.core, error, now)


def _look_for_broker(core: Services, error: KafkaError, now: float) -> None:
    """One that cannot be reached may be at another address, or have left."""
    if not isinstance(error, BrokerError):
        core.cluster.refresh(now)


def named_broker(core: Services, node: int, *, newer_than: int, now: float) -> int | None:
    """The broker of that id, None until metadata has it. BrokerError if newer metadata does not."""
    cluster = core.cluster
    if node in cluster.brokers:
        return node
    if cluster.generation > newer_than:
        present = ", ".join(map(str, sorted(cluster.brokers)))
        raise errors.broker.error_for(BROKER_NOT_AVAILABLE, f"broker {node}: the cluster has the brokers {present}")
    cluster.refresh(now)
    return None


class Leader(Lookup[TopicPartition]):
    """The leader of the partition."""

    def __init__(self) -> None:
        self._topics: list[str] = []
        self._began = 0
        self._missing_since: dict[str, float] = {}

    @override
    def begin(self, now: float) -> None:
        cluster = self.call.core.cluster
        self._began = cluster.generation
        self._topics = list(dict.fromkeys(tp.topic for tp in self.call.keys or ()))
        cluster.track(self._topics, now, owner=self, may_create=False)

    @override
    def end(self) -> None:
        self.call.core.cluster.untrack(self._topics, owner=self)

    @override
    def find(self, key: TopicPartition, now: float) -> int | None:
        cluster = self.call.core.cluster
        error = cluster.definite_error(key.topic, key.partition, newer_than=self._began)
        if error is not None:
            raise error
        leader = cluster.leader(key.topic, key.partition)
        if leader < 0:
            self._check_missing(key.topic, now)
            cluster.require_leader(now)
            return None
        return leader

    @override
    def is_elsewhere(self, key: TopicPartition, target: int) -> bool:
        return self.call.core.cluster.leader(key.topic, key.partition) not in (target, NO_LEADER)

    @override
    def refused(self, key: TopicPartition, error: KafkaError, now: float) -> None:
        if isinstance(error, BrokerError):
            self.call.core.cluster.refresh(now)

    @override
    def why_not_found(self, key: TopicPartition) -> KafkaError | None:
        cluster = self.call.core.cluster
        if cluster.unknown_topic(key.topic) is None:
            return None
        return UnknownTopicError(f"topic {key.topic!r} does not exist; asked: {cluster.asked}")

    def _check_missing(self, topic: str, now: float) -> None:
        """Raises the error for a topic that the brokers have not had for so long that it cannot just have been made."""
        if self.call.core.cluster.generation == self._began:
            return
        error = self.why_not_found(TopicPartition(topic, 0))
        if error is None:
            self._missing_since.pop(topic, None)
        elif now - self._missing_since.setdefault(topic, now) >= _NEW_TOPIC_S:
            raise error


class CoordinatorLookup(Lookup[str]):
    """The coordinators of the GROUPs or TRANSACTIONs of these ids, asked of any broker: of all at once where it can say
    so (KIP-699, Kafka 3.0)."""

    def __init__(self, kind: int) -> None:
        self._kind = kind
        self._nodes: dict[str, int] = {}
        self._found_by: dict[str, int] = {}
        """By which generation of the metadata a coordinator was found."""
        self._absent: dict[str, int] = {}
        """Coordinators that the metadata does not have."""
        self._wanted: list[str] = []
        self._asked: dict[str, HedgedRequest] = {}
        self._asks_for_many = True

    @override
    def end(self) -> None:
        for request in self._asked.values():
            request.cancel()

    @override
    def recover(self, now: float) -> None:
        self.end()
        self._asked.clear()

    @override
    def find(self, key: str, now: float) -> int | None:
        cluster = self.call.core.cluster
        node = self._nodes.get(key)
        if node is not None and node in cluster.brokers:
            self._absent.pop(key, None)
            return node
        if node is not None:
            self._absent[key] = node
            if cluster.generation == self._found_by[key]:
                cluster.refresh(now)
                return None
            del self._nodes[key]  # newer metadata has it neither: there may be another one by now
        if key not in self._asked:
            self._wanted.append(key)
        return None

    @override
    def ask(self, now: float) -> None:
        wanted, self._wanted = list(dict.fromkeys(self._wanted)), []
        if len(wanted) > 1 and self._asks_for_many:
            message = partial(find_coordinators_request, self._kind, wanted)
            self._send(wanted, message, now, versions=_VERSIONS_WITH_MANY_KEYS)
        else:
            self._ask_one_by_one(wanted, now)

    def _ask_one_by_one(self, wanted: Sequence[str], now: float) -> None:
        for key in wanted:
            self._send([key], partial(find_coordinator_request, self._kind, key), now)

    def _send(
        self,
        keys: Sequence[str],
        message: Callable[[int], protocol.FindCoordinatorRequest],
        now: float,
        *,
        versions: Sequence[int] | None = None,
    ) -> None:
        on_response, on_error = partial(self._on_response, keys), partial(self._on_error, keys, self.purpose)
        request = HedgedRequest(
            self.call.core,
            FIND_COORDINATOR,
            message,
            on_response,
            on_error,
            now,
            versions=versions,
            purpose=self.purpose,
        )
        if not request.done:
            self._asked.update(dict.fromkeys(keys, request))

    def node_of(self, key: str) -> int:
        """The coordinator that was found, -1 for none."""
        return self._nodes.get(key, -1)

    @override
    def why_not_found(self, key: str) -> KafkaError | None:
        if key not in self._absent:
            return None
        brokers = ", ".join(map(str, sorted(self.call.core.cluster.brokers)))
        return KafkaTimeoutError(
            f"{self.call.what}: no answer in time; FindCoordinator says that broker {self._absent[key]} coordinates "
            f"{key!r}, and the cluster has the brokers {brokers}"
        )

    @override
    def under_way(self) -> str:
        silent = dict.fromkeys(request.asked for request in self._asked.values() if request.asked is not None)
        return f"FindCoordinator has not been answered yet by {', '.join(silent)}" if silent else ""

    @override
    def refused(self, key: str, error: KafkaError, now: float) -> None:
        if has_moved(error):
            self._nodes.pop(key, None)
        _look_for_broker(self.call.core, error, now)

    def _on_response(
        self, keys: Sequence[str], response: protocol.FindCoordinatorResponse, version: int, now: float
    ) -> None:
        failed: dict[str, KafkaError] = {}
        for key in keys:
            self._asked.pop(key, None)
            try:
                self._nodes[key] = coordinator_in(response, key, version).node
            except KafkaError as error:
                failed[key] = error
            else:
                self._found_by[key] = self.call.core.cluster.generation
        self._on_failed(failed, now)
        if len(failed) < len(keys):
            self.call.send(now)

    def _on_error(self, keys: Sequence[str], purpose: int, error: KafkaError, now: float) -> None:
        for key in keys:
            self._asked.pop(key, None)
        if len(keys) == 1 and self._kind == GROUP and self.asks_coordinators(error, purpose):
            self._ask_one_by_one(keys, now)
        elif len(keys) > 1 and isinstance(error, BrokerError) and error.code == UNSUPPORTED_VERSION:
            self._asks_for_many = False
            self._ask_one_by_one(keys, now)
        else:
            self._on_failed(dict.fromkeys(keys, error), now)

    def _on_failed(self, failed: Mapping[str, KafkaError], now: float) -> None:
        final = {key: error for key, error in failed.items() if not is_retriable(error)}
        for error in failed.values():
            if is_retriable(error):
                self.call.retry(self.call.send, error, now)
        if final:
            self.call.on_failed(final, now)
