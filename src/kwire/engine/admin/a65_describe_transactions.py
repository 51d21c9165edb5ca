"""DescribeTransactions: each transactional id is asked about at its coordinator. Layer 3, no I/O."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kwire import errors, protocol
from kwire._typing import TYPE_CHECKING, NamedTuple, override
from kwire.engine.calls.fan_out import AdminApi
from kwire.engine.calls.lookup import TRANSACTION, CoordinatorLookup
from kwire.errors import KafkaError
from kwire.schema.api_keys import DESCRIBE_TRANSACTIONS
from kwire.schema.error_codes import TRANSACTIONAL_ID_NOT_FOUND

if TYPE_CHECKING:
    from kwire.engine.ports import Services

ONGOING = "Ongoing"


class TransactionDescription(NamedTuple):
    """What the coordinator knows. Times in ms since 1970, `started` -1 outside of a transaction."""

    state: str
    producer_id: int
    producer_epoch: int
    timeout_ms: int
    started: int


Known = tuple[TransactionDescription | None]


class DescribeTransactions(AdminApi[str, Known]):
    """The description of each transactional id, None for one that is not known."""

    api_key = DESCRIBE_TRANSACTIONS
    retries_codes = True

    def __init__(self, transactional_ids: Sequence[str]) -> None:
        self.what = f"DescribeTransactions of {len(transactional_ids)} transactional ids"
        self.lookup = CoordinatorLookup(TRANSACTION)
        self._ids = list(transactional_ids)

    @override
    def split(self, core: Services) -> Sequence[str]:
        return self._ids

    @override
    def request(self, core: Services, keys: Sequence[str], version: int) -> protocol.DescribeTransactionsRequest:
        return protocol.DescribeTransactionsRequest(transactional_ids=list(keys))

    @override
    def result(
        self, keys: Sequence[str], response: protocol.DescribeTransactionsResponse, version: int
    ) -> Mapping[str, Known | KafkaError]:
        return {row.transactional_id: _known(row) for row in response.transaction_states}

    @override
    def merge(self, results: Mapping[str, Known]) -> dict[str, TransactionDescription | None]:
        return {key: found for key, (found,) in results.items()}


def _known(row: protocol.DescribeTransactionsResponse.TransactionState) -> Known | KafkaError:
    if row.error_code == TRANSACTIONAL_ID_NOT_FOUND:
        return (None,)
    if row.error_code:
        return errors.broker.error_for(row.error_code, f"DescribeTransactions of {row.transactional_id!r}")
    return (
        TransactionDescription(
            row.transaction_state,
            row.producer_id,
            row.producer_epoch,
            row.transaction_timeout_ms,
            row.transaction_start_time_ms,
        ),
    )
