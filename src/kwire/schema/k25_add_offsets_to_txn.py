"""AddOffsetsToTxn (key 25), versions 0-4: the offsets of a group become part of a transaction (KIP-98).

    v1   brokers answer before they throttle (KIP-219)
    v2   PRODUCER_FENCED may be answered (KIP-588)
    v3   flexible (KIP-482)
    v4   TRANSACTION_ABORTABLE may be answered (KIP-890)

Sources: Apache's definitions of 3.9.2 and 4.4.0 (v0-v4).
"""

from __future__ import annotations

from kwire.schema.fields import i16, i32, i64, string
from kwire.schema.messages import Request, Response

__all__ = ["AddOffsetsToTxnRequest", "AddOffsetsToTxnResponse"]


class AddOffsetsToTxnRequest(Request, key=25, versions="0-4", flexible="3+"):
    """The transaction and the group."""

    transactional_id: str = string("0+", default="")
    producer_id: int = i64("0+", default=0)
    producer_epoch: int = i16("0+", default=0)
    group_id: str = string("0+", default="")


class AddOffsetsToTxnResponse(Response, key=25, versions="0-4", flexible="3+"):
    """Whether it was added."""

    throttle_time_ms: int = i32("0+", default=0)
    error_code: int = i16("0+", default=0)
