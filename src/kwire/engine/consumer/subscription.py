"""The subscription of a consumer: its topics, the partitions assigned, and the position in each.

Layer 3, no I/O; asks no broker itself. Without a group, a consumer reads all partitions of the topics it subscribes to.
In a group the membership says which ones, through `assign_by_group`: a partition that is new is held until `release`,
one that is about to go from `set_revoking` on, so that the user's listener is called in between.

One rule for threads: everything here, and everything that hangs on it (partition states, chunks, the hand-out), is
touched with the core to itself only, so inside `Reactor.call` or the condition of `Reactor.wait`. The clients' fronts
keep no reference to a partition state between two calls.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping

from kwire._codec import no_uuid
from kwire._typing import TYPE_CHECKING, TypeVar
from kwire.engine.common.addresses import TopicPartition
from kwire.engine.consumer.partition_state import END_OF_OFFSETS, PartitionState
from kwire.engine.settings.clients import ConsumerSettings
from kwire.engine.settings.offset_reset import OffsetReset
from kwire.errors import ConfigError, KafkaError
from kwire.errors.wording import Wording

if TYPE_CHECKING:
    from uuid import UUID

    from kwire.engine.metadata.cluster import TopicFilter
    from kwire.engine.ports import Services

T = TypeVar("T")

MAX_GONE = 10_000
"""Of partitions that went so many are remembered, those that went last."""


class Subscription:
    """The partitions that one consumer reads. `on_change(now)` is called after each change of what is read.

    offset_reset  where reading begins without a position
    in_group  positions come from what the group committed
    moved     in a group: partitions whose position has changed since that
    ended     partitions that the group has assigned and that went, with the number of that assignment (`tenure`);
    withdrawn those of them that did not come back. Neither is changed in place
    """

    def __init__(self, core: Services, settings: ConsumerSettings, on_change: Callable[[float], None]) -> None:
        self._cluster = core.cluster
        self._settings = settings
        self._on_change = on_change
        self._has_group = settings.group_id is not None
        self._by_group = False
        self._pattern: TopicFilter | None = None
        self.states: dict[TopicPartition, PartitionState] = {}
        self.offset_reset = OffsetReset(settings.auto_offset_reset, core)
        self.in_group = False
        self.moved: set[PartitionState] = set()
        self.ended: Mapping[TopicPartition, int] = {}
        self.withdrawn: frozenset[TopicPartition] = frozenset()
        self._tenures = 0
        self._has_ends = False
        self._subscribed: tuple[str, ...] = ()
        self._assigned: tuple[str, ...] = ()
        self._gone: dict[TopicPartition, PartitionState] = {}
        self._ids: dict[str, UUID] = {}
        self._refused: dict[str, KafkaError] = {}

    # -- what is read -----------------------------------------------------------------------------------------------

    def assign(
        self,
        partitions: Iterable[TopicPartition],
        now: float,
        *,
        at: Mapping[TopicPartition, int] | None = None,
        until: Mapping[TopicPartition, int] | None = None,
    ) -> None:
        """Reads exactly these from now on; those that stay keep their positions, unless `at` has another.

        `until` has the offsets at which reading ends, where it does.
        """
        self._by_group = False
        self._want((), None, now)
        self._gone.clear()
        self._read(partitions, now, at or {}, until or {})

    def subscribe(self, topics: Iterable[str], now: float, pattern: TopicFilter | None = None) -> None:
        """Reads these topics from now on, or those whose names match the pattern, also those that come later: all of
        their partitions, or in a group those that it assigns."""
        if not self._by_group:
            self.assign((), now)
        self._by_group = self._has_group
        self._want(tuple(dict.fromkeys(topics)), pattern, now)
        self.on_metadata(now)

    def _want(self, topics: tuple[str, ...], pattern: TopicFilter | None, now: float) -> None:
        self._refused.clear()
        self._cluster.untrack([topic for topic in self._subscribed if topic not in self._assigned], owner=self)
        self._subscribed = topics
        self._pattern = pattern
        if pattern is not None:
            self._cluster.follow(pattern, now, owner=self)
        else:
            self._cluster.unfollow(owner=self)
        if topics:
            self._cluster.track(topics, now, owner=self)

    def assign_by_group(self, partitions: Iterable[TopicPartition], now: float) -> None:
        """Reads exactly these, as the group says: those that stay keep their states, others are held for now."""
        wanted = list(partitions)
        fresh = [tp for tp in wanted if tp not in self.states]
        self._read(wanted, now, {}, {}, held=fresh)

    def release(self, partitions: Iterable[TopicPartition], now: float) -> None:
        """The user knows of these partitions: they may be read."""
        self._hold(partitions, False, now)

    def set_revoking(self, partitions: Iterable[TopicPartition], now: float) -> None:
        """Hands out no more of these, which are to go."""
        self._hold(partitions, True, now)

    def _hold(self, partitions: Iterable[TopicPartition], held: bool, now: float) -> None:
        changed = False
        for tp in partitions:
            state = self.states.get(tp)
            if state is not None and state.held != held:
                state.held = held
                changed = True
        if changed:
            self._on_change(now)

    def on_metadata(self, now: float) -> None:
        """Follows the topics subscribed to: new partitions, topics made anew with fewer, topics that are refused."""
        if self._pattern is not None:
            self._subscribed = tuple(sorted(self._cluster.followed(owner=self)))
        if self._by_group:
            self._note_refused()
            self._renew_states(now)
            return
        if not self._subscribed:
            return
        known: dict[str, list[TopicPartition]] = defaultdict(list)
        for tp in self.states:
            known[tp.topic].append(tp)
        found: list[TopicPartition] = []
        for name in self._subscribed:
            found.extend(self._partitions_of(name, known[name]))
        if found != list(self.states):
            self._read(found, now, {}, {})

    def _note_refused(self) -> None:
        for topic in self._subscribed:
            error = self._cluster.definite_error(topic, 0, newer_than=self._cluster.generation)
            if error is not None:
                self._refused[topic] = error

    def _renew_states(self, now: float) -> None:
        """What was known of partitions whose topic is another one by now: the group has committed nothing there."""
        made_anew = {topic for topic in self._assigned if self._has_another_id(topic)}
        if made_anew:
            old = self.states
            self.states = {tp: self._renewed(state) if tp.topic in made_anew else state for tp, state in old.items()}
            self._end_tenures(old)
            self._on_change(now)

    def _has_another_id(self, topic: str) -> bool:
        found = self._cluster.topic_id(topic)
        if found == no_uuid():
            return False
        known = self._ids.get(topic, found)
        self._ids[topic] = found
        return found != known

    def _renewed(self, state: PartitionState) -> PartitionState:
        made = self._new_state(state.tp)
        made.held, made.paused = state.held, state.paused
        return made

    def _partitions_of(self, topic: str, known: list[TopicPartition]) -> list[TopicPartition]:
        """The partitions of a topic subscribed to, by the metadata; those known before while it says nothing."""
        info = self._cluster.topic(topic)
        if info is None:
            return known
        error = self._cluster.definite_error(topic, 0, newer_than=self._cluster.generation)
        if error is not None:
            self._refused[topic] = error
            return known
        self._refused.pop(topic, None)
        if not info.partitions:
            return known
        self._ids[topic] = info.topic_id
        return [TopicPartition(topic, number) for number in sorted(info.partitions)]

    def _read(
        self,
        partitions: Iterable[TopicPartition],
        now: float,
        at: Mapping[TopicPartition, int],
        until: Mapping[TopicPartition, int],
        held: Iterable[TopicPartition] = (),
    ) -> None:
        wanted = dict.fromkeys(partitions)
        before = {tp.topic for tp in self.states}
        if self._subscribed and not self._by_group:
            gone = {tp: state for tp, state in self.states.items() if tp not in wanted and not self._has_id(tp)}
            for state in gone.values():
                state.forget_asked()
            self._gone = _last({**self._gone, **gone})
        old = self.states
        self.states = {tp: old.get(tp) or self._gone.pop(tp, None) or self._new_state(tp) for tp in wanted}
        self._end_tenures(old)
        for tp in held:
            self.state(tp).held = True
        for tp, offset in at.items():
            self.state(tp).seek(offset)
        if until or self._has_ends:
            self._has_ends = bool(until)
            for tp, state in self.states.items():
                state.set_end(until.get(tp, END_OF_OFFSETS))
        topics = list(dict.fromkeys(tp.topic for tp in wanted))
        self._assigned = tuple(topics)
        if self._by_group:
            ids = {topic: self._ids.get(topic, self._cluster.topic_id(topic)) for topic in topics}
            self._ids = {topic: found for topic, found in ids.items() if found != no_uuid()}
        kept = {*topics, *self._subscribed}
        self._ids = {topic: found for topic, found in self._ids.items() if topic in kept}
        self._cluster.untrack([topic for topic in before if topic not in kept], owner=self)
        named = [topic for topic in topics if not self._by_group or topic in self._subscribed]
        matched_by_the_broker = [topic for topic in topics if topic not in named]
        if named:
            self._cluster.track(named, now, owner=self)
        if matched_by_the_broker:
            self._cluster.track(matched_by_the_broker, now, owner=self, may_create=False)
        self._on_change(now)

    def _end_tenures(self, old: Mapping[TopicPartition, PartitionState]) -> None:
        """Notes what the group has assigned and is read no more, and has its states freed."""
        self.moved.intersection_update(self.states.values())
        ended = {tp: state.tenure for tp, state in old.items() if state.tenure and self.states.get(tp) is not state}
        if ended:
            known = dict(self.ended)
            for tp in ended:
                known.pop(tp, None)
            self.ended = _last(known | ended)
        if ended or not self.withdrawn.isdisjoint(self.states):
            self.withdrawn = self.withdrawn.union(ended).difference(self.states)
            if len(self.ended) == MAX_GONE:
                self.withdrawn = self.withdrawn.intersection(self.ended)

    def _has_id(self, tp: TopicPartition) -> bool:
        """Whether the topic has an id: so a recreated one is not taken for one that a broker knows only in part."""
        return self._ids.get(tp.topic, no_uuid()) != no_uuid()

    def _new_state(self, tp: TopicPartition) -> PartitionState:
        settings = self._settings
        made = PartitionState(tp, settings.max_partition_fetch_bytes, self.offset_reset.time())
        made.generation = self._cluster.generation
        if self.in_group:
            made.awaits_committed = True
            made.moved = self.moved
        if self._by_group:
            self._tenures += 1
            made.tenure = self._tenures
        return made

    # -- questions --------------------------------------------------------------------------------------------------

    def state(self, tp: TopicPartition) -> PartitionState:
        """The state of an assigned partition; raises ConfigError for another."""
        found = self.states.get(tp)
        if found is None:
            raise ConfigError(f"partition {tp.topic}-{tp.partition} is not assigned to this consumer")
        return found

    def chosen(self, partitions: Iterable[TopicPartition] | None) -> list[PartitionState]:
        """The states of these partitions, or of all; ConfigError while those of a subscribed topic are not known."""
        if partitions is not None:
            return [self.state(tp) for tp in partitions]
        known = {tp.topic for tp in self.states}
        for topic in () if self._by_group else self.topics:
            if topic not in known:
                raise ConfigError(
                    Wording(
                        "the partitions of {topic!r} are not known before the first poll(), so there is nothing to "
                        "seek; set {auto_offset_reset}, name the partitions by assign(), or seek after a poll",
                        topic=topic,
                    )
                )
        return list(self.states.values())

    def topic_id(self, topic: str) -> UUID:
        """The topic's id: that of what is assigned, though the metadata may not have it any more."""
        return self._ids.get(topic) or self._cluster.topic_id(topic)

    @property
    def topics(self) -> tuple[str, ...]:
        """The topics that are read, or would be if they existed."""
        return self._subscribed or self._assigned

    @property
    def reads_nothing(self) -> bool:
        """Whether nothing is assigned or subscribed to."""
        return not (self.states or self._subscribed or self._by_group or self._pattern)

    @property
    def subscribed(self) -> tuple[str, ...]:
        """The topics subscribed to: those named, or those known to match the pattern."""
        return self._subscribed

    @property
    def matched_or_named(self) -> tuple[str, ...]:
        """As `subscribed`; where a coordinator matches the pattern, the topics of which it has assigned partitions."""
        return self.topics if self._by_group else self._subscribed

    @property
    def by_group(self) -> bool:
        """Whether a group assigns what is read."""
        return self._by_group

    @property
    def done(self) -> bool:
        """Whether there are partitions, and all records before their ends were delivered."""
        if not self._has_ends:  # a poll asks each time that some bytes have come
            return False
        return bool(self.states) and all(state.position >= state.end_offset for state in self.states.values())

    @property
    def refused(self) -> bool:
        """Whether `take_refusal` would return an error."""
        return bool(self._refused)

    def take_refusal(self) -> KafkaError | None:
        """The error for a topic that may not be read: once for each answer of the brokers that says so."""
        return self._refused.popitem()[1] if self._refused else None


def _last(rows: dict[TopicPartition, T]) -> dict[TopicPartition, T]:
    """The MAX_GONE rows that were added last."""
    return dict(list(rows.items())[-MAX_GONE:]) if len(rows) > MAX_GONE else rows
