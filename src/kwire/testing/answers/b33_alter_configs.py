"""AlterConfigs (key 33).

Behaviour
    Replaces all that was set for a resource: what is not named goes back to its default. Each resource is taken or
    refused by itself; null as a value, or a resource that is named twice, is INVALID_REQUEST. validate_only changes
    nothing.

Version notes
    v0-1 are one format; v2 is flexible. IncrementalAlterConfigs changes single values
"""

from __future__ import annotations

from collections import Counter

from kwire.errors import BrokerError
from kwire.errors import broker as codes
from kwire.protocol import AlterConfigsRequest, AlterConfigsResponse
from kwire.testing.answers.b32_describe_configs import require_configs
from kwire.testing.requests import RequestContext
from kwire.testing.settings.config_names import BROKER_LOGGER
from kwire.testing.state import authorizer

Context = RequestContext[AlterConfigsRequest]
_Asked = AlterConfigsRequest.AlterConfigsResource
_Result = AlterConfigsResponse.AlterConfigsResourceResponse


def answer(context: Context) -> AlterConfigsResponse:
    """One result per resource."""
    counts = Counter((asked.resource_type, asked.resource_name) for asked in context.request.resources)
    return AlterConfigsResponse(
        responses=[
            _result(context, asked, counts[asked.resource_type, asked.resource_name])
            for asked in context.request.resources
        ]
    )


def refuse(context: Context, code: int) -> AlterConfigsResponse:
    """Every resource answered with `code`."""
    return AlterConfigsResponse(responses=[_told(asked, code, None) for asked in context.request.resources])


def _result(context: Context, asked: _Asked, count: int) -> _Result:
    try:
        if count > 1:
            raise codes.INVALID_REQUEST("the request names this resource twice")
        if asked.resource_type == BROKER_LOGGER:
            raise codes.INVALID_REQUEST("log levels are changed by IncrementalAlterConfigs")
        require_configs(context, authorizer.ALTER_CONFIGS, asked.resource_type, asked.resource_name)
        values = {}
        for config in asked.configs:
            if config.value is None:
                raise codes.INVALID_REQUEST(f"{config.name}: null is not allowed")
            values[config.name] = config.value
        context.cluster.configs.set_own(
            asked.resource_type, asked.resource_name, values, validate_only=context.request.validate_only
        )
    except BrokerError as refused:
        return _told(asked, refused.code, refused.context)
    return _told(asked, 0, None)


def _told(asked: _Asked, code: int, reason: str | None) -> _Result:
    return _Result(
        error_code=code, error_message=reason, resource_type=asked.resource_type, resource_name=asked.resource_name
    )
