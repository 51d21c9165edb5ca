"""The topics of a producer: which ones the metadata is asked for, and the records whose partition is not known yet.

Layer 3, no I/O. Such records wait `max_block_ms` at most; then they fail with an error that says which brokers were
asked (a warning says so long before): an UnknownTopicError only where one answered that the topic is not there. Where
none answered it is a ConnectError, or a KafkaTimeoutError once one is connected, and says what is under way. A topic is
asked for from its first record until it has been without records for `metadata_max_idle_ms`, or, if it is missing,
until its last record failed (KIP-526); the next record begins anew. After that time without records nothing is kept of
it, unless its sequences have to go on.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf

from kwire._codec import Accumulator, Batch, PartitionQueue, Timer, TopicQueue
from kwire._typing import override
from kwire.engine.common.outage import WARN_AFTER_S
from kwire.engine.common.recovery import Recoverable
from kwire.engine.metadata.metadata import TopicInfo, may_pass
from kwire.engine.ports import Services
from kwire.errors import KafkaError, UnknownTopicError
from kwire.errors.broker import error_for
from kwire.errors.listing import counted
from kwire.errors.wording import Wording
from kwire.schema.error_codes import LEADER_NOT_AVAILABLE, NONE, UNKNOWN_TOPIC_OR_PARTITION

_NOT_THERE = frozenset({NONE, UNKNOWN_TOPIC_OR_PARTITION, LEADER_NOT_AVAILABLE})


class UnknownTopics(Recoverable):
    """The topics of one accumulator: `topics` by name are those with records to be placed. Times are in seconds."""

    def __init__(
        self,
        core: Services,
        accumulator: Accumulator,
        fail: Callable[[Batch, KafkaError], None],
        *,
        max_wait: float,
        max_idle: float,
        end_sequences: Callable[[TopicQueue], bool],
    ) -> None:
        self._core = core
        self._cluster = core.cluster
        self._accumulator = accumulator
        self._fail = fail
        self._max_wait = max_wait
        self._max_idle = max_idle
        self._end_sequences = end_sequences
        self._tracked: dict[str, TopicQueue] = {}
        self._resting: dict[str, TopicQueue] = {}  # not asked for, and not dropped yet
        self._idle_timer: Timer | None = None
        self.topics: dict[str, TopicQueue] = {}
        self._warned_of: set[str] = set()

    def look(self, now: float) -> float | None:
        """Asks for new topics, places the records that can be placed, and fails those that have waited too long.

        Returns the moment to look again.
        """
        unknown = self._accumulator.unknown_topics
        while unknown:
            topic = unknown.popleft()
            self.topics[topic.name] = topic
            self._track(topic, now)
            if not self._place(topic):
                self._cluster.require_leader(now)
        soonest = None
        for topic in list(self.topics.values()):
            moment = self._give_up(topic, now)
            if moment is not None:
                soonest = moment if soonest is None else min(soonest, moment)
            else:
                del self.topics[topic.name]
                self._warned_of.discard(topic.name)
                if not topic.known:
                    self._release(topic)
        return soonest

    @override
    def recover(self, now: float) -> None:
        """After an interrupted step: topics that were taken off the accumulator's list are looked at again."""
        for topic in self._accumulator.topics.values():
            if topic.has_unassigned:
                self._accumulator.unknown_topics.append(topic)
        if self._idle_timer is not None:
            self._idle_timer.cancel()
            self._idle_timer = None
        self._watch_idle(now)

    def on_metadata(self, now: float) -> None:
        """News of the cluster: new partitions of any topic, places for what waits, topics that are gone."""
        for topic in list(self._tracked.values()):
            self._place(topic)
            info = self._cluster.topic(topic.name)
            if info is not None and info.error == UNKNOWN_TOPIC_OR_PARTITION and topic.name not in self.topics:
                self._release(topic)
        if any(topic.has_unassigned for topic in self.topics.values()):
            self._cluster.require_leader(now)

    # -- which topics -----------------------------------------------------------------------------------------------

    def _track(self, topic: TopicQueue, now: float) -> None:
        self._tracked[topic.name] = topic
        self._resting.pop(topic.name, None)
        self._cluster.track([topic.name], now)
        self._watch_idle(now)

    def _release(self, topic: TopicQueue) -> None:
        """Asks no more for a topic that has no records."""
        if self._accumulator.forget_partitions(topic):
            self._resting[topic.name] = topic
            self._tracked.pop(topic.name, None)
            self._cluster.untrack([topic.name])

    def _watch_idle(self, now: float) -> None:
        topics = [*self._tracked.values(), *self._resting.values()]
        if topics and (self._idle_timer is None or not self._idle_timer.active):
            first = min(topic.used_at for topic in topics)
            self._idle_timer = self._core.call_at(max(first, now) + self._max_idle, self._release_idle)

    def _release_idle(self, now: float) -> None:
        for topic in list(self._tracked.values()):
            if topic.used_at + self._max_idle <= now:
                self._release(topic)
        for topic in list(self._resting.values()):
            if topic.used_at + self._max_idle <= now and self._end_sequences(topic) and self._accumulator.drop(topic):
                del self._resting[topic.name]
        self._watch_idle(now)

    # -- records without a partition --------------------------------------------------------------------------------

    def _place(self, topic: TopicQueue) -> bool:
        """Whether nothing of the topic waits any more."""
        info = self._cluster.topic(topic.name)
        if info is not None and info.partitions:
            count = max(info.partitions) + 1
            available = [number for number in sorted(info.partitions) if info.partitions[number].leader >= 0]
            anew = topic.topic_id is not None and (info.topic_id != topic.topic_id or count < topic.known)
            try:
                self._accumulator.update_partitions(topic, count, available, anew=anew)
            except (KafkaError, OverflowError, MemoryError) as error:
                self._fail_unplaced(topic, error)
            topic.topic_id = info.topic_id
        return not topic.has_unassigned

    def _fail_unplaced(self, topic: TopicQueue, cause: Exception) -> None:
        """What cannot be placed ends here: other topics, and later records, have nothing to do with it."""
        for queue in self._unplaced(topic):
            for batch in queue.everything:
                error = KafkaError(f"topic {topic.name}: its records could not be placed: {cause!r}")
                error.__cause__ = cause
                self._fail(batch, error)

    def _unplaced(self, topic: TopicQueue) -> list[PartitionQueue]:
        """The queues of partitions that are not known."""
        return [queue for queue in topic.queues if not 0 <= queue.partition < topic.known]

    def _give_up(self, topic: TopicQueue, now: float) -> float | None:
        """Fails the records that have waited too long; returns when the next of the topic will have, or None."""
        info = self._cluster.topic(topic.name)
        at_once = info is not None and not may_pass(info.error)
        soonest = None
        for queue in self._unplaced(topic):
            for batch in queue.everything:
                deadline = batch.created_at + self._max_wait
                if at_once or deadline <= now:
                    self._fail(batch, self._why(queue, batch, info))
                else:
                    deadline = min(deadline, self._warn(topic.name, batch.created_at, now))
                    soonest = deadline if soonest is None else min(soonest, deadline)
        return soonest

    def _warn(self, topic: str, since: float, now: float) -> float:
        """Warns of a topic that is missing for long; returns when to look at that again."""
        if topic in self._warned_of:
            return inf
        moment = since + WARN_AFTER_S
        if moment > now:
            return moment
        missing = self._cluster.unknown_topic(topic)
        if missing is not None:
            self._warned_of.add(topic)
            words = "{missing}; its records wait for it, {max_block_ms}={limit} at most"
            self._core.warn(Wording(words, missing=missing, limit=round(self._max_wait * 1000)))
        return inf

    def _why(self, queue: PartitionQueue, batch: Batch, info: TopicInfo | None) -> KafkaError:
        waited = Wording("within {max_block_ms}={limit}", limit=round(self._max_wait * 1000))
        topic = f"topic {batch.topic}"
        if info is None:
            return self._cluster.no_answer(Wording("{topic}: no metadata {waited}", topic=topic, waited=waited))
        asked = self._cluster.asked
        if info.error not in _NOT_THERE:
            return error_for(info.error, topic)
        if info.refused:
            words = "{topic}: no metadata that can be {waited}: {refused}; asked: {asked}"
            return KafkaError(Wording(words, topic=topic, waited=waited, refused=info.refused, asked=asked))
        if info.partitions:
            return UnknownTopicError(
                Wording(
                    "{topic} has {count}, and no partition {number} appeared {waited}; brokers asked: "
                    "{asked}; send to one of 0 to {last}, or leave partition out",
                    topic=topic,
                    count=counted(len(info.partitions), "partition"),
                    number=queue.partition,
                    waited=waited,
                    asked=asked,
                    last=max(info.partitions),
                )
            )
        if info.error == NONE:
            words = "{topic} has no partitions, and none appeared {waited}; brokers asked: {asked}"
            return UnknownTopicError(Wording(words, topic=topic, waited=waited, asked=asked))
        return UnknownTopicError(
            Wording(
                "{topic} does not exist and did not appear {waited}; brokers asked: {asked}; {what_to_do}",
                topic=topic,
                waited=waited,
                asked=asked,
                what_to_do=self._cluster.how_to_make_a_topic,
            )
        )
