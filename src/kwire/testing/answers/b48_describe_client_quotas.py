"""DescribeClientQuotas (key 48).

Behaviour
    The quotas of the entities that match every component of a filter: by name, the default of a type, or any of a type.
    Without `strict` an entity may have other types besides. An empty filter matches all.

Version notes
    v1 is flexible
"""

from __future__ import annotations

from kwire.errors import BrokerError
from kwire.errors import broker as codes
from kwire.protocol import DescribeClientQuotasRequest, DescribeClientQuotasResponse
from kwire.testing.requests import RequestContext
from kwire.testing.state.authorizer import CLUSTER, DESCRIBE_CONFIGS
from kwire.testing.state.quotas import CLIENT_ID, IP, USER, Entity

Context = RequestContext[DescribeClientQuotasRequest]
_Component = DescribeClientQuotasRequest.ComponentData
_Entry = DescribeClientQuotasResponse.EntryData
_EXACT, _DEFAULT, _ANY = range(3)


def answer(context: Context) -> DescribeClientQuotasResponse:
    """What was set."""
    request = context.request
    try:
        context.require(DESCRIBE_CONFIGS, CLUSTER)
        _check(request)
    except BrokerError as refused:
        return DescribeClientQuotasResponse(error_code=refused.code, error_message=refused.context, entries=None)
    found = {entity: limits for entity, limits in context.cluster.quotas.limits.items() if _is_wanted(entity, request)}
    return DescribeClientQuotasResponse(
        error_message=None,
        entries=[
            _Entry(
                entity=[_Entry.EntityData(entity_type=kind, entity_name=name) for kind, name in _in_order(entity)],
                values=[_Entry.ValueData(key=name, value=limit) for name, limit in sorted(limits.items())],
            )
            for entity, limits in found.items()
        ],
    )


def refuse(context: Context, code: int) -> DescribeClientQuotasResponse:
    """The error alone."""
    return DescribeClientQuotasResponse(error_code=code, entries=None)


def _check(request: DescribeClientQuotasRequest) -> None:
    kinds = [component.entity_type for component in request.components]
    for component in request.components:
        if component.entity_type not in (USER, CLIENT_ID, IP):
            raise codes.UNSUPPORTED_VERSION(f"entity type {component.entity_type!r}")
        if kinds.count(component.entity_type) > 1:
            raise codes.INVALID_REQUEST(f"entity type {component.entity_type!r} is asked for twice")
        has_name = component.match is not None
        if component.match_type not in (_EXACT, _DEFAULT, _ANY) or has_name is not (component.match_type == _EXACT):
            raise codes.INVALID_REQUEST(f"match type {component.match_type} with {component.match!r}")
    if IP in kinds and len(kinds) > 1:
        raise codes.INVALID_REQUEST("an ip has no other types besides")


def _is_wanted(entity: Entity, request: DescribeClientQuotasRequest) -> bool:
    names = dict(entity)
    if request.strict and len(names) != len(request.components):
        return False
    return all(_matches(component, names) for component in request.components)


def _matches(component: _Component, names: dict[str, str | None]) -> bool:
    kind = component.entity_type
    return kind in names and (component.match_type == _ANY or names[kind] == component.match)


def _in_order(entity: Entity) -> list[tuple[str, str | None]]:
    return sorted(entity, key=lambda pair: pair[0], reverse=True)
