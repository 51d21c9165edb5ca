"""DescribeConfigs (key 32), versions 0-4: the settings of topics, brokers and other resources (KIP-133).

    v1   request: include_synonyms; response: config_source instead of is_default, synonyms (KIP-226)
    v2   brokers answer before they throttle (KIP-219)
    v3   request: include_documentation; response: config_type, documentation (KIP-569)
    v4   flexible (KIP-482)

Sources: Apache's definitions of 3.9.2 (v0-v4) and 4.4.0 (v1-v4).
"""

from __future__ import annotations

from collections.abc import Sequence

from kwire.schema.fields import array, bool_, i8, i16, i32, string, strings
from kwire.schema.messages import Request, Response, Struct

__all__ = ["DescribeConfigsRequest", "DescribeConfigsResponse"]


class DescribeConfigsRequest(Request, key=32, versions="0-4", flexible="4+"):
    """Which resources; `configuration_keys` None asks for all settings."""

    class DescribeConfigsResource(Struct):
        resource_type: int = i8("0+", default=0)
        resource_name: str = string("0+", default="")
        configuration_keys: Sequence[str] | None = strings("0+", default=(), nullable="0+")

    resources: Sequence[DescribeConfigsResource] = array(DescribeConfigsResource, "0+", default=())
    include_synonyms: bool = bool_("1+", default=False)
    include_documentation: bool = bool_("3+", default=False)


class DescribeConfigsResponse(Response, key=32, versions="0-4", flexible="4+"):
    """The settings; a sensitive one has the value None."""

    class DescribeConfigsResult(Struct):
        class DescribeConfigsResourceResult(Struct):
            class DescribeConfigsSynonym(Struct):
                name: str = string("1+", default="")
                value: str | None = string("1+", default="", nullable="0+")
                source: int = i8("1+", default=0)

            name: str = string("0+", default="")
            value: str | None = string("0+", default="", nullable="0+")
            read_only: bool = bool_("0+", default=False)
            is_default: bool = bool_("0", default=False)
            config_source: int = i8("1+", default=-1, ignorable=True)
            is_sensitive: bool = bool_("0+", default=False)
            synonyms: Sequence[DescribeConfigsSynonym] = array(DescribeConfigsSynonym, "1+", default=(), ignorable=True)
            config_type: int = i8("3+", default=0, ignorable=True)
            documentation: str | None = string("3+", default="", nullable="0+", ignorable=True)

        error_code: int = i16("0+", default=0)
        error_message: str | None = string("0+", default="", nullable="0+")
        resource_type: int = i8("0+", default=0)
        resource_name: str = string("0+", default="")
        configs: Sequence[DescribeConfigsResourceResult] = array(DescribeConfigsResourceResult, "0+", default=())

    throttle_time_ms: int = i32("0+", default=0)
    results: Sequence[DescribeConfigsResult] = array(DescribeConfigsResult, "0+", default=())
