"""InitProducerId (key 22), versions 0-6: an id and epoch for an idempotent or transactional producer (KIP-98).

    v1   brokers answer before they throttle (KIP-219)
    v2   flexible (KIP-482)
    v3   request: producer_id, producer_epoch, to go on after an error (KIP-360)
    v4   PRODUCER_FENCED may be answered (KIP-588)
    v5   TRANSACTION_ABORTABLE may be answered (KIP-890)
    v6   two-phase commit; not stable yet in 4.4 (KIP-939)

Sources: Apache's definitions of 3.9.2 (v0-v5) and 4.4.0 (v0-v6).
"""

from __future__ import annotations

from kwire.schema.fields import bool_, i16, i32, i64, string
from kwire.schema.messages import Request, Response

__all__ = ["InitProducerIdRequest", "InitProducerIdResponse"]


class InitProducerIdRequest(Request, key=22, versions="0-6", flexible="2+"):
    """`transactional_id` None: only idempotent."""

    transactional_id: str | None = string("0+", default="", nullable="0+")
    transaction_timeout_ms: int = i32("0+", default=0)
    producer_id: int = i64("3+", default=-1)
    producer_epoch: int = i16("3+", default=-1)
    enable2_pc: bool = bool_("6+", default=False)
    keep_prepared_txn: bool = bool_("6+", default=False)


class InitProducerIdResponse(Response, key=22, versions="0-6", flexible="2+"):
    """The id, -1 after an error."""

    throttle_time_ms: int = i32("0+", default=0, ignorable=True)
    error_code: int = i16("0+", default=0)
    producer_id: int = i64("0+", default=-1)
    producer_epoch: int = i16("0+", default=0)
    ongoing_txn_producer_id: int = i64("6+", default=-1)
    ongoing_txn_producer_epoch: int = i16("6+", default=-1)
