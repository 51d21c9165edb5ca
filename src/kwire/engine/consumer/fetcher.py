"""Fetching: which broker is asked for which partitions, and what is done with the responses.

Layer 3, no I/O. Each broker has one fetch in flight at most. It is sent when half of the records that its last
response brought were handed out; so while the caller works on the rest, the next response is on its way (one fetch
ahead), and no more than two responses are in memory. It asks for as many partitions, in turn, as are known to fill one
response, else for all that are read from that broker: `fetch_sources.py` chooses which, and how much.
`pump` visits every partition and resolves what is missing (leader, position, back-off); otherwise a fetch touches only
the partitions that it asks for.

    order       brokers serve in request order and stop when the response is full, so partitions that returned records
                wait after the others
    hand-over   a poll without a limit returns about HAND_OVER_BYTES, as much as a small response brings: what Python
                makes of it then fits into the caches and into memory that the poll before it has just freed
    too small   below v3 a batch larger than max_partition_fetch_bytes comes cut off: the partition asks for more next
                time, up to receive_message_max_bytes, then LimitError
    memory      what is held beside the responses for records not delivered yet is bounded (1 GiB, or
                max_decompressed_bytes if more), over all brokers: partitions for which there is no room are fetched
                again when the rest is handed out
    replicas    one that refuses or cannot be reached is left at once, and the leader is asked for the records itself
                for LEADER_FOR_S; an offset that is out of range there is not believed
    elections   a partition is asked for at its next leader although the last one has not answered
    faults      what precedes a bad batch is handed out, then the next call raises the fault, with the offset to seek to
                after it, whatever other partitions have
    v13+        topics by id; while an id is not known the request stays at v12
    sessions    where idle partitions are many, they rest at the broker and cost nothing (`fetch_sessions.py`): they
                stay in flight from one fetch to the next. `pump` wakes those that are not to be read as they were

Sources: protocol guide; KIP-74 (order), KIP-227 (sessions), KIP-320 (epochs), KIP-392 (replicas), KIP-516 (ids),
KIP-951 (leaders).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Mapping
from functools import partial
from operator import attrgetter

from kwire import errors, protocol
from kwire._codec import Records, Timer, no_uuid, scan_records
from kwire._typing import TYPE_CHECKING, Any, override
from kwire.engine.calls.offsets import READ_COMMITTED, isolation_code, too_old_for
from kwire.engine.common.addresses import Address, TopicPartition
from kwire.engine.common.pace import EVERY_S, Throttling
from kwire.engine.common.recovery import Recoverable
from kwire.engine.common.request import Purpose
from kwire.engine.common.retry import is_retriable
from kwire.engine.common.topic_totals import TopicTotals
from kwire.engine.consumer.data_faults import batch_too_large, in_data
from kwire.engine.consumer.fetch_sessions import SESSION_CODES, Asked, FetchSession
from kwire.engine.consumer.fetch_sources import FetchStats, Source
from kwire.engine.consumer.hand_out import HandOut
from kwire.engine.consumer.partition_state import PartitionState
from kwire.engine.consumer.position_lookup import PositionLookup
from kwire.engine.consumer.subscription import Subscription
from kwire.engine.settings.clients import ConsumerSettings
from kwire.errors import AuthError, KafkaError, LimitError
from kwire.schema.api_keys import FETCH
from kwire.schema.error_codes import OFFSET_OUT_OF_RANGE

if TYPE_CHECKING:
    from kwire.engine.groups.committed import OffsetFetches
    from kwire.engine.ports import Services

    Row = protocol.FetchResponse.FetchableTopicResponse.PartitionData

_LAST_VERSION_BY_NAME = 12
_FIRST_VERSION_THAT_GROWS_BY_ITSELF = 3
_FIRST_VERSION_WITH_ISOLATION = 4
_REPLICA_FOR_S = 300.0
_MAX_MEMORY = 1 << 30

LEADER_FOR_S = 60.0
"""Seconds for which the leader itself is asked for the records after a near replica failed."""

HAND_OVER_BYTES = 2 << 20
"""About how many bytes of the log one `take` without a limit returns, if more than one record."""

HAND_OVER_RECORDS = 16384
"""How many records one `take` without a limit returns at most."""

LOOK_TAKES_S = 10e-6
"""Seconds between two looks at all partitions, for each of them: what comes of many brokers by and by is looked at
together, and looking never takes all of the time."""

Fetched = list[tuple[TopicPartition, Records]]

_order = attrgetter("order")


class Fetcher(Recoverable):
    """The fetching side of one consumer. `polled_at` is when its last poll began, to be set by the poll.

    `max_decoded` bounds what one response takes to decode: bytes of decompressed records and their index.

    consumed      how many records of each topic were handed out; `fetched_bytes`: as they came from the brokers
    _sources      node id -> Source: the brokers fetched from
    _ready        partitions with records to hand out, in turn; `_faulty`: those with a fault
    _is_settled   nothing but the fetches themselves needs a look; else `pump` visits every partition
    _is_due       some broker may be asked for more
    _is_full      the memory bound was met: nothing is fetched before all that is ready was handed out
    _fault        an error of a whole response, to be raised next
    """

    def __init__(
        self,
        core: Services,
        settings: ConsumerSettings,
        on_warning: Callable[[str], None] | None = None,
        max_decoded: int | None = None,
    ) -> None:
        self._core = core
        self._max_decoded = max_decoded
        self._settings = settings
        self._isolation = isolation_code(settings.isolation_level)
        self.subscription = Subscription(core, settings, self.pump)
        self.positions = PositionLookup(core, settings, self.subscription, self._look_again, on_warning or _ignore)
        self.hand_out = HandOut()
        self.polled_at = 0.0
        self.consumed = TopicTotals(lambda: self.subscription.topics)
        self.fetched_bytes = TopicTotals(lambda: self.subscription.topics)
        self.throttling = Throttling()
        self._sources: dict[int, Source] = {}
        self._fault: KafkaError | None = None
        self._turns = 0
        self._looked_at = 0.0
        self._hasty: set[int] = set()
        self._next_look: Timer | None = None
        self._is_settled = False
        self._is_due = False
        self._is_full = False
        self._ready: deque[PartitionState] = deque()
        self._faulty: list[PartitionState] = []
        core.cluster.listeners.append(self._on_metadata)
        self.recover_with(core)

    def begin_in_group(self, fetches: OffsetFetches) -> None:
        """New partitions are read from what the group committed, by `fetches`."""
        self.positions.committed = fetches
        self.subscription.in_group = True

    # -- handing out ------------------------------------------------------------------------------------------------

    def has_something(self) -> bool:
        """Whether `take` would return or raise something."""
        if self._fault is not None or self.positions.has_overdue or self.subscription.refused:
            return True
        for state in self._ready:  # a loop, as a poll asks each time that some bytes have come
            if self._has_records(state):
                return True
        return bool(self._faulty) and any(state.has_fault_next for state in self._faulty)

    def _has_records(self, state: PartitionState) -> bool:
        """Whether records of a partition that was ready when the fetches were last looked at may be handed out."""
        return state.holds_records and self.subscription.states.get(state.tp) is state

    def settle(self, *, finished: bool = False) -> None:
        """Settles what was handed out last: what the caller does not have waits again; what it has is `finished` when
        it polls."""
        if self.hand_out.settle(finished=finished):
            self._is_settled = False

    def take(self, max_records: int | None, default_limit: int = HAND_OVER_RECORDS) -> Fetched:
        """Hands out what was fetched, at most `max_records`; raises a fault that comes first.

        None: `default_limit`, or about HAND_OVER_BYTES if that is less. A fault is raised once; the next fetch from
        that position meets it again unless the caller seeks.
        """
        self._raise_fault()
        taken: Fetched = []
        left = default_limit if max_records is None else max_records
        room = HAND_OVER_BYTES if max_records is None else None
        for _ in range(len(self._ready)):
            if left == 0 or room == 0:
                break
            state = self._ready.popleft()
            if not self._has_records(state):
                continue
            self.hand_out.add(state)
            part, size = state.chunks[0].hand_out(left, room)
            state.order = self._next_turn()
            taken.append((state.tp, part))
            left -= len(part)
            room = None if room is None else max(room - size, 0)
            self._account(state, len(part))
        return taken

    def _account(self, state: PartitionState, count: int) -> None:
        """Accounts for `count` records handed out: requeues the partition if it has more, and marks the next fetch due
        when half of the response is consumed."""
        self.consumed.add(state.tp.topic, count)
        if state.holds_records:
            self._ready.append(state)
        source = self._sources[state.chunks[0].node]
        source.buffered -= count
        if source.buffered <= source.low_water:
            self._is_due = True
        if self._is_full and not self._ready:
            self._is_settled = False

    def _raise_fault(self) -> None:
        """Raises an error that comes before any record."""
        fault = self._fault or self.subscription.take_refusal() or self.positions.take_overdue()
        if fault is not None:
            self._fault = None
            raise fault
        if not self._faulty:
            return
        self._is_settled = False
        for state in self._faulty:
            if state.has_fault_next and self.subscription.states.get(state.tp) is state:
                fault = state.fault
                self._forget_fault(fault)
                assert fault is not None
                raise fault

    def _forget_fault(self, fault: KafkaError | None) -> None:
        """Takes this very fault from every partition that has it: a broker that refused a request is reported once."""
        for state in self._faulty:
            if state.fault is fault:
                state.fault = None

    def _next_turn(self) -> int:
        self._turns += 1
        return self._turns

    @override
    def recover(self, now: float) -> None:
        """What was asked will not be answered."""
        for source in self._sources.values():
            source.in_flight = False
            source.session.end()
        for state in self.subscription.states.values():
            state.in_flight = False
        self.positions.recover(now)
        self.pump(now)

    # -- asking -----------------------------------------------------------------------------------------------------

    def _on_metadata(self, now: float) -> None:
        self.subscription.on_metadata(now)
        self._forget_brokers()
        self.positions.leave_former_leaders()
        self._leave_former_leaders(now)
        self._is_settled = False
        self.pump_if_due(now)

    def _leave_former_leaders(self, now: float) -> None:
        """A leader that hangs holds up nothing that another one has taken over."""
        for source in self._sources.values():
            for tp in source.session.changed if source.in_flight else ():
                asked, state = source.session.asked.get(tp), self.subscription.states.get(tp)
                if asked is None or state is None or state.revision != asked.revision:
                    continue
                newer = self._core.cluster.leader_epoch(tp.topic, tp.partition) > asked.leader_epoch
                if newer and self._node_of(state, now) not in (source.node, None):
                    state.forget_asked()

    def _forget_brokers(self) -> None:
        """Brokers that have left the cluster, once nothing is in flight and all that they gave is handed out."""
        gone = self._sources.keys() - self._core.cluster.brokers.keys()
        if gone:
            states = self.subscription.states.values()
            held = {chunk.node for state in states for chunk in state.chunks}
            for node in gone - held:
                if not self._sources[node].in_flight:
                    self._end_session(self._sources[node])
                    del self._sources[node]
                    self._hasty.discard(node)
            self._share_size()

    def _look_again(self, now: float) -> None:
        """A position came, or a back-off ended: looks at all partitions, once for all that say so meanwhile."""
        self._is_settled = False
        if self._next_look is None or not self._next_look.active:
            self._next_look = self._core.call_at(max(now, self._may_look_at), self.pump_if_due)

    @property
    def _may_look_at(self) -> float:
        return self._looked_at + len(self.subscription.states) * LOOK_TAKES_S

    def pump_if_due(self, now: float) -> None:
        """Sends the fetches that are due, with a look at every partition only if something else may have changed."""
        if not self._is_settled:
            if now >= self._may_look_at:
                self.pump(now)
                return
            self._look_again(now)
        if self._is_due:
            self._ask_all(now)

    def pump(self, now: float) -> None:
        """Sends every fetch and every look-up that is due, and notes which partitions have something to hand out."""
        if self._core.closed:
            return
        self._is_settled = True
        self._looked_at = now
        self._wake_resting(now)
        if not self.positions.pump(now):
            self._is_settled = False
        self._note_buffered()
        self._queue_all(now)
        self._faulty = [state for state in self.subscription.states.values() if state.fault is not None]
        self._is_settled = self._is_settled and not self._faulty
        self._ask_all(now)

    def _note_buffered(self) -> None:
        """Finds the partitions with something to hand out, in turn, and counts the records of each broker."""
        states = self.subscription.states.values()
        self._ready = deque(sorted([state for state in states if state.chunks and state.holds_records], key=_order))
        for source in self._sources.values():
            source.buffered = 0
        for state in self._ready:
            for chunk in state.chunks:
                self._source(chunk.node).buffered += chunk.buffered
        self._is_full = self._is_full and bool(self._ready)

    def _wake_resting(self, now: float) -> None:
        """Takes out of the sessions what is not to be read, or not as it was asked for."""
        for source in self._sources.values():
            session = source.session
            if not session.is_open:
                continue
            for tp, asked in list(session.asked.items()):
                if source.in_flight and tp in session.changed:
                    continue
                state = self.subscription.states.get(tp)
                if state is None or not state.in_flight or state.revision != asked.revision:
                    session.drop(tp)
                elif not self._may_rest(state, source, asked, now):
                    session.drop(tp)
                    state.in_flight = False

    def _may_rest(self, state: PartitionState, source: Source, asked: Asked, now: float) -> bool:
        return (
            not state.stopped
            and state.fault is None
            and state.fetch_at < state.end_offset
            and self._core.cluster.leader_epoch(state.tp.topic, state.tp.partition) == asked.leader_epoch
            and self._node_of(state, now) == source.node
        )

    def _queue_all(self, now: float) -> None:
        """Queues the partitions to be asked for at their brokers, in turn."""
        for source in self._sources.values():
            source.queue.clear()
        states = self.subscription.states.values()
        wanting = [state for state in states if not (state.in_flight or state.stopped) and state.wants_fetch(now)]
        for state in sorted(wanting, key=_order):
            node, epoch = self._leadership(state, now)
            if node is None:
                self._is_settled = False
            elif self.positions.is_checked(state, epoch):
                self._source(node).queue.append(state)

    def _source(self, node: int) -> Source:
        found = self._sources.get(node)
        if found is None:
            settings = self._settings
            found = self._sources[node] = Source(
                node, settings.fetch_min_bytes, settings.fetch_max_bytes, self._max_decoded
            )
            self._share_size()
        return found

    def _share_size(self) -> None:
        for source in self._sources.values():
            source.be_one_of(len(self._sources))

    def _ask_all(self, now: float) -> None:
        self._is_due = False
        for source in list(self._sources.values()):
            if not self._is_full and source.may_be_asked(now):
                self._ask(source, now)

    def _ask(self, source: Source, now: float) -> None:
        taken = source.next_in_queue(now)
        asked: dict[PartitionState, Asked] = {}
        for state in taken:
            node, epoch = self._leadership(state, now)
            if node == source.node and self.positions.is_checked(state, epoch):
                asked[state] = Asked(state.revision, state.fetch_at, state.max_bytes, epoch)
        if asked or source.session.rests:
            self._fetch(source, asked, now)
        if len(asked) < len(taken):
            self.pump(now)

    def _leadership(self, state: PartitionState, now: float) -> tuple[int | None, int]:
        """The broker to fetch from, and the leader's epoch."""
        leader, epoch = self._core.cluster.leadership(state.tp)
        if leader < 0 or state.preferred_replica is not None:
            return self._node_of(state, now), epoch
        return leader, epoch

    def _node_of(self, state: PartitionState, now: float) -> int | None:
        """The broker to fetch from; None where there is none yet (`PositionLookup.leader`)."""
        if state.preferred_replica is not None:
            node, until = state.preferred_replica
            if now < until and node in self._core.cluster.brokers:
                return node
            state.preferred_replica = None
        return self.positions.leader(state, now)

    def _fetch(self, source: Source, asked: Mapping[PartitionState, Asked], now: float) -> None:
        session = source.session
        rack = self._settings.client_rack
        if rack and any(now < state.leader_until for state in asked):
            rack = ""
        by_id = self._may_name_by_id({state.tp.topic for state in asked} | session.forgotten_topics, session)
        if session.is_open and (by_id != session.is_by_id or rack != self._settings.client_rack):
            self._end_session(source)
            self.pump(now)
            return
        session.begin({state.tp: row for state, row in asked.items()}, by_id=by_id)
        for state in asked:
            state.in_flight = True
        source.set_asked(now)
        wait = self._settings.fetch_max_wait_ms / 1000
        self._core.request(
            source.node,
            FETCH,
            partial(self._message, session, source.size, rack),
            partial(self._on_response, source),
            partial(self._on_error, source),
            now,
            versions=self._versions(by_id),
            purpose=Purpose.FETCH,
            timeout=max(self._core.settings.request_timeout_ms / 1000, wait + 1),
        )

    def _may_name_by_id(self, topics: Collection[str], session: FetchSession) -> bool:
        """Whether the ids of all these topics are known; without topics, what the session was begun with."""
        if not topics:
            return session.is_by_id
        return all(self._core.cluster.topic_id(topic) != no_uuid() for topic in topics)

    def _versions(self, by_id: bool) -> range:
        """The versions of Fetch that can say what is asked: the isolation, and ids only where all are known."""
        known = protocol.APIS[FETCH].versions
        lowest = _FIRST_VERSION_WITH_ISOLATION if self._isolation == READ_COMMITTED else known[0]
        return range(lowest, (known[-1] if by_id else _LAST_VERSION_BY_NAME) + 1)

    def _end_session(self, source: Source, *, for_good: bool = False) -> None:
        """What rests there is asked for by name again."""
        self._free(source.session)
        source.session.end(for_good=for_good)
        self._is_settled = False

    def _free(self, session: FetchSession) -> list[PartitionState]:
        """What is still read from where the session asks for it is not asked for any more; those partitions."""
        states = []
        for tp, asked in session.asked.items():
            state = self.subscription.states.get(tp)
            if state is not None and state.revision == asked.revision:
                state.in_flight = False
                states.append(state)
        return states

    def _message(self, session: FetchSession, size: int, rack: str, version: int) -> protocol.FetchRequest:
        made = protocol.FetchRequest
        cluster = self._core.cluster
        settings = self._settings
        by_id = version > _LAST_VERSION_BY_NAME
        session_id, session_epoch = session.stamp(version)
        return made(
            session_id=session_id,
            session_epoch=session_epoch,
            forgotten_topics_data=[
                made.ForgottenTopic(topic_id=cluster.topic_id(name), partitions=numbers)
                if by_id
                else made.ForgottenTopic(topic=name, partitions=numbers)
                for name, numbers in session.take_forgotten().items()
            ],
            max_wait_ms=settings.fetch_max_wait_ms,
            min_bytes=settings.fetch_min_bytes,
            max_bytes=size,
            isolation_level=self._isolation,
            rack_id=rack,
            topics=[
                made.FetchTopic(topic_id=cluster.topic_id(name), partitions=rows)
                if by_id
                else made.FetchTopic(topic=name, partitions=rows)
                for name, rows in session.named(self.subscription.states).items()
            ],
        )

    # -- responses --------------------------------------------------------------------------------------------------

    def _on_error(self, source: Source, error: KafkaError, now: float) -> None:
        for state in self._return(source, ()):
            self._leave_replica(state, source.node, now)
        source.session.end()
        self._core.note_trouble(error, now)
        if not is_retriable(error) and not isinstance(error, AuthError):  # of which the poll tells
            self._fault = too_old_for(self._isolation, error)
        self._back_off(source, now + self._core.retry_backoff.wait(1))

    def _leave_replica(self, state: PartitionState, node: int, now: float) -> bool:
        """Goes back to the leader if the partition was fetched from that replica; whether it was."""
        if state.preferred_replica is None or state.preferred_replica[0] != node:
            return False
        state.preferred_replica = None
        state.leader_until = now + LEADER_FOR_S
        self._is_settled = False
        return True

    def _on_response(self, source: Source, response: protocol.FetchResponse, version: int, now: float) -> None:
        if response.throttle_time_ms > 0:
            self._back_off(source, now + self.throttling.count(response.throttle_time_ms))
        if response.error_code in SESSION_CODES and source.session.is_open:
            self._slow_down(source, f"error {response.error_code}", now)
            self._return(source, ())
            self._end_session(source)
            self.pump_if_due(now)
            return
        if response.error_code:
            text = f"Fetch from broker {source.node}"
            self._on_error(source, errors.broker.error_for(response.error_code, text), now)
            return
        endpoints = {row.node_id: Address(row.host, row.port) for row in response.node_endpoints}
        if endpoints:
            self._core.update_brokers(endpoints, complete=False, now=now)
        self._take_in_all(source, response, version, now)
        self.pump_if_due(now)

    def _take_in_all(self, source: Source, response: protocol.FetchResponse, version: int, now: float) -> None:
        """Makes what all partitions of a response brought ready to be handed out."""
        max_memory = max(_MAX_MEMORY, self._settings.max_decompressed_bytes)
        holders = {*self._ready, *self.hand_out.states}
        room = max_memory - sum(state.memory for state in holders if not state.stopped)
        stats = FetchStats()
        session, subscription = source.session, self.subscription
        answered: list[PartitionState] = []
        for topic in response.responses:
            name = topic.topic or self._core.cluster.names.get(topic.topic_id, "")
            fetched = 0
            for row in topic.partitions:
                key: Any = name, row.partition_index  # found as a TopicPartition, which would take longer to make
                state, asked = subscription.states.get(key), session.asked.get(key)
                if state is None or asked is None or asked[:2] != (state.revision, state.fetch_at):
                    session.note_foreign(key)
                    if asked is not None:
                        stats.is_fruitless = False  # a seek, or another assignment, came in between
                    continue
                if row.error_code or row.preferred_read_replica >= 0 or row.diverging_epoch.end_offset >= 0:
                    answered.append(state)
                    self._redirect(state, source.node, row, now)
                    continue
                state.log_end = row.last_stable_offset if self._isolation else row.high_watermark
                if not row.records:
                    continue
                answered.append(state)
                size, begin, held = len(row.records), state.fetch_at, len(state.chunks)
                was_ready = held > 0 and state.holds_records
                fetched += size
                decoded = self._take_in(state, source.node, row, version, room, room == max_memory)
                if state.fetch_at > begin or state.fault is not None or self._is_full:
                    stats.is_fruitless = False
                room -= decoded
                stats.decoded += decoded
                if len(state.chunks) > held:
                    if not was_ready:
                        self._ready.append(state)
                    stats.add(state, state.chunks[-1].count, state.fetch_at - begin, size)
            if fetched:
                self.fetched_bytes.add(name, fetched)
        self._end_fetch(source, response.session_id, answered, stats.returned)
        source.on_response(stats, self.polled_at, self._core.answer_began_at, now)
        if stats.is_fruitless:
            self._slow_down(source, "no new records", now)
        self._is_due = True
        self._is_settled = self._is_settled and not self._is_full

    def _end_fetch(
        self, source: Source, session_id: int, answered: list[PartitionState], returned: Collection[PartitionState]
    ) -> None:
        """A response was read: in a session those it has no entry for go on resting, else all are queued again."""
        session = source.session
        if not session.succeed(session_id):
            asked = self._return(source, returned)
            session.judge(sum(state.log_end <= state.fetch_at for state in asked))
            return
        source.in_flight = False
        for state in answered:
            session.drop(state.tp)
            state.in_flight = False
        source.requeue(answered, returned)
        if session.is_useless:
            self._end_session(source, for_good=True)

    def _return(self, source: Source, returned: Collection[PartitionState]) -> list[PartitionState]:
        """The fetch has ended: queues again what is still read from where it was asked for; those partitions."""
        source.in_flight = False
        states = self._free(source.session)
        source.requeue(states, returned)
        return states

    def _redirect(self, state: PartitionState, node: int, row: Row, now: float) -> None:
        """The records of a partition are to be had elsewhere, later, or not at all."""
        self._is_settled = False
        if row.error_code:
            self._on_error_code(state, node, row, now)
        elif row.diverging_epoch.end_offset >= 0:
            self.positions.truncate(state, row.diverging_epoch.end_offset, row.diverging_epoch.epoch, now)
        elif now >= state.leader_until:
            state.preferred_replica = (row.preferred_read_replica, now + _REPLICA_FOR_S)

    def _take_in(self, state: PartitionState, node: int, row: Row, version: int, room: int, first: bool) -> int:
        """Takes in records of one partition, with `room` bytes of memory; how many it took."""
        assert row.records is not None
        if room <= 0:
            self._is_full = True
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
        next_offset = min(records.next_offset or 0, state.end_offset)
        if next_offset > state.fetch_at:
            state.add(records, next_offset, node)
        if fault is not None and isinstance(fault.error, LimitError) and (records.consumed or not first):
            self._is_full = True  # there may be enough when it comes again, with nothing else in memory
        elif fault is not None:
            self._is_settled = False
            state.fault = in_data(fault.error, state.tp, fault.base_offset, fault.next_offset)
        elif not records.consumed:
            self._ask_for_more(state, records.needed, version)
        return records.decompressed_bytes + records.index_bytes

    def _ask_for_more(self, state: PartitionState, needed: int, version: int) -> None:
        """Not one whole batch came: it is larger than what was asked for."""
        if version >= _FIRST_VERSION_THAT_GROWS_BY_ITSELF and state.max_bytes >= needed:
            return
        self._is_settled = False
        limit = self._core.settings.receive_message_max_bytes
        if needed > limit or state.max_bytes >= limit:
            state.fault = batch_too_large(state, needed, limit)
            return
        state.max_bytes = min(max(state.max_bytes * 2, needed), limit)

    def _on_error_code(self, state: PartitionState, node: int, row: Row, now: float) -> None:
        code = row.error_code
        was_replica = self._leave_replica(state, node, now)
        error = errors.broker.error_for(code, f"Fetch of {state} at offset {state.fetch_at}")
        error.failures = {state.tp: error}
        self._core.note_trouble(error, now)
        if code == OFFSET_OUT_OF_RANGE:
            # a replica may lag or lead: then the leader is asked
            if not was_replica and not self.positions.reset(state, now):
                state.fault = error
            return
        if not error.retriable:
            state.fault = error
            return
        leader = row.current_leader
        if not self._core.cluster.update_leader(
            state.tp.topic, state.tp.partition, leader.leader_id, leader.leader_epoch
        ):
            self._core.cluster.refresh(now)
            self.positions.back_off([state], now)

    def _slow_down(self, source: Source, what: str, now: float) -> None:
        """A fetch brought nothing. One that the broker did not hold, of many in a row, makes the next one wait."""
        if self._settings.fetch_min_bytes <= 0 or not source.was_early(self._settings.fetch_max_wait_ms / 1000, now):
            return
        until = source.pace.count(now)
        if until > now:
            self._back_off(source, until)
            self._warn_of_haste(source, what)

    def _warn_of_haste(self, source: Source, what: str) -> None:
        if source.node not in self._hasty:
            self._hasty.add(source.node)
            self._core.warn(
                f"{self._core.name_node(source.node)} keeps answering Fetch at once, with {what}; it is "
                f"asked {1 / EVERY_S:.0f} times a second at most"
            )

    def _back_off(self, source: Source, until: float) -> None:
        """Nothing is asked of that broker until then."""
        source.retry_at = max(until, source.retry_at)
        self._core.call_at(until, self._on_backoff_over)

    def _on_backoff_over(self, now: float) -> None:
        self._is_due = True
        self.pump_if_due(now)


def _ignore(text: str) -> None:
    """The listener for warnings where there is none."""
