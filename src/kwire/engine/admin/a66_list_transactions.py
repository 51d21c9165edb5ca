"""ListTransactions: asked of every broker, each of which lists those that it coordinates. Layer 3, no I/O.

v0 filters by states and producer ids, v1 by duration too, v2 by a pattern of transactional ids.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kwire import errors, protocol
from kwire._typing import TYPE_CHECKING, NamedTuple, override
from kwire.engine.admin.transaction_results import TransactionListing
from kwire.engine.calls.fan_out import AdminApi
from kwire.engine.calls.lookup import EachBroker
from kwire.errors import KafkaError
from kwire.protocol import APIS
from kwire.schema.api_keys import LIST_TRANSACTIONS

if TYPE_CHECKING:
    from kwire.engine.ports import Services

Listed = tuple[TransactionListing, ...]


class TransactionFilters(NamedTuple):
    """Which transactional ids are listed: those that pass all of these, of which an empty one lets everything pass."""

    states: Sequence[str] = ()
    producer_ids: Sequence[int] = ()
    min_duration_ms: int | None = None
    pattern: str | None = None


class ListTransactions(AdminApi[int, Listed]):
    """The transactional ids that pass the filters, sorted."""

    api_key = LIST_TRANSACTIONS
    retries_codes = True
    what = "ListTransactions"

    def __init__(self, filters: TransactionFilters) -> None:
        self.lookup = self._brokers = EachBroker()
        self._filters = filters
        if filters.pattern is not None:
            first, self.when_too_old = 2, "patterns are taken from Kafka 4.1 on; choose among what is listed"
        elif filters.min_duration_ms is not None:
            first, self.when_too_old = 1, "durations are asked for from Kafka 3.8 on; DescribeTransactions has times"
        else:
            first, self.when_too_old = 0, "coordinators list their transactions since Kafka 3.0"
        self.versions = APIS[self.api_key].versions[first:]

    @override
    def split(self, core: Services) -> Sequence[int] | None:
        return self._brokers.ids(core)

    @override
    def request(self, core: Services, keys: Sequence[int], version: int) -> protocol.ListTransactionsRequest:
        wanted = self._filters
        request = protocol.ListTransactionsRequest(
            state_filters=wanted.states,
            producer_id_filters=wanted.producer_ids,
            transactional_id_pattern=wanted.pattern,
        )
        if wanted.min_duration_ms is not None:
            request.duration_filter = wanted.min_duration_ms
        return request

    @override
    def result(
        self, keys: Sequence[int], response: protocol.ListTransactionsResponse, version: int
    ) -> Mapping[int, Listed | KafkaError]:
        [broker] = keys
        if response.error_code:
            raise errors.broker.error_for(response.error_code, f"ListTransactions of broker {broker}")
        rows = response.transaction_states
        found = (
            TransactionListing(row.transactional_id, row.producer_id, row.transaction_state, broker) for row in rows
        )
        return {broker: tuple(found)}

    @override
    def merge(self, results: Mapping[int, Listed]) -> list[TransactionListing]:
        found = {listing.transactional_id: listing for listed in results.values() for listing in listed}
        return [found[name] for name in sorted(found)]
