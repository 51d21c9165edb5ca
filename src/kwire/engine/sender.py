"""The producer's logic: from batches that are ready to produce requests, and from answers to fates.

Layer 3, no I/O, no clock. `pump(now)` is the one way in for the client: it places what waited for metadata, drains what
is ready, partition by partition to the leaders, and sets the timers by which it is called again. Where a batch is, is
said by its queue alone (open, waiting, in flight), and those moves are compiled and atomic: after an interrupted step
`recover` puts back whatever is in flight, with its producer id and sequence, and nothing is lost or doubled.

A batch ends by an answer, by an error that no retry can mend, after `retries`, or when `delivery_timeout_ms` is over.
Which errors are tried again is what Kafka's table of error codes calls retriable, and a lost connection.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

from kwire._codec import CODEC_NAMES, Accumulator, Batch, Buffer, Delivery, PartitionQueue
from kwire.engine.api_keys import METADATA, PRODUCE
from kwire.engine.cluster import NO_ID, metadata_request
from kwire.engine.core import Core
from kwire.engine.identity import KNOWN, REFUSED, Identity
from kwire.engine.produce_call import (
    FIRST_WITH_TOPIC_IDS,
    FIRST_WITH_ZSTD,
    ProduceCall,
    Result,
    magic_of,
)
from kwire.engine.retry import is_retriable
from kwire.engine.settings import ProducerSettings
from kwire.engine.timers import Timer
from kwire.engine.unplaced import Unplaced
from kwire.errors import CodecError, KafkaError, KafkaTimeoutError, UnknownCodecError
from kwire.errors.broker import by_code
from kwire.protocol import ProduceRequest

MESSAGE_TOO_LARGE = 10
OUT_OF_ORDER_SEQUENCE_NUMBER = 45
DUPLICATE_SEQUENCE_NUMBER = 46
INVALID_PRODUCER_EPOCH = 47
UNKNOWN_PRODUCER_ID = 59
UNSUPPORTED_FOR_MESSAGE_FORMAT = 43

_BROKEN_SEQUENCE = frozenset({OUT_OF_ORDER_SEQUENCE_NUMBER, INVALID_PRODUCER_EPOCH, UNKNOWN_PRODUCER_ID})
_ROOM_FOR_THE_REST = 512
_BEFORE_TOPIC_IDS = range(FIRST_WITH_TOPIC_IDS)
_ALL_VERSIONS = range(14)


class _NothingToSendError(KafkaError):
    """Between the asking for a connection and its being ready, all expired or moved, or another question comes first.

    Never leaves this file.
    """


class Sender:
    """Moves the batches of one accumulator. `on_warning(text)` is for words to the user, once each."""

    def __init__(
        self,
        core: Core,
        settings: ProducerSettings,
        accumulator: Accumulator,
        on_warning: Callable[[str], None],
    ) -> None:
        self._core = core
        self._cluster = core.cluster
        self._accumulator = accumulator
        self._acks: int = settings.required_acks
        self._codec = CODEC_NAMES.index(settings.compression)
        self._level = settings.level
        self._most_in_flight = settings.max_in_flight_requests_per_connection
        self._most_bytes = settings.max_request_size
        self._retries = settings.retries
        self._delivery_timeout = settings.delivery_timeout_ms / 1000
        self._timeout_ms = settings.request_timeout_ms
        self._ready: dict[int, dict[PartitionQueue, None]] = {}
        self._under_way: Counter[int] = Counter()
        self._quiet_until: dict[int, float] = {}
        self._hasty: dict[Delivery, None] = {}
        self._unanswered: set[int] = set()
        self.farewells = 0
        self._timers: dict[str, Timer] = {}
        self._without_sequences: set[PartitionQueue] = set()
        self._on_warning = on_warning
        self._unplaced = Unplaced(core, accumulator, settings.max_block_ms / 1000)
        self.identity = Identity(
            core, settings.enable_idempotence,
            possible=self._acks == -1 and self._most_in_flight <= 5 and self._retries > 0,
            on_change=self.pump, on_warning=on_warning)
        self._cluster.listeners.append(self._on_metadata)
        core.recovered.append(self.recover)

    # -- the ways in ------------------------------------------------------------------------------------------------

    def pump(self, now: float) -> None:
        """Sends what is ready and can be sent."""
        accumulator = self._accumulator
        self._wake_at("unplaced", self._unplaced.look(now))
        for delivery in list(self._hasty):
            self._hasten(delivery)
        self._wake_at("linger", accumulator.expire_linger(now))
        if accumulator.pending and not self._is_set("deadline"):
            self._wake_at("deadline", self._next_deadline(), self._expire)
        if not self.identity.settled:
            if accumulator.pending:
                self.identity.ask(now)
            return
        while (queue := accumulator.next_ready()) is not None:
            self._enlist(queue, now)
        for leader in list(self._ready):
            self._send_to(leader, now)

    def hasten(self, delivery: Delivery, now: float) -> None:
        """Somebody waits for this record: its batch need not linger unless its leader is busy with requests of ours."""
        if not delivery.done():
            self._hasty[delivery] = None
            self.pump(now)

    def flush(self, now: float) -> None:
        """Whatever lingers goes out."""
        self._accumulator.urge_all()
        self.pump(now)

    def fail_all(self, error: KafkaError) -> None:
        """No batch goes on: for a producer that closes."""
        for batch in list(self._accumulator.pending):
            self._accumulator.settle(batch, -1, -1, error)

    def say_goodbye(self, now: float) -> None:
        """With acks 0: asks each broker something that it answers after what was sent before (`farewells` counts).

        A broker drops requests that it has read and not handled when their connection ends, so a connection that only
        ever took unanswered requests may not be closed right after them.
        """
        if self._acks != 0:
            return
        for node in self._unanswered:
            self.farewells += 1
            self._core.request(
                node, METADATA, partial(metadata_request, topics=[], allow_auto_create=False),
                self._on_farewell, self._on_no_farewell, now)
        self._unanswered.clear()

    def _on_farewell(self, response: Any, version: int, now: float) -> None:
        self.farewells -= 1

    def _on_no_farewell(self, error: KafkaError, now: float) -> None:
        self.farewells -= 1

    def recover(self, now: float) -> None:
        """After a step that was cut: what is in flight by the queues is put back, and whatever was taken off a list to
        be put onto another is listed anew."""
        self._under_way.clear()
        self._timers.clear()
        self.farewells = 0
        self.identity.recover(now)
        self._unplaced.recover()
        for topic in self._accumulator.topics.values():
            for queue in topic.queues:
                for batch in list(queue.in_flight):
                    queue.put_back(batch)
                if 0 <= queue.partition < topic.known and queue.head is not None:
                    self._enlist(queue, now)
        self._core.call_at(now, self.pump)

    # -- partitions by leader ---------------------------------------------------------------------------------------

    def _enlist(self, queue: PartitionQueue, now: float) -> None:
        leader = self._cluster.leader(queue.name, queue.partition)
        if leader < 0:
            self._cluster.refresh(now)
        self._ready.setdefault(leader, {})[queue] = None

    def _on_metadata(self, now: float) -> None:
        everything = self._ready
        self._ready = {}
        for queues in everything.values():
            for queue in queues:
                self._ready.setdefault(self._cluster.leader(queue.name, queue.partition), {})[queue] = None
        self._unplaced.on_metadata(now)
        self.pump(now)

    def _can_send(self, queue: PartitionQueue, now: float) -> bool:
        """A batch that has a sequence is one sent again: it goes alone, because the broker remembers only five.

        Were others sent past it, it could drop out of what the broker remembers, and be taken for a gap.
        """
        head = queue.head
        if head is None or queue.retry_at > now:
            return False
        return not queue.in_flight or (head.base_sequence < 0 and not queue.needs_new_epoch)

    def _send_to(self, leader: int, now: float) -> None:
        if leader < 0:
            return
        if self.identity.may_ask_again(leader):
            self.identity.ask_again(leader, now)
            return
        if self.identity.state == REFUSED:
            self._refuse(leader)
            return
        if self._quiet_until.get(leader, 0.0) > now:
            self._wake_at(f"quiet {leader}", self._quiet_until[leader])
            return
        most = self._most_in_flight if self._core.versions(leader) is not None else 1
        while self._under_way[leader] < most and self._prune(leader, now):
            call = ProduceCall(leader)
            self._under_way[leader] += 1
            before = self._under_way[leader]
            self._core.request(
                leader, PRODUCE, partial(self._build, call, now),
                partial(self._on_answer, call), partial(self._on_error, call), now,
                expect_response=self._acks != 0, versions=self._versions(leader))
            if not call.batches and self._under_way[leader] != before:
                return

    def _prune(self, leader: int, now: float) -> bool:
        """Whether anything for that leader can be sent now; forgets empty queues, sets a timer for backoffs."""
        queues = self._ready.get(leader)
        if not queues:
            return False
        soonest = None
        for queue in list(queues):
            if queue.head is None:
                del queues[queue]
            elif self._can_send(queue, now):
                return True
            elif queue.retry_at > now:
                soonest = queue.retry_at if soonest is None else min(soonest, queue.retry_at)
        self._wake_at(f"retry {leader}", soonest)
        if not queues:
            del self._ready[leader]
        return False

    def _refuse(self, leader: int) -> None:
        """Idempotence was demanded and cannot be had: whatever is to be sent fails with the reason."""
        for queue in self._ready.pop(leader, {}):
            while (batch := queue.head) is not None:
                self._accumulator.settle(batch, -1, -1, self.identity.error)

    def _versions(self, leader: int) -> range:
        """By topic id only if all topics have one."""
        names = {queue.name for queue in self._ready[leader]}
        known = all(self._cluster.topic_id(name) != NO_ID for name in names)
        return _ALL_VERSIONS if known else _BEFORE_TOPIC_IDS

    # -- one request ------------------------------------------------------------------------------------------------

    def _build(self, call: ProduceCall, then: float, version: int) -> ProduceRequest:
        """Takes the batches as the request is written: at most one per partition."""
        if self.identity.may_ask_again(call.node):
            raise _NothingToSendError(f"broker {call.node} may give a producer id: that is asked first")
        sealed: list[Buffer] = []
        room = self._most_bytes - _ROOM_FOR_THE_REST
        queues = self._ready.get(call.node, {})
        for queue in list(queues):
            head = queue.head
            if not self._can_send(queue, then) or head is None:
                continue
            if call.batches and head.size > room:
                break
            if version >= FIRST_WITH_TOPIC_IDS:
                topic_id = self._cluster.topic_id(queue.name)
                if topic_id == NO_ID:
                    continue
                call.topic_ids[queue.name] = topic_id
            data = self._take(queue, call, version, then)
            if data is not None:
                sealed.append(data)
                room -= len(data)
            del queues[queue]
            if queue.head is not None:
                queues[queue] = None
        if not sealed:
            raise _NothingToSendError(f"nothing is left to send to broker {call.node}")
        return call.request(sealed, self._acks, self._timeout_ms)

    def _take(self, queue: PartitionQueue, call: ProduceCall, version: int, now: float) -> Buffer | None:
        """The sealed bytes of the queue's head, which is in flight from now on; None if it turned out unsendable."""
        magic = magic_of(version)
        batch = queue.head
        if batch is not None and magic < 2 and batch.carries_headers:
            error = CodecError(f"{batch.topic}[{batch.partition}]: its leader, broker {call.node}, takes records of "
                               f"magic {magic} only, which have no headers (Kafka 0.11 brought them)", "headers")
            self._accumulator.without_headers(queue.take([]), error)
            return None
        batch = queue.take(call.batches)
        try:
            if CODEC_NAMES[self._codec] == "zstd" and version < FIRST_WITH_ZSTD:
                raise UnknownCodecError(f"broker {call.node} speaks Produce {version}, and zstd begins with version "
                                        f"{FIRST_WITH_ZSTD} (Kafka 2.1): use lz4, snappy or gzip", "compression")
            if magic == 2 and self.identity.state == KNOWN:
                self._give_sequence(queue, batch, now)
            return batch.seal(magic, self._codec, self._level)
        except KafkaError as error:
            call.batches.remove(batch)
            self._fail(batch, error)
            return None

    def _give_sequence(self, queue: PartitionQueue, batch: Batch, now: float) -> None:
        identity = self.identity
        if queue in self._without_sequences:
            queue.needs_new_epoch = False
            batch.restamp(-1, -1, -1)
        elif queue.needs_new_epoch:
            queue.needs_new_epoch = False
            identity.next_epoch(now)
            queue.give_sequence(batch, identity.producer_id, identity.epoch)
        elif queue.producer_id == identity.producer_id:
            queue.give_sequence(batch, queue.producer_id, queue.producer_epoch)
        else:
            queue.give_sequence(batch, identity.producer_id, identity.epoch)

    # -- its end ----------------------------------------------------------------------------------------------------

    def _on_answer(self, call: ProduceCall, response: Any, version: int, now: float) -> None:
        self._under_way[call.node] -= 1
        if response is None:
            self._unanswered.add(call.node)
            for batch in call.batches:
                self._accumulator.settle(batch, -1, -1, None)
        else:
            for batch, result in call.results(response, version):
                if not batch.fate.done:
                    self._on_result(batch, result, now)
            if response.throttle_time_ms > 0:
                self._quiet_until[call.node] = now + response.throttle_time_ms / 1000
        self._reset_stalled(call)
        self.pump(now)

    def _on_result(self, batch: Batch, result: Result | None, now: float) -> None:
        if result is None:
            self._fail(batch, KafkaError(f"the answer to Produce says nothing of {batch.topic}[{batch.partition}]"))
        elif result.error_code == 0:
            self._accumulator.settle(batch, result.base_offset, result.append_time, None)
        elif result.error_code == DUPLICATE_SEQUENCE_NUMBER:
            self._accumulator.settle(batch, -1, -1, None)
        elif result.error_code == MESSAGE_TOO_LARGE and self._accumulator.split(batch):
            return
        else:
            self._on_error_code(batch, result, now)

    def _on_error_code(self, batch: Batch, result: Result, now: float) -> None:
        context = f"{batch.topic}[{batch.partition}]" + (f": {result.text}" if result.text else "")
        error = by_code(result.error_code)(context)
        if result.error_code in _BROKEN_SEQUENCE and batch.base_sequence >= 0:
            if result.error_code != OUT_OF_ORDER_SEQUENCE_NUMBER or batch.queue.is_first(batch):
                batch.queue.needs_new_epoch = True
            self._again(batch, error, now)
        elif (result.error_code == UNSUPPORTED_FOR_MESSAGE_FORMAT and batch.base_sequence >= 0
              and not self.identity.required):
            self._go_without_sequences(batch, error, now)
        elif error.retriable:
            if not self._cluster.leader_is(batch.topic, batch.partition, result.leader, result.leader_epoch):
                self._cluster.refresh(now)
            self._again(batch, error, now)
        else:
            self._fail(batch, error)

    def _go_without_sequences(self, batch: Batch, error: KafkaError, now: float) -> None:
        """The broker has idempotence, but keeps this partition in a format from before it."""
        if not self._without_sequences:
            self._on_warning(f"idempotence is off for such partitions, a retry may write a record twice: {error}")
        self._without_sequences.add(batch.queue)
        self._again(batch, error, now)

    def _on_error(self, call: ProduceCall, error: KafkaError, now: float) -> None:
        self._under_way[call.node] = max(self._under_way[call.node] - 1, 0)
        for batch in list(call.batches):
            if not batch.fate.done:
                if is_retriable(error):
                    self._again(batch, error, now)
                else:
                    self._fail(batch, error)
        if not call.batches and not is_retriable(error):
            self._fail_unsendable(call.node, error)
        self._reset_stalled(call)
        soon = call.batches or self.identity.may_ask_again(call.node)
        self._wake_at(f"error {call.node}", now + (0.0 if soon else self._core.retry_backoff.wait(1)))

    def _fail_unsendable(self, node: int, error: KafkaError) -> None:
        """No version in common, or the like: nothing can ever be sent to that broker."""
        if isinstance(error, _NothingToSendError):
            return
        for queue in self._ready.pop(node, {}):
            while (batch := queue.head) is not None:
                self._accumulator.settle(batch, -1, -1, error)

    def _again(self, batch: Batch, error: KafkaError, now: float) -> None:
        batch.attempts += 1
        batch.last_error = error
        if batch.attempts > self._retries:
            self._fail(batch, error)
            return
        batch.queue.retry_at = now + self._core.retry_backoff.wait(batch.attempts)
        batch.queue.put_back(batch)

    def _fail(self, batch: Batch, error: KafkaError) -> None:
        if batch.base_sequence >= 0:
            batch.queue.needs_new_epoch = True
        self._accumulator.settle(batch, -1, -1, error)

    def _reset_stalled(self, call: ProduceCall) -> None:
        """A queue that waited for its last batch in flight may go on; it is listed anew only if it has a head."""
        for batch in call.batches:
            queue = batch.queue
            if queue.needs_new_epoch and not queue.in_flight and queue.head is not None:
                leader = self._cluster.leader(queue.name, queue.partition)
                self._ready.setdefault(leader, {})[queue] = None

    # -- timers -----------------------------------------------------------------------------------------------------

    def _is_set(self, name: str) -> bool:
        timer = self._timers.get(name)
        return timer is not None and timer.active

    def _wake_at(self, name: str, moment: float | None, action: Callable[[float], None] | None = None) -> None:
        """One timer per name: set, moved or taken away."""
        timer = self._timers.get(name)
        if timer is not None and timer.active:
            if timer.when == moment:
                return
            timer.cancel()
        if moment is not None:
            self._timers[name] = self._core.call_at(moment, action or self.pump)

    def _next_deadline(self) -> float | None:
        pending = self._accumulator.pending
        return min(batch.created_at for batch in pending) + self._delivery_timeout if pending else None

    def _expire(self, now: float) -> None:
        for batch in list(self._accumulator.pending):
            if batch.created_at + self._delivery_timeout <= now:
                self._fail(batch, self._too_late(batch))
        self.pump(now)

    def _too_late(self, batch: Batch) -> KafkaError:
        cause = batch.last_error or self.identity.last_error or self._cluster.failure
        error = KafkaTimeoutError(f"{batch.topic}[{batch.partition}]: not delivered within delivery_timeout_ms="
                                  f"{round(self._delivery_timeout * 1000)}; {self.why_waiting(batch)}")
        error.__cause__ = cause
        return error

    def why_waiting(self, batch: Batch) -> str:
        """What keeps the batch from being delivered, in words, with the broker and the last error."""
        words = []
        if batch.last_error is not None:
            words.append(f"the last try, of {batch.attempts}: {batch.last_error}")
        leader = self._cluster.leader(batch.topic, batch.partition)
        if no_leader := self._cluster.why_no_leader(batch.topic, batch.partition):
            words.append(no_leader)
        elif not self.identity.settled:
            words.append(f"no producer id: {self.identity.last_error or 'InitProducerId is not answered'}")
        elif batch in batch.queue.in_flight:
            words.append(f"sent, and not answered by {self._core.about(leader)}")
        elif batch.last_error is None:
            words.append(f"it waits for {self._core.about(leader)}")
        return "; ".join(words)

    def _hasten(self, delivery: Delivery) -> None:
        batch = delivery._fate.batch
        if batch is None or batch.closed:
            if delivery.done():
                del self._hasty[delivery]
            return
        leader = self._cluster.leader(batch.topic, batch.partition)
        if not self._under_way[leader]:
            self._accumulator.urge(batch)


