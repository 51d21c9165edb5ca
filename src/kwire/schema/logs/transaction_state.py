"""`__transaction_state`: what the transaction coordinator knows of each transactional id.

    key     type int16 (0), then the fields of the key
    value   version int16, then the fields of the value; no value forgets the transactional id

    v1      flexible; tags for the producer ids and epochs of transactions v2 (KIP-890) and the client's version

Source: Apache's definitions of 4.4.0 (v0-v1). A field that is only tagged has the versions of its tag.
"""

from __future__ import annotations

from collections.abc import Sequence

from kwire.schema.fields import array, i8, i16, i32, i32s, i64, string
from kwire.schema.logs.base import RecordKey, RecordValue
from kwire.schema.messages import Struct

__all__ = [
    "TRANSACTION_STATES",
    "TransactionLogKey",
    "TransactionLogValue",
]

TRANSACTION_STATES = {
    0: "Empty",
    1: "Ongoing",
    2: "PrepareCommit",
    3: "PrepareAbort",
    4: "CompleteCommit",
    5: "CompleteAbort",
    6: "Dead",
    7: "PrepareEpochFence",
}


class TransactionLogKey(RecordKey, key=0, versions="0"):
    """Whose transactions."""

    transactional_id: str = string("0", default="")


class TransactionLogValue(RecordValue, key=0, versions="0-1", flexible="1+"):
    """The state of the last transaction, see `TRANSACTION_STATES`, and the partitions that it wrote to."""

    class PartitionsSchema(Struct):
        topic: str = string("0+", default="")
        partition_ids: Sequence[int] = i32s("0+", default=())

    producer_id: int = i64("0+", default=0)
    previous_producer_id: int = i64("1+", default=-1, tag=0)
    next_producer_id: int = i64("1+", default=-1, tag=1)
    producer_epoch: int = i16("0+", default=0)
    next_producer_epoch: int = i16("1+", default=-1, tag=3)
    transaction_timeout_ms: int = i32("0+", default=0)
    transaction_status: int = i8("0+", default=0)
    transaction_partitions: Sequence[PartitionsSchema] | None = array(PartitionsSchema, "0+", default=(), nullable="0+")
    transaction_last_update_timestamp_ms: int = i64("0+", default=0)
    transaction_start_timestamp_ms: int = i64("0+", default=0)
    client_transaction_version: int = i16("1+", default=0, tag=2)
