"""What Admin returns about access: access control entries, filters of them, delegation tokens. Layer 3: values only."""

from __future__ import annotations

from kwire._typing import TYPE_CHECKING, NamedTuple, override
from kwire.engine.common.notebooks import in_notebooks

if TYPE_CHECKING:
    from kwire.engine.common.secret import Secret


@in_notebooks
class AclBinding(NamedTuple):
    """An access control entry and what it is about.

    `resource_type`: topic, group, cluster, transactional_id, delegation_token or user. `pattern_type`: literal or
    prefixed. `host`: an address, or "*" for all. `operation`: all, read, write, create, delete, alter, describe,
    cluster_action, describe_configs, alter_configs, idempotent_write, create_tokens, describe_tokens or
    two_phase_commit. `permission_type`: allow or deny. What kwire does not know yet is `unknown (its number)`.
    """

    resource_type: str
    name: str
    pattern_type: str
    principal: str
    host: str
    operation: str
    permission_type: str

    @override
    def __str__(self) -> str:
        pattern = f"{self.pattern_type} {self.resource_type} {self.name!r}"
        return f"{self.permission_type} {self.principal} {self.operation} on {pattern} from {self.host}"


@in_notebooks
class AclFilter(NamedTuple):
    """Which entries are meant: None is any. The pattern type "match" finds all that hold for a resource of that name:
    literal, prefixed, and those of "*"."""

    resource_type: str | None = None
    name: str | None = None
    pattern_type: str | None = None
    principal: str | None = None
    host: str | None = None
    operation: str | None = None
    permission_type: str | None = None

    @override
    def __str__(self) -> str:
        given = zip(self._fields, self, strict=True)
        return ", ".join(f"{name}={value!r}" for name, value in given if value is not None) or "any ACL"


@in_notebooks
class DelegationToken(NamedTuple):
    """A delegation token. `token_id` and `hmac` (base64, hidden where it is printed) are user and password of a login
    by SCRAM with `sasl_scram_token_auth=True`. Times are ms since 1970; `requester` is "" before Kafka 3.3."""

    token_id: str
    hmac: Secret
    owner: str
    requester: str
    issue_timestamp: int
    expiry_timestamp: int
    max_timestamp: int
    renewers: tuple[str, ...]
