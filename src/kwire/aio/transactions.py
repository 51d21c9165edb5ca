"""The transactions of the producer for asyncio: calls to be awaited, and the `async with` block.

Layer 5: no protocol logic, no sockets.
"""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType

from kwire._typing import TYPE_CHECKING, Any
from kwire.errors import KafkaError
from kwire.fronts.transactions import TransactionsFront, after_failed_abort, may_abort, text_of

if TYPE_CHECKING:
    from kwire.drivers.loop import LoopDriver
    from kwire.engine.groups.membership import GroupMetadata
    from kwire.engine.settings.options import Timeout
    from kwire.engine.transactions.outcome import Outcome
    from kwire.fronts.group_offsets import Committable, Place


class TransactionCalls(TransactionsFront):
    """The calls of a Producer with a transactional_id. A `timeout` is in seconds; None means max_block_ms.

    A call that runs out of time raises KafkaTimeoutError, and goes on: the same call waits for it again. So it does
    when it was cancelled.
    """

    _driver: LoopDriver
    _check_open: Callable[[], None]

    def transaction(self) -> Transaction:
        """An `async with` block that is one transaction: committed at its end, aborted by an exception, which passes.

        The first one calls `init_transactions`, if that was not done.
        """
        return Transaction(self)

    async def init_transactions(self, *, keep_prepared: bool = False, timeout: Timeout = None) -> str | None:
        """Makes this the only producer with its transactional_id: aborts what another has left open, and fences it.

        With keep_prepared (KIP-939) a prepared transaction is not aborted, and returned as `prepare_transaction` did.
        """
        found = await self._await(lambda now: self._manager().initialise(now, keep_prepared=keep_prepared), timeout)
        return text_of(found)

    async def begin_transaction(self) -> None:
        """Begins a transaction: every record that is sent until its end belongs to it."""
        self._check_open()
        self._driver.call(self._manager().begin)

    async def send_offsets_to_transaction(
        self, offsets: Committable[Place], group_metadata: GroupMetadata, timeout: Timeout = None
    ) -> None:
        """Commits offsets of a consumer group together with the records: those after what a poll returned, or a mapping
        {partition: offset of the next record}.

        `group_metadata` is what the consumer's `group_metadata()` returns. A consumer that has lost partitions since
        the records were returned may not commit them: TransactionError, abortable, whose cause is CommitFailedError
        where the consumer knew it, else the coordinator's error. ConfigError for metadata that names no member, unless
        it is that of a consumer that has called `assign()`.
        """
        await self._await(self._sending_offsets(offsets, group_metadata), timeout)

    async def commit_transaction(self, timeout: Timeout = None) -> None:
        """Delivers every record and commits. Raises TransactionError when one cannot be delivered: abort then.

        ProducerFencedError: another producer has taken over, this one is over.
        """
        await self._await(self._manager().commit, timeout)

    async def abort_transaction(self, timeout: Timeout = None) -> None:
        """Aborts: read_committed consumers skip what was sent; what was not fails with TransactionAbortedError."""
        await self._await(self._manager().abort, timeout)

    async def prepare_transaction(self, timeout: Timeout = None) -> str:
        """Delivers every record, so that the transaction can be committed whatever happens to this producer (KIP-939).

        Returns its state for `complete_transaction`, to be stored where the other system's commit is decided. Needs
        transaction_two_phase_commit_enable.
        """
        return text_of(await self._await(self._manager().prepare, timeout)) or ""

    async def complete_transaction(self, prepared: str, timeout: Timeout = None) -> bool:
        """Commits the prepared transaction if `prepared` is its state, else aborts it; returns whether it committed."""
        commits = self._completes(prepared)
        await self._await(self._manager().commit if commits else self._manager().abort, timeout)
        return commits

    async def _await(self, start: Callable[[float], Outcome], timeout: Timeout) -> Any:
        """The result of what `start(now)` begins; raises its error."""
        manager = self._manager()
        patience = self._transaction_patience(timeout)
        self._check_open()
        outcome = self._driver.call(start)
        if not await self._driver.wait(lambda: outcome.done or manager.is_closed, patience) and not outcome.done:
            raise self._undecided(outcome, patience)
        return outcome.value()


class Transaction:
    """One transaction of a Producer as an `async with` block."""

    def __init__(self, producer: TransactionCalls) -> None:
        self._producer = producer

    async def __aenter__(self) -> Transaction:
        producer = self._producer
        if producer._manager().needs_start:
            await producer.init_transactions()
        await producer.begin_transaction()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            await self._abort(error)
            return
        try:
            await self._producer.commit_transaction()
        except KafkaError as failure:
            if may_abort(failure):
                await self._abort(failure)
            raise

    async def _abort(self, error: BaseException) -> None:
        """Aborts because of `error`, which is raised after that."""
        if not self._producer._manager().may_abort:
            return
        try:
            await self._producer.abort_transaction()
        except KafkaError as failure:
            instead = after_failed_abort(error, failure)
            if instead is not None:
                raise instead from error
