"""DescribeCluster (key 60), versions 0-2: the nodes of a cluster (KIP-700).

    v1   endpoint_type: brokers or controllers (KIP-919)
    v2   request: include_fenced_brokers; response: is_fenced (KIP-1073)

Sources: Apache's definitions of 3.9.2 (v0-v1) and 4.4.0 (v0-v2).
"""

from __future__ import annotations

from collections.abc import Sequence

from kwire.schema.fields import array, bool_, i8, i16, i32, string
from kwire.schema.messages import Request, Response, Struct

__all__ = ["DescribeClusterRequest", "DescribeClusterResponse"]

_NO_OPERATIONS = -(2**31)


class DescribeClusterRequest(Request, key=60, versions="0-2", flexible="0+"):
    """`endpoint_type`: 1 brokers, 2 controllers."""

    include_cluster_authorized_operations: bool = bool_("0+", default=False)
    endpoint_type: int = i8("1+", default=1)
    include_fenced_brokers: bool = bool_("2+", default=False)


class DescribeClusterResponse(Response, key=60, versions="0-2", flexible="0+"):
    """The nodes. Authorized operations are a bit field."""

    class DescribeClusterBroker(Struct):
        broker_id: int = i32("0+", default=0)
        host: str = string("0+", default="")
        port: int = i32("0+", default=0)
        rack: str | None = string("0+", default=None, nullable="0+")
        is_fenced: bool = bool_("2+", default=False)

    throttle_time_ms: int = i32("0+", default=0)
    error_code: int = i16("0+", default=0)
    error_message: str | None = string("0+", default=None, nullable="0+")
    endpoint_type: int = i8("1+", default=1)
    cluster_id: str = string("0+", default="")
    controller_id: int = i32("0+", default=-1)
    brokers: Sequence[DescribeClusterBroker] = array(DescribeClusterBroker, "0+", default=())
    cluster_authorized_operations: int = i32("0+", default=_NO_OPERATIONS)
