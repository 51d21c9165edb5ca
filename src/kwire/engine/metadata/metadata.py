"""The metadata of a cluster: brokers, controller, topics, partition leaders; and how each version asks for it.

Layer 3, no I/O: a value. `apply` takes a response in; when to ask is decided in `refresh.py`, of what in `cluster.py`.

Metadata v0 cannot ask for no topic at all: an empty list means all of them there, null does from v1 on. Before v4 every
topic asked for by name may be created by the asking, so a client that forbids that asks for all topics instead.
Releases 0.8.0 and 0.8.1 list only brokers that a partition names, at first none: the bootstrap addresses stay in use.

Nothing is sized by what a response claims. Partitions are numbered from 0 without gaps, so one whose number is not
below the number of rows is refused, and asked for again; so is a second row of the same number, and a broker with a
negative id. What a response takes back of what an earlier one said (a leader's epoch, a partition of the same topic id)
is not believed of a broker that may lag, but it is when no response says otherwise for BELIEVED_AFTER_S.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from kwire import errors, protocol
from kwire._codec import no_uuid, untracked
from kwire._typing import TYPE_CHECKING, NamedTuple
from kwire.engine.common.addresses import Address, TopicPartition
from kwire.engine.common.notebooks import in_notebooks
from kwire.errors import KafkaError, UnknownTopicError
from kwire.schema.error_codes import NONE, REPLICA_NOT_AVAILABLE, UNKNOWN_SERVER_ERROR, UNKNOWN_TOPIC_OR_PARTITION

if TYPE_CHECKING:
    from uuid import UUID

    TopicRow = protocol.MetadataResponse.MetadataResponseTopic

NO_LEADER = -1
"""In place of the id of a partition's leader."""

BELIEVED_AFTER_S = 30.0
"""Seconds of responses that all take something back, after which that is no broker that lags."""

_MAY_PASS_IN_METADATA = frozenset({UNKNOWN_SERVER_ERROR, NONE})
"""Beside the retriable codes: Kafka 0.8 answers UNKNOWN_SERVER_ERROR while it cannot create the topic yet."""

_MAX_NAMED = 3
"""How many impossible partitions are named in words."""

_FIRST_VERSION_WITH_NULL = 1
_FIRST_VERSION_WITH_AUTO_CREATE_FLAG = 4
_FIRST_VERSION_WITH_ALL_BROKERS_SURELY = 1


@in_notebooks
class PartitionInfo(NamedTuple):
    """One partition as the metadata has it; `leader` is -1 while there is none, `leader_epoch` -1 where not known."""

    partition: int
    leader: int
    leader_epoch: int
    replicas: Sequence[int]
    isr: Sequence[int]
    error: int


@in_notebooks
class TopicInfo(NamedTuple):
    """One topic as the metadata has it. `error` is the topic's own code: 0, or e.g. 3 where it does not exist.
    `refused` says in words which partitions of the response cannot be; "" if all can."""

    name: str
    topic_id: UUID
    is_internal: bool
    error: int
    partitions: dict[int, PartitionInfo]
    refused: str = ""

    @property
    def lacks_leader(self) -> bool:
        """Whether some partition has none."""
        return any(partition.leader < 0 for partition in self.partitions.values())


class Changes(NamedTuple):
    """The brokers that a response names, and whether there are no others."""

    brokers: dict[int, Address]
    complete: bool


