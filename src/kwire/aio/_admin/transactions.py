"""Admin for asyncio: transactions and producers. Layer 5: signatures and docstrings.

What only runs a wait is written by `make docs`, from the methods of `_admin/transactions.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kwire._typing import TYPE_CHECKING, Any
from kwire.aio.client import Client
from kwire.engine import admin as engine
from kwire.engine.settings.clients import AdminSettings
from kwire.fronts.admin import AdminFront

if TYPE_CHECKING:
    from kwire.engine.admin.transaction_results import (
        FencedProducer,
        ProducerState,
        TransactionDescription,
        TransactionListing,
    )
    from kwire.engine.common.addresses import TopicPartition
    from kwire.engine.settings.options import Timeout


class TransactionCalls(AdminFront, Client[AdminSettings]):
    """Calls of an Admin about transactions, and producers that are to be fenced."""

    async def list_transactions(
        self,
        *,
        states: Iterable[str] | None = None,
        producer_ids: Iterable[int] | None = None,
        min_duration: Timeout = None,
        pattern: str | None = None,
        timeout: Timeout = None,
    ) -> list[TransactionListing]:
        """The transactional ids of all coordinators, sorted: those in one of the `states` ("Ongoing", "Empty",
        "PrepareCommit", "CompleteAbort" ...), of one of these producers, whose transaction has been open for more than
        `min_duration` seconds, and that `pattern`, a regular expression in RE2's syntax, matches as a whole."""
        return await self._door.run(
            self._asked(
                engine.transaction_calls.list_transactions(
                    states=states, producer_ids=producer_ids, min_duration=min_duration, pattern=pattern
                ),
                timeout,
            )
        )

    async def describe_transactions(
        self, transactional_ids: Iterable[str], *, timeout: Timeout = None
    ) -> dict[str, TransactionDescription]:
        """State, producer, time-out and partitions of each. Raises BrokerError (code 105) for one that is not known;
        its `failures` has the error of each that failed."""
        return await self._door.run(
            self._asked(engine.transaction_calls.describe_transactions(transactional_ids), timeout)
        )

    async def describe_producers(
        self, partitions: Iterable[tuple[str, int]], *, broker: int | None = None, timeout: Timeout = None
    ) -> dict[TopicPartition, tuple[ProducerState, ...]]:
        """The idempotent and transactional producers that have written to each partition, as its leader remembers them,
        or as `broker` does, which has a replica. The `failures` of the error have that of each partition that
        failed."""
        return await self._door.run(
            self._asked(engine.transaction_calls.describe_producers(partitions, broker), timeout)
        )

    async def abort_transaction(
        self, partition: tuple[str, int], producer: ProducerState | Mapping[str, Any], *, timeout: Timeout = None
    ) -> None:
        """Aborts what a producer of `describe_producers` has open in the partition, without asking a coordinator: for a
        transaction that hangs because no coordinator knows it any more. It must not be one that a coordinator may still
        commit: `force_terminate_transaction` ends those. `producer` may also be {"producer_id": ..., "producer_epoch":
        ..., "coordinator_epoch": ...}. Raises BrokerError (code 47 where the epoch is not the producer's)."""
        await self._door.run(self._asked(engine.transaction_calls.abort_transaction(partition, producer), timeout))

    async def fence_producers(
        self, transactional_ids: Iterable[str], *, timeout: Timeout = None
    ) -> dict[str, FencedProducer]:
        """Gives each transactional id a new epoch: producers that use it can write no more, and their open transaction
        is aborted. The `failures` of the BrokerError have the error of each that failed."""
        return await self._door.run(self._asked(engine.transaction_calls.fence_producers(transactional_ids), timeout))

    async def force_terminate_transaction(self, transactional_id: str, *, timeout: Timeout = None) -> None:
        """Aborts the open transaction of a transactional id, whoever has begun it and even if it is prepared, and
        fences its producers."""
        await self._door.run(
            self._asked(engine.transaction_calls.force_terminate_transaction(transactional_id), timeout)
        )
