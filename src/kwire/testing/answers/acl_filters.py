"""ACLs in requests: filters, what they match, and which bindings may be made.

resource type, operation, permission   1 any, 0 unknown: Kafka closes the connection
pattern type                           1 any, 2 matching (literal, prefixed and "*" that are about the name), 3
                                       literal, 4 prefixed
name, principal, host                  null for any
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kwire.errors import broker as codes
from kwire.testing.requests import CloseConnectionError
from kwire.testing.state.authorizer import (
    ALLOW,
    CLUSTER,
    DENY,
    LITERAL,
    OPERATIONS,
    PREFIXED,
    RESOURCES,
    THE_CLUSTER,
    Acl,
)

_UNKNOWN, _ANY, _MATCH = 0, 1, 2


def check_filter(asked: Any) -> None:
    """Raises CloseConnectionError for a filter with something unknown."""
    if _UNKNOWN in (asked.resource_type_filter, asked.pattern_type_filter, asked.operation, asked.permission_type):
        raise CloseConnectionError("a filter of ACLs has an unknown element")


def matching(acls: Iterable[Acl], asked: Any) -> list[Acl]:
    """The bindings that a filter of DescribeAcls or DeleteAcls matches."""
    return [acl for acl in acls if _matches(acl, asked)]


def _matches(acl: Acl, asked: Any) -> bool:
    return (
        asked.resource_type_filter in (_ANY, acl.resource_type)
        and _matches_name(acl, asked.resource_name_filter, asked.pattern_type_filter)
        and asked.principal_filter in (None, acl.principal)
        and asked.host_filter in (None, acl.host)
        and asked.operation in (_ANY, acl.operation)
        and asked.permission_type in (_ANY, acl.permission)
    )


def _matches_name(acl: Acl, name: str | None, pattern: int) -> bool:
    if pattern == _MATCH:
        return name is None or acl.is_about(acl.resource_type, name)
    return pattern in (_ANY, acl.pattern) and name in (None, acl.name)


def check_known(asked: Any) -> None:
    """Raises CloseConnectionError for a binding with something unknown."""
    if _UNKNOWN in (asked.resource_type, asked.resource_pattern_type, asked.operation, asked.permission_type):
        raise CloseConnectionError("an ACL has an unknown element")


def binding_of(asked: Any) -> Acl:
    """The binding that CreateAcls asks for. Raises BrokerError."""
    made = Acl(
        asked.resource_type,
        asked.resource_name,
        asked.resource_pattern_type,
        asked.principal,
        asked.host,
        asked.operation,
        asked.permission_type,
    )
    if made.resource_type == _ANY or made.pattern in (_ANY, _MATCH) or _ANY in (made.operation, made.permission):
        raise codes.UNKNOWN_SERVER_ERROR("an ACL needs a definite resource, pattern, operation and permission")
    if made.resource_type not in RESOURCES.values():
        raise codes.INVALID_REQUEST(f"resource type {made.resource_type}")
    if made.resource_type == CLUSTER and made.name != THE_CLUSTER:
        raise codes.INVALID_REQUEST(f"the only cluster is {THE_CLUSTER!r}")
    if made.pattern not in (LITERAL, PREFIXED):
        raise codes.INVALID_REQUEST(f"pattern type {made.pattern}")
    if made.operation not in OPERATIONS.values():
        raise codes.INVALID_REQUEST(f"operation {made.operation}")
    if made.permission not in (DENY, ALLOW):
        raise codes.INVALID_REQUEST(f"permission type {made.permission}")
    if not made.name:
        raise codes.INVALID_REQUEST("a resource's name is empty")
    if not made.host:
        raise codes.INVALID_REQUEST("a host is empty: an address or * is expected")
    if ":" not in made.principal:
        raise codes.INVALID_REQUEST(f"principal {made.principal!r}: a type and a name, as in User:alice")
    return made
