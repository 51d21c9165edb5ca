"""Transactions that one process writes and another ends: what `kwire.spark` needs of the clients beyond their methods.

Layer 5, beside the bases of the clients: no protocol logic, no sockets. Not for users: these calls keep no promise by
themselves. `kwire.spark.exactly_once.decisions` says which of them in which order keep one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from kwire._typing import TYPE_CHECKING, Any, TypeVar
from kwire.engine.admin import calls, group_calls
from kwire.engine.admin.a26_end_txn import End, EndTransactions
from kwire.engine.admin.a65_describe_transactions import ONGOING, FindTransactions
from kwire.engine.admin.a66_list_transactions import ListTransactions, TransactionFilters
from kwire.engine.admin.calls import Question
from kwire.engine.admin.inquiry import Inquiry
from kwire.engine.admin.transaction_results import TransactionDescription
from kwire.engine.calls.fan_out import AdminApi
from kwire.engine.transactions.prepared import V1, V2, PreparedTransaction

if TYPE_CHECKING:
    from kwire._client import Client
    from kwire._transactions import TransactionCalls
    from kwire.engine.common.addresses import TopicPartition
    from kwire.engine.settings.options import Timeout
    from kwire.errors import BrokerError

    AnyClient = Client[Any]

T = TypeVar("T")

__all__ = ["ONGOING", "V1", "V2", "PreparedTransaction", "TransactionDescription"]


def fence(producer: TransactionCalls, timeout: Timeout = None) -> None:
    """Makes this the only producer with its transactional id, as `init_transactions` does; also where that was done
    before, and the last transaction has ended."""
    transactions = producer._transactional()
    producer._door.run(transactions.result_of(partial(transactions.manager.initialise, again=True), timeout))


def begin_as(producer: TransactionCalls, transactional_id: str, timeout: Timeout = None) -> None:
    """Begins a transaction under that transactional id, whatever the settings say; what is open under it is aborted.

    The producer is new, or its last transaction was detached.
    """
    transactions = producer._transactional()
    start = partial(transactions.manager.initialise, transactional_id=transactional_id)
    producer._door.run(transactions.result_of(start, timeout))
    producer.begin_transaction()


def detach(producer: TransactionCalls, timeout: Timeout = None) -> PreparedTransaction | None:
    """Delivers every record, and leaves the transaction open for `end`; None where nothing was written.

    Raises as `commit_transaction` does when a record cannot be delivered.
    """
    transactions = producer._transactional()
    found: PreparedTransaction | None = producer._door.run(transactions.result_of(transactions.manager.detach, timeout))
    return found


def version(producer: TransactionCalls) -> int:
    """V1 or V2: how transactions are ended at its cluster."""
    return V2 if producer._transactional().manager.is_v2 else V1


def end(
    client: AnyClient, transactions: Sequence[PreparedTransaction], *, commit: bool, timeout: Timeout = None
) -> dict[PreparedTransaction, BrokerError | None]:
    """Commits or aborts each: None, or why its coordinator will not. To repeat it is no fault, whoever has done it."""
    found: dict[PreparedTransaction, BrokerError | None] = {}
    for version in (V1, V2):
        some = [each for each in transactions if each.version == version]
        if some:
            ends: Mapping[str, End] = _ask(client, _as_it_is(EndTransactions(some, commit=commit)), timeout)
            found |= {each: ends[each.transactional_id].error for each in some}
    return found


def describe(
    client: AnyClient, transactional_ids: Sequence[str], timeout: Timeout = None
) -> dict[str, TransactionDescription | None]:
    """What the coordinators know of each id, None for one that is not known."""
    if not transactional_ids:
        return {}
    found: dict[str, TransactionDescription | None]
    found = _ask(client, _as_it_is(FindTransactions(transactional_ids)), timeout)
    return found


def list_open(client: AnyClient, prefix: str, timeout: Timeout = None) -> list[str]:
    """The transactional ids with that prefix whose transactions are open."""
    found = _ask(client, _as_it_is(ListTransactions(TransactionFilters(states=[ONGOING]))), timeout)
    return [row.transactional_id for row in found if row.transactional_id.startswith(prefix)]


def committed_metadata(
    client: AnyClient, group: str, *, stable: bool, timeout: Timeout = None
) -> dict[TopicPartition, str]:
    """The metadata of the offsets that a group has committed; `stable`: open transactions are waited for."""
    found = _ask(client, group_calls.list_offsets(group, stable=stable), timeout)
    return {tp: row.metadata for tp, row in found.items()}


def partition_count(client: AnyClient, topic: str, timeout: Timeout = None) -> int:
    """How many partitions a topic has."""
    return len(_ask(client, calls.describe_topics([topic]), timeout)[topic].partitions)


def _ask(client: AnyClient, question: Question[T], timeout: Timeout) -> T:
    return client._door.run(Inquiry(client._door, client._core, client._patience(timeout)).ask(question))


def _as_it_is(api: AdminApi[Any, Any]) -> Question[Any]:
    return Question(api, lambda found: found)
