"""ListConfigResources (key 74), versions 0-1: the names of resources that have settings of their own (KIP-1142).

Called ListClientMetricsResources up to 4.0, when it listed those alone (KIP-714).

    v1   request: resource_types; response: resource_type (KIP-1142)

Sources: Apache's definitions of 3.9.2 (v0) and 4.4.0 (v0-v1).
"""

from __future__ import annotations

from collections.abc import Sequence

from kwire.schema.fields import array, i8, i8s, i16, i32, renamed, string
from kwire.schema.messages import Request, Response, Struct

__all__ = ["ListConfigResourcesRequest", "ListConfigResourcesResponse"]


class ListConfigResourcesRequest(Request, key=74, versions="0-1", flexible="0+"):
    """Which types; an empty list asks for all."""

    resource_types: Sequence[int] = i8s("1+", default=())


class ListConfigResourcesResponse(Response, key=74, versions="0-1", flexible="0+"):
    """The resources. The older name of the field is `client_metrics_resources`."""

    class ConfigResource(Struct):
        resource_name: str = string("0+", default="")
        name: str = renamed("resource_name")
        resource_type: int = i8("1+", default=16, ignorable=True)

    throttle_time_ms: int = i32("0+", default=0)
    error_code: int = i16("0+", default=0)
    config_resources: Sequence[ConfigResource] = array(ConfigResource, "0+", default=())
    client_metrics_resources: Sequence[ConfigResource] = renamed("config_resources")
