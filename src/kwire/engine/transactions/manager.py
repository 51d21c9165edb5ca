"""The transactions of one producer: what it may do now, what it asks the coordinator, and how its errors end.

Layer 3, no I/O, no clock. The fronts call the verbs with the engine to themselves and wait for the Outcome. `advance`
derives the next request from the state, one at a time; it is called after each answer, and by the sender when batches
have ended that the state waits for.

States, and what may follow each, printed from MOVES:

    state          what it is                                              may be followed by
    UNINITIALIZED  no producer id is asked for                             INITIALIZING
    INITIALIZING   InitProducerId is asked                                 READY, PREPARED, UNINITIALIZED, FATAL
    READY          no transaction                                          OPEN, INITIALIZING
    OPEN           records are taken                                       COMMITTING, ABORTING, PREPARING, DETACHING,
                                                                           ABORTABLE, FATAL
    PREPARING      what was sent is being delivered                        PREPARED, ABORTABLE, FATAL
    DETACHING      what was sent is being delivered                        UNINITIALIZED, ABORTABLE, FATAL
    PREPARED       the transaction waits for its end                       COMMITTING, ABORTING
    COMMITTING     what was sent is being delivered, then EndTxn is asked  READY, BUMPING, ABORTABLE, FATAL
    ABORTABLE      the transaction has failed                              ABORTING, FATAL
    ABORTING       what is in flight is awaited, then EndTxn is asked      READY, BUMPING, FATAL
    BUMPING        InitProducerId is asked, for another epoch              READY, FATAL
    FATAL          this producer can no longer be used

Records are taken in OPEN only. COMMITTING is left by an answer alone: a call that waited too long waits again by the
same call, and nothing is aborted that may be committed.

How the coordinator hears of a transaction is decided by the cluster's feature transaction.version, and again when one
has ended (KIP-890):

    below 2   AddPartitionsToTxn before a partition's first batch (`partitions.py`); AddOffsetsToTxn. The epoch stays;
              InitProducerId raises it (KIP-360, Kafka 2.5) after an abort that leaves the fate of a batch open
    2         Produce from version 12 on and TxnOffsetCommit from 5 on do it by themselves. Each EndTxn raises the
              epoch; what is sent before its markers are written costs time (`completion.py`)

A transaction that was detached stays open at the coordinator, for another process to end (`prepared.py`). The producer
may go on under another transactional id, by `initialise`.

Below 2 EndTxn waits for the answers to batches that ran out of time, too: a leader that appends one after the end takes
it into the next transaction. With 2 their epoch shuts them out.

EndTxn is not sent for a transaction that the coordinator cannot know. Below 2 that is exact, as a request
whose answer was lost is repeated before. With 2 an abort is allowed that finds nothing.

Sources: KIP-98, KIP-360, KIP-447, KIP-588, KIP-890, KIP-939, KIP-1050; TransactionManager of the Java client 4.3.
"""

from __future__ import annotations

from kwire import protocol
from kwire._codec import Accumulator, Batch, PartitionQueue
from kwire._typing import TYPE_CHECKING, Any, override
from kwire.engine.common.lifecycle import Lifecycle
from kwire.engine.common.recovery import Recoverable
from kwire.engine.common.retry import MAY_BE_WRITTEN
from kwire.engine.groups.committable import CommittableOffsets
from kwire.engine.groups.membership import GroupMetadata
from kwire.engine.settings.clients import ProducerSettings
from kwire.engine.transactions.identity import TransactionalIdentity, without_id
from kwire.engine.transactions.offsets import SentOffsets
from kwire.engine.transactions.outcome import Outcome
from kwire.engine.transactions.prepared import V1, V2, PreparedTransaction
from kwire.engine.transactions.requests import TransactionRequests
from kwire.engine.transactions.states import (
    ABORTABLE,
    ABORTING,
    BUMPING,
    COMMITTING,
    DETACHING,
    FATAL,
    INITIALIZING,
    MOVES,
    NOT_NOW,
    OPEN,
    PREPARED,
    PREPARING,
    READY,
    UNFINISHED,
    UNINITIALIZED,
)
from kwire.engine.transactions.verdicts import ABORT, FENCED, RECOVER, verdict
from kwire.engine.transactions.verdicts import FATAL as FATAL_VERDICT
from kwire.errors import (
    BrokerError,
    CodecError,
    CommitFailedError,
    KafkaError,
    TransactionAbortedError,
    TransactionError,
    TransactionStateError,
)
from kwire.errors.broker import error_for
from kwire.errors.wording import Wording, joined
from kwire.schema.api_keys import (
    END_TXN,
    INIT_PRODUCER_ID,
    PRODUCE,
)
from kwire.schema.error_codes import (
    CLUSTER_AUTHORIZATION_FAILED,
    DUPLICATE_SEQUENCE_NUMBER,
    INVALID_TXN_STATE,
    OUT_OF_ORDER_SEQUENCE_NUMBER,
    PRODUCER_FENCED,
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    UNKNOWN_PRODUCER_ID,
    UNSUPPORTED_VERSION,
)

