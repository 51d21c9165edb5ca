"""ApiVersions (key 18), versions 0-5: which keys and versions the broker at the other end speaks.

The first request on a connection (KIP-35). A broker that does not know the version asked answers error 35 with a body
of v0, whatever was asked; from 2.4 on that body lists the versions of ApiVersions itself (KIP-511). The response has
header v0 for ever. Brokers before 0.10 close the connection or stay silent.

    v1   response: throttle_time_ms (KIP-124)
    v2   brokers answer before they throttle (KIP-219)
    v3   flexible; request: client_software_name, client_software_version; response: features, tagged (KIP-511, KIP-584)
    v4   features whose min_version is 0 are listed, too (KAFKA-17011)
    v5   request: cluster_id, node_id; REBOOTSTRAP_REQUIRED when they are not the broker's (KIP-1242)

Sources: the protocol guide of 0.10.1 (v0), Apache's definitions of 3.9.2 and 4.4.0 (v0-v5).
"""

from __future__ import annotations

from collections.abc import Sequence

from kwire.schema.fields import array, bool_, i16, i32, i64, string
from kwire.schema.messages import Request, Response, Struct

__all__ = ["ApiVersionsRequest", "ApiVersionsResponse"]


class ApiVersionsRequest(Request, key=18, versions="0-5", flexible="3+"):
    """The client that asks."""

    client_software_name: str = string("3+", default="", ignorable=True)
    client_software_version: str = string("3+", default="", ignorable=True)
    cluster_id: str | None = string("5+", default=None, nullable="5+", ignorable=True)
    node_id: int = i32("5+", default=-1, ignorable=True)


class ApiVersionsResponse(Response, key=18, versions="0-5", flexible="3+"):
    """What the broker speaks; both ends of each range are included."""

    class ApiVersion(Struct):
        api_key: int = i16("0+", default=0)
        min_version: int = i16("0+", default=0)
        max_version: int = i16("0+", default=0)

    class SupportedFeatureKey(Struct):
        name: str = string("3+", default="")
        min_version: int = i16("3+", default=0)
        max_version: int = i16("3+", default=0)

    class FinalizedFeatureKey(Struct):
        name: str = string("3+", default="")
        max_version_level: int = i16("3+", default=0)
        min_version_level: int = i16("3+", default=0)

    error_code: int = i16("0+", default=0)
    api_keys: Sequence[ApiVersion] = array(ApiVersion, "0+", default=())
    throttle_time_ms: int = i32("1+", default=0, ignorable=True)
    supported_features: Sequence[SupportedFeatureKey] = array(
        SupportedFeatureKey, "3+", default=(), tag=0, ignorable=True
    )
    finalized_features_epoch: int = i64("3+", default=-1, tag=1, ignorable=True)
    finalized_features: Sequence[FinalizedFeatureKey] = array(
        FinalizedFeatureKey, "3+", default=(), tag=2, ignorable=True
    )
    zk_migration_ready: bool = bool_("3+", default=False, tag=3, ignorable=True)
