"""The transactions of the producer for asyncio: calls to be awaited, and the `async with` block.

Layer 5: no protocol logic, no sockets.

What only runs a wait is written by `make docs`, from the methods of `_transactions.py`.
"""

from __future__ import annotations

from types import TracebackType

from kwire._typing import TYPE_CHECKING
from kwire.aio.client import Client
from kwire.engine.common import other_blocks
from kwire.engine.settings.clients import ProducerSettings
from kwire.fronts.producer import ProducerFront

if TYPE_CHECKING:
    from kwire.engine.groups.membership import GroupMetadata
    from kwire.engine.settings.options import Timeout
    from kwire.fronts.consumer import AnyPartition, Committable


class TransactionCalls(ProducerFront, Client[ProducerSettings]):
    """The calls of a Producer with a transactional_id. A `timeout` is in seconds; None means max_block_ms.

    A call that runs out of time raises KafkaTimeoutError, and goes on: the same call waits for it again. So it does
    when it was cancelled.
    """

    def transaction(self) -> Transaction:
        """An `async with` block that is one transaction: committed at its end, aborted by an exception, which passes.

        The first one calls `init_transactions`, if that was not done.
        """
        return Transaction(self)

    async def init_transactions(self, *, keep_prepared: bool = False, timeout: Timeout = None) -> str | None:
        """Makes this the only producer with its transactional_id: aborts what another has left open, and fences it.

        With keep_prepared (KIP-939) a prepared transaction is not aborted, and returned as `prepare_transaction` did.
        """
        return await self._door.run(self._transactional().initialise(keep_prepared, timeout))

    async def begin_transaction(self) -> None:
        """Begins a transaction: every record that is sent until its end belongs to it."""
        await self._door.run(self._transactional().begin())

    async def send_offsets_to_transaction(
        self, offsets: Committable[AnyPartition], group_metadata: GroupMetadata, timeout: Timeout = None
    ) -> None:
        """Commits offsets of a consumer group together with the records: those after what a poll returned, or a mapping
        {partition: offset of the next record}.

        `group_metadata` is what the consumer's `group_metadata()` returns. A consumer that has lost partitions since
        the records were returned may not commit them: TransactionError, abortable, whose cause is CommitFailedError
        where the consumer knew it, else the coordinator's error. ConfigError for metadata that names no member, unless
        it is that of a consumer that has called `assign()`.
        """
        await self._door.run(self._transactional().send_offsets(offsets, group_metadata, timeout))

    async def commit_transaction(self, timeout: Timeout = None) -> None:
        """Delivers every record and commits. Raises TransactionError when one cannot be delivered: abort then.

        ProducerFencedError: another producer has taken over; this one can no longer be used.
        """
        await self._door.run(self._transactional().commit(timeout))

    async def abort_transaction(self, timeout: Timeout = None) -> None:
        """Aborts: read_committed consumers skip what was sent; what was not fails with TransactionAbortedError."""
        await self._door.run(self._transactional().abort(timeout))

    async def prepare_transaction(self, timeout: Timeout = None) -> str:
        """Delivers every record, so that the transaction can be committed whatever happens to this producer (KIP-939).

        Returns its state for `complete_transaction`, to be stored where the other system's commit is decided. Needs
        transaction_two_phase_commit_enable.
        """
        return await self._door.run(self._transactional().prepare(timeout))

    async def complete_transaction(self, prepared: str, timeout: Timeout = None) -> bool:
        """Commits the prepared transaction if `prepared` is its state, else aborts it; returns whether it committed."""
        return await self._door.run(self._transactional().complete(prepared, timeout))


class Transaction:
    """One transaction of a Producer as an `async with` block."""

    def __init__(self, producer: TransactionCalls) -> None:
        self._producer = producer

    async def __aenter__(self) -> Transaction:
        await self._producer._door.run(self._producer._transactional().enter())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._producer._door.run(self._producer._transactional().leave(error))

    if not TYPE_CHECKING:
        __enter__ = other_blocks.ASYNC_WITH_TRANSACTION