if TYPE_CHECKING:
    from typing import Protocol

    from kwire.engine.ports import Services
else:
    Protocol = object

_FEATURE = "transaction.version"
_TAKES_FAILURES = frozenset({OPEN, PREPARING, DETACHING, COMMITTING})
_ASKS = _TAKES_FAILURES | {ABORTING}
_DELIVERS = frozenset({PREPARING, DETACHING, COMMITTING})
_NEWEST_PRODUCE = {False: 11, True: 13}
_FIRST_INIT_WITH_EPOCH = 3
_MAY_BE_ALLOWED_LATER = frozenset(
    {TRANSACTIONAL_ID_AUTHORIZATION_FAILED, CLUSTER_AUTHORIZATION_FAILED, UNSUPPORTED_VERSION}
)


class BatchSender(Protocol):
    """The sender whose batches the transactions are of."""

    has_sent: bool
    first_sent_at: float
    first_answered_at: float
    needs_turn: bool
    turns_when_empty: bool
    transactional_id: str | None
    newest_version: int

    @property
    def is_answered(self) -> bool:
        """Whether no request with batches waits for its response."""

    def pump(self, now: float) -> None:
        """Sends what may leave."""

    def why_waiting(self, batch: Batch) -> str: ...

    def warn(self, text: str) -> None: ...


