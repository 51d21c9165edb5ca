"""Fetching from share partitions, and acknowledging the records to their brokers.

Layer 3, no I/O. Each broker has one request of its share session in flight at most: ShareFetch while a poll wants
records and none are at hand, else ShareAcknowledge where there are acknowledgements to send. They go along with a
fetch of the same partitions; a renewal never does, since a fetch with one brings no records.

    no record is fetched ahead of a poll: its lock would run out while it waits
    fetched from the partitions' leaders; an answer that names another one is believed (KIP-951)
    a lost session fails the acknowledgements in flight: whether the broker has them is not known. The locks are gone

    acknowledgement                                outcome
    of a session that is not open any more         SHARE_SESSION_NOT_FOUND
    NOT_LEADER_OR_FOLLOWER, FENCED_LEADER_EPOCH,   that error: the locks are gone with the leader
    UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_ID
    another retriable error                        sent again until its deadline, unless the consumer closes
    INVALID_RECORD_STATE and others                that error: mostly, the lock has expired
    a partition that the response leaves out       INVALID_RECORD_STATE
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial

from kwire import errors, protocol
from kwire._codec import RecordFault, Records, Timer, scan_records
from kwire._typing import TYPE_CHECKING, Any, override
from kwire.engine.common.addresses import Address, TopicPartition
from kwire.engine.common.pace import EVERY_S, Throttling
from kwire.engine.common.recovery import Recoverable
from kwire.engine.common.request import Purpose
from kwire.engine.common.retry import is_retriable
from kwire.engine.metadata.metadata import NO_LEADER
from kwire.engine.share.acknowledging import Acknowledgement
from kwire.engine.share.acquired import (
    GAP,
    REJECT,
    RELEASE,
    AckRange,
    Acquired,
    AcquiredPartition,
    DeliveryCount,
    Grant,
    Portion,
    ascending,
    cut,
    gaps_in,
    merged,
)
from kwire.engine.share.session import LAST_REQUEST, ShareSessionHandler
from kwire.errors import AuthError, BrokerError, CodecError, CorruptError, KafkaError, KafkaTimeoutError
from kwire.schema.api_keys import SHARE_ACKNOWLEDGE, SHARE_FETCH
from kwire.schema.error_codes import (
    FENCED_LEADER_EPOCH,
    INVALID_RECORD_STATE,
    INVALID_SHARE_SESSION_EPOCH,
    NOT_LEADER_OR_FOLLOWER,
    SHARE_SESSION_LIMIT_REACHED,
    SHARE_SESSION_NOT_FOUND,
    UNKNOWN_TOPIC_ID,
    UNKNOWN_TOPIC_OR_PARTITION,
    UNSUPPORTED_VERSION,
)

if TYPE_CHECKING:
    from uuid import UUID

    from kwire.engine.ports import Services
    from kwire.engine.settings.clients import ShareConsumerSettings
    from kwire.engine.share.membership import ShareMembership
    from kwire.engine.share.session import Key

    Row = protocol.ShareFetchResponse.ShareFetchableTopicResponse.PartitionData
    ToldRow = protocol.ShareAcknowledgeResponse.ShareAcknowledgeTopicResponse.PartitionData

_VERSIONS = range(1, 3)
_VERSIONS_WITH_RENEWAL = range(2, 3)
_ACQUIRE_MODES = {"batch_optimized": 0, "record_limit": 1}

_SESSION_IS_LOST = frozenset({SHARE_SESSION_NOT_FOUND, INVALID_SHARE_SESSION_EPOCH, SHARE_SESSION_LIMIT_REACHED})
_LOCKS_ARE_GONE = frozenset({NOT_LEADER_OR_FOLLOWER, FENCED_LEADER_EPOCH, UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_ID})


class ShareFetcher(Recoverable):
    """The fetching side of one member. `wanted`: a poll waits for records, and there are none at hand.

    _ready      what was acquired and not handed out, and errors in their place
    lock_ms     how long the brokers lock what they hand out, as they last said
    """

    def __init__(self, core: Services, settings: ShareConsumerSettings) -> None:
        self._core = core
        self._settings = settings
        self.membership: ShareMembership
        self.wanted = False
        self.lock_ms: int | None = None
        self.throttling = Throttling()
        self._sessions: dict[int, ShareSessionHandler] = {}
        self._hasty: set[int] = set()
        self._by_node: dict[int, list[Key]] = {}
        self._ready: deque[Acquired | KafkaError] = deque()
        self._is_closing = False
        self._again: Timer | None = None
        core.cluster.listeners.append(self._on_metadata)
        self.recover_with(core)

    # -- handing out ------------------------------------------------------------------------------------------------

    @property
    def has_something(self) -> bool:
        """Whether `take` would return or raise something."""
        return bool(self._ready)

    @property
    def locked_until(self) -> float:
        """When the locks of what `take` would return expire; infinity for nothing, and for an error."""
        first = self._ready[0] if self._ready else None
        return first.until if isinstance(first, Acquired) else float("inf")

    def take(self, count: int, now: float) -> list[Portion]:
        """The next records, `count` at most, one piece of each partition; raises an error that comes before them."""
        taken: list[Portion] = []
        while self._ready and count > 0:
            first = self._ready[0]
            if isinstance(first, KafkaError):
                if not taken:
                    self._ready.popleft()
                    raise first
                break
            if self.is_over(first, now) or not first.left:
                self._ready.popleft()
                continue
            if any(portion.place.tp == first.place.tp for portion in taken):
                break
            portion = first.take(count)
            count -= len(portion.records)
            taken.append(portion)
            if not first.left:
                self._ready.popleft()
        return taken

    def drop_late(self, now: float) -> None:
        """Drops what was not handed out in the time that it was locked."""
        while self._ready and isinstance(self._ready[0], Acquired) and self.is_over(self._ready[0], now):
            self._ready.popleft()

    def release_unsubscribed(self, renewed: Iterable[Portion], now: float) -> None:
        """Gives back what waits of topics that are not subscribed to any more: these, and what no poll has taken."""
        gone = list(renewed)
        kept: deque[Acquired | KafkaError] = deque()
        for each in self._ready:
            if isinstance(each, Acquired) and not self._is_subscribed(each.place.tp):
                gone.append(each.take(each.left))
            else:
                kept.append(each)
        self._ready = kept
        locked = [portion for portion in gone if not self.is_over(portion.acquired, now)]
        acks = [Acknowledgement(each.place, each.take_all(RELEASE), each.acquired.until) for each in locked]
        if acks:
            self.acknowledge([each for each in acks if each.ranges], now)
            self.pump(now)

    def _is_subscribed(self, tp: TopicPartition) -> bool:
        return tp.topic in self.membership.topics

    def is_over(self, acquired: Acquired, now: float) -> bool:
        """Whether the locks are gone: by time, with the leader that granted them, or with its session."""
        node = acquired.place.node
        leader = self._core.cluster.leader(*acquired.place.tp)
        return acquired.until <= now or leader not in (node, NO_LEADER) or acquired.grant != self._grant(node)

    def _grant(self, node: int) -> Grant:
        session = self._sessions.get(node)
        return Grant(session.losses if session else 0, self._core.connection_life(node, Purpose.FETCH))

    # -- asking -----------------------------------------------------------------------------------------------------

    def acknowledge(self, acks: Iterable[Acknowledgement], now: float) -> None:
        """Sends these, with the next fetch or in a request of their own."""
        for each in acks:
            self._session(each.place.node).waiting.append(each)

    def _on_metadata(self, now: float) -> None:
        """Follows leaders that have moved, and forgets brokers that have left the cluster with nothing to wait for."""
        self.pump(now)
        for node in self._sessions.keys() - self._core.cluster.brokers.keys():
            session = self._sessions[node]
            if session.is_new and not session.in_flight and not session.waiting:
                del self._sessions[node]
                self._hasty.discard(node)

    def pump(self, now: float) -> None:
        """Sends all requests that are due."""
        if self._core.closed or self._is_closing:
            return
        self._note_leaders(now)
        for node in {*self._by_node, *self._sessions}:
            self._pump_session(self._session(node), now)

    def _session(self, node: int) -> ShareSessionHandler:
        found = self._sessions.get(node)
        if found is None:
            found = self._sessions[node] = ShareSessionHandler(node)
        return found

    def _note_leaders(self, now: float) -> None:
        cluster = self._core.cluster
        self._by_node = {}
        for key, tp in self.membership.assigned.items():
            leader = cluster.leader(tp.topic, tp.partition)
            if leader < 0:
                cluster.require_leader(now)
            else:
                self._by_node.setdefault(leader, []).append(key)

    def _pump_session(self, session: ShareSessionHandler, now: float) -> None:
        if session.in_flight:
            return
        if session.is_new:
            self._fail(session.waiting, _session_is_gone(), now)
        self._fail([each for each in session.waiting if each.deadline <= now], _too_late(), now)
        session.waiting = deque(each for each in session.waiting if not each.ended)
        keys = self._by_node.get(session.node, []) if self.wanted else []
        if not keys and not session.waiting:
            return
        if now < session.retry_at:
            self._look_again(session.retry_at)
        elif session.waiting and not self._go_along(session.waiting, keys):
            self._send_acks(session, now)
        else:
            self._fetch(session, keys, now)

    @staticmethod
    def _go_along(acks: Iterable[Acknowledgement], keys: Collection[Key]) -> bool:
        """Whether all of it may go along with a fetch of these partitions."""
        return all(not each.renews and each.place.key in keys for each in acks)

    def _look_again(self, when: float) -> None:
        if self._again is None or not self._again.active or self._again.when > when:
            self._again = self._core.call_at(when, self.pump)

    def _fetch(self, session: ShareSessionHandler, keys: list[Key], now: float) -> None:
        acks = session.begin()
        session.asked_at = now
        self._core.request(
            session.node,
            SHARE_FETCH,
            partial(self._fetch_message, session, keys, acks),
            partial(self._on_fetched, session, acks),
            partial(self._on_error, session, acks),
            now,
            versions=_VERSIONS,
            purpose=Purpose.FETCH,
            timeout=max(self._core.settings.request_timeout_ms, self._settings.fetch_max_wait_ms + 1000) / 1000,
        )

    def _send_acks(self, session: ShareSessionHandler, now: float) -> None:
        acks = session.begin()
        for each in acks:
            each.sent_at = now
        renews = any(each.renews for each in acks)
        self._core.request(
            session.node,
            SHARE_ACKNOWLEDGE,
            partial(self._ack_message, session.epoch, acks),
            partial(self._on_acknowledged, session, acks),
            partial(self._on_error, session, acks),
            now,
            versions=_VERSIONS_WITH_RENEWAL if renews else _VERSIONS,
            purpose=Purpose.FETCH,
        )

    # -- messages ---------------------------------------------------------------------------------------------------

    def _fetch_message(
        self, session: ShareSessionHandler, keys: list[Key], acks: list[Acknowledgement], version: int
    ) -> protocol.ShareFetchRequest:
        made, settings = protocol.ShareFetchRequest, self._settings
        asked = made.FetchTopic.FetchPartition
        batch = asked.AcknowledgementBatch
        added, forgotten = session.changes(keys)
        by_key = _by_key(acks)
        rows = {
            key: asked(
                partition_index=key[1],
                acknowledgement_batches=[
                    batch(first_offset=row.first, last_offset=row.last, acknowledge_types=[row.kind])
                    for row in by_key.get(key, ())
                ],
            )
            for key in dict.fromkeys((*added, *by_key))
        }
        message = made(
            group_id=settings.group_id,
            member_id=self.membership.member_id,
            share_session_epoch=session.epoch,
            max_wait_ms=settings.fetch_max_wait_ms,
            min_bytes=settings.fetch_min_bytes,
            max_bytes=settings.fetch_max_bytes,
            max_records=settings.max_poll_records,
            batch_size=settings.max_poll_records,
            share_acquire_mode=_ACQUIRE_MODES[settings.share_acquire_mode],
        )
        message.topics = [made.FetchTopic(topic_id=topic_id, partitions=parts) for topic_id, parts in _by_topic(rows)]
        gone = _by_topic({key: key[1] for key in forgotten})
        message.forgotten_topics_data = [
            made.ForgottenTopic(topic_id=topic_id, partitions=parts) for topic_id, parts in gone
        ]
        return message

    def _ack_message(self, epoch: int, acks: list[Acknowledgement], version: int) -> protocol.ShareAcknowledgeRequest:
        made = protocol.ShareAcknowledgeRequest
        asked = made.AcknowledgeTopic.AcknowledgePartition
        batch = asked.AcknowledgementBatch
        rows = {
            key: asked(
                partition_index=key[1],
                acknowledgement_batches=[
                    batch(first_offset=row.first, last_offset=row.last, acknowledge_types=[row.kind]) for row in batches
                ],
            )
            for key, batches in _by_key(acks).items()
        }
        return made(
            group_id=self._settings.group_id,
            member_id=self.membership.member_id,
            share_session_epoch=epoch,
            is_renew_ack=any(each.renews for each in acks),
            topics=[made.AcknowledgeTopic(topic_id=topic_id, partitions=parts) for topic_id, parts in _by_topic(rows)],
        )

    # -- answers ----------------------------------------------------------------------------------------------------

    def _on_fetched(
        self,
        session: ShareSessionHandler,
        acks: list[Acknowledgement],
        response: protocol.ShareFetchResponse,
        version: int,
        now: float,
    ) -> None:
        if not self._is_answered(session, acks, response, "ShareFetch", now):
            return
        acquired = False
        outcomes: dict[Key, KafkaError | None] = {}
        for topic in response.responses:
            for row in topic.partitions:
                key = (topic.topic_id, row.partition_index)
                outcomes[key] = _error(row.acknowledge_error_code, row.acknowledge_error_message, "acknowledgement")
                tp = self._tp_of(key)
                if row.error_code:
                    self._on_row_error(session, tp, row, now)
                elif row.acquired_records and tp is not None:
                    acquired |= self._take_in(AcquiredPartition(topic.topic_id, tp, session.node), row, session, now)
        if not acks and not acquired:
            self._slow_down(session, now)
        self._end(session, acks, outcomes, now)

    def _slow_down(self, session: ShareSessionHandler, now: float) -> None:
        """A fetch brought nothing. One that the broker did not hold, of many in a row, makes the next one wait."""
        if self._settings.fetch_min_bytes <= 0 or now - session.asked_at >= self._settings.fetch_max_wait_ms / 2000:
            return
        session.retry_at = max(session.retry_at, session.pace.count(now))
        if session.retry_at > now and session.node not in self._hasty:
            self._hasty.add(session.node)
            self._core.warn(
                f"{self._core.name_node(session.node)} keeps answering ShareFetch at once, without records; "
                f"it is asked {1 / EVERY_S:.0f} times a second at most"
            )

    def _tp_of(self, key: Key) -> TopicPartition | None:
        """The partition by its topic's name, which is known since it was asked for."""
        found = self.membership.assigned.get(key)
        name = self._core.cluster.names.get(key[0]) if found is None else None
        return found if name is None else TopicPartition(name, key[1])

    def _on_acknowledged(
        self,
        session: ShareSessionHandler,
        acks: list[Acknowledgement],
        response: protocol.ShareAcknowledgeResponse,
        version: int,
        now: float,
    ) -> None:
        if not self._is_answered(session, acks, response, "ShareAcknowledge", now):
            return
        outcomes: dict[Key, KafkaError | None] = {}
        for topic in response.responses:
            for row in topic.partitions:
                key = (topic.topic_id, row.partition_index)
                outcomes[key] = _error(row.error_code, row.error_message, "acknowledgement")
                tp = self._tp_of(key)
                if row.error_code in _LOCKS_ARE_GONE and tp is not None:
                    self._follow_leader(tp, row.current_leader, now)
        self._end(session, acks, outcomes, now)

    def _is_answered(
        self, session: ShareSessionHandler, acks: list[Acknowledgement], response: Any, what: str, now: float
    ) -> bool:
        """Takes in the session and locks of a response; False if it has nothing else."""
        if response.throttle_time_ms > 0:
            session.retry_at = now + self.throttling.count(response.throttle_time_ms)
        if response.error_code:
            text = f"{what} of broker {session.node}"
            error = errors.broker.error_for(response.error_code, response.error_message or text)
            self._on_session_error(session, acks, error, now)
            return False
        if response.acquisition_lock_timeout_ms > 0:
            self.lock_ms = response.acquisition_lock_timeout_ms
        endpoints = {row.node_id: Address(row.host, row.port) for row in response.node_endpoints}
        if endpoints:
            self._core.update_brokers(endpoints, complete=False, now=now)
        return True

    def _end(
        self,
        session: ShareSessionHandler,
        acks: list[Acknowledgement],
        outcomes: Mapping[Key, KafkaError | None],
        now: float,
    ) -> None:
        """The broker has said of each partition what it did."""
        session.answered()
        session.failures = session.failures if session.retry_at > now else 0
        for each in acks:
            error = outcomes.get(each.place.key, _unanswered())
            may_pass = isinstance(error, BrokerError) and error.retriable and error.code not in _LOCKS_ARE_GONE
            if may_pass and not self._is_closing:
                session.waiting.append(each)
                self._back_off(session, now)
            else:
                each.end(error, now)
        self.pump(now)

    # -- records ----------------------------------------------------------------------------------------------------

    def _take_in(self, place: AcquiredPartition, row: Row, session: ShareSessionHandler, now: float) -> bool:
        """Makes what was acquired of one partition ready to be handed out, if it is still locked and wanted."""
        until = session.asked_at + self.lock_ms / 1000 if self.lock_ms is not None else float("inf")
        if until <= now:
            return False
        counts = ascending(
            DeliveryCount(each.first_offset, each.last_offset, each.delivery_count) for each in row.acquired_records
        )
        if not self._is_subscribed(place.tp):
            ranges = [AckRange(each.first, each.last, RELEASE) for each in counts]
            self.acknowledge([Acknowledgement(place, merged(ranges), until)], now)
            return False
        self.wanted = False
        records, fault = scan_records(
            row.records or b"",
            check_crc=self._settings.check_crcs,
            max_decompressed_bytes=self._settings.max_decompressed_bytes,
            skip_control=True,
            ascending=True,
            ranges=[(each.first, each.last) for each in counts],
        )
        if len(records):
            self._ready.append(Acquired(place, records, counts, until, self._grant(session.node)))
        ranges = self._automatic_acks(records, counts, fault)
        if ranges:
            self.acknowledge([Acknowledgement(place, ranges, until)], now)
        if fault is not None:
            self._ready.append(_in_data(fault, place.tp))
        return True

    @staticmethod
    def _automatic_acks(records: Records, counts: list[DeliveryCount], fault: RecordFault | None) -> list[AckRange]:
        """The acknowledgements of acquired offsets whose records the program does not get."""
        end = fault.base_offset if fault is not None else records.next_offset or 0
        read = cut(counts, 0, end)
        ranges = [AckRange(first, last, GAP) for first, last in gaps_in(records, read)]
        if fault is not None:
            kind = REJECT if isinstance(fault.error, CorruptError) else RELEASE
            ranges += [AckRange(each.first, each.last, kind) for each in cut(counts, end, fault.next_offset)]
            end = fault.next_offset
        ranges += [AckRange(each.first, each.last, RELEASE) for each in cut(counts, end, None)]
        return merged(ranges)

    # -- errors -----------------------------------------------------------------------------------------------------

    def _on_row_error(self, session: ShareSessionHandler, tp: TopicPartition | None, row: Row, now: float) -> None:
        error = errors.broker.error_for(row.error_code, row.error_message or f"ShareFetch of {tp}")
        if tp is not None and row.error_code in _LOCKS_ARE_GONE:
            if not self._follow_leader(tp, row.current_leader, now):
                self._back_off(session, now)
            return
        self._back_off(session, now)
        if not error.retriable:
            self._ready.append(error)

    def _follow_leader(self, tp: TopicPartition, leader: Any, now: float) -> bool:
        """Takes in who leads the partition now, or asks; whether it is known."""
        cluster = self._core.cluster
        if cluster.update_leader(tp.topic, tp.partition, leader.leader_id, leader.leader_epoch):
            return True
        cluster.refresh(now)
        return False

    def _on_session_error(
        self, session: ShareSessionHandler, acks: list[Acknowledgement], error: BrokerError, now: float
    ) -> None:
        """The broker refused the whole request."""
        if error.code in _SESSION_IS_LOST:
            session.lose()
        else:
            session.answered()
        if error.stale_metadata:
            self._core.cluster.refresh(now)
        again = error.retriable and error.code not in _SESSION_IS_LOST and not self._is_closing
        if again:
            session.waiting.extendleft(reversed(acks))
        else:
            self._fail(acks, error, now)
        if not error.retriable:
            self._ready.append(error)
        self._back_off(session, now)
        self.pump(now)

    def _on_error(
        self, session: ShareSessionHandler, acks: list[Acknowledgement], error: KafkaError, now: float
    ) -> None:
        """There was no answer, or none that can be read."""
        if not (isinstance(error, BrokerError) and error.code == UNSUPPORTED_VERSION):
            session.lose()
        else:
            session.unsaid()
            if not any(each.renews for each in acks):
                self._ready.append(error)
        if not isinstance(error, AuthError | BrokerError) and not is_retriable(error):
            self._ready.append(error)
        self._fail(acks, error, now)
        self._back_off(session, now)
        self.pump(now)

    def _back_off(self, session: ShareSessionHandler, now: float) -> None:
        session.failures += 1
        session.retry_at = max(session.retry_at, now + self._core.retry_backoff.wait(session.failures))

    @staticmethod
    def _fail(acks: Iterable[Acknowledgement], error: KafkaError, now: float) -> None:
        for each in acks:
            each.end(error, now)

    @override
    def recover(self, now: float) -> None:
        """The sessions are gone with their connections."""
        for session in self._sessions.values():
            self._fail(session.sending, _session_is_gone(), now)
            session.lose()
        if self._again is not None:
            self._again.cancel()
            self._again = None
        self.pump(now)

    # -- the end ----------------------------------------------------------------------------------------------------

    def close(self, now: float, on_done: Callable[[float], None]) -> None:
        """Ends all sessions with the acknowledgements left: the brokers release the rest. Then calls on_done(now)."""
        self._is_closing = True
        self._ready.clear()
        open_ones = [session for session in self._sessions.values() if not session.is_new]
        left = len(open_ones)

        def ended(now: float) -> None:
            nonlocal left
            left -= 1
            if left <= 0:
                on_done(now)

        for session in self._sessions.values():
            if session.is_new:
                self._fail(session.waiting, _session_is_gone(), now)
        if not open_ones:
            on_done(now)
        for session in open_ones:
            self._end_session(session, ended, now)

    def _end_session(self, session: ShareSessionHandler, ended: Callable[[float], None], now: float) -> None:
        acks, session.waiting = list(session.waiting), deque()

        def on_response(response: protocol.ShareAcknowledgeResponse, version: int, now: float) -> None:
            outcomes = {
                (topic.topic_id, row.partition_index): _error(row.error_code, row.error_message, "acknowledgement")
                for topic in response.responses
                for row in topic.partitions
            }
            whole = _error(response.error_code, response.error_message, "ShareAcknowledge")
            for each in acks:
                each.end(whole or outcomes.get(each.place.key, _unanswered()), now)
            ended(now)

        def on_error(error: KafkaError, now: float) -> None:
            self._fail(acks, error, now)
            ended(now)

        self._core.request(
            session.node,
            SHARE_ACKNOWLEDGE,
            partial(self._ack_message, LAST_REQUEST, acks),
            on_response,
            on_error,
            now,
            versions=_VERSIONS_WITH_RENEWAL if any(each.renews for each in acks) else _VERSIONS,
            purpose=Purpose.FETCH,
        )


