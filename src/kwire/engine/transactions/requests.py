"""The requests of a transaction, and what is done with their responses.

Layer 3, no I/O. Which of them is sent when, and what a success or an error does to the transaction, is the owner's
decision (`manager.py`). Here is what goes into a request, which broker gets it, and which errors are asked again.
"""

from __future__ import annotations

from functools import partial

from kwire import protocol
from kwire._codec import Timer
from kwire._typing import TYPE_CHECKING, override
from kwire.engine.calls.lookup import GROUP, TRANSACTION
from kwire.engine.common.recovery import Recoverable
from kwire.engine.common.retry import is_retriable
from kwire.engine.groups.coordinator import Coordinator
from kwire.engine.settings.clients import ProducerSettings
from kwire.engine.transactions import offsets, partitions
from kwire.engine.transactions.completion import SOON_S, Completion
from kwire.engine.transactions.dialogue import Dialogue
from kwire.engine.transactions.identity import TransactionalIdentity
from kwire.engine.transactions.offsets import SentOffsets
from kwire.engine.transactions.partitions import Partitions
from kwire.errors import AuthError, BrokerError, KafkaError
from kwire.errors.broker import error_for
from kwire.schema.api_keys import (
    ADD_OFFSETS_TO_TXN,
    ADD_PARTITIONS_TO_TXN,
    DESCRIBE_TRANSACTIONS,
    END_TXN,
    INIT_PRODUCER_ID,
    TXN_OFFSET_COMMIT,
)
from kwire.schema.error_codes import (
    CONCURRENT_TRANSACTIONS,
    COORDINATOR_LOAD_IN_PROGRESS,
    COORDINATOR_NOT_AVAILABLE,
    NOT_COORDINATOR,
    REQUEST_TIMED_OUT,
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    UNSUPPORTED_VERSION,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    from kwire.engine.ports import Services
else:
    Protocol = object

_STABLE_INIT = range(6)
_TWO_PHASE_INIT = range(6, 7)
_END_BEFORE_V2 = range(5)
_END_V2 = range(6)
_ADD_OFFSETS = range(5)
_DESCRIBE = range(1)
_NEVER_DESCRIBED = frozenset({TRANSACTIONAL_ID_AUTHORIZATION_FAILED, UNSUPPORTED_VERSION})
_NOT_TAKEN_IN = frozenset({NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS, CONCURRENT_TRANSACTIONS})
"""Codes of a coordinator that has not begun what it was asked for; others may come after it was written to its log."""

_NOT_COMPLETE = error_for(CONCURRENT_TRANSACTIONS, "the transaction before")
"""Never raised: it is put into words only."""

MAX_GROUPS = 100
"""So many groups' coordinators are known at once; one that is used again later is looked up again."""


class Owner(Protocol):
    """Who decides. Of an error only those come that will not pass; `api_key` is what was asked."""

    def advance(self, now: float) -> None:
        """The next request may be sent."""

    def on_id(self, response: protocol.InitProducerIdResponse, version: int, now: float) -> None:
        """The coordinator assigned an id and an epoch."""

    def on_complete(self, now: float) -> None:
        """The transaction before need not be waited for."""

    def on_partitions(self, now: float) -> None:
        """Partitions are part of the transaction."""

    def on_end(self, producer_id: int, epoch: int, now: float) -> None:
        """The transaction has ended. The id and epoch for the next one, or -1."""

    def on_refusal(self, api_key: int, error: BrokerError, now: float) -> None:
        """An answer had an error code."""

    def on_failure(self, api_key: int, error: KafkaError, now: float) -> None:
        """There was no answer, and will be none."""


class TransactionRequests(Recoverable):
    """One request at a time. `partitions`, `offsets` and the flags are those of one transaction: see `begin_anew`."""

    def __init__(
        self,
        core: Services,
        settings: ProducerSettings,
        identity: TransactionalIdentity,
        owner: Owner,
        warn: Callable[[str], None],
    ) -> None:
        assert settings.transactional_id is not None
        self._core = core
        self._settings = settings
        self.transactional_id = settings.transactional_id
        self._identity = identity
        self._owner = owner
        self._warn = warn
        self._coordinator = Coordinator(core, TRANSACTION, self.transactional_id)
        self._groups: dict[str, Coordinator] = {}
        self.dialogue = Dialogue(core, owner.advance, self._on_no_answer)
        self.completion = Completion()
        self._patience: Timer | None = None
        self._api_key = INIT_PRODUCER_ID
        self.begin_anew()

    def begin_anew(self) -> None:
        """Nothing is known of the next transaction."""
        self.partitions = Partitions()
        self.offsets: list[SentOffsets] = []
        self.has_offsets = False
        """Some group is part of the transaction."""
        self._commits = False
        self.may_have_committed = False
        """The coordinator was asked to commit, and has not answered, or in a way that leaves open whether it did."""
        self.dialogue.succeeded()

    def use_id(self, transactional_id: str) -> None:
        """From now on it is about that one."""
        if transactional_id != self.transactional_id:
            self.transactional_id = transactional_id
            self._coordinator.close()
            self._coordinator = Coordinator(self._core, TRANSACTION, transactional_id)

    @property
    def why_waiting(self) -> str:
        """Why there is no answer yet, in words."""
        why = self.dialogue.last_error or self._core.connect_error()
        return str(why or f"the coordinator, {self._coordinator.who}, has not answered")

    @override
    def recover(self, now: float) -> None:
        """The manager asks again, by its state."""
        self.dialogue.recover(now)
        self._stop_patience()

    def _stop_patience(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None

    # -- producer id and epoch --------------------------------------------------------------------------------------

    def ask_id(self, now: float, *, bumps: bool, keep_prepared: bool) -> None:
        """Asks for an id, or (bumps) for the next epoch of the one at hand."""
        two_phase = self._settings.transaction_two_phase_commit_enable

        def message(version: int) -> protocol.InitProducerIdRequest:
            made = protocol.InitProducerIdRequest(
                transactional_id=self.transactional_id, transaction_timeout_ms=self._settings.transaction_timeout_ms
            )
            if bumps:
                made.producer_id = self._identity.producer_id
                made.producer_epoch = self._identity.epoch
            if version in _TWO_PHASE_INIT:
                made.enable2_pc = two_phase
                made.keep_prepared_txn = keep_prepared
            return made

        self._api_key = INIT_PRODUCER_ID
        versions = _TWO_PHASE_INIT if two_phase or keep_prepared else _STABLE_INIT
        self.dialogue.ask(self._coordinator, INIT_PRODUCER_ID, message, self._on_id, now, versions)

    def _on_id(
        self, coordinator: Coordinator, response: protocol.InitProducerIdResponse, version: int, now: float
    ) -> None:
        if response.error_code:
            self._on_code(response.error_code, "", coordinator, now)
        else:
            self._owner.on_id(response, version, now)

    # -- the transaction before -------------------------------------------------------------------------------------

    def ask_completion(self, now: float) -> None:
        """Asks whether it is complete, as soon as that may be."""
        if (at := self.completion.may_ask_at(now)) > now:
            self.dialogue.pause(at)
            return
        message = protocol.DescribeTransactionsRequest(transactional_ids=[self.transactional_id])
        self._api_key = DESCRIBE_TRANSACTIONS
        self.completion.asked(now)
        self.dialogue.ask(self._coordinator, DESCRIBE_TRANSACTIONS, message, self._on_description, now, _DESCRIBE)
        self._patience = self._core.call_at(now + SOON_S, self._ask_no_longer)

    def _ask_no_longer(self, now: float) -> None:
        """No answer: what waits leaves as it would have without the question."""
        if self._api_key == DESCRIBE_TRANSACTIONS and self.dialogue.is_busy:
            self.dialogue.recover(now)
            self.completion.skip(now)
            self._send_unasked(now)
            self._owner.advance(now)

    def _send_unasked(self, now: float) -> None:
        self._stop_patience()
        self.dialogue.succeeded()
        self._owner.on_complete(now)

    def _take_no_description(self, error: KafkaError, coordinator: Coordinator, now: float) -> None:
        coordinator.is_lost(error, now)
        if isinstance(error, BrokerError) and error.code in _NEVER_DESCRIBED:
            self.completion.refuse()
        else:
            self.completion.skip(now)
        self._send_unasked(now)

    def _on_description(
        self, coordinator: Coordinator, response: protocol.DescribeTransactionsResponse, version: int, now: float
    ) -> None:
        row = next(iter(response.transaction_states), None)
        if row is None or row.error_code:
            code = COORDINATOR_NOT_AVAILABLE if row is None else row.error_code
            self._take_no_description(error_for(code, "the transaction before"), coordinator, now)
        elif self.completion.is_pending(row.transaction_state, now):
            self._stop_patience()
            self.dialogue.retry(_NOT_COMPLETE, now, soon=True)
        else:
            self._send_unasked(now)

    # -- partitions -------------------------------------------------------------------------------------------------

    def ask_partitions(self, now: float) -> None:
        """Asks for all partitions at hand."""

        def message(version: int) -> protocol.AddPartitionsToTxnRequest:
            return self.partitions.message(self.transactional_id, self._identity.producer_id, self._identity.epoch)

        self._api_key = ADD_PARTITIONS_TO_TXN
        self.dialogue.ask(
            self._coordinator, ADD_PARTITIONS_TO_TXN, message, self._on_partitions, now, partitions.VERSIONS
        )

    def _on_partitions(
        self, coordinator: Coordinator, response: protocol.AddPartitionsToTxnResponse, version: int, now: float
    ) -> None:
        refused = partitions.errors_in(response)
        if refused:
            self.partitions.refuse_asked()
            code, where = refused[0]
            self._on_code(code, f", {where}", coordinator, now)
        else:
            self.dialogue.succeeded()
            self.partitions.add_asked()
            self._owner.on_partitions(now)

    # -- offsets ----------------------------------------------------------------------------------------------------

    def ask_offsets(self, now: float, *, is_v2: bool) -> None:
        """The next request for the first call that has not ended."""
        call = self.offsets[0]
        if is_v2 or call.is_added:
            self._ask_offset_commit(call, now, is_v2)
            return
        call.is_asked = True
        message = protocol.AddOffsetsToTxnRequest(
            transactional_id=self.transactional_id,
            producer_id=self._identity.producer_id,
            producer_epoch=self._identity.epoch,
            group_id=call.group.group_id,
        )
        self._api_key = ADD_OFFSETS_TO_TXN
        self.dialogue.ask(
            self._coordinator, ADD_OFFSETS_TO_TXN, message, partial(self._on_group_added, call), now, _ADD_OFFSETS
        )

    def _on_group_added(
        self,
        call: SentOffsets,
        coordinator: Coordinator,
        response: protocol.AddOffsetsToTxnResponse,
        version: int,
        now: float,
    ) -> None:
        if response.error_code:
            call.is_asked = False
            self._on_code(response.error_code, f", group {call.group.group_id!r}", coordinator, now)
        else:
            self.has_offsets = call.is_added = True
            call.is_asked = False
            self.dialogue.succeeded()

    def _ask_offset_commit(self, call: SentOffsets, now: float, is_v2: bool) -> None:
        group = call.group.group_id
        coordinator = self._coordinator_of(group)
        self.has_offsets = True
        message = partial(
            call.commit_message, self.transactional_id, self._identity.producer_id, self._identity.epoch, self._warn
        )
        versions = offsets.V2 if is_v2 else offsets.BEFORE_V2
        self._api_key = TXN_OFFSET_COMMIT
        self.dialogue.ask(coordinator, TXN_OFFSET_COMMIT, message, partial(self._on_offset_commit, call), now, versions)

    def _coordinator_of(self, group: str) -> Coordinator:
        """One request is in flight at a time, so nobody waits for the group that was used the longest time ago."""
        found = self._groups.pop(group, None) or Coordinator(self._core, GROUP, group)
        self._groups[group] = found
        if len(self._groups) > MAX_GROUPS:
            self._groups.pop(next(iter(self._groups))).close()
        return found

    def _on_offset_commit(
        self,
        call: SentOffsets,
        coordinator: Coordinator,
        response: protocol.TxnOffsetCommitResponse,
        version: int,
        now: float,
    ) -> None:
        refused = call.take(response)
        if refused:
            code, tp = min(refused, key=lambda row: error_for(row[0]).retriable)
            if code == REQUEST_TIMED_OUT:
                coordinator.is_lost(error_for(COORDINATOR_NOT_AVAILABLE), now)
            self._on_code(code, f", group {call.group.group_id!r}, {tp}", coordinator, now)
            return
        self.dialogue.succeeded()
        if call in self.offsets:
            self.offsets.remove(call)
        call.outcome.succeed()

    # -- the end ----------------------------------------------------------------------------------------------------

    def ask_end(self, now: float, *, commits: bool, is_v2: bool) -> None:
        """Commits or aborts."""
        message = protocol.EndTxnRequest(
            transactional_id=self.transactional_id,
            producer_id=self._identity.producer_id,
            producer_epoch=self._identity.epoch,
            committed=commits,
        )
        self._api_key = END_TXN
        self._commits = commits
        self.completion.end_asked(now)
        versions = _END_V2 if is_v2 else _END_BEFORE_V2
        self.dialogue.ask(self._coordinator, END_TXN, message, self._on_end, now, versions)

    def _on_end(self, coordinator: Coordinator, response: protocol.EndTxnResponse, version: int, now: float) -> None:
        if response.error_code:
            self._on_code(response.error_code, "", coordinator, now)
        else:
            self._owner.on_end(response.producer_id, response.producer_epoch, now)

    # -- errors -----------------------------------------------------------------------------------------------------

    def _on_no_answer(self, coordinator: Coordinator, error: KafkaError, now: float) -> None:
        if self._api_key == DESCRIBE_TRANSACTIONS:
            self._take_no_description(error, coordinator, now)
        elif self._may_pass(coordinator, error, now):
            self._note_commit()
            self.dialogue.retry(error, now)
        else:
            self._owner.on_failure(self._api_key, error, now)

    def _note_commit(self) -> None:
        """What was asked last may have been carried out."""
        self.may_have_committed = self.may_have_committed or self._commits

    def _may_pass(self, coordinator: Coordinator, error: KafkaError, now: float) -> bool:
        lost = coordinator.is_lost(error, now)
        return lost or is_retriable(error) or (isinstance(error, AuthError) and self._core.refusal is None)

    def _on_code(self, code: int, what: str, coordinator: Coordinator, now: float) -> None:
        api_key = self._api_key
        error = error_for(code, f"{protocol.APIS[api_key].name} of transactional id {self.transactional_id!r}{what}")
        if coordinator.is_lost(error, now) or error.retriable:
            if code not in _NOT_TAKEN_IN:
                self._note_commit()
            begins = api_key in (ADD_PARTITIONS_TO_TXN, ADD_OFFSETS_TO_TXN, TXN_OFFSET_COMMIT)
            soon = code == CONCURRENT_TRANSACTIONS and begins and not self.partitions.added
            self.dialogue.retry(error, now, soon=soon)
        else:
            self._owner.on_refusal(api_key, error, now)
