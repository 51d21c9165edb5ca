"""EndTxn: transactions of producers that may be gone are committed or aborted. Layer 3, no I/O.

The result of each is None, or the error of a coordinator that will not end it so:

    PRODUCER_FENCED, INVALID_PRODUCER_EPOCH   its producer or its time-out has ended it, or another one has begun since
    INVALID_TXN_STATE                         it has ended the other way
    INVALID_PRODUCER_ID_MAPPING               the coordinator has forgotten the transactional id
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kwire import errors, protocol
from kwire._typing import TYPE_CHECKING, NamedTuple, override
from kwire.engine.calls.fan_out import AdminApi
from kwire.engine.calls.lookup import TRANSACTION, CoordinatorLookup
from kwire.engine.common.retry import is_retriable
from kwire.engine.transactions.prepared import V2, PreparedTransaction
from kwire.errors import BrokerError, KafkaError
from kwire.schema.api_keys import END_TXN

if TYPE_CHECKING:
    from kwire.engine.ports import Services

_VERSIONS_BEFORE_V2 = range(5)
_VERSIONS_V2 = range(5, 6)


class End(NamedTuple):
    """How it went: None, or why it did not end so."""

    error: BrokerError | None


class EndTransactions(AdminApi[str, End]):
    """Ends transactions of one protocol (V1 or V2), each with a transactional id of its own."""

    api_key = END_TXN
    retries_codes = True
    asks_one_by_one = True

    def __init__(self, transactions: Sequence[PreparedTransaction], *, commit: bool) -> None:
        self.what = f"{'Commit' if commit else 'Abort'} of {len(transactions)} prepared transactions"
        self.lookup = CoordinatorLookup(TRANSACTION)
        self._transactions = {each.transactional_id: each for each in transactions}
        self._commit = commit
        version = {each.version for each in transactions}
        assert len(version) == 1, version
        self.versions = _VERSIONS_V2 if version == {V2} else _VERSIONS_BEFORE_V2

    @override
    def split(self, core: Services) -> Sequence[str]:
        return list(self._transactions)

    @override
    def request(self, core: Services, keys: Sequence[str], version: int) -> protocol.EndTxnRequest:
        wanted = self._transactions[keys[0]]
        return protocol.EndTxnRequest(
            transactional_id=wanted.transactional_id,
            producer_id=wanted.producer_id,
            producer_epoch=wanted.producer_epoch,
            committed=self._commit,
        )

    @override
    def result(
        self, keys: Sequence[str], response: protocol.EndTxnResponse, version: int
    ) -> Mapping[str, End | KafkaError]:
        key = keys[0]
        if not response.error_code:
            return {key: End(None)}
        wanted = self._transactions[key]
        context = f"EndTxn of transactional id {key!r}, producer {wanted.producer_id}, epoch {wanted.producer_epoch}"
        error = errors.broker.error_for(response.error_code, context)
        return {key: error if is_retriable(error) else End(error)}
