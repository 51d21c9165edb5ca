"""ListTransactions (key 66), versions 0-2: the transactions that a broker coordinates (KIP-664).

    v1   request: duration_filter (KIP-994)
    v2   request: transactional_id_pattern, a regular expression (KIP-1152)

Sources: Apache's definitions of 3.9.2 (v0-v1) and 4.4.0 (v0-v2).
"""

from __future__ import annotations

from collections.abc import Sequence

from kwire.schema.fields import array, i16, i32, i64, i64s, string, strings
from kwire.schema.messages import Request, Response, Struct

__all__ = ["ListTransactionsRequest", "ListTransactionsResponse"]


class ListTransactionsRequest(Request, key=66, versions="0-2", flexible="0+"):
    """Empty filters let all pass. The duration is in ms."""

    state_filters: Sequence[str] = strings("0+", default=())
    producer_id_filters: Sequence[int] = i64s("0+", default=())
    duration_filter: int = i64("1+", default=-1)
    transactional_id_pattern: str | None = string("2+", default=None, nullable="2+")


class ListTransactionsResponse(Response, key=66, versions="0-2", flexible="0+"):
    """Ids, producers and states. Every broker has to be asked."""

    class TransactionState(Struct):
        transactional_id: str = string("0+", default="")
        producer_id: int = i64("0+", default=0)
        transaction_state: str = string("0+", default="")

    throttle_time_ms: int = i32("0+", default=0)
    error_code: int = i16("0+", default=0)
    unknown_state_filters: Sequence[str] = strings("0+", default=())
    transaction_states: Sequence[TransactionState] = array(TransactionState, "0+", default=())
