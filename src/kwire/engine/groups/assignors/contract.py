"""What an assignor is given and what it returns; the base of those that come with kwire and of a program's own.

Layer 3, no I/O. The leader of a classic group runs the assignor that all members have in common: it sees the partitions
of the topics and every member's subscription, and says who reads what. The names follow Java's
ConsumerPartitionAssignor.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import repeat

from kwire._codec import untracked
from kwire._typing import TYPE_CHECKING, NamedTuple
from kwire.engine.common.addresses import TopicPartition

if TYPE_CHECKING:
    from kwire.engine.metadata.metadata import Metadata, TopicInfo

NO_GENERATION = -1
EAGER, COOPERATIVE = "eager", "cooperative"


class MemberSubscription(NamedTuple):
    """What one member of a group wants and has. `generation` is -1 where it has none."""

    topics: Sequence[str]
    user_data: bytes | None = None
    owned_partitions: Sequence[TopicPartition] = ()
    generation: int = NO_GENERATION
    rack_id: str | None = None
    group_instance_id: str | None = None


class Assignment(NamedTuple):
    """What one member is to read, with bytes of the assignor's own."""

    partitions: Sequence[TopicPartition]
    user_data: bytes | None = None


class ClusterView:
    """The partitions of some topics, and the racks of their replicas, at one moment."""

    __slots__ = ("_counts", "_partitions", "_racks")

    def __init__(self, counts: Mapping[str, int], racks: Mapping[str, Sequence[frozenset[str]]] | None = None) -> None:
        self._counts = counts
        self._racks = racks or {}
        self._partitions: dict[str, Sequence[TopicPartition]] = {}

    @classmethod
    def of(cls, metadata: Metadata, topics: Iterable[str]) -> ClusterView:
        """The view of these topics; those that the cluster does not have are left out."""
        counts: dict[str, int] = {}
        racks: dict[str, Sequence[frozenset[str]]] = {}
        for name in topics:
            info = metadata.topic(name)
            if info is not None and info.partitions:
                counts[name] = len(info.partitions)
                if metadata.racks:
                    racks[name] = _racks(info, metadata.racks)
        return cls(counts, racks)

    def partition_count(self, topic: str) -> int:
        """How many partitions the topic has; 0 where the cluster has no such topic."""
        return self._counts.get(topic, 0)

    def partitions(self, topic: str) -> Sequence[TopicPartition]:
        """The partitions of the topic in the order of their numbers; made once, as large groups spend their time so."""
        found = self._partitions.get(topic)
        if found is None:
            found = self._partitions[topic] = tuple(partitions_of(topic, range(self.partition_count(topic))))
        return found

    def racks(self, topic: str) -> Sequence[frozenset[str]]:
        """For each partition of the topic the racks of its replicas, whether in sync or not; none known: empty."""
        return self._racks.get(topic) or (frozenset(),) * self.partition_count(topic)


def partitions_of(topic: str, numbers: Sequence[int] | range) -> Iterable[TopicPartition]:
    """Partitions of one topic. Twice as fast as calling the class."""
    return map(untracked, map(tuple.__new__, repeat(TopicPartition), zip(repeat(topic), numbers, strict=False)))


class Assignor:
    """The base of assignors. A program's own has a `name` and `assign`, and the rest where it needs it.

    `protocols`: "eager" (members give everything up before they join) or "cooperative" (they keep what they have, and
    `assign` moves nothing that another member still owns), or both.
    """

    name: str
    protocols: Sequence[str] = (EAGER,)

    def user_data(self, topics: Sequence[str]) -> bytes | None:
        """Bytes for the assignor of the leader, sent with this member's subscription."""
        return None

    def assign(
        self, cluster: ClusterView, members: Mapping[str, MemberSubscription]
    ) -> Mapping[str, Sequence[TopicPartition] | Assignment]:
        """The partitions of each member, by its id. Members come in the order in which Java goes over them."""
        raise NotImplementedError

    def on_assignment(self, assignment: Assignment, generation: int) -> None:
        """This member has got its assignment of that generation."""


def _racks(info: TopicInfo, racks: Mapping[int, str]) -> tuple[frozenset[str], ...]:
    partitions = info.partitions
    return tuple(
        frozenset(racks[node] for node in partitions[number].replicas if node in racks) for number in sorted(partitions)
    )
