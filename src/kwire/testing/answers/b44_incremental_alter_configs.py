"""IncrementalAlterConfigs (key 44).

Behaviour
    Changes single configs of a resource: sets, deletes (back to the default), appends to or subtracts from a list. Each
    resource is taken or refused as a whole. A resource or config that is named twice and null as a value are
    INVALID_REQUEST, an unknown operation is UNKNOWN_SERVER_ERROR, appending to what is no list INVALID_CONFIG.
    validate_only changes nothing.

Version notes
    v1 is flexible; client metrics and groups came with releases, not with a version
"""

from __future__ import annotations

from collections import Counter

from kwire.errors import BrokerError
from kwire.errors import broker as codes
from kwire.protocol import IncrementalAlterConfigsRequest, IncrementalAlterConfigsResponse
from kwire.testing.answers.b32_describe_configs import require_configs
from kwire.testing.requests import RequestContext
from kwire.testing.state import authorizer
from kwire.testing.state.configs import Configs

Context = RequestContext[IncrementalAlterConfigsRequest]
_Asked = IncrementalAlterConfigsRequest.AlterConfigsResource
_Config = IncrementalAlterConfigsRequest.AlterConfigsResource.AlterableConfig
_Result = IncrementalAlterConfigsResponse.AlterConfigsResourceResponse
_SET, _DELETE, _APPEND, _SUBTRACT = range(4)


def answer(context: Context) -> IncrementalAlterConfigsResponse:
    """One result per resource."""
    counts = Counter((asked.resource_type, asked.resource_name) for asked in context.request.resources)
    return IncrementalAlterConfigsResponse(
        responses=[
            _result(context, asked, counts[asked.resource_type, asked.resource_name])
            for asked in context.request.resources
        ]
    )


def refuse(context: Context, code: int) -> IncrementalAlterConfigsResponse:
    """Every resource answered with `code`."""
    return IncrementalAlterConfigsResponse(responses=[_told(asked, code, None) for asked in context.request.resources])


def _result(context: Context, asked: _Asked, count: int) -> _Result:
    configs = context.cluster.configs
    try:
        if count > 1:
            raise codes.INVALID_REQUEST("the request names this resource twice")
        require_configs(context, authorizer.ALTER_CONFIGS, asked.resource_type, asked.resource_name)
        counts = Counter(config.name for config in asked.configs)
        if twice := [name for name, count in counts.items() if count > 1]:
            raise codes.INVALID_REQUEST(f"the request names {twice[0]} twice")
        values = configs.own(asked.resource_type, asked.resource_name)
        for config in asked.configs:
            _change(configs, values, config, configs.held(asked.resource_type, asked.resource_name, config.name))
        configs.set_own(asked.resource_type, asked.resource_name, values, validate_only=context.request.validate_only)
    except BrokerError as refused:
        return _told(asked, refused.code, refused.context)
    return _told(asked, 0, None)


def _change(configs: Configs, values: dict[str, str], config: _Config, held: str) -> None:
    """Makes one change to `values`; `held` is what holds for that name."""
    name, operation = config.name, config.config_operation
    if operation == _DELETE:
        values.pop(name, None)
        return
    if config.value is None:
        raise codes.INVALID_REQUEST(f"{name}: null is not allowed")
    if operation == _SET:
        values[name] = config.value
        return
    if operation not in (_APPEND, _SUBTRACT):
        raise codes.UNKNOWN_SERVER_ERROR(f"{name}: there is no operation {operation}")
    if not configs.is_list(name):
        raise codes.INVALID_CONFIG(f"{name} is not a list")
    present = [each for each in held.split(",") if each]
    given = [each for each in config.value.split(",") if each]
    if operation == _APPEND:
        values[name] = ",".join([*present, *(each for each in given if each not in present)])
    else:
        values[name] = ",".join(each for each in present if each not in given)


def _told(asked: _Asked, code: int, reason: str | None) -> _Result:
    return _Result(
        error_code=code, error_message=reason, resource_type=asked.resource_type, resource_name=asked.resource_name
    )
