"""ControlledShutdown (key 7), versions 0-3: a broker asks the controller to move its leaderships away before it stops.

The header of a v0 request is header version 0: it has no client id. A message of the ZooKeeper era; brokers from 4.0 on
do not have it.

    v1   the request header has a client id
    v2   broker_epoch (KIP-380)
    v3   flexible (KIP-482)

Sources: the protocol guides of 0.9 and 0.10.1 (v1), Apache's definitions of 3.9.2 (v0-v3).
"""

from __future__ import annotations

from collections.abc import Sequence

from kwire.schema.fields import array, i16, i32, i64, string
from kwire.schema.messages import Request, Response, Struct

__all__ = ["ControlledShutdownRequest", "ControlledShutdownResponse"]


class ControlledShutdownRequest(Request, key=7, versions="0-3", flexible="3+"):
    """The broker that stops."""

    broker_id: int = i32("0+", default=0)
    broker_epoch: int = i64("2+", default=-1, ignorable=True)


class ControlledShutdownResponse(Response, key=7, versions="0-3", flexible="3+"):
    """The partitions that the broker still leads."""

    class RemainingPartition(Struct):
        topic_name: str = string("0+", default="")
        partition_index: int = i32("0+", default=0)

    error_code: int = i16("0+", default=0)
    remaining_partitions: Sequence[RemainingPartition] = array(RemainingPartition, "0+", default=())
