"""Who may do what: Kafka's ACLs, when the broker was told to have an authorizer, and what a test denies by hand.

As StandardAuthorizer decides: super users may do everything; a matching DENY refuses; a matching ALLOW permits; without
any ACL that is about the resource `allow.everyone.if.no.acl.found` decides. Some operations imply another.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from kwire.errors import BrokerError, ConfigError
from kwire.errors import broker as codes

TOPIC, GROUP, CLUSTER, TRANSACTIONAL_ID, DELEGATION_TOKEN, USER = 2, 3, 4, 5, 6, 7
ALL, READ, WRITE, CREATE, DELETE, ALTER, DESCRIBE, CLUSTER_ACTION = 2, 3, 4, 5, 6, 7, 8, 9
DESCRIBE_CONFIGS, ALTER_CONFIGS, IDEMPOTENT_WRITE, CREATE_TOKENS, DESCRIBE_TOKENS, TWO_PHASE_COMMIT = range(10, 16)
LITERAL, PREFIXED = 3, 4
DENY, ALLOW = 2, 3
THE_CLUSTER = "kafka-cluster"

RESOURCES = {
    "topic": TOPIC, "group": GROUP, "cluster": CLUSTER, "transactional_id": TRANSACTIONAL_ID,
    "delegation_token": DELEGATION_TOKEN, "user": USER,
}  # fmt: skip
OPERATIONS = {
    "all": ALL, "read": READ, "write": WRITE, "create": CREATE, "delete": DELETE, "alter": ALTER, "describe": DESCRIBE,
    "cluster_action": CLUSTER_ACTION, "describe_configs": DESCRIBE_CONFIGS, "alter_configs": ALTER_CONFIGS,
    "idempotent_write": IDEMPOTENT_WRITE, "create_tokens": CREATE_TOKENS, "describe_tokens": DESCRIBE_TOKENS,
    "two_phase_commit": TWO_PHASE_COMMIT,
}  # fmt: skip
OPERATIONS_OF = {
    TOPIC: (READ, WRITE, CREATE, DESCRIBE, DELETE, ALTER, DESCRIBE_CONFIGS, ALTER_CONFIGS),
    GROUP: (READ, DESCRIBE, DELETE, DESCRIBE_CONFIGS, ALTER_CONFIGS),
    CLUSTER: (CREATE, CLUSTER_ACTION, DESCRIBE_CONFIGS, ALTER_CONFIGS, IDEMPOTENT_WRITE, ALTER, DESCRIBE),
    TRANSACTIONAL_ID: (DESCRIBE, WRITE, TWO_PHASE_COMMIT),
    DELEGATION_TOKEN: (DESCRIBE,),
    USER: (CREATE_TOKENS, DESCRIBE_TOKENS),
}
_IMPLIED_BY = {DESCRIBE: {READ, WRITE, DELETE, ALTER}, DESCRIBE_CONFIGS: {ALTER_CONFIGS}}
_CODES: dict[int, type[BrokerError]] = {
    TOPIC: codes.TOPIC_AUTHORIZATION_FAILED,
    GROUP: codes.GROUP_AUTHORIZATION_FAILED,
    CLUSTER: codes.CLUSTER_AUTHORIZATION_FAILED,
    TRANSACTIONAL_ID: codes.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    DELEGATION_TOKEN: codes.DELEGATION_TOKEN_AUTHORIZATION_FAILED,
    USER: codes.DELEGATION_TOKEN_AUTHORIZATION_FAILED,
}


class Acl(NamedTuple):
    """One binding, in the numbers of the protocol."""

    resource_type: int
    name: str
    pattern: int
    principal: str
    host: str
    operation: int
    permission: int

    def is_about(self, resource_type: int, name: str) -> bool:
        if self.resource_type != resource_type:
            return False
        if self.pattern == PREFIXED:
            return name.startswith(self.name)
        return self.name in (name, "*")

    def is_for(self, principal: str, host: str) -> bool:
        return self.principal in (principal, "User:*") and self.host in (host, "*")


@dataclass(frozen=True, slots=True)
class Denial:
    """What a test denies; None stands for any."""

    operation: int
    resource_type: int
    name: str | None
    principal: str | None


class Authorizer:
    """`enabled`: there are ACLs. What is denied by hand holds without them, too, and for super users."""

    def __init__(
        self, *, enabled: bool = False, super_users: Iterable[str] = (), allow_everyone_if_no_acl_found: bool = False
    ) -> None:
        self.enabled = enabled
        self.super_users = frozenset(super_users)
        self.allow_if_none = allow_everyone_if_no_acl_found
        self.acls: dict[Acl, None] = {}
        self.denials: list[Denial] = []

    def allows(self, principal: str, host: str, operation: int, resource_type: int, name: str) -> bool:
        """Whether `principal` ("User:alice") may do this from `host`."""
        if self.denials and self._is_denied(principal, operation, resource_type, name):
            return False
        if not self.enabled or principal in self.super_users:
            return True
        found = [acl for acl in self.acls if acl.is_about(resource_type, name)]
        if not found:
            return self.allow_if_none
        mine = [acl for acl in found if acl.is_for(principal, host)]
        if any(acl.permission == DENY and acl.operation in (operation, ALL) for acl in mine):
            return False
        enough = {operation, ALL, *_IMPLIED_BY.get(operation, ())}
        return any(acl.permission == ALLOW and acl.operation in enough for acl in mine)

    def deny(self, operation: str, resource: str, name: str | None, principal: str | None) -> None:
        """Refuses this from now on. Raises ConfigError for words that are not known."""
        self.denials.append(_denial(operation, resource, name, principal))

    def permit(self, operation: str, resource: str, name: str | None, principal: str | None) -> None:
        """Takes back what was denied in the same words."""
        gone = _denial(operation, resource, name, principal)
        self.denials = [each for each in self.denials if each != gone]

    def _is_denied(self, principal: str, operation: int, resource_type: int, name: str) -> bool:
        return any(
            each.operation in (operation, ALL)
            and each.resource_type == resource_type
            and each.name in (name, None)
            and each.principal in (principal, None)
            for each in self.denials
        )


def refusal(resource_type: int, name: str) -> BrokerError:
    """The error of who may not do something with a resource."""
    return _CODES[resource_type](f"not authorized: {name!r}")


def _denial(operation: str, resource: str, name: str | None, principal: str | None) -> Denial:
    if operation.lower() not in OPERATIONS:
        raise ConfigError(f"operation {operation!r}: {', '.join(OPERATIONS)} are known")
    if resource.lower() not in RESOURCES:
        raise ConfigError(f"resource {resource!r}: {', '.join(RESOURCES)} are known")
    if principal is not None and ":" not in principal:
        principal = f"User:{principal}"
    return Denial(OPERATIONS[operation.lower()], RESOURCES[resource.lower()], name, principal)
