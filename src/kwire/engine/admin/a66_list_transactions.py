"""ListTransactions: asked of every broker, each of which lists those that it coordinates. Layer 3, no I/O."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kwire import errors, protocol
from kwire._typing import TYPE_CHECKING, override
from kwire.engine.admin.a65_describe_transactions import ONGOING
from kwire.engine.calls.fan_out import AdminApi
from kwire.engine.calls.lookup import EachBroker
from kwire.errors import KafkaError
from kwire.schema.api_keys import LIST_TRANSACTIONS

if TYPE_CHECKING:
    from kwire.engine.ports import Services

Listed = tuple[str, ...]


class ListOpenTransactions(AdminApi[int, Listed]):
    """The transactional ids with this prefix whose transactions are open, sorted."""

    api_key = LIST_TRANSACTIONS
    retries_codes = True

    def __init__(self, prefix: str) -> None:
        self.what = f"ListTransactions of {prefix}*"
        self.lookup = EachBroker()
        self._prefix = prefix

    @override
    def split(self, core: Services) -> Sequence[int] | None:
        return list(core.cluster.brokers) or None

    @override
    def request(self, core: Services, keys: Sequence[int], version: int) -> protocol.ListTransactionsRequest:
        return protocol.ListTransactionsRequest(state_filters=[ONGOING])

    @override
    def result(
        self, keys: Sequence[int], response: protocol.ListTransactionsResponse, version: int
    ) -> Mapping[int, Listed | KafkaError]:
        if response.error_code:
            raise errors.broker.error_for(response.error_code, f"ListTransactions of broker {keys[0]}")
        found = (row.transactional_id for row in response.transaction_states)
        return dict.fromkeys(keys, tuple(name for name in found if name.startswith(self._prefix)))

    @override
    def merge(self, results: Mapping[int, Listed]) -> list[str]:
        return sorted({name for listed in results.values() for name in listed})
