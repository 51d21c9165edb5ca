"""DescribeTransactions: each transactional id is asked about at its coordinator. Layer 3, no I/O."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kwire import errors, protocol
from kwire._typing import TYPE_CHECKING, TypeVar, override
from kwire.engine.admin.transaction_results import TransactionDescription
from kwire.engine.calls.fan_out import AdminApi
from kwire.engine.calls.lookup import TRANSACTION, CoordinatorLookup
from kwire.engine.calls.rows import by_key
from kwire.engine.common.addresses import TopicPartition
from kwire.errors import KafkaError
from kwire.errors.listing import counted
from kwire.schema.api_keys import DESCRIBE_TRANSACTIONS
from kwire.schema.error_codes import TRANSACTIONAL_ID_NOT_FOUND

if TYPE_CHECKING:
    from kwire.engine.ports import Services

    Row = protocol.DescribeTransactionsResponse.TransactionState

Result = TypeVar("Result")

ONGOING = "Ongoing"
Known = tuple[TransactionDescription | None]


class _Descriptions(AdminApi[str, Result]):
    """What both calls have in common."""

    api_key = DESCRIBE_TRANSACTIONS
    retries_codes = True
    tells_all = True
    when_too_old = "coordinators tell of their transactions since Kafka 3.0"

    def __init__(self, transactional_ids: Sequence[str]) -> None:
        self.what = f"DescribeTransactions of {counted(len(transactional_ids), 'transactional id')}"
        self.lookup = self._coordinators = CoordinatorLookup(TRANSACTION)
        self._ids = list(transactional_ids)

    @override
    def split(self, core: Services) -> Sequence[str]:
        return self._ids

    @override
    def request(self, core: Services, keys: Sequence[str], version: int) -> protocol.DescribeTransactionsRequest:
        return protocol.DescribeTransactionsRequest(transactional_ids=list(keys))

    def _described(self, row: Row) -> TransactionDescription | KafkaError:
        if row.error_code:
            return errors.broker.error_for(row.error_code, f"DescribeTransactions of {row.transactional_id!r}")
        return TransactionDescription(
            row.transaction_state,
            row.producer_id,
            row.producer_epoch,
            row.transaction_timeout_ms,
            row.transaction_start_time_ms,
            tuple(TopicPartition(topic.topic, index) for topic in row.topics for index in topic.partitions),
            self._coordinators.node_of(row.transactional_id),
        )


class DescribeTransactions(_Descriptions[TransactionDescription]):
    """{transactional id: TransactionDescription}; one that is not known is an error."""

    @override
    def result(
        self, keys: Sequence[str], response: protocol.DescribeTransactionsResponse, version: int
    ) -> Mapping[str, TransactionDescription | KafkaError]:
        return by_key(((row.transactional_id, self._described(row)) for row in response.transaction_states), self.what)


class FindTransactions(_Descriptions[Known]):
    """The same, with None for one that is not known."""

    @override
    def result(
        self, keys: Sequence[str], response: protocol.DescribeTransactionsResponse, version: int
    ) -> Mapping[str, Known | KafkaError]:
        return by_key(((row.transactional_id, self._found(row)) for row in response.transaction_states), self.what)

    @override
    def merge(self, results: Mapping[str, Known]) -> dict[str, TransactionDescription | None]:
        return {key: found for key, (found,) in results.items()}

    def _found(self, row: Row) -> Known | KafkaError:
        if row.error_code == TRANSACTIONAL_ID_NOT_FOUND:
            return (None,)
        described = self._described(row)
        return described if isinstance(described, KafkaError) else (described,)
