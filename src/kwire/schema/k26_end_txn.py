"""EndTxn (key 26), versions 0-5: commits or aborts a transaction (KIP-98).

    v1   brokers answer before they throttle (KIP-219)
    v2   PRODUCER_FENCED may be answered (KIP-588)
    v3   flexible (KIP-482)
    v4   TRANSACTION_ABORTABLE may be answered (KIP-890)
    v5   every end of a transaction raises the epoch; response: producer_id, producer_epoch (KIP-890)

Sources: Apache's definitions of 3.9.2 (v0-v4) and 4.4.0 (v0-v5).
"""

from __future__ import annotations

from kwire.schema.fields import bool_, i16, i32, i64, string
from kwire.schema.messages import Request, Response

__all__ = ["EndTxnRequest", "EndTxnResponse"]


class EndTxnRequest(Request, key=26, versions="0-5", flexible="3+"):
    """`committed`: True commits, False aborts."""

    transactional_id: str = string("0+", default="")
    producer_id: int = i64("0+", default=0)
    producer_epoch: int = i16("0+", default=0)
    committed: bool = bool_("0+", default=False)


class EndTxnResponse(Response, key=26, versions="0-5", flexible="3+"):
    """From v5 on the id and epoch for the next transaction."""

    throttle_time_ms: int = i32("0+", default=0)
    error_code: int = i16("0+", default=0)
    producer_id: int = i64("5+", default=-1, ignorable=True)
    producer_epoch: int = i16("5+", default=-1, ignorable=True)
