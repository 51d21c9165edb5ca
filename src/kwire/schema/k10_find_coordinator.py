"""FindCoordinator (key 10), versions 0-6: which broker coordinates a group, a transactional id or a share partition.

The guides call it GroupCoordinator, 0.8.2 ConsumerMetadata. A share partition is asked for as "group:topic
id:partition".

    v1   request: key_type; response: throttle_time_ms, error_message (KIP-98)
    v2   brokers answer before they throttle (KIP-219)
    v3   flexible (KIP-482)
    v4   several keys at once (KIP-699)
    v5   TRANSACTION_ABORTABLE may be answered (KIP-890)
    v6   key_type 2, the share partitions (KIP-932)

Sources: the protocol guides of 0.9 and 0.10.1 (v0), Apache's definitions of 3.9.2 and 4.4.0 (v0-v6).
"""

from __future__ import annotations

from collections.abc import Sequence

from kwire.schema.fields import array, i8, i16, i32, string, strings
from kwire.schema.messages import Request, Response, Struct

__all__ = ["FindCoordinatorRequest", "FindCoordinatorResponse"]


class FindCoordinatorRequest(Request, key=10, versions="0-6", flexible="3+"):
    """`key_type`: 0 group, 1 transaction, 2 share. Up to v3 one `key`, from v4 on `coordinator_keys`."""

    key: str = string("0-3", default="")
    key_type: int = i8("1+", default=0)
    coordinator_keys: Sequence[str] = strings("4+", default=())


class FindCoordinatorResponse(Response, key=10, versions="0-6", flexible="3+"):
    """Up to v3 the one coordinator, from v4 on `coordinators`."""

    class Coordinator(Struct):
        key: str = string("4+", default="")
        node_id: int = i32("4+", default=0)
        host: str = string("4+", default="")
        port: int = i32("4+", default=0)
        error_code: int = i16("4+", default=0)
        error_message: str | None = string("4+", default="", nullable="4+", ignorable=True)

    throttle_time_ms: int = i32("1+", default=0, ignorable=True)
    error_code: int = i16("0-3", default=0)
    error_message: str | None = string("1-3", default="", nullable="1-3", ignorable=True)
    node_id: int = i32("0-3", default=0)
    host: str = string("0-3", default="")
    port: int = i32("0-3", default=0)
    coordinators: Sequence[Coordinator] = array(Coordinator, "4+", default=())
