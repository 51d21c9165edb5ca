"""Records of topics, or of partitions, that are not known yet: asking for them, placing the records, giving up.

Layer 3, no I/O. Records wait `max_block_ms` at most; then they fail with an error that says what was asked and who: an
UnknownTopicError where brokers answered, a ConnectError where none did.
"""

from __future__ import annotations

from kwire._codec import Accumulator, Batch, PartitionQueue, TopicQueue
from kwire.engine.cluster import TopicInfo, may_pass
from kwire.engine.core import Core
from kwire.engine.error_codes import LEADER_NOT_AVAILABLE, NONE, UNKNOWN_TOPIC_OR_PARTITION
from kwire.errors import ConnectError, KafkaError, UnknownTopicError
from kwire.errors.broker import error_for

_NOT_THERE = frozenset({NONE, UNKNOWN_TOPIC_OR_PARTITION, LEADER_NOT_AVAILABLE})


class UnknownTopics:
    """The waiting room of one accumulator: `topics` by name. `patience` in seconds."""

    def __init__(self, core: Core, accumulator: Accumulator, patience: float) -> None:
        self._core = core
        self._cluster = core.cluster
        self._accumulator = accumulator
        self._patience = patience
        self.topics: dict[str, TopicQueue] = {}

    def look(self, now: float) -> float | None:
        """Asks for what is new here, places what can be placed, fails what has waited too long.

        Gives the moment to look again.
        """
        unknown = self._accumulator.unknown_topics
        while unknown:
            topic = unknown.popleft()
            self.topics[topic.name] = topic
            self._cluster.track([topic.name], now)
            if not self._place(topic):
                self._cluster.require_leader(now)
        soonest = None
        for topic in list(self.topics.values()):
            moment = self._give_up(topic, now)
            if moment is not None:
                soonest = moment if soonest is None else min(soonest, moment)
            elif topic.known:
                del self.topics[topic.name]
        return soonest

    def recover(self) -> None:
        """After a step that was cut: topics that were taken off the accumulator's list are looked at again."""
        for topic in self._accumulator.topics.values():
            if topic.has_unassigned or not topic.known:
                self._accumulator.unknown_topics.append(topic)

    def on_metadata(self, now: float) -> None:
        """News of the cluster: new partitions of any topic, and places for what waits."""
        for topic in self._accumulator.topics.values():
            self._place(topic)
        if any(topic.has_unassigned for topic in self.topics.values()):
            self._cluster.require_leader(now)

    def _place(self, topic: TopicQueue) -> bool:
        """Whether nothing of the topic waits any more."""
        info = self._cluster.topic(topic.name)
        if info is not None and info.partitions:
            numbers = sorted(info.partitions)
            available = [number for number in numbers if info.partitions[number].leader >= 0]
            self._accumulator.update_partitions(topic, numbers[-1] + 1, available)
        return not topic.has_unassigned

    def _give_up(self, topic: TopicQueue, now: float) -> float | None:
        """Fails what has waited too long; the moment at which the next of the topic will have, or None."""
        info = self._cluster.topic(topic.name)
        at_once = info is not None and not may_pass(info.error)
        soonest = None
        for queue in topic.queues:
            if 0 <= queue.partition < topic.known:
                continue
            for batch in queue.everything:
                deadline = batch.created_at + self._patience
                if at_once or deadline <= now:
                    self._accumulator.complete(batch, -1, -1, self._why(queue, batch, info))
                else:
                    soonest = deadline if soonest is None else min(soonest, deadline)
        return soonest

    def _why(self, queue: PartitionQueue, batch: Batch, info: TopicInfo | None) -> KafkaError:
        waited = f"within max_block_ms={round(self._patience * 1000)}"
        failure = self._cluster.failure
        if info is None and failure is not None:
            if isinstance(failure, ConnectError):
                return ConnectError(f"topic {batch.topic}: no metadata {waited}: {failure.message}", failure.causes)
            return UnknownTopicError(f"topic {batch.topic}: no metadata {waited}: {failure}")
        asked = ", ".join(self._core.broker_states()) or "none"
        if info is not None and info.error not in _NOT_THERE:
            return error_for(info.error, f"topic {batch.topic}")
        if info is not None and info.partitions:
            return UnknownTopicError(
                f"topic {batch.topic} has {len(info.partitions)} partitions, and no partition {queue.partition} "
                f"appeared {waited}; brokers asked: {asked}; send to one of 0 to {max(info.partitions)}, or leave "
                "partition out"
            )
        return UnknownTopicError(
            f"topic {batch.topic} does not exist and did not appear {waited}; brokers asked: "
            f"{asked}; {self._cluster.how_to_make_a_topic}"
        )
