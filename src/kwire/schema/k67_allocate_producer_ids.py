"""AllocateProducerIds (key 67), version 0: a broker gets a block of producer ids from the controller (KIP-730).

Sources: Apache's definitions of 3.9.2 and 4.4.0 (v0).
"""

from __future__ import annotations

from kwire.schema.fields import i16, i32, i64
from kwire.schema.messages import Request, Response

__all__ = ["AllocateProducerIdsRequest", "AllocateProducerIdsResponse"]


class AllocateProducerIdsRequest(Request, key=67, versions="0", flexible="0+"):
    """The broker that asks."""

    broker_id: int = i32("0+", default=0)
    broker_epoch: int = i64("0+", default=-1)


class AllocateProducerIdsResponse(Response, key=67, versions="0", flexible="0+"):
    """The block: its first id and its length."""

    throttle_time_ms: int = i32("0+", default=0)
    error_code: int = i16("0+", default=0)
    producer_id_start: int = i64("0+", default=0)
    producer_id_len: int = i32("0+", default=0)
