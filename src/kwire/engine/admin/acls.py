"""ACLs in requests and responses: the numbers of their words, and what versions of the APIs can carry. Layer 3, no I/O.

Version 0 knows literal names alone, prefixed and matching ones came with 1, the resource type user with 3.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from kwire import errors
from kwire._typing import Any
from kwire.engine.admin.access_results import AclBinding, AclFilter
from kwire.schema.error_codes import UNSUPPORTED_VERSION

RESOURCE_TYPES = {"topic": 2, "group": 3, "cluster": 4, "transactional_id": 5, "delegation_token": 6, "user": 7}
PATTERN_TYPES = {"match": 2, "literal": 3, "prefixed": 4}
OPERATIONS = {
    "all": 2, "read": 3, "write": 4, "create": 5, "delete": 6, "alter": 7, "describe": 8, "cluster_action": 9,
    "describe_configs": 10, "alter_configs": 11, "idempotent_write": 12, "create_tokens": 13, "describe_tokens": 14,
    "two_phase_commit": 15,
}  # fmt: skip
PERMISSION_TYPES = {"deny": 2, "allow": 3}
CODES: Mapping[str, Mapping[str, int]] = MappingProxyType(
    {
        "resource_type": RESOURCE_TYPES,
        "pattern_type": PATTERN_TYPES,
        "operation": OPERATIONS,
        "permission_type": PERMISSION_TYPES,
    }
)
"""The numbers of the words, by the field of a binding that has them."""
NEEDS = "Kafka 0.11 or newer (before, kafka-acls.sh writes ACLs to ZooKeeper)"

_ANY = 1
_FIRST_VERSION_WITH_PATTERNS = 1
_FIRST_VERSION_WITH_USERS = 3
_WORDS = {field: {code: word for word, code in codes.items()} for field, codes in CODES.items()}


def word(field: str, code: int) -> str:
    """What a broker means by a number."""
    return _WORDS[field].get(code, f"unknown ({code})")


def code(field: str, given: str | None) -> int:
    """The number of a word, or that of any for None."""
    return _ANY if given is None else CODES[field][given]


def check_version(acl: AclBinding | AclFilter, version: int) -> None:
    """Raises the BrokerError of code 35 for what the version cannot carry."""
    if version < _FIRST_VERSION_WITH_PATTERNS and acl.pattern_type not in ("literal", None):
        raise errors.broker.error_for(
            UNSUPPORTED_VERSION, f"{acl}: the pattern type {acl.pattern_type!r} needs Kafka 2.0 or newer"
        )
    if version < _FIRST_VERSION_WITH_USERS and acl.resource_type == "user":
        raise errors.broker.error_for(UNSUPPORTED_VERSION, f"{acl}: the resource type 'user' needs Kafka 3.3 or newer")


def filter_fields(acl: AclFilter, version: int) -> dict[str, Any]:
    """The fields of a filter, as DescribeAcls and DeleteAcls have them."""
    check_version(acl, version)
    fields = {
        "resource_type_filter": code("resource_type", acl.resource_type),
        "resource_name_filter": acl.name,
        "principal_filter": acl.principal,
        "host_filter": acl.host,
        "operation": code("operation", acl.operation),
        "permission_type": code("permission_type", acl.permission_type),
    }
    if version >= _FIRST_VERSION_WITH_PATTERNS:
        fields["pattern_type_filter"] = code("pattern_type", acl.pattern_type)
    return fields


def binding(resource: Any, name: str, entry: Any) -> AclBinding:
    """Of a resource and an entry about it, as responses have them."""
    return AclBinding(
        word("resource_type", resource.resource_type),
        name,
        word("pattern_type", resource.pattern_type),
        entry.principal,
        entry.host,
        word("operation", entry.operation),
        word("permission_type", entry.permission_type),
    )
