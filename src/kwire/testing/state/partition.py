"""A topic and its partitions: the log, who leads and who follows, and the epochs in which it was written.

All replicas of a partition share one log: followers are never behind, so whatever is appended is committed, and the end
of the log is the high watermark. Who may be leader is decided in `replication.py`.
"""

from __future__ import annotations

import re
import uuid
from bisect import bisect_right
from dataclasses import dataclass, field

from kwire.errors import broker as codes
from kwire.testing.records.control_batches import end_marker
from kwire.testing.records.log import PartitionLog
from kwire.testing.records.producer_state import ProducerStates
from kwire.testing.records.record_sets import Entry, stored_entries
from kwire.testing.settings.topic_settings import TopicSettings
from kwire.testing.state.nodes import NO_NODE
from kwire.testing.state.timers import Timer

_INTERNAL = {"__consumer_offsets", "__transaction_state", "__share_group_state"}
_TOPIC_NAME = re.compile(r"[A-Za-z0-9._-]{1,249}")


@dataclass(slots=True, eq=False)
class Partition:
    """One partition. `leader` is NO_NODE while no replica that is in sync lives.

    `elr` are the replicas that may lead when none is in sync (KIP-966). `epochs` are (leader epoch, the offset at which
    it began), oldest first. `upkeep` is when its log is to be looked at (see upkeep.py).
    """

    topic: Topic
    index: int
    log: PartitionLog
    replicas: list[int] = field(default_factory=lambda: [1])
    isr: list[int] = field(default_factory=lambda: [1])
    elr: list[int] = field(default_factory=list)
    leader: int = 1
    leader_epoch: int = 0
    epochs: list[tuple[int, int]] = field(default_factory=lambda: [(0, 0)])
    producers: ProducerStates = field(default_factory=ProducerStates)
    upkeep: Timer | None = None

    def __repr__(self) -> str:
        return f"{self.topic.name}-{self.index}"

    @property
    def high_watermark(self) -> int:
        return self.log.end_offset

    @property
    def last_stable_offset(self) -> int:
        """Up to where no transaction is open: what readers of committed records may read."""
        unstable = self.producers.first_unstable_offset
        return self.high_watermark if unstable is None else max(unstable, self.log.start_offset)

    def append(self, entries: list[Entry], append_time: int | None, now_ms: int = 0) -> int:
        """Appends batches that nobody checks against their producers; returns the first one's offset."""
        first = self.log.append(entries, leader_epoch=self.leader_epoch, append_time=append_time, now_ms=now_ms)
        self.producers.take_in(entries)
        return first

    def end_transaction(
        self, producer_id: int, epoch: int, *, commit: bool, coordinator_epoch: int, raises_epoch: bool, timestamp: int
    ) -> None:
        """Writes the marker that ends a producer's transaction here. Raises BrokerError for one that comes too late."""
        self.producers.check_marker(producer_id, epoch, coordinator_epoch, raises_epoch=raises_epoch)
        self.append([end_marker(producer_id, epoch, commit, coordinator_epoch, timestamp)], None, timestamp)

    def delete_before(self, offset: int) -> None:
        """Moves the start of the log. Raises BrokerError for an offset outside of it."""
        self.log.delete_before(offset)
        self.producers.forget_before(self.log.start_offset)

    def lead_by(self, node: int) -> None:
        """A new leader, NO_NODE for none, in a new epoch."""
        self.leader = node
        self.leader_epoch += 1
        if node != NO_NODE:
            self._forget_epochs_from(self.log.end_offset)
            self.epochs.append((self.leader_epoch, self.log.end_offset))

    def end_of_epoch(self, epoch: int) -> tuple[int, int]:
        """(the epoch asked for or the newest one before it, the offset at which it ended); (-1, -1): not known.

        As Kafka's LeaderEpochFileCache answers.
        """
        if epoch < 0:
            return -1, -1
        if epoch == self.leader_epoch:
            return epoch, self.log.end_offset
        later = bisect_right(self.epochs, epoch, key=lambda held: held[0])
        if later == len(self.epochs):
            return -1, -1
        if later == 0:
            return epoch, self.epochs[0][1]
        return self.epochs[later - 1][0], self.epochs[later][1]

    def truncate(self, offset: int) -> None:
        """Loses what was appended from `offset` on, whole batches, as an unclean election does."""
        self.log.truncate(offset)
        self._forget_epochs_from(self.log.end_offset)
        self.producers = ProducerStates()
        self.producers.take_in(stored_entries(self.log.whole()))

    def _forget_epochs_from(self, offset: int) -> None:
        """An epoch in which nothing was written is not remembered."""
        self.epochs = [(epoch, start) for epoch, start in self.epochs if start < offset]


@dataclass(slots=True, eq=False)
class Topic:
    """A topic by name and id, with its settings and partitions."""

    name: str
    topic_id: uuid.UUID
    settings: TopicSettings
    partitions: list[Partition] = field(default_factory=list)

    @property
    def is_internal(self) -> bool:
        """Whether it has a name by which Kafka keeps its own state (see internal_topics.py)."""
        return self.name in _INTERNAL


def check_topic_name(name: str) -> None:
    """Raises BrokerError (INVALID_TOPIC_EXCEPTION) for a name that Kafka would not take."""
    if name in {".", ".."} or not _TOPIC_NAME.fullmatch(name):
        raise codes.INVALID_TOPIC_EXCEPTION(
            f"{name!r}: a topic name has 1 to 249 of the characters a-z A-Z 0-9 . _ -, and is not '.' or '..'",
        )


def check_leader(partition: Partition, node: int, epoch: int = -1) -> None:
    """Raises BrokerError (NOT_LEADER_OR_FOLLOWER) when `node` does not lead the partition.

    A replica looks at the leader epoch that a reader knows before it looks whether it leads.
    """
    if epoch != -1 and (partition.leader == node or node in partition.replicas):
        check_leader_epoch(partition, epoch)
    if partition.leader != node:
        raise codes.NOT_LEADER_OR_FOLLOWER(f"node {node} does not lead {partition}; leader: {partition.leader}")


def check_leader_epoch(partition: Partition, asked: int) -> None:
    """Raises BrokerError when a reader's idea of the leader epoch is not the partition's (KIP-320); -1 is none."""
    if asked == -1 or asked == partition.leader_epoch:
        return
    is_older = asked < partition.leader_epoch
    code = codes.FENCED_LEADER_EPOCH if is_older else codes.UNKNOWN_LEADER_EPOCH
    raise code(f"leader epoch {asked}; it is {partition.leader_epoch}")