def _by_key(acks: Iterable[Acknowledgement]) -> dict[Key, list[AckRange]]:
    """The acknowledgements for each partition, in order."""
    ranges: dict[Key, list[AckRange]] = {}
    for each in acks:
        ranges.setdefault(each.place.key, []).extend(each.ranges)
    return {key: merged(rows) for key, rows in ranges.items()}


def _by_topic(rows: Mapping[Key, Any]) -> Iterable[tuple[UUID, list[Any]]]:
    found: dict[UUID, list[Any]] = {}
    for (topic_id, _), row in rows.items():
        found.setdefault(topic_id, []).append(row)
    return found.items()


def _error(code: int, text: str | None, what: str) -> BrokerError | None:
    return errors.broker.error_for(code, text or what) if code else None


def _session_is_gone() -> BrokerError:
    return errors.broker.error_for(
        SHARE_SESSION_NOT_FOUND,
        "the session in which the records were acquired has ended: they will be delivered again",
    )


def _unanswered() -> BrokerError:
    return errors.broker.error_for(INVALID_RECORD_STATE, "the broker's response has no entry for the partition")


def _too_late() -> KafkaTimeoutError:
    return KafkaTimeoutError("the acknowledgement was not confirmed in time")


def _in_data(fault: RecordFault, tp: TopicPartition) -> CodecError:
    """The codec's error with the place in the log."""
    error = fault.error
    done = "rejected" if isinstance(error, CorruptError) else "released"
    error.message = f"{tp} at offset {fault.base_offset}: {error.message}; the records of that batch were {done}"
    error.topic, error.partition, error.record_offset = tp.topic, tp.partition, fault.base_offset
    error.seek_to = fault.next_offset
    return error
