"""DescribeTransactions (key 65), version 0: transactions by their transactional ids (KIP-664).

Sources: Apache's definitions of 3.9.2 and 4.4.0 (v0).
"""

from __future__ import annotations

from collections.abc import Sequence

from kwire.schema.fields import array, i16, i32, i32s, i64, string, strings
from kwire.schema.messages import Request, Response, Struct

__all__ = ["DescribeTransactionsRequest", "DescribeTransactionsResponse"]


class DescribeTransactionsRequest(Request, key=65, versions="0", flexible="0+"):
    """Which ids; sent to their coordinators."""

    transactional_ids: Sequence[str] = strings("0+", default=())


class DescribeTransactionsResponse(Response, key=65, versions="0", flexible="0+"):
    """State, producer and partitions of each. Times in ms."""

    class TransactionState(Struct):
        class TopicData(Struct):
            topic: str = string("0+", default="")
            partitions: Sequence[int] = i32s("0+", default=())

        error_code: int = i16("0+", default=0)
        transactional_id: str = string("0+", default="")
        transaction_state: str = string("0+", default="")
        transaction_timeout_ms: int = i32("0+", default=0)
        transaction_start_time_ms: int = i64("0+", default=0)
        producer_id: int = i64("0+", default=0)
        producer_epoch: int = i16("0+", default=0)
        topics: Sequence[TopicData] = array(TopicData, "0+", default=())

    throttle_time_ms: int = i32("0+", default=0)
    transaction_states: Sequence[TransactionState] = array(TransactionState, "0+", default=())
