"""The producer's logic: sends ready batches in Produce requests, and completes them by the responses.

Layer 3, no I/O, no clock. The client calls `pump(now)`: it places records that waited for metadata, sends ready batches
to the partition leaders, and sets the timers by which it is called again. A batch's queue alone says where the batch is
(open, waiting, in flight). Those moves are compiled and atomic, so after an interrupted step `recover` puts back the
batches in flight with their producer id and sequence, and none is lost or written twice.

A batch ends by a response, by an error that no retry can mend, after `retries`, or after `delivery_timeout_ms`. It is
sent again after a lost connection, and after the error codes that Kafka calls retriable. A broker that refuses this
client (AuthError) is waited for like one that is lost, as its partitions may move; when no broker can be used, every
batch ends.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kwire import protocol
from kwire._codec import (
    CODEC_NAMES,
    STEADY,
    Accumulator,
    Batch,
    Delivery,
    PartitionQueue,
    PendingProduce,
    SenderBase,
    Sink,
    Timer,
    TopicQueue,
    no_uuid,
)
from kwire._typing import TYPE_CHECKING, override
from kwire.engine.common.addresses import Address
from kwire.engine.common.pace import Pace, Throttling
from kwire.engine.common.recovery import Recoverable
from kwire.engine.common.retry import MAY_BE_WRITTEN, afresh, concurrent_wait, is_retriable
from kwire.engine.core import Core
from kwire.engine.producer.flushing import Closing, Flush, fail_pending
from kwire.engine.producer.idempotence import UNSETTLED, Idempotence
from kwire.engine.producer.unknown_topics import UnknownTopics
from kwire.engine.settings.clients import ProducerSettings
from kwire.errors import AuthError, BrokerError, CodecError, KafkaError, KafkaTimeoutError
from kwire.errors.broker import error_for
from kwire.errors.wording import Wording
from kwire.schema.error_codes import (
    CONCURRENT_TRANSACTIONS,
    DUPLICATE_SEQUENCE_NUMBER,
    INVALID_PRODUCER_EPOCH,
    MESSAGE_TOO_LARGE,
    OUT_OF_ORDER_SEQUENCE_NUMBER,
    UNKNOWN_PRODUCER_ID,
    UNSUPPORTED_FOR_MESSAGE_FORMAT,
)

if TYPE_CHECKING:
    from kwire.engine.transactions.identity import TransactionalIdentity
    from kwire.engine.transactions.manager import TransactionManager

    Row = protocol.ProduceResponse.TopicProduceResponse.PartitionProduceResponse

_BROKEN_SEQUENCE = frozenset(
    {OUT_OF_ORDER_SEQUENCE_NUMBER, DUPLICATE_SEQUENCE_NUMBER, INVALID_PRODUCER_EPOCH, UNKNOWN_PRODUCER_ID}
)
"""DUPLICATE_SEQUENCE_NUMBER is one of them where no try can have written the batch: then it is no proof of success."""


CLOSED = "the producer is closed"
CLOSED_TOO_EARLY = "the producer was closed before the record was delivered"


class _NothingToSendError(KafkaError):
    """While the connection was made, all batches expired or moved, or another request has to come first.

    Never leaves this file.
    """


class Sender(SenderBase, Recoverable):
    """Moves the batches of one accumulator. `on_warning(text)` tells the user something, once each."""

    def __init__(
        self,
        core: Core,
        settings: ProducerSettings,
        accumulator: Accumulator,
        on_warning: Callable[[str], None],
    ) -> None:
        super().__init__(core, accumulator, settings, CODEC_NAMES.index(settings.compression), protocol.ProduceRequest)
        self._cluster = core.cluster
        self._retries = settings.retries
        self._delivery_timeout = settings.delivery_timeout_ms / 1000
        self._closing: Closing | None = None
        self._moves = Pace()
        self._moved_at = self._may_move_at = 0.0
        self.throttling = Throttling()
        self._timers: dict[str, Timer] = {}
        self._on_warning = on_warning
        self._warned: set[str] = set()
        self._unknown_topics = UnknownTopics(
            core,
            accumulator,
            self._fail,
            max_wait=settings.max_block_ms / 1000,
            max_idle=settings.metadata_max_idle_ms / 1000,
            end_sequences=self._end_sequences,
        )
        self._waiting_topics = self._unknown_topics.topics
        self.transactions: TransactionManager | None = None
        self.identity: Idempotence | TransactionalIdentity
        if settings.transactional_id is None:
            self.identity = Idempotence(
                core,
                settings.enable_idempotence,
                possible=settings.keeps_order,
                on_change=self.pump,
                on_warning=on_warning,
            )
        else:
            from kwire.engine.transactions.manager import TransactionManager

            self.transactions = TransactionManager(core, settings, accumulator, self)
            self.identity = self.transactions.identity
        self._cluster.listeners.append(self._on_metadata)
        self.recover_with(core)
        core.early.append(self.send_early)
        core.on_close.append(self._end)

    # -- the ways in ------------------------------------------------------------------------------------------------

    def send_early(self, until: float, now: float) -> None:
        """Sends now the batches whose linger ends by `until`."""
        if self._accumulator.lingering:
            self._accumulator.expire_linger(until)
            self.pump(now)

    def flush(self, now: float) -> Flush:
        """Sends everything that lingers; returns what to wait for."""
        self.send_all(now)
        return Flush(self._accumulator)

    def close(self, why: str, now: float) -> Closing:
        """Takes no more records because of `why`, and flushes; returns what to wait for and to finish."""
        if self._closing is None:
            if self._accumulator.closed is None:
                self._accumulator.closed = why
            if self.transactions is not None:
                self.transactions.close(now)
            self.send_all(now)
            self._closing = Closing(self._core, self._accumulator, self._unanswered, self.transactions)
            self._closing.advance(now)
        return self._closing

    def _end(self, now: float) -> None:
        """The client closes: takes no more records, and fails those that are left."""
        if self._accumulator.closed is None:
            self._accumulator.closed = CLOSED
        fail_pending(self._accumulator, KafkaError(CLOSED_TOO_EARLY))
        self._awaited.clear()  # no collector sees that what a Delivery leads to leads back here

    @override
    def _advance_closing(self, now: float) -> None:
        assert self._closing is not None
        self._closing.advance(now)

    @override
    def recover(self, now: float) -> None:
        """After an interrupted step: puts back the batches in flight, and lists again every queue that may have been
        between two lists."""
        for sink in self._sinks.values():
            sink.count(-sink.in_flight)
        for timer in (self._deadline, *self._timers.values()):
            if timer is not None:
                timer.cancel()
        self._deadline = None
        self._timers.clear()
        if self._closing is not None:
            self._closing.recover(now)
        self.identity.recover(now)
        self._unknown_topics.recover(now)
        for topic in self._accumulator.topics.values():
            for queue in topic.queues:
                for batch in list(queue.in_flight):
                    queue.reenqueue(batch)
                if 0 <= queue.partition < topic.known and queue.head is not None:
                    self._route(queue, now)
        self._accumulator.announce()
        self._core.call_at(now, self.pump)

    def _end_sequences(self, topic: TopicQueue) -> bool:
        """Has what may be sent to the topic later numbered anew; whether that can be."""
        if not topic.pending_batches and self.identity.end_sequences(topic.queues):
            self._without_sequences.difference_update(topic.queues)
            return True
        return False

    # -- partitions by leader ---------------------------------------------------------------------------------------

    def _sink(self, leader: int) -> Sink:
        sink = self._sinks.get(leader)
        if sink is None:
            # A new dict, because a pump may be going through the old one.
            sink = Sink(leader, self._max_in_flight)
            self._sinks = {**self._sinks, leader: sink}
        return sink

    @override
    def _route(self, queue: PartitionQueue, now: float) -> None:
        leader = self._cluster.leader(queue.name, queue.partition)
        if leader < 0:
            self._cluster.require_leader(now)
        elif queue.retry_at > now and leader != queue.tried_at:
            if now > self._moved_at:
                self._moved_at, self._may_move_at = now, self._moves.count(now)
            queue.retry_at = min(queue.retry_at, self._may_move_at)
        self._sink(leader).add(queue)

    def _on_metadata(self, now: float) -> None:
        refusal = self._core.refusal
        if refusal is not None:
            for batch in self._accumulator.pending:
                self._fail(batch, afresh(refusal))
        topics = self._cluster.topics.values()
        self._by_topic_id = all(topic.topic_id != no_uuid() for topic in topics if topic.partitions)
        self._accumulator.unroute_all()
        self._forget_brokers()
        self._unknown_topics.on_metadata(now)
        self.pump(now)

    def _forget_brokers(self) -> None:
        """Brokers that have left the cluster, once nothing is in flight or waits for them, and the timers of them."""
        brokers = self._cluster.brokers
        self._sinks = {
            node: sink for node, sink in self._sinks.items() if node in brokers or sink.in_flight or len(sink)
        }
        self._timers = {name: timer for name, timer in self._timers.items() if timer.active}

    @override
    def _give_up(self, sink: Sink, error: KafkaError) -> None:
        """Fails every batch that waits for a leader to which nothing can be sent."""
        for queue in sink.empty():
            while (batch := queue.head) is not None:
                self._fail(batch, error)

    @override
    def nothing_to_send(self, sink: Sink) -> KafkaError:
        """The error that ends a request which found no batch."""
        return _NothingToSendError(f"nothing is left to send to broker {sink.node}")

    @override
    def _without_headers(self, batch: Batch, sink: Sink, magic: int) -> None:
        self._accumulator.without_headers(
            batch,
            CodecError(
                f"{batch.place}: its leader, broker {sink.node}, takes records of magic {magic} "
                "only, which have no headers (Kafka 0.11 brought them)",
                "headers",
            ),
        )

    @override
    def _without_timestamps(self, batch: Batch, sink: Sink) -> None:
        self._accumulator.without_timestamps(
            batch,
            CodecError(
                f"{batch.place}: its leader, broker {sink.node}, takes records of magic 0 only, "
                "which have no timestamps (Kafka 0.10 brought them): leave timestamp out",
                "timestamp",
            ),
        )

    @override
    def _take_endpoints(self, rows: Sequence[protocol.ProduceResponse.NodeEndpoint], now: float) -> None:
        """Addresses of leaders that an answer names (KIP-951), perhaps of brokers that no metadata named yet."""
        self._core.update_brokers({row.node_id: Address(row.host, row.port) for row in rows}, complete=False, now=now)

    @override
    def _admit(self, now: float) -> None:
        if self.transactions is not None:
            self.transactions.admit(now)

    @override
    def _take_turn(self, now: float) -> None:
        if self.transactions is not None:
            self.transactions.take_turn(now)

    @property
    def is_answered(self) -> bool:
        """Whether no request with batches waits for its response, also of those that have failed meanwhile."""
        return not any(isinstance(request, PendingProduce) and request.batches for request in self._core._requests)

    def warn(self, text: str) -> None:
        """Tells the user something, once."""
        if text not in self._warned:
            self._warned.add(text)
            self._on_warning(text)

    # -- its end ----------------------------------------------------------------------------------------------------

    @override
    def _on_no_success(self, batch: Batch, row: Row | None, now: float) -> None:
        """`row` is the batch's row of the response, None where it has none."""
        if row is None:
            self._fail(batch, KafkaError(f"the response to Produce has no entry for {batch.place}"))
        elif row.error_code == DUPLICATE_SEQUENCE_NUMBER and batch.may_be_written:
            batch.queue.sequences.acknowledge(batch, -1)
            self._accumulator.complete(batch, -1, -1, None)
        elif row.error_code == MESSAGE_TOO_LARGE and self._accumulator.split(batch):
            return
        else:
            self._on_error_code(batch, row, now)

    def _on_error_code(self, batch: Batch, row: Row, now: float) -> None:
        text = words_of(row)
        error = error_for(row.error_code, batch.place + (f": {text}" if text else ""))
        self._core.note_trouble(error, now)
        if row.error_code in _BROKEN_SEQUENCE and batch.base_sequence >= 0:
            self._on_refused_sequence(batch, error, row, now)
        elif (
            row.error_code == UNSUPPORTED_FOR_MESSAGE_FORMAT and batch.base_sequence >= 0 and not self.identity.required
        ):
            self._go_without_sequences(batch, error, now)
        elif error.retriable:
            leader = row.current_leader
            if not self._cluster.update_leader(batch.topic, batch.partition, leader.leader_id, leader.leader_epoch):
                self._cluster.refresh(now)
            self._again(batch, error, now)
        else:
            self._fail(batch, error)

    def _on_refused_sequence(self, batch: Batch, error: BrokerError, row: Row, now: float) -> None:
        if self.transactions is not None and error.code == UNKNOWN_PRODUCER_ID and row.log_start_offset <= 0:
            batch.may_be_written = True  # no record is gone, and so the producer's state need not be
        if batch.may_be_within or batch.queue.sequences.is_overtaken(batch):
            self._fail(batch, error)
            return
        if self.transactions is not None:
            early = error.code == OUT_OF_ORDER_SEQUENCE_NUMBER and not batch.queue.is_first(batch)
            self._again(batch, error, now) if early else self._fail(batch, error)
            return
        batch.queue.sequences.refuse(batch.queue, batch)
        self._unresolved[batch.queue] = None
        self._again(batch, error, now)

    @override
    def _resolve_sequences(self, now: float) -> None:
        """Begins another epoch where the answers have left no other way, as soon as nothing is in flight there."""
        for queue in list(self._unresolved):
            if queue.sequences.needs_epoch(queue) and not self.identity.renew(queue, now):
                return
            if queue.sequences.state == STEADY:
                del self._unresolved[queue]

    def _go_without_sequences(self, batch: Batch, error: KafkaError, now: float) -> None:
        """Sends the partition plain batches: its log is in a format from before idempotence."""
        if not self._without_sequences:
            self._on_warning(f"idempotence is off for such partitions, a retry may write a record twice: {error}")
        self._without_sequences.add(batch.queue)
        self._again(batch, error, now)

    @override
    def _on_error(self, call: PendingProduce, error: KafkaError, now: float) -> None:
        call.sink.count(-1)
        for batch in list(call.batches):
            if not batch.batch_result.done:
                if self._may_retry(error):
                    self._again(batch, error, now)
                else:
                    self._fail(batch, error)
        if not call.batches and not self._may_retry(error):
            self._fail_unsendable(call.sink, error)
        soon = call.batches or self.identity.may_ask_again(call.sink.node)
        self._wake_at(f"error {call.sink.node}", now + (0.0 if soon else self._core.retry_backoff.wait(1)))

    def _may_retry(self, error: KafkaError) -> bool:
        return is_retriable(error) or (isinstance(error, AuthError) and self._core.refusal is None)

    def _fail_unsendable(self, sink: Sink, error: KafkaError) -> None:
        """No version in common, or the like: nothing can ever be sent to that broker."""
        if not isinstance(error, _NothingToSendError):
            self._give_up(sink, error)

    def _again(self, batch: Batch, error: KafkaError, now: float) -> None:
        batch.attempts += 1
        batch.queue.topic.records_retried += len(batch)
        if not isinstance(error, BrokerError) or error.code in MAY_BE_WRITTEN:
            batch.may_be_written = True
        batch.last_error = error
        if batch.attempts > self._retries:
            self._fail(batch, error)
            return
        soon = isinstance(error, BrokerError) and error.code == CONCURRENT_TRANSACTIONS
        wait = concurrent_wait if soon else self._core.retry_backoff.wait
        batch.queue.retry_at = now + wait(max(batch.attempts - batch.queue.tried_elsewhere, 1))
        batch.queue.reenqueue(batch)

    @override
    def _fail(self, batch: Batch, error: KafkaError) -> None:
        self._leave_unresolved(batch)
        if self.transactions is not None:
            self.transactions.batch_failed(batch, error)
        self._accumulator.complete(batch, -1, -1, error)

    @override
    def throttle_s(self, throttle_time_ms: int) -> float:
        return self.throttling.count(throttle_time_ms)

    # -- timers -----------------------------------------------------------------------------------------------------

    @override
    def _wake_at(self, name: str, moment: float | None) -> None:
        """One timer per name: set, moved or taken away."""
        timer = self._timers.get(name)
        if timer is not None and timer.active:
            if timer.when == moment:
                return
            timer.cancel()
        if moment is not None:
            self._timers[name] = self._core.call_at(moment, self.pump)

    @override
    def _await_deadline(self) -> None:
        oldest = min((batch.created_at for batch in self._accumulator.pending), default=None)
        if oldest is not None:
            self._deadline = self._core.call_at(oldest + self._delivery_timeout, self._expire)

    def _expire(self, now: float) -> None:
        self._deadline = None
        for batch in self._accumulator.pending:
            if batch.created_at + self._delivery_timeout <= now:
                error = self._too_late(batch)
                self._core.note_trouble(error, now)
                self._fail(batch, error)
        self.pump(now)

    def _too_late(self, batch: Batch) -> KafkaError:
        cause = batch.last_error or self.identity.last_error or self._cluster.failure
        error = KafkaTimeoutError(
            Wording(
                "{place}: not delivered within {delivery_timeout_ms}={limit}; {why}",
                place=batch.place,
                limit=round(self._delivery_timeout * 1000),
                why=self.why_waiting(batch),
            )
        )
        error.__cause__ = cause
        return error

    @override
    def why_waiting(self, batch: Batch) -> str:
        """Says in words why the batch is not delivered yet, with the broker and the last error."""
        words = []
        if batch.last_error is not None:
            words.append(f"the last try, of {batch.attempts}: {batch.last_error}")
        leader = self._cluster.leader(batch.topic, batch.partition)
        if no_leader := self._cluster.why_no_leader(batch.topic, batch.partition):
            words.append(no_leader)
        elif batch.queue.blocked and self.transactions is not None:
            words.append(f"its partition is not part of the transaction yet: {self.transactions.why_blocked}")
        elif self.identity.state in UNSETTLED:
            words.append(f"no producer id: {self.identity.last_error or 'InitProducerId has not been answered'}")
        elif batch in batch.queue.in_flight:
            words.append(f"sent, but not answered by {self._core.describe_node(leader)}")
        elif self._core.versions(leader) is None:
            words.append(f"no connection to {self._core.describe_node(leader)}")
        elif batch.last_error is None:
            words.append(f"it waits its turn at {self._core.describe_node(leader)}")
        return "; ".join(words)

    @override
    def _expedite_all(self) -> None:
        for delivery in list(self._awaited):
            self._expedite(delivery)

    @override
    def no_room(self, waited: float) -> KafkaTimeoutError:
        """The error for a record that found no room for `waited` seconds: how much waits, and what the oldest for."""
        accumulator = self._accumulator
        why = ""
        for oldest in accumulator.pending[:1]:
            why = f"; the oldest, of {oldest.place}: {self.why_waiting(oldest)}"
        return KafkaTimeoutError(
            Wording(
                "{used} of {buffer_memory}={room} bytes were still waiting to be delivered after {max_block_ms}={limit}"
                "{why}",
                used=accumulator.used,
                room=accumulator.buffer_memory,
                limit=round(waited * 1000),
                why=why,
            )
        )

    def _expedite(self, delivery: Delivery) -> None:
        batch = delivery._batch_result.batch
        if batch is None or batch.closed:
            if delivery.done():
                del self._awaited[delivery]
            return
        sink = self._sinks.get(self._cluster.leader(batch.topic, batch.partition))
        if sink is None or not sink.in_flight:
            self._accumulator.make_due(batch)


def words_of(row: Row) -> str:
    """The broker's own words about the batch, unless they are those about its first bad records, and these."""
    reasons = {bad.batch_index: bad.batch_index_error_message for bad in row.record_errors[:3]}
    words = [f"record {index}: {reason or 'refused'}" for index, reason in reasons.items()]
    whole = row.error_message
    if whole and not (reasons and all(reason and reason in whole for reason in reasons.values())):
        words.insert(0, whole)
    if len(row.record_errors) > len(reasons):
        words.append(f"and {len(row.record_errors) - len(reasons)} more records")
    return "; ".join(words)
