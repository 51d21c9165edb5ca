"""AddPartitionsToTxn (key 24), versions 0-5: partitions become part of a transaction (KIP-98).

    v1   brokers answer before they throttle (KIP-219)
    v2   PRODUCER_FENCED may be answered (KIP-588)
    v3   flexible (KIP-482)
    v4   several transactions; verify_only; sent by brokers; response: error_code (KIP-890)
    v5   TRANSACTION_ABORTABLE may be answered (KIP-890)

Sources: Apache's definitions of 3.9.2 and 4.4.0 (v0-v5).
"""

from __future__ import annotations

from collections.abc import Sequence

from kwire.schema.fields import array, bool_, i16, i32, i32s, i64, string
from kwire.schema.messages import Request, Response, Struct

__all__ = ["AddPartitionsToTxnRequest", "AddPartitionsToTxnResponse"]


class _AddPartitionsToTxnTopic(Struct):
    """A topic and the partitions to add."""

    name: str = string("0+", default="")
    partitions: Sequence[int] = i32s("0+", default=())


class AddPartitionsToTxnRequest(Request, key=24, versions="0-5", flexible="3+"):
    """Clients use v0-v3 and the fields `v3_and_below_*`; v4 and later have `transactions`."""

    AddPartitionsToTxnTopic = _AddPartitionsToTxnTopic

    class AddPartitionsToTxnTransaction(Struct):
        transactional_id: str = string("4+", default="")
        producer_id: int = i64("4+", default=0)
        producer_epoch: int = i16("4+", default=0)
        verify_only: bool = bool_("4+", default=False)
        topics: Sequence[_AddPartitionsToTxnTopic] = array(_AddPartitionsToTxnTopic, "4+", default=())

    transactions: Sequence[AddPartitionsToTxnTransaction] = array(AddPartitionsToTxnTransaction, "4+", default=())
    v3_and_below_transactional_id: str = string("0-3", default="")
    v3_and_below_producer_id: int = i64("0-3", default=0)
    v3_and_below_producer_epoch: int = i16("0-3", default=0)
    v3_and_below_topics: Sequence[_AddPartitionsToTxnTopic] = array(_AddPartitionsToTxnTopic, "0-3", default=())


class _AddPartitionsToTxnTopicResult(Struct):
    """What became of the partitions of a topic."""

    class AddPartitionsToTxnPartitionResult(Struct):
        partition_index: int = i32("0+", default=0)
        partition_error_code: int = i16("0+", default=0)

    name: str = string("0+", default="")
    results_by_partition: Sequence[AddPartitionsToTxnPartitionResult] = array(
        AddPartitionsToTxnPartitionResult, "0+", default=()
    )


class AddPartitionsToTxnResponse(Response, key=24, versions="0-5", flexible="3+"):
    """Up to v3 `results_by_topic_v3_and_below`, later `results_by_transaction`."""

    AddPartitionsToTxnTopicResult = _AddPartitionsToTxnTopicResult

    class AddPartitionsToTxnResult(Struct):
        transactional_id: str = string("4+", default="")
        topic_results: Sequence[_AddPartitionsToTxnTopicResult] = array(
            _AddPartitionsToTxnTopicResult, "4+", default=()
        )

    throttle_time_ms: int = i32("0+", default=0)
    error_code: int = i16("4+", default=0, ignorable=True)
    results_by_transaction: Sequence[AddPartitionsToTxnResult] = array(AddPartitionsToTxnResult, "4+", default=())
    results_by_topic_v3_and_below: Sequence[_AddPartitionsToTxnTopicResult] = array(
        _AddPartitionsToTxnTopicResult, "0-3", default=()
    )
