"""AlterConfigs (key 33), versions 0-2: replaces all settings of resources (KIP-133).

Deprecated since IncrementalAlterConfigs (key 44) changes single settings.

    v1   brokers answer before they throttle (KIP-219)
    v2   flexible (KIP-482)

Sources: Apache's definitions of 3.9.2 and 4.4.0 (v0-v2).
"""

from __future__ import annotations

from collections.abc import Sequence

from kwire.schema.fields import array, bool_, i8, i16, i32, string
from kwire.schema.messages import Request, Response, Struct

__all__ = ["AlterConfigsRequest", "AlterConfigsResponse"]


class AlterConfigsRequest(Request, key=33, versions="0-2", flexible="2+"):
    """The new settings; those left out go back to their defaults."""

    class AlterConfigsResource(Struct):
        class AlterableConfig(Struct):
            name: str = string("0+", default="")
            value: str | None = string("0+", default="", nullable="0+", secret=True)

        resource_type: int = i8("0+", default=0)
        resource_name: str = string("0+", default="")
        configs: Sequence[AlterableConfig] = array(AlterableConfig, "0+", default=())

    resources: Sequence[AlterConfigsResource] = array(AlterConfigsResource, "0+", default=())
    validate_only: bool = bool_("0+", default=False)


class AlterConfigsResponse(Response, key=33, versions="0-2", flexible="2+"):
    """What became of each resource."""

    class AlterConfigsResourceResponse(Struct):
        error_code: int = i16("0+", default=0)
        error_message: str | None = string("0+", default="", nullable="0+")
        resource_type: int = i8("0+", default=0)
        resource_name: str = string("0+", default="")

    throttle_time_ms: int = i32("0+", default=0)
    responses: Sequence[AlterConfigsResourceResponse] = array(AlterConfigsResourceResponse, "0+", default=())
