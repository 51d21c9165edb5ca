"""AlterClientQuotas (key 49).

Behaviour
    Sets and removes quotas of users, client ids (alone or together) and addresses; a name that is null is the default.
    An unknown quota or type, a quota of another type and a value that is not above 0 (or not whole) are
    INVALID_REQUEST; what is not there is removed without an error.

Version notes
    v1 is flexible
"""

from __future__ import annotations

from kwire.errors import BrokerError
from kwire.errors import broker as codes
from kwire.protocol import AlterClientQuotasRequest, AlterClientQuotasResponse
from kwire.testing.requests import RequestContext
from kwire.testing.state.authorizer import ALTER_CONFIGS, CLUSTER
from kwire.testing.state.quotas import CLIENT_ID, IP, KNOWN, USER, WHOLE, Entity

Context = RequestContext[AlterClientQuotasRequest]
_Asked = AlterClientQuotasRequest.EntryData
_Result = AlterClientQuotasResponse.EntryData


def answer(context: Context) -> AlterClientQuotasResponse:
    """One result per entity."""
    return AlterClientQuotasResponse(entries=[_alter(context, asked) for asked in context.request.entries])


def refuse(context: Context, code: int) -> AlterClientQuotasResponse:
    """Every entity answered with `code`."""
    return AlterClientQuotasResponse(entries=[_told(asked, code, None) for asked in context.request.entries])


def _alter(context: Context, asked: _Asked) -> _Result:
    try:
        context.require(ALTER_CONFIGS, CLUSTER)
        entity = _entity(asked)
        for change in asked.ops:
            _check(entity, change)
    except BrokerError as refused:
        return _told(asked, refused.code, refused.context)
    if not context.request.validate_only:
        for change in asked.ops:
            context.cluster.quotas.set(entity, change.key, None if change.remove else change.value)
    return _told(asked, 0, None)


def _entity(asked: _Asked) -> Entity:
    kinds = {each.entity_type for each in asked.entity}
    if not kinds or not kinds <= {USER, CLIENT_ID, IP}:
        raise codes.INVALID_REQUEST(f"an entity of {kinds}")
    if IP in kinds and len(kinds) > 1:
        raise codes.INVALID_REQUEST("an ip has no other types besides")
    if any(each.entity_name == "" for each in asked.entity):
        raise codes.INVALID_REQUEST("a name is not empty; null is the default")
    return frozenset(_names(asked).items())


def _names(asked: _Asked) -> dict[str, str | None]:
    """Of a type that is named twice the last one counts."""
    return {each.entity_type: each.entity_name for each in sorted(asked.entity, key=lambda each: each.entity_type)}


def _check(entity: Entity, change: _Asked.OpData) -> None:
    if change.remove:
        return
    kinds = KNOWN.get(change.key)
    if kinds is None or not {kind for kind, _ in entity} <= set(kinds):
        raise codes.INVALID_REQUEST(f"there is no quota {change.key!r} of {sorted(kind for kind, _ in entity)}")
    if change.value <= 0 or (change.key in WHOLE and not change.value.is_integer()):
        raise codes.INVALID_REQUEST(f"{change.key} {change.value}: a quota is above 0, and whole where it counts")


def _told(asked: _Asked, code: int, reason: str | None) -> _Result:
    return _Result(
        error_code=code,
        error_message=reason,
        entity=[_Result.EntityData(entity_type=kind, entity_name=name) for kind, name in _names(asked).items()],
    )
