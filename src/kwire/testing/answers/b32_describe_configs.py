"""DescribeConfigs (key 32).

Behaviour
    What holds for topics, brokers, groups, client metrics and broker loggers: every config of the resource, or those
    that are named. A broker tells of itself and, by the empty name, of what was set for all brokers; of another one it
    says INVALID_REQUEST. A missing topic is UNKNOWN_TOPIC_OR_PARTITION. A broker's configs are those of its release
    (broker_configs.py), with the values of this very broker where they are options of it, and what was set. Values of
    passwords, and of what nobody knows, are not told.

Version notes
    v0   is_default in place of the source
    v1   config_source and, where asked for, synonyms: what would hold without the value, first things first
    v3   config_type; documentation, where asked for, of what has an effect here
"""

from __future__ import annotations

from typing import Any

from kwire.errors import BrokerError
from kwire.errors import broker as codes
from kwire.protocol import DescribeConfigsRequest, DescribeConfigsResponse
from kwire.testing.requests import RequestContext
from kwire.testing.settings.config_names import BROKER, BROKER_LOGGER, GROUP, TOPIC
from kwire.testing.state import authorizer
from kwire.testing.state.configs import AT_START, SHIPPED, Value

Context = RequestContext[DescribeConfigsRequest]
_Asked = DescribeConfigsRequest.DescribeConfigsResource
_Result = DescribeConfigsResponse.DescribeConfigsResult
_Config = DescribeConfigsResponse.DescribeConfigsResult.DescribeConfigsResourceResult
_Synonym = _Config.DescribeConfigsSynonym


def answer(context: Context) -> DescribeConfigsResponse:
    """The configs of each resource."""
    return DescribeConfigsResponse(results=[_result(context, asked) for asked in context.request.resources])


def refuse(context: Context, code: int) -> DescribeConfigsResponse:
    """Every resource answered with `code`."""
    return DescribeConfigsResponse(results=[_refused(asked, code, None) for asked in context.request.resources])


def require_configs(context: RequestContext[Any], operation: int, resource_type: int, name: str) -> None:
    """Raises BrokerError when the client may not see or change the configs of a resource."""
    if resource_type == TOPIC:
        context.require(operation, authorizer.TOPIC, name)
    elif resource_type == GROUP:
        context.require(operation, authorizer.GROUP, name)
    else:
        context.require(operation, authorizer.CLUSTER)


def _result(context: Context, asked: _Asked) -> _Result:
    try:
        require_configs(context, authorizer.DESCRIBE_CONFIGS, asked.resource_type, asked.resource_name)
        found = context.cluster.configs.describe(asked.resource_type, asked.resource_name)
        if asked.resource_type in (BROKER, BROKER_LOGGER) and asked.resource_name not in ("", str(context.node)):
            raise codes.INVALID_REQUEST(f"this is broker {context.node}, not {asked.resource_name}")
    except BrokerError as refused:
        return _refused(asked, refused.code, refused.context)
    names = asked.configuration_keys
    return _Result(
        error_message="",
        resource_type=asked.resource_type,
        resource_name=asked.resource_name,
        configs=[
            _config(context, name, value) for name, value in sorted(found.items()) if names is None or name in names
        ],
    )


def _config(context: Context, name: str, value: Value) -> _Config:
    synonyms = value.synonyms if context.request.include_synonyms and context.version >= 1 else ()
    return _Config(
        name=name,
        value=value.value,
        read_only=value.read_only,
        is_sensitive=value.is_sensitive,
        is_default=value.source in (SHIPPED, AT_START) if context.version == 0 else False,
        config_source=value.source if context.version >= 1 else -1,
        synonyms=[_Synonym(name=given, value=text, source=source) for given, text, source in synonyms],
        config_type=value.type if context.version >= 3 else 0,
        documentation=value.documentation if context.request.include_documentation else None,
    )


def _refused(asked: _Asked, code: int, reason: str | None) -> _Result:
    return _Result(
        error_code=code,
        error_message=reason,
        resource_type=asked.resource_type,
        resource_name=asked.resource_name,
        configs=[],
    )