class TransactionManager(Lifecycle, Recoverable):
    """`identity` is what the sender numbers batches by. A verb that does not fit raises TransactionStateError."""

    MOVES = MOVES

    def __init__(
        self, core: Services, settings: ProducerSettings, accumulator: Accumulator, sender: BatchSender
    ) -> None:
        self.state = UNINITIALIZED
        self.identity = TransactionalIdentity()
        self.is_v2 = False
        self.prepared: tuple[int, int] | None = None
        """Producer id and epoch of the transaction in state PREPARED."""
        self._core = core
        self._settings = settings
        self._accumulator = accumulator
        self._sender = sender
        self._requests = TransactionRequests(core, settings, self.identity, self, sender.warn)
        self._outcome: Outcome | None = None
        self._error: KafkaError | None = None
        self._keep_prepared = False
        self._can_bump = False
        self._epoch_is_new = True
        self._gives_up = False
        self._began_at = 0.0
        self._begin_anew()
        accumulator.is_transactional = True
        accumulator.bar(self._refusal)
        self.recover_with(core)

    def _begin_anew(self) -> None:
        """What is known of one transaction."""
        self._requests.begin_anew()
        self._needs_bump = False
        self._gaps: dict[PartitionQueue, int | None] = {}
        self._failed: KafkaError | None = None
        self._sender.has_sent, self._sender.first_answered_at = False, 0.0
        self._answer: tuple[int, int] | None = None

    # -- the verbs --------------------------------------------------------------------------------------------------

    def initialise(
        self, now: float, *, keep_prepared: bool = False, transactional_id: str | None = None, again: bool = False
    ) -> Outcome:
        """Asks for producer id and epoch, which ends what another producer of this transactional_id has begun; by
        default it is that of the settings, or the last one. `again`: also where it has them from before."""
        if (waiting := self._waiting_for("init_transactions")) is not None:
            return waiting
        self._require("init_transactions", UNINITIALIZED, *((READY,) if again else ()))
        if transactional_id is not None:
            self._sender.transactional_id = transactional_id
            self._requests.use_id(transactional_id)
        self._keep_prepared = keep_prepared
        self._core.retry_refused(now)
        return self._enter(INITIALIZING, "init_transactions", now)

    def begin(self, now: float) -> None:
        """Begins a transaction: records are taken from now on."""
        self._require("begin_transaction", READY)
        gated = not self.is_v2 or self._requests.completion.begin(now)
        self._accumulator.begin_transaction(gated=gated, anew=self._epoch_is_new)
        self._epoch_is_new = False
        self._began_at = now
        self._outcome, self.state = None, self.checked(OPEN)
        self._accumulator.bar(None)  # no call stands between the two: a signal cannot leave OPEN without records

    def send_offsets(
        self, given: CommittableOffsets, group: GroupMetadata, now: float, *, late: CommitFailedError | None = None
    ) -> Outcome:
        """Makes offsets of a group part of the transaction, unless they come too `late`: then it must be aborted."""
        self._take_in_failure(now)
        self._require("send_offsets_to_transaction", OPEN)
        call = SentOffsets(given, group)
        if late is not None:
            self._fail_transaction(late)
            call.outcome.fail(self._present_error())
        elif given:
            self._requests.completion.is_wanted = True
            self._requests.offsets.append(call)
            self.advance(now)
        else:
            call.outcome.succeed()
        return call.outcome

    def commit(self, now: float) -> Outcome:
        """Delivers every record, then commits; fails if one of them cannot be delivered."""
        return self._finish_by(COMMITTING, "commit_transaction", (OPEN, PREPARED), now)

    def abort(self, now: float) -> Outcome:
        """Drops what is not sent yet, waits for what is in flight, then aborts."""
        return self._finish_by(ABORTING, "abort_transaction", (OPEN, PREPARED, ABORTABLE), now)

    def prepare(self, now: float) -> Outcome:
        """Delivers every record; then the transaction waits to be committed or aborted (KIP-939)."""
        if not self._settings.transaction_two_phase_commit_enable:
            raise TransactionStateError(
                Wording("prepare_transaction: it needs {transaction_two_phase_commit_enable}=True")
            )
        return self._finish_by(PREPARING, "prepare_transaction", (OPEN,), now)

    def detach(self, now: float) -> Outcome:
        """Delivers every record, and leaves the transaction open. The result is the PreparedTransaction with which any
        process may end it, or None where the coordinator does not know it."""
        return self._finish_by(DETACHING, "detach_transaction", (OPEN,), now)

    def close(self, now: float) -> None:
        """The producer takes no more records: aborts what is open. A prepared transaction stays."""
        if self.state in (PREPARING, DETACHING):
            self._fail_transaction(TransactionAbortedError("the producer was closed"))
        if self.state in (OPEN, ABORTABLE):
            self.abort(now)
        if self.is_ending:
            self._core.call_at(now + self._settings.max_block_ms / 1000, self._give_up)

    def _give_up(self, now: float) -> None:
        self._gives_up = True

    @property
    def needs_start(self) -> bool:
        """Whether no producer id was asked for yet, or is being asked for."""
        return self.state in (UNINITIALIZED, INITIALIZING)

    @property
    def may_abort(self) -> bool:
        """Whether there is a transaction whose end is not being decided."""
        return self.state in (OPEN, PREPARED, ABORTABLE)

    @property
    def is_closed(self) -> bool:
        """Whether nothing will be answered any more."""
        return self._core.closed

    @property
    def is_ending(self) -> bool:
        """Whether the end of a transaction is not decided yet, and waited for."""
        return self.state in (COMMITTING, ABORTING) and not self._gives_up

    @property
    def why_blocked(self) -> str:
        """Why a partition is not added yet, in words."""
        return self._requests.why_waiting

    @property
    def why_waiting(self) -> str:
        """Why a call is not done, in words: the last error, or what it waits for."""
        for batch in self._accumulator.pending[:1]:
            return f"{batch.place}: {self._sender.why_waiting(batch)}"
        return self._requests.why_waiting

    @override
    def recover(self, now: float) -> None:
        """After an interrupted step: asks again, and ends what was cut after a change of state."""
        self._requests.recover(now)
        if self.is_v2:
            self._requests.completion.is_awaited = False
            self._accumulator.open_gate()
        if self._answer is not None:
            self._finish(now)
        if self.state in (READY, PREPARED):
            self._succeed(self.prepared)
        elif self.state in (ABORTABLE, FATAL) and self._error is not None:
            self._settle_error(self._error)
        for topic in self._accumulator.topics.values():
            self._requests.partitions.want(
                queue for queue in topic.queues if queue.head is not None and queue.partition >= 0
            )
        self._sender.needs_turn = True
        self._core.call_at(now, self.advance)

    # -- what the sender says ---------------------------------------------------------------------------------------

    def admit(self, now: float) -> None:
        """Partitions that are blocked have something to send."""
        held = self._accumulator.held
        if self.is_v2:
            self._requests.completion.is_wanted = True
        else:
            self._requests.partitions.want(held)
        held.clear()
        self.advance(now)

    def take_turn(self, now: float) -> None:
        """Batches may have ended."""
        self.advance(now)
        self._sender.needs_turn = self.state == ABORTING
        self._sender.turns_when_empty = self.state in _DELIVERS

    def batch_failed(self, batch: Batch, error: KafkaError) -> None:
        """A batch failed for good. What follows from it comes with the sender's next turn."""
        if self.state not in UNFINISHED:
            return
        if batch.base_sequence >= 0 and not self.is_v2:
            self._note_gap(batch, error)
        if self._failed is None:
            self._failed = error
        self._sender.needs_turn = True

    def _note_gap(self, batch: Batch, error: KafkaError) -> None:
        """A sequence was given to a batch that may not be in the log."""
        if self._can_bump:
            self._needs_bump = True
        queue, code = batch.queue, None
        if isinstance(error, BrokerError) and error.code not in MAY_BE_WRITTEN and not batch.may_be_written:
            code = error.code
        if code == DUPLICATE_SEQUENCE_NUMBER or (code == OUT_OF_ORDER_SEQUENCE_NUMBER and queue not in self._gaps):
            code = None  # no batch was written before, or is missing before it: the log counts differently
        self._gaps[queue] = code if self._gaps.get(queue, code) is not None else None

    # -- changing state ---------------------------------------------------------------------------------------------

    def _enter(self, state: str, what: str, now: float) -> Outcome:
        """Goes into a state that a call waits for."""
        outcome = Outcome(what)
        self._outcome, self.state = outcome, self.checked(state)
        self.advance(now)
        return outcome

    def _finish_by(self, state: str, what: str, froms: tuple[str, ...], now: float) -> Outcome:
        if (waiting := self._waiting_for(what)) is not None:
            return waiting
        if self._failed is not None:
            self._take_in_failure(now)
        self._require(what, *froms)
        self._accumulator.bar(self._refusal)
        self._sender.needs_turn, self._sender.turns_when_empty = state == ABORTING, state in _DELIVERS
        outcome = self._enter(state, what, now)
        self._accumulator.make_all_due()
        self._sender.pump(now)
        return outcome

    def _waiting_for(self, what: str) -> Outcome | None:
        """The outcome of the same call, made before and not returned yet: it ran out of time, or was cut."""
        waiting = self._outcome
        return waiting if waiting is not None and waiting.what == what and not waiting.taken else None

    def _require(self, what: str, *states: str) -> None:
        if self.state not in states:
            raise self._not_now(what)

    def _not_now(self, what: str) -> KafkaError:
        if self.state in (ABORTABLE, FATAL):
            return self._present_error()
        words = NOT_NOW[self.state]
        if self.state in (COMMITTING, ABORTING, BUMPING, INITIALIZING) and self._outcome is not None:
            words = f"{self._outcome.what}() is not done yet: call it again to wait for it"
        return TransactionStateError(f"{what}: {words}")

    def _refusal(self) -> KafkaError:
        """The error for a record outside of a transaction."""
        return self._not_now("send")

    def _present_error(self) -> KafkaError:
        """The error of this state, to be raised once more."""
        cause = self._error
        abortable = self.state == ABORTABLE
        what = "the transaction must be aborted" if abortable else "this producer can no longer be used, close it"
        name = self._requests.transactional_id
        error: KafkaError
        if isinstance(cause, BrokerError) and cause.code == PRODUCER_FENCED:
            error = error_for(PRODUCER_FENCED, cause.context)
        else:
            text = Wording("transactional id {name!r}: {what}; {cause}", name=name, what=what, cause=str(cause))
            error = TransactionError(text, abortable=abortable)
            error.__cause__ = cause
        if self._requests.may_have_committed:
            error.add_note("a commit was requested before, and whether it succeeded is not known")
        return error

    def _take_in_failure(self, now: float) -> None:
        """What follows from a batch that failed."""
        error = self._failed
        if error is not None and self.state in _TAKES_FAILURES:
            if isinstance(error, BrokerError):
                self._judge(PRODUCE, error, now)
            else:
                self._fail_transaction(error)
        self._failed = None

    def _judge(self, api_key: int, error: BrokerError, now: float) -> None:
        """What an error code that will not pass does to the transaction."""
        found = verdict(api_key, error.code)
        if api_key == END_TXN and error.code == INVALID_TXN_STATE:
            found, error = self._judge_end(error, now)
        if found == FENCED:
            self._die(error_for(PRODUCER_FENCED, joined("; ", (error.context, self._why_fenced(now)))))
        elif found == RECOVER and (self._can_bump or self.is_v2) and self._may_still_abort(api_key):
            self._needs_bump = not self.is_v2
            self._fail_transaction(error)
        elif found == ABORT and self._may_still_abort(api_key):
            self._fail_transaction(error)
        else:
            self._die(error)

    def _judge_end(self, error: BrokerError, now: float) -> tuple[str, BrokerError]:
        """The coordinator has aborted on its own: for another producer, which with version 2 is told so as long as that
        abort is going on, or because the transaction was open for too long."""
        if self._may_have_timed_out(now):
            return FATAL_VERDICT, error_for(error.code, joined("; ", (error.context, self._why_fenced(now))))
        return FENCED if self.is_v2 else FATAL_VERDICT, error

    def _may_have_timed_out(self, now: float) -> bool:
        """Whether the coordinator may have given the transaction up: it counts from later than `begin`."""
        settings = self._settings
        is_over = now - self._began_at >= settings.transaction_timeout_ms / 1000
        return is_over and self.state in UNFINISHED and not settings.transaction_two_phase_commit_enable

    def _why_fenced(self, now: float) -> str:
        taken = "another producer has taken the transactional id"
        if not self._may_have_timed_out(now):
            return taken
        return Wording(
            "the transaction was open for {seconds:.1f} s, and the coordinator aborts one after "
            "{transaction_timeout_ms}={limit}; or {taken}",
            seconds=now - self._began_at,
            limit=self._settings.transaction_timeout_ms,
            taken=taken,
        )

    def _may_still_abort(self, api_key: int) -> bool:
        """Whether an abort would be believed, and is not what has just failed."""
        ends = self.state == ABORTING and api_key == END_TXN
        return self.state in UNFINISHED and not ends and not self._requests.may_have_committed

    def _fail_transaction(self, error: KafkaError) -> None:
        """It must be aborted. While it is being aborted, or there is none, that changes nothing."""
        if self.state not in _TAKES_FAILURES:
            return
        self._error = error
        self.move(ABORTABLE)
        self._settle_error(error)

    def _die(self, error: KafkaError) -> None:
        """This producer can no longer be used."""
        if self.state == FATAL:
            return
        self._error = error
        self.move(FATAL)
        self._settle_error(error)

    def _settle_error(self, error: KafkaError) -> None:
        """What follows from state ABORTABLE or FATAL."""
        self._accumulator.bar(self._refusal)
        lost = self._unsent()
        if self.state == FATAL:
            self.identity.end(error)
            lost = self._accumulator.pending
        for batch in lost:
            self._accumulator.complete(batch, -1, -1, error)
        self._end_calls()

    def _end_calls(self) -> None:
        """Calls that wait raise the error of this state."""
        for call in self._requests.offsets:
            call.outcome.fail(self._present_error())
        self._requests.offsets = [call for call in self._requests.offsets if call.is_asked]
        if self._outcome is not None and not self._outcome.done:
            self._outcome.fail(self._present_error())
            self._forget_failures()

    def _forget_failures(self) -> None:
        """The end of the transaction tells of its records: flush need not."""
        self._accumulator.failed.clear()
        self._accumulator.failures_dropped = 0

    def _unsent(self) -> list[Batch]:
        """The batches that no broker can have: they are in no request, and were in none."""
        return [
            batch
            for batch in self._accumulator.pending
            if batch.base_sequence < 0 and batch not in batch.queue.in_flight
        ]

    # -- the next step ----------------------------------------------------------------------------------------------

    def advance(self, now: float) -> None:
        """Does what the state needs next, unless a request is in flight."""
        if self._failed is not None:
            self._take_in_failure(now)
        if self._answer is not None:
            self._finish(now)
        if self.state == ABORTING:
            self._drop_unsent()
        if not self._requests.dialogue.is_busy:
            self._ask_next(now)

    def _drop_unsent(self) -> None:
        for batch in self._unsent():
            self._accumulator.abandon(
                batch,
                TransactionAbortedError(f"{batch.place}: not sent: its transaction was aborted"),
            )
        self._requests.partitions.drop_wanted()
        self._requests.completion.is_awaited = False
        self._forget_failures()
        dropped = [call for call in self._requests.offsets if not call.is_asked]
        self._requests.offsets = [call for call in self._requests.offsets if call.is_asked]
        for call in dropped:
            call.outcome.fail(TransactionAbortedError("the offsets were not sent: the transaction was aborted"))

    def _ask_next(self, now: float) -> None:
        state = self.state
        if state in (INITIALIZING, BUMPING):
            keeps = self._keep_prepared and state == INITIALIZING
            self._requests.ask_id(now, bumps=state == BUMPING, keep_prepared=keeps)
        elif state not in _ASKS:
            return
        elif self._requests.completion.is_awaited and self._requests.completion.is_wanted:
            self._requests.ask_completion(now)
        elif not self.is_v2 and self._requests.partitions.to_ask:
            self._requests.ask_partitions(now)
        elif self._requests.offsets:
            self._requests.ask_offsets(now, is_v2=self.is_v2)
        elif state != OPEN and self._accumulator.is_empty and (self.is_v2 or self._sender.is_answered):
            if state == PREPARING:
                self._end_preparing()
            elif state == DETACHING:
                self._end_detaching()
            elif self._is_heard_of:
                self._requests.ask_end(now, commits=state == COMMITTING, is_v2=self.is_v2)
            else:
                self._answer = (-1, -1)
                self._finish(now)

    @property
    def _is_heard_of(self) -> bool:
        """Whether the coordinator knows of the transaction, or may."""
        if self.prepared is not None or self._requests.has_offsets:
            return True
        return self._sender.has_sent if self.is_v2 else self._requests.partitions.added

    def _end_preparing(self) -> None:
        self.move(PREPARED)
        self.prepared = (self.identity.producer_id, self.identity.epoch)
        if self._outcome is not None:
            self._outcome.succeed(self.prepared)

    def _end_detaching(self) -> None:
        if self._is_heard_of:
            version = V2 if self.is_v2 else V1
            name, identity = self._requests.transactional_id, self.identity
            self._succeed(PreparedTransaction(name, identity.producer_id, identity.epoch, version))
        self._succeed()
        self._begin_anew()
        self.move(UNINITIALIZED)

    def _finish(self, now: float) -> None:
        """The transaction has ended, by the answer in `_answer`."""
        assert self._answer is not None
        producer_id, epoch = self._answer
        if producer_id >= 0:
            self.identity.set(producer_id, epoch)
            self._epoch_is_new = True
        becomes_v2 = self._core.finalized_feature(_FEATURE) >= 2
        bumps = self.state == BUMPING or self._needs_bump or (becomes_v2 and not self.is_v2)
        if self._gaps and not bumps and not self._rewind():
            self._answer = None
            self._die(_gap())
            return
        if self.state in (COMMITTING, ABORTING):
            self.move(BUMPING if bumps else READY)
        if becomes_v2 != self.is_v2:
            self._choose_version(becomes_v2)
        self._requests.completion.ended(self._sender.first_sent_at, self._sender.first_answered_at, now)
        self.prepared = None
        self._error = None
        self._begin_anew()
        if self.state == READY:
            self._succeed()

    def _rewind(self) -> bool:
        """Gives free the sequences of batches that were refused. False where the fate of one is not known."""
        for queue, code in self._gaps.items():
            if code is None:
                return False
            if code == UNKNOWN_PRODUCER_ID:
                queue.sequences.begin(-1, -1)
            else:
                queue.sequences.rewind()
        return True

    def _succeed(self, result: Any = None) -> None:
        if self._outcome is not None:
            self._outcome.succeed(result)

    def _choose_version(self, is_v2: bool) -> None:
        self.is_v2 = is_v2
        self._sender.newest_version = _NEWEST_PRODUCE[is_v2]

    # -- responses ----------------------------------------------------------------------------------------------------

    def on_id(self, response: protocol.InitProducerIdResponse, version: int, now: float) -> None:
        """The coordinator assigned an id and an epoch. Records without them would be outside of every transaction."""
        if response.producer_id < 0 or response.producer_epoch < 0:
            self._die(without_id(response))
            return
        self.identity.set(response.producer_id, response.producer_epoch)
        self._epoch_is_new = True
        self._can_bump = version >= _FIRST_INIT_WITH_EPOCH
        begins = self.state == INITIALIZING
        if begins:
            self._choose_version(self._core.finalized_feature(_FEATURE) >= 2)
        if begins and self._keep_prepared and response.ongoing_txn_producer_id >= 0:
            self.prepared = (response.ongoing_txn_producer_id, response.ongoing_txn_producer_epoch)
            self.move(PREPARED)
        else:
            self.move(READY)
        self._succeed(self.prepared)

    def on_complete(self, now: float) -> None:
        """The transaction before need not be waited for: what waits may go."""
        self._requests.completion.is_awaited = False
        self._accumulator.open_gate()
        self._sender.pump(now)

    def on_partitions(self, now: float) -> None:
        """Partitions are part of the transaction: what waits for them may go."""
        self._sender.pump(now)

    def on_end(self, producer_id: int, epoch: int, now: float) -> None:
        """The transaction has ended."""
        if self.state in (COMMITTING, ABORTING):
            self._answer = (producer_id, epoch)
            self._finish(now)

    def on_refusal(self, api_key: int, error: BrokerError, now: float) -> None:
        """An answer had an error code that will not pass."""
        if self.state == INITIALIZING and error.code in _MAY_BE_ALLOWED_LATER:
            self._refuse_start(self._why_not_offered(api_key, error))
        else:
            self._judge(api_key, error, now)

    def on_failure(self, api_key: int, error: KafkaError, now: float) -> None:
        """There was no answer, and will be none."""
        if self.state == INITIALIZING:
            missing = error.api_key if isinstance(error, BrokerError) else None
            self._refuse_start(self._why_not_offered(api_key if missing is None else missing, error))
        elif isinstance(error, BrokerError):
            self._judge(api_key, error, now)
        else:
            self._die(error)

    def _why_not_offered(self, api_key: int, error: KafkaError) -> KafkaError:
        """What is missing, where a broker does not offer what transactions need; the error is about this API."""
        code = error.code if isinstance(error, BrokerError) else None
        if code != UNSUPPORTED_VERSION and not isinstance(error, CodecError):
            return error
        needs = "transactions need Kafka 0.11 or newer"
        if api_key == INIT_PRODUCER_ID and self._keep_prepared:
            needs = "the broker keeps no prepared transactions (KIP-939)"
        elif api_key == INIT_PRODUCER_ID and self._settings.transaction_two_phase_commit_enable:
            needs = "two-phase commit (KIP-939) needs a broker that offers version 6 of InitProducerId"
        why = error.context if isinstance(error, BrokerError) else str(error)
        refusal = error_for(UNSUPPORTED_VERSION, f"{needs}; {why}" if why else needs)
        refusal.__cause__ = error
        return refusal

    def _refuse_start(self, error: KafkaError) -> None:
        if self._outcome is not None:
            self._outcome.fail(error)
        self.move(UNINITIALIZED)


def _gap() -> KafkaError:
    return TransactionError(
        "it is not known whether a batch was written, and the coordinator, from before Kafka 2.5, cannot raise the "
        "epoch of this producer to make sure (KIP-360)"
    )
