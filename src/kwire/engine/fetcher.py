"""Fetching assigned partitions: who is asked for what, and what comes of the answers.

Layer 3, no I/O. Each broker has one fetch under way at most. It is sent when half of the records that its last answer
brought were handed out; so while the caller works on the rest, the next answer is on its way (one fetch ahead), and no
more than two answers are in memory. It asks for so many partitions, in turn, as are known to have what one answer is
to bring, else for all that are read from that broker: which partitions, and how much, is in `fetch_sources.py`. What
has to be found out or set right first is done by `pump`, which looks at every partition; where nothing is, a fetch
costs no look at those that it does not ask for.

    order       brokers serve in request order and stop when the answer is full, so partitions that gave records wait
                behind the others
    hand-over   a poll without a limit gives about HAND_OVER_BYTES, as many as a small answer brings: what Python makes
                of them then fits into the caches and into memory that the poll before it has just freed
    too small   below v3 a batch larger than max_partition_fetch_bytes comes cut off: the partition asks for more next
                time, up to receive_message_max_bytes, then LimitError
    memory      decompressed content and index of what is not handed out yet are bounded (1 GiB, or
                max_decompressed_bytes if more), over all brokers: partitions for which there is no room are fetched
                again when the rest is handed out
    positions   by auto_offset_reset where there is none, or where the one there is is gone (code 1)
    faults      what precedes a bad batch is handed out, then the fault is raised, with the offset to seek to behind it
    v13+        topics by id; while an id is not known the request stays at v12

Each fetch is a full one: fetch sessions (KIP-227) are not used.
Sources: protocol guide; KIP-74 (order), KIP-320 (epochs), KIP-392 (near replicas), KIP-516 (ids), KIP-951 (leaders).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Mapping
from functools import partial

from kwire import protocol
from kwire._codec import Records, no_uuid, scan_records
from kwire._typing import TYPE_CHECKING, Any
from kwire.engine.addresses import Address, TopicPartition
from kwire.engine.api_keys import FETCH
from kwire.engine.calls import STALE_METADATA, broker_error
from kwire.engine.fetch_positions import END_OF_OFFSETS, PartitionState, reset_time
from kwire.engine.fetch_sources import Found, Source
from kwire.engine.offsets import LATEST, NO_OFFSET, OffsetLookup
from kwire.engine.retry import is_retriable
from kwire.engine.settings import ConsumerSettings
from kwire.errors import CodecError, ConfigError, KafkaError, LimitError

if TYPE_CHECKING:
    from kwire.engine.core import Core

OFFSET_OUT_OF_RANGE = 1
_LAST_VERSION_BY_NAME = 12
_FIRST_VERSION_THAT_GROWS_BY_ITSELF = 3
_READ_COMMITTED = 1
_REPLICA_FOR = 300.0
_DECOMPRESSED_AT_ONCE = 1 << 30

HAND_OVER_BYTES = 2 << 20
"""About how many bytes of the log one `take` without a limit gives, if more than one record."""

HAND_OVER_RECORDS = 16384
"""The most records that one `take` without a limit gives."""

Fetched = list[tuple[TopicPartition, Records]]
Sent = Mapping[TopicPartition, tuple[int, int]]
"""The partitions of one fetch, each with the epoch of its state and the offset asked for."""


class Fetcher:
    """The fetching side of one consumer. `polled_at` is when its last poll began, to be set by the consumer."""

    def __init__(self, core: Core, settings: ConsumerSettings) -> None:
        self._core = core
        self._settings = settings
        self._isolation = _READ_COMMITTED if settings.isolation_level == "read_committed" else 0
        self.states: dict[TopicPartition, PartitionState] = {}
        self._sources: dict[int, Source] = {}
        self._lookup: OffsetLookup | None = None
        self._lookup_of: dict[TopicPartition, int] = {}
        self._fault: KafkaError | None = None
        self._subscribed: tuple[str, ...] = ()
        self._assigned: tuple[str, ...] = ()
        self._turns = 0
        self._settled = False
        self._is_due = False
        self.polled_at = 0.0
        self._ready: deque[PartitionState] = deque()
        self._short_of_room = False
        self._faulty: list[PartitionState] = []
        self._marked: list[PartitionState] = []
        core.cluster.listeners.append(self._on_metadata)
        core.recovered.append(self._recover)

    # -- what is read, and from where -------------------------------------------------------------------------------

    def assign(
        self,
        partitions: Iterable[TopicPartition],
        now: float,
        *,
        at: Mapping[TopicPartition, int] | None = None,
        until: Mapping[TopicPartition, int] | None = None,
    ) -> None:
        """Reads exactly these from now on; those that stay keep their positions, unless `at` gives another.

        `until` gives the offsets at which reading ends, where it does.
        """
        self._subscribed = ()
        self._read(partitions, now, at or {}, until or {})

    def _read(
        self,
        partitions: Iterable[TopicPartition],
        now: float,
        at: Mapping[TopicPartition, int],
        until: Mapping[TopicPartition, int],
    ) -> None:
        wanted = dict.fromkeys(partitions)
        before = {tp.topic for tp in self.states}
        reset = reset_time(self._settings.auto_offset_reset)
        self.states = {
            tp: self.states.get(tp) or PartitionState(tp, self._settings.max_partition_fetch_bytes, reset)
            for tp in wanted
        }
        for tp, offset in at.items():
            self.state(tp).move(offset)
        for tp, state in self.states.items():
            state.end_offset = until.get(tp, END_OF_OFFSETS)
        topics = list(dict.fromkeys(tp.topic for tp in wanted))
        self._assigned = tuple(topics)
        self._core.cluster.untrack([topic for topic in before if topic not in topics])
        if topics:
            self._core.cluster.track(topics, now)
        self.pump(now)

    def state(self, tp: TopicPartition) -> PartitionState:
        """The state of an assigned partition; raises ConfigError for another."""
        found = self.states.get(tp)
        if found is None:
            raise ConfigError(f"partition {tp.topic}-{tp.partition} is not assigned to this consumer")
        return found

    def subscribe(self, topics: Iterable[str], now: float) -> None:
        """Reads all partitions of these topics from now on, also those that come later."""
        self._subscribed = ()
        self.assign((), now)
        self._subscribed = tuple(dict.fromkeys(topics))
        if self._subscribed:
            self._core.cluster.track(self._subscribed, now)
        self._on_metadata(now)

    def _on_metadata(self, now: float) -> None:
        """Topics that are subscribed to may have partitions that are not read yet."""
        found: list[TopicPartition] = []
        for name in self._subscribed:
            info = self._core.cluster.topic(name)
            if info is not None:
                found.extend(TopicPartition(name, partition) for partition in sorted(info.partitions))
        if any(tp not in self.states for tp in found):
            self._read(found, now, {}, {})
        else:
            self.pump(now)

    @property
    def topics(self) -> tuple[str, ...]:
        """The topics that are read, or would be if they existed."""
        return self._subscribed or self._assigned

    @property
    def reads_nothing(self) -> bool:
        """Whether nothing is assigned or subscribed to."""
        return not self.states and not self._subscribed

    @property
    def done(self) -> bool:
        """Whether there are partitions, and all have given what precedes their end."""
        return bool(self.states) and all(state.position >= state.end_offset for state in self.states.values())

    def has_something(self) -> bool:
        """Whether `take` would give or raise something."""
        return (
            self._fault is not None
            or any(self._gives(state) for state in self._ready)
            or any(state.fault is not None and not state.paused for state in self._faulty)
        )

    def _gives(self, state: PartitionState) -> bool:
        """Whether records of a partition that was ready when the fetches were last looked at may be handed out."""
        return state.holds_records and self.states.get(state.tp) is state

    def confirm(self, *, arrived: bool) -> None:
        """Whether what `take` gave last has arrived; else it will be given again."""
        for state in self._marked:
            if arrived:
                state.confirm()
            else:
                state.unmark()
                self._settled = False
        self._marked = []

    def keep_rest(self, arrived: int) -> None:
        """Of the records that `take` gave last only the first so many arrived; the others will be given again."""
        for state in self._marked:
            chunk = state.chunks[0]
            count = min(arrived, chunk.marked - chunk.taken)
            arrived -= count
            if chunk.taken + count < chunk.marked:
                self._settled = False
                chunk.marked = chunk.taken + count

    def take(self, most: int | None) -> Fetched:
        """What was fetched, at most so many records, to be confirmed by `confirm`; raises a fault if that comes first.

        None: about HAND_OVER_BYTES. A fault is raised once; the next fetch from that position meets it again unless the
        caller seeks.
        """
        taken: Fetched = []
        left = HAND_OVER_RECORDS if most is None else most
        room = HAND_OVER_BYTES if most is None else None
        for _ in range(len(self._ready)):
            if left == 0 or room == 0:
                break
            state = self._ready.popleft()
            if not self._gives(state):
                continue
            self._marked.append(state)
            part, size = state.chunks[0].mark(left, room)
            state.turn = self._next_turn()
            taken.append((state.tp, part))
            left -= len(part)
            room = None if room is None else max(room - size, 0)
            self._count_off(state, len(part))
        if not taken:
            self._raise_fault()
        return taken

    def _count_off(self, state: PartitionState, count: int) -> None:
        """So many were handed out. Behind the others, if it has more; with half of an answer gone the next is due."""
        if state.holds_records:
            self._ready.append(state)
        source = self._sources[state.chunks[0].node]
        source.unspent -= count
        if source.unspent <= source.enough:
            self._is_due = True
        if self._short_of_room and not self._ready:
            self._settled = False

    def _raise_fault(self) -> None:
        self._settled = False
        fault = self._fault
        if fault is not None:
            self._fault = None
            raise fault
        for state in self.states.values():
            fault = state.fault
            if fault is not None and not state.paused:
                state.fault = None
                raise fault

    def _next_turn(self) -> int:
        self._turns += 1
        return self._turns

    def _recover(self, now: float) -> None:
        """After a step that was cut: what was asked will not be answered."""
        for source in self._sources.values():
            source.asked = False
        for state in self.states.values():
            state.in_flight = False
        self.pump(now)

    # -- asking -----------------------------------------------------------------------------------------------------

    @property
    def is_due(self) -> bool:
        """Whether `pump_if_due` would do anything."""
        return self._is_due or not self._settled

    def pump_if_due(self, now: float) -> None:
        """Sends the fetches that are due, with a look at every partition only if something else may have changed."""
        if not self._settled:
            self.pump(now)
        elif self._is_due:
            self._ask_all(now)

    def pump(self, now: float) -> None:
        """Sends every fetch and every look-up that is due, and notes who has something to hand out."""
        if self._core.closed:
            return
        self._settled = True
        self._look_up_positions(now)
        self._note_what_is_held()
        self._line_up(now)
        self._faulty = [state for state in self.states.values() if state.fault is not None]
        self._settled = self._settled and not self._faulty
        self._ask_all(now)

    def _note_what_is_held(self) -> None:
        """Who has something to hand out, in turn, and how many records of each broker that makes."""
        self._ready = deque(sorted((state for state in self.states.values() if state.holds_records), key=_turn))
        for source in self._sources.values():
            source.unspent = 0
        for state in self._ready:
            for chunk in state.chunks:
                self._sources[chunk.node].unspent += chunk.unspent
        self._short_of_room = self._short_of_room and bool(self._ready)

    def _line_up(self, now: float) -> None:
        """Who is to be asked for, at which broker, in turn."""
        for source in self._sources.values():
            source.line.clear()
        for state in sorted(self.states.values(), key=_turn):
            if state.wants_fetch(now):
                node = self._node_of(state, now)
                if node is None:
                    self._settled = False
                else:
                    self._source(node).line.append(state)

    def _source(self, node: int) -> Source:
        found = self._sources.get(node)
        if found is None:
            settings = self._settings
            found = self._sources[node] = Source(node, settings.fetch_min_bytes, settings.fetch_max_bytes)
        return found

    def _ask_all(self, now: float) -> None:
        self._is_due = False
        for source in list(self._sources.values()):
            if source.line and not self._short_of_room and source.may_be_asked(now):
                self._ask(source, now)

    def _ask(self, source: Source, now: float) -> None:
        taken = source.next_in_line(now)
        states = [state for state in taken if self._node_of(state, now) == source.node]
        if states:
            self._fetch(source, states, now)
        if len(states) < len(taken):
            self.pump(now)

    def _node_of(self, state: PartitionState, now: float) -> int | None:
        """The broker to fetch from; asks for metadata, or sets the fault, where there is none."""
        tp = state.tp
        if state.read_from is not None:
            node, until = state.read_from
            if now < until and node in self._core.cluster.brokers:
                return node
            state.read_from = None
        leader = self._core.cluster.leader(tp.topic, tp.partition)
        if leader >= 0:
            return leader
        error = self._core.cluster.definite_error(tp.topic, tp.partition, newer_than=0)
        if error is not None:
            state.fault = error
        else:
            self._core.cluster.require_leader(now)
        return None

    def _fetch(self, source: Source, states: list[PartitionState], now: float) -> None:
        sent = {state.tp: (state.epoch, state.fetch_at) for state in states}
        versions = protocol.APIS[FETCH].versions
        if any(self._core.cluster.topic_id(topic) == no_uuid() for topic in {tp.topic for tp in sent}):
            versions = range(versions[0], _LAST_VERSION_BY_NAME + 1)
        for state in states:
            state.in_flight = True
        source.is_asked(now)
        wait = self._settings.fetch_max_wait_ms / 1000
        self._core.request(
            source.node,
            FETCH,
            partial(self._message, sent, source.size),
            partial(self._on_response, source, sent),
            partial(self._on_error, source, sent),
            now,
            versions=versions,
            long_poll=True,
            timeout=max(self._core.settings.request_timeout_ms / 1000, wait + 1),
        )

    def _message(self, sent: Sent, size: int, version: int) -> Any:
        made = protocol.FetchRequest
        cluster = self._core.cluster
        topics: dict[str, list[Any]] = {}
        for tp, (epoch, offset) in sent.items():
            state = self.states.get(tp)
            if state is None or state.epoch != epoch:
                continue
            topics.setdefault(tp.topic, []).append(
                made.FetchTopic.FetchPartition(
                    partition=tp.partition,
                    current_leader_epoch=cluster.leader_epoch(tp.topic, tp.partition),
                    fetch_offset=offset,
                    partition_max_bytes=state.max_bytes,
                )
            )
        settings = self._settings
        by_id = version > _LAST_VERSION_BY_NAME
        return made(
            max_wait_ms=settings.fetch_max_wait_ms,
            min_bytes=settings.fetch_min_bytes,
            max_bytes=size,
            isolation_level=self._isolation,
            rack_id=settings.client_rack,
            topics=[
                made.FetchTopic(topic_id=cluster.topic_id(name), partitions=rows)
                if by_id
                else made.FetchTopic(topic=name, partitions=rows)
                for name, rows in topics.items()
            ],
        )

    # -- answers ----------------------------------------------------------------------------------------------------

    def _on_error(self, source: Source, sent: Sent, error: KafkaError, now: float) -> None:
        self._back(source, sent, ())
        if not is_retriable(error):
            self._fault = error
        self._rest(source, now + self._core.retry_backoff.wait(1))

    def _on_response(self, source: Source, sent: Sent, response: Any, version: int, now: float) -> None:
        if response.throttle_time_ms > 0:
            self._rest(source, now + response.throttle_time_ms / 1000)
        if response.error_code:
            text = f"Fetch from broker {source.node}"
            self._on_error(source, sent, broker_error(response.error_code, text), now)
            return
        endpoints = {row.node_id: Address(row.host, row.port) for row in response.node_endpoints}
        if endpoints:
            self._core.update_brokers(endpoints, complete=False, now=now)
        self._take_in_all(source, sent, response, version, now)
        self.pump_if_due(now)

    def _take_in_all(self, source: Source, sent: Sent, response: Any, version: int, now: float) -> None:
        """What all partitions of an answer brought is ready to be handed out."""
        most = max(_DECOMPRESSED_AT_ONCE, self._settings.max_decompressed_bytes)
        room = most - sum(state.memory for state in {*self._ready, *self._marked} if not state.paused)
        found = Found()
        for topic in response.responses:
            name = topic.topic or self._core.cluster.names.get(topic.topic_id, "")
            for row in topic.partitions:
                tp = TopicPartition(name, row.partition_index)
                state = self.states.get(tp)
                if state is None or sent.get(tp) != (state.epoch, state.fetch_at):
                    continue
                if row.error_code or row.preferred_read_replica >= 0:
                    self._redirect(state, row, now)
                    continue
                state.known_end = row.last_stable_offset if self._isolation else row.high_watermark
                if not row.records:
                    continue
                begin, was_ready, held = state.fetch_at, state.holds_records, len(state.chunks)
                room -= self._take_in(state, source.node, row, version, room, room == most)
                if len(state.chunks) > held:
                    if not was_ready:
                        self._ready.append(state)
                    found.add(state, state.chunks[-1].count, state.fetch_at - begin, len(row.records))
        self._back(source, sent, found.gave)
        source.answered(found, self.polled_at, now)
        self._is_due = True
        self._settled = self._settled and not self._short_of_room

    def _back(self, source: Source, sent: Sent, gave: Collection[PartitionState]) -> None:
        """The fetch has ended; who is still read from where it was asked for is in line again."""
        source.asked = False
        asked = []
        for tp, (epoch, _) in sent.items():
            state = self.states.get(tp)
            if state is not None and state.epoch == epoch:
                state.in_flight = False
                asked.append(state)
        source.put_back(asked, gave)

    def _redirect(self, state: PartitionState, row: Any, now: float) -> None:
        """The records of a partition are to be had elsewhere, later, or not at all."""
        self._settled = False
        if row.error_code:
            self._take_in_error(state, row, now)
        else:
            state.read_from = (row.preferred_read_replica, now + _REPLICA_FOR)

    def _take_in(self, state: PartitionState, node: int, row: Any, version: int, room: int, first: bool) -> int:
        """Records of one partition, with `room` bytes for content and index; returns how many they took."""
        if room <= 0:
            self._short_of_room = True
            return 0
        aborted = row.aborted_transactions if self._isolation else None
        records, fault = scan_records(
            row.records,
            check_crc=self._settings.check_crcs,
            max_decompressed_bytes=self._settings.max_decompressed_bytes,
            max_total_bytes=room,
            min_offset=state.fetch_at,
            end_offset=state.end_offset,
            skip_control=True,
            ascending=True,
            aborted=[(entry.producer_id, entry.first_offset) for entry in aborted] if aborted else (),
        )
        next_offset = records.next_offset
        if next_offset is not None and next_offset > state.fetch_at:
            state.add(records, next_offset, node)
        if fault is not None and isinstance(fault.error, LimitError) and (records.consumed or not first):
            self._short_of_room = True  # there may be enough when it comes again, with nothing else in memory
        elif fault is not None:
            self._settled = False
            state.fault = _in_data(fault.error, state.tp, fault.base_offset, fault.next_offset)
        elif not records.consumed:
            self._ask_for_more(state, records.needed, version)
        return records.decompressed_bytes + records.index_bytes

    def _ask_for_more(self, state: PartitionState, needed: int, version: int) -> None:
        """Not one whole batch came: it is larger than what was asked for."""
        if version >= _FIRST_VERSION_THAT_GROWS_BY_ITSELF and state.max_bytes >= needed:
            return
        self._settled = False
        limit = self._core.settings.receive_message_max_bytes
        if needed > limit or state.max_bytes >= limit:
            state.fault = LimitError(
                f"{state.tp.topic}-{state.tp.partition} at offset {state.fetch_at}: a batch of {needed} bytes is above "
                f"receive_message_max_bytes={limit}"
            )
            return
        state.max_bytes = min(max(state.max_bytes * 2, needed), limit)

    def _take_in_error(self, state: PartitionState, row: Any, now: float) -> None:
        tp, code = state.tp, row.error_code
        error = broker_error(code, f"Fetch of {tp.topic}-{tp.partition} at offset {state.fetch_at}")
        if code == OFFSET_OUT_OF_RANGE:
            state.read_from = None
            time = reset_time(self._settings.auto_offset_reset)
            if time is None:
                state.fault = error
            else:
                state.reset(time)
            return
        if code not in STALE_METADATA and not error.retriable:
            state.fault = error
            return
        state.read_from = None
        leader = row.current_leader
        if not self._core.cluster.update_leader(tp.topic, tp.partition, leader.leader_id, leader.leader_epoch):
            self._core.cluster.refresh(now)
            state.rest_until = now + self._core.retry_backoff.wait(1)
            self._core.call_at(state.rest_until, self.pump)

    def _rest(self, source: Source, until: float) -> None:
        """Nothing is asked there until that moment."""
        source.rest_until = max(until, source.rest_until)
        self._core.call_at(until, self._end_rest)

    def _end_rest(self, now: float) -> None:
        self._is_due = True
        self.pump_if_due(now)

    # -- positions --------------------------------------------------------------------------------------------------

    def _look_up_positions(self, now: float) -> None:
        """Looks up, all at once, the positions of those that have none; the next ones wait for these."""
        if self._lookup is not None and not self._lookup.done:
            return
        wanted = {}
        for state in self.states.values():
            if state.wants_lookup and self._core.cluster.leader(state.tp.topic, state.tp.partition) >= 0:
                wanted[state.tp] = state.reset_to if state.reset_to is not None else LATEST
            elif state.wants_lookup:
                self._settled = False
                self._node_of(state, now)
            elif state.is_nowhere and state.fault is None:
                state.fault = ConfigError(
                    f"{state.tp.topic}-{state.tp.partition} has no position, and "
                    f"auto_offset_reset='none' gives it none: seek() first, or set 'earliest' "
                    f"or 'latest'"
                )
        if wanted:
            self._lookup_of = {tp: self.states[tp].epoch for tp in wanted}
            deadline = now + self._core.settings.default_api_timeout_ms / 1000
            lookup = OffsetLookup(
                self._core, wanted, isolation=self._isolation, deadline=deadline, now=now, on_done=self._looked_up
            )
            self._lookup = None if lookup.done else lookup

    def _looked_up(self, call: OffsetLookup, now: float) -> None:
        self._lookup = None
        past_the_end: list[PartitionState] = []
        for tp, epoch in self._lookup_of.items():
            state = self.states.get(tp)
            if state is None or state.epoch != epoch:
                continue
            if call.error is not None:
                state.fault = call.error
                continue
            offset = call.result[tp].offset
            if offset == NO_OFFSET:
                past_the_end.append(state)
            else:
                state.move(offset)
        for state in past_the_end:
            state.reset(LATEST)
        self.pump(now)


def _turn(state: PartitionState) -> int:
    return state.turn


def _in_data(error: CodecError, tp: TopicPartition, offset: int, seek_to: int) -> CodecError:
    """The codec's error with the place in the log, and the way past it."""
    error.message = f"{tp.topic}-{tp.partition} at offset {offset}: {error.message}; seek to {seek_to} to pass it"
    error.topic, error.partition, error.record_offset, error.seek_to = tp.topic, tp.partition, offset, seek_to
    return error
