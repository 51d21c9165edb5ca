"""InitProducerId, as Admin fences producers with it: asked of the coordinators. Layer 3, no I/O.

The new epoch fences every earlier producer of the transactional id; a transaction that is open is aborted first, and
the coordinator is asked again until that is done. To fence once more does no harm: every request may be repeated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kwire import errors, protocol
from kwire._typing import TYPE_CHECKING, override
from kwire.engine.admin.transaction_results import FencedProducer
from kwire.engine.calls.fan_out import AdminApi
from kwire.engine.calls.lookup import TRANSACTION, CoordinatorLookup
from kwire.errors import KafkaError
from kwire.errors.listing import counted
from kwire.schema.api_keys import INIT_PRODUCER_ID

if TYPE_CHECKING:
    from kwire.engine.ports import Services

_TIMEOUT_MS = 60_000
"""Of transactions that nobody will begin; the coordinator refuses one above its own limit, 15 minutes."""


class FenceProducers(AdminApi[str, FencedProducer]):
    """{transactional id: FencedProducer}."""

    api_key = INIT_PRODUCER_ID
    retries_codes = True
    tells_all = True
    asks_one_by_one = True
    when_too_old = "transactions came with Kafka 0.11"

    def __init__(self, transactional_ids: Sequence[str]) -> None:
        self.what = f"InitProducerId of {counted(len(transactional_ids), 'transactional id')}"
        self.lookup = CoordinatorLookup(TRANSACTION)
        self._ids = transactional_ids

    @override
    def split(self, core: Services) -> Sequence[str]:
        return self._ids

    @override
    def request(self, core: Services, keys: Sequence[str], version: int) -> protocol.InitProducerIdRequest:
        return protocol.InitProducerIdRequest(transactional_id=keys[0], transaction_timeout_ms=_TIMEOUT_MS)

    @override
    def result(
        self, keys: Sequence[str], response: protocol.InitProducerIdResponse, version: int
    ) -> Mapping[str, FencedProducer | KafkaError]:
        [name] = keys
        if response.error_code:
            return {name: errors.broker.error_for(response.error_code, f"InitProducerId of {name!r}")}
        return {name: FencedProducer(response.producer_id, response.producer_epoch)}