class Metadata:
    """The cluster as the responses so far describe it; `generation` counts them and the leaders learnt elsewhere."""

    def __init__(self) -> None:
        self.topics: dict[str, TopicInfo] = {}
        self.names: dict[UUID, str] = {}
        self.brokers: dict[int, Address] = {}
        self.racks: dict[int, str] = {}
        self.controller_id = -1
        self.cluster_id: str | None = None
        self.generation = 0
        self._taken_back_since: dict[str, float] = {}

    def topic(self, name: str) -> TopicInfo | None:
        """The topic's metadata; None before a response named it."""
        return self.topics.get(name)

    def leader(self, topic: str, partition: int) -> int:
        """The id of the partition's leader; NO_LEADER where none is known."""
        try:
            return self.topics[topic].partitions[partition].leader
        except KeyError:
            return NO_LEADER

    def leader_epoch(self, topic: str, partition: int) -> int:
        """The epoch of that leader; -1 where not known."""
        try:
            return self.topics[topic].partitions[partition].leader_epoch
        except KeyError:
            return -1

    def leadership(self, tp: TopicPartition) -> tuple[int, int]:
        """Both at once."""
        try:
            info = self.topics[tp.topic].partitions[tp.partition]
        except KeyError:
            return NO_LEADER, -1
        return info.leader, info.leader_epoch

    def topic_id(self, name: str) -> UUID:
        """The topic's id; all zeros where the cluster has no ids."""
        info = self.topics.get(name)
        return info.topic_id if info is not None else no_uuid()

    def definite_error(self, name: str, partition: int, *, newer_than: int) -> KafkaError | None:
        """Why no waiting will help: a topic that may not be used, or a partition beyond the topic's.

        A partition is only called missing by metadata that came after generation `newer_than`.
        """
        info = self.topics.get(name)
        if info is None or (info.error and may_pass(info.error)):
            return None
        if info.error:
            return errors.broker.error_for(info.error, f"topic {name!r}")
        return self.beyond(name, partition) if self.generation > newer_than else None

    def beyond(self, name: str, partition: int) -> UnknownTopicError | None:
        """The error for a partition that a topic with partitions does not have."""
        info = self.topics.get(name)
        if info is None or not info.partitions or partition in info.partitions:
            return None
        last = len(info.partitions) - 1
        return UnknownTopicError(f"topic {name!r} has no partition {partition}: its partitions are 0 to {last}")

    def is_unsettled(self, name: str) -> bool:
        """Whether the topic is missing, refused, doubtful, without partitions or without a leader somewhere: it is
        worth asking again."""
        info = self.topics.get(name)
        if info is None or info.error or info.refused or not info.partitions or name in self._taken_back_since:
            return True
        return info.lacks_leader

    # -- changes ----------------------------------------------------------------------------------------------------

    def apply(
        self,
        response: protocol.MetadataResponse,
        version: int,
        *,
        asked_for: Collection[str],
        wanted: Collection[str],
        now: float,
    ) -> Changes:
        """Takes the response in: of the topics, those that are `wanted`. One that was asked for and is not in the
        response does not exist."""
        brokers = {row.node_id: Address(row.host, row.port) for row in response.brokers if row.node_id >= 0}
        complete = version >= _FIRST_VERSION_WITH_ALL_BROKERS_SURELY
        self.brokers = brokers if complete else {**self.brokers, **brokers}
        self.racks = {row.node_id: row.rack for row in response.brokers if row.rack is not None}
        if response.controller_id >= 0:
            self.controller_id = response.controller_id
        self.cluster_id = response.cluster_id
        found = {row.name: row for row in response.topics if row.name is not None}
        for name, row in found.items():
            if name in wanted:
                self._apply_topic(topic_info(row), now)
        for name in asked_for:
            if name in wanted and name not in found:
                self._apply_topic(TopicInfo(name, no_uuid(), False, UNKNOWN_TOPIC_OR_PARTITION, {}), now)
        self.generation += 1
        return Changes(brokers, complete)

    def update_leader(self, topic: str, partition: int, leader: int, epoch: int) -> bool:
        """An answer named the new leader (KIP-951); True if that is news and was taken in."""
        info = self.topics.get(topic)
        found = info.partitions.get(partition) if info is not None else None
        if found is None or info is None or leader < 0 or epoch <= found.leader_epoch:
            return False
        info.partitions[partition] = found._replace(leader=leader, leader_epoch=epoch, error=0)
        self.generation += 1
        return True

    def forget_all_but(self, topics: Collection[str]) -> None:
        """The cluster has no other topics than these."""
        for topic in [name for name in self.topics if name not in topics]:
            self.forget(topic)

    def forget(self, topic: str) -> None:
        """Nothing is known of the topic any more."""
        self._taken_back_since.pop(topic, None)
        known = self.topics.pop(topic, None)
        if known is not None:
            self.names.pop(known.topic_id, None)

    def _apply_topic(self, fresh: TopicInfo, now: float) -> None:
        known = self.topics.get(fresh.name)
        if known is not None:
            self.names.pop(known.topic_id, None)
            fresh.partitions.update(self._kept(known, fresh, now))
        self.topics[fresh.name] = fresh
        if fresh.topic_id != no_uuid():
            self.names[fresh.topic_id] = fresh.name

    def _kept(self, known: TopicInfo, fresh: TopicInfo, now: float) -> dict[int, PartitionInfo]:
        """The partitions that a response of the same topic takes back, and that are kept as they are known."""
        taken_back = {}
        if known.topic_id == fresh.topic_id:
            taken_back = {number: info for number, info in known.partitions.items() if _takes_back(fresh, info)}
        if taken_back and now - self._taken_back_since.setdefault(fresh.name, now) < BELIEVED_AFTER_S:
            return taken_back
        self._taken_back_since.pop(fresh.name, None)
        return {}


def _takes_back(fresh: TopicInfo, known: PartitionInfo) -> bool:
    """Whether a response has an older leader of the partition than is known, or the partition no more."""
    info = fresh.partitions.get(known.partition)
    if info is not None:
        return 0 <= info.leader_epoch < known.leader_epoch
    return bool(fresh.partitions) and fresh.topic_id != no_uuid()  # without an id, it may be another topic


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
        part.partition_index: untracked(
            PartitionInfo(
                part.partition_index,
                part.leader_id if part.error_code in (NONE, REPLICA_NOT_AVAILABLE) else -1,
                part.leader_epoch,
                part.replica_nodes,
                part.isr_nodes,
                part.error_code,
            )
        )
        for part in row.partitions
    }
    refused = _refused_of(partitions, row)
    return TopicInfo(row.name or "", row.topic_id, row.is_internal, row.error_code, partitions, refused)


def _refused_of(partitions: dict[int, PartitionInfo], row: TopicRow) -> str:
    """Takes out the partitions that cannot be; which they are, in words."""
    count = len(row.partitions)
    impossible = [number for number in partitions if not 0 <= number < count]
    for number in impossible:
        del partitions[number]
    words = [f"partition {number}" for number in impossible[:_MAX_NAMED]]
    if len(impossible) > _MAX_NAMED:
        words.append(f"{len(impossible) - _MAX_NAMED} more")
    if count > len(partitions) + len(impossible):
        words.append("a partition twice")
    return f"{', '.join(words)} among {count} rows" if words else ""
