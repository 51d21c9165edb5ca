"""Admin: access control, quotas, SCRAM users and delegation tokens. Layer 5: signatures and docstrings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kwire._client import Client
from kwire._typing import TYPE_CHECKING, Any
from kwire.engine import admin as engine
from kwire.engine.common.secret import hiding_arguments
from kwire.engine.settings.clients import AdminSettings
from kwire.fronts.admin import AdminFront

if TYPE_CHECKING:
    from kwire.engine.admin.access_results import AclBinding, AclFilter, DelegationToken
    from kwire.engine.admin.quotas import Entity, Limits
    from kwire.engine.settings.options import Timeout


class AccessCalls(AdminFront, Client[AdminSettings]):
    """Calls of an Admin about who may do what, and how much."""

    def create_acls(
        self, acls: Iterable[AclBinding | tuple[Any, ...] | Mapping[str, Any]], *, timeout: Timeout = None
    ) -> None:
        """Adds access control entries: ("topic", "orders", "literal", "User:bob", "*", "read", "allow"), or mappings
        with the fields of AclBinding. One that is there already is no error.

        Raises the BrokerError of the first that failed (code 54 where brokers have no authorizer), whose `failures` has
        the error of each; the others are added.
        """
        self._door.run(self._asked(engine.access_calls.create_acls(acls), timeout))

    def describe_acls(
        self,
        acl_filter: AclFilter | tuple[Any, ...] | Mapping[str, Any] | None = None,
        *,
        timeout: Timeout = None,
    ) -> list[AclBinding]:
        """The access control entries that a filter finds, sorted; all without one. {"resource_type": "topic",
        "name": "orders", "pattern_type": "match"}: what is left out, None or "any" is not looked at."""
        return self._door.run(self._asked(engine.access_calls.describe_acls(acl_filter), timeout))

    def delete_acls(
        self, filters: Iterable[AclFilter | tuple[Any, ...] | Mapping[str, Any]], *, timeout: Timeout = None
    ) -> dict[AclFilter, tuple[AclBinding, ...]]:
        """Removes the access control entries that each filter finds, and returns them. `failures` of the BrokerError
        has the error of each filter that failed."""
        return self._door.run(self._asked(engine.access_calls.delete_acls(filters), timeout))

    def describe_client_quotas(
        self,
        components: Iterable[str | tuple[str, str | None] | Mapping[str, Any]] = (),
        *,
        strict: bool = False,
        timeout: Timeout = None,
    ) -> dict[Entity, Limits]:
        """The quotas of users, client ids and addresses: {(("user", "bob"), ("client-id", "c")): {"producer_byte_rate":
        1e6}}; a name of None is the default. Of all, or of those with every component: ("user", "bob"), ("user", None)
        for the default, "user" for any user. With `strict` they may have no other component."""
        question = engine.access_calls.describe_client_quotas(components, strict=strict)
        return self._door.run(self._asked(question, timeout))

    def alter_client_quotas(
        self,
        alterations: Mapping[Any, Mapping[str, float | None]],
        *,
        validate_only: bool = False,
        timeout: Timeout = None,
    ) -> None:
        """Sets quotas, or removes those of None: {(("user", "bob"), ("client-id", "c")): {"producer_byte_rate": 1e6}};
        one pair may stand alone, a name of None is the default.

        Raises the BrokerError of the first entity that failed, whose `failures` has the error of each; the others are
        changed.
        """
        question = engine.access_calls.alter_client_quotas(alterations, validate_only=validate_only)
        self._door.run(self._asked(question, timeout))

    def describe_user_scram_credentials(
        self, users: Iterable[str] | None = None, *, timeout: Timeout = None
    ) -> dict[str, dict[str, int]]:
        """The SCRAM mechanisms of users with their iterations: {"bob": {"SCRAM-SHA-256": 8192}}; of all for None.
        Raises BrokerError (code 91) for a user without any; its `failures` has the error of each."""
        question = engine.access_calls.describe_user_scram_credentials(users)
        return self._door.run(self._asked(question, timeout))

    @hiding_arguments
    def alter_user_scram_credentials(
        self, alterations: Mapping[str, Mapping[str, Any]], *, timeout: Timeout = None
    ) -> None:
        """Sets SCRAM passwords: {"bob": {"SCRAM-SHA-256": "password"}}, or with {"password": ..., "iterations": 8192,
        "salt": ...}; None removes a credential. Passwords are salted here, brokers do not see them.

        Raises the BrokerError of the first that failed, whose `failures` has the error of each (user, mechanism); the
        others are changed.
        """
        question = engine.access_calls.alter_user_scram_credentials(alterations, self._core.rng)
        self._door.run(self._asked(question, timeout))

    def create_delegation_token(
        self,
        *,
        max_lifetime_ms: int = -1,
        renewers: Iterable[str] = (),
        owner: str | None = None,
        timeout: Timeout = None,
    ) -> DelegationToken:
        """A token that logs in as who asks for it, or as `owner` ("User:bob", Kafka 3.3); `renewers` may renew it, too.
        -1 leaves its lifetime to the brokers.

        `token_id` and `hmac` are user and password of a login by SCRAM with `sasl_scram_token_auth=True`; other brokers
        may know the token a moment later. Raises BrokerError, code 64 of a client that has not logged in.
        """
        question = engine.access_calls.create_delegation_token(
            owner=owner, renewers=renewers, max_lifetime_ms=max_lifetime_ms
        )
        return self._door.run(self._asked(question, timeout))

    @hiding_arguments
    def renew_delegation_token(
        self, hmac: DelegationToken | str | bytes, *, renew_time_period_ms: int = -1, timeout: Timeout = None
    ) -> int:
        """Has a token expire so many ms from now, within its lifetime; -1 leaves that to the brokers. Returns when, in
        ms since 1970. Raises BrokerError (code 62 for one that does not exist)."""
        question = engine.access_calls.renew_delegation_token(hmac, renew_time_period_ms=renew_time_period_ms)
        return self._door.run(self._asked(question, timeout))

    @hiding_arguments
    def expire_delegation_token(
        self, hmac: DelegationToken | str | bytes, *, expiry_time_period_ms: int = -1, timeout: Timeout = None
    ) -> int:
        """Has a token expire so many ms from now, or with -1 at once. Returns when, in ms since 1970. Raises
        BrokerError (code 62 for one that does not exist)."""
        question = engine.access_calls.expire_delegation_token(hmac, expiry_time_period_ms=expiry_time_period_ms)
        return self._door.run(self._asked(question, timeout))

    def describe_delegation_token(
        self, owners: Iterable[str] | None = None, *, timeout: Timeout = None
    ) -> list[DelegationToken]:
        """The tokens of these owners ("User:bob") that the client may see, by their ids; of all owners for None."""
        return self._door.run(self._asked(engine.access_calls.describe_delegation_token(owners), timeout))
