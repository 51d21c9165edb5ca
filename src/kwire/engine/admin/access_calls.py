"""What a call of `Admin` about access asks, from its arguments. Layer 3, no I/O; see `calls.py`.

Loaded by the first such call.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kwire._typing import TYPE_CHECKING, Any
from kwire.engine.admin.a29_describe_acls import DescribeAcls
from kwire.engine.admin.a30_create_acls import CreateAcls
from kwire.engine.admin.a31_delete_acls import DeleteAcls
from kwire.engine.admin.a38_create_delegation_token import CreateDelegationToken
from kwire.engine.admin.a39_renew_delegation_token import RenewDelegationToken
from kwire.engine.admin.a40_expire_delegation_token import ExpireDelegationToken
from kwire.engine.admin.a41_describe_delegation_token import DescribeDelegationToken
from kwire.engine.admin.a48_describe_client_quotas import DescribeClientQuotas
from kwire.engine.admin.a49_alter_client_quotas import AlterClientQuotas
from kwire.engine.admin.a50_describe_user_scram_credentials import DescribeUserScramCredentials
from kwire.engine.admin.a51_alter_user_scram_credentials import AlterUserScramCredentials
from kwire.engine.admin.access_results import AclBinding, AclFilter, DelegationToken
from kwire.engine.admin.acls import CODES
from kwire.engine.admin.calls import Question, as_it_is
from kwire.engine.admin.quotas import Entity, Limits, quota_changes, quota_component, quota_entity
from kwire.engine.admin.scram_users import Salted, salted_credential, scram_mechanism, user_name
from kwire.engine.admin.tokens import period, principal, principals, token_hmac
from kwire.engine.calls import arguments
from kwire.engine.calls.words import word_in
from kwire.engine.common.secret import shown
from kwire.errors import ConfigError

if TYPE_CHECKING:
    from kwire.engine.common.retry import RandomFraction


def create_acls(acls: Iterable[AclBinding | tuple[Any, ...] | Mapping[str, Any]]) -> Question[None]:
    """`Admin.create_acls`."""
    wanted = list(dict.fromkeys(_binding(acl) for acl in _several(acls, "acls")))
    return Question(CreateAcls(wanted) if wanted else None, lambda found: None)


def describe_acls(acl_filter: AclFilter | tuple[Any, ...] | Mapping[str, Any] | None) -> Question[list[AclBinding]]:
    """`Admin.describe_acls`."""
    return Question(DescribeAcls(AclFilter() if acl_filter is None else _filter(acl_filter)), list)


def delete_acls(
    filters: Iterable[AclFilter | tuple[Any, ...] | Mapping[str, Any]],
) -> Question[dict[AclFilter, tuple[AclBinding, ...]]]:
    """`Admin.delete_acls`."""
    given = _several(filters, "filters")
    wanted = list(dict.fromkeys(_filter(each) for each in given))
    if AclFilter() in wanted and AclFilter() not in [each for each in given if isinstance(each, AclFilter)]:
        raise ConfigError("filters: one without a condition would delete every ACL; give AclFilter() to mean that")
    return Question(DeleteAcls(wanted) if wanted else None, dict)


def describe_client_quotas(components: Iterable[Any], *, strict: bool) -> Question[dict[Entity, Limits]]:
    """`Admin.describe_client_quotas`."""
    wanted = [quota_component(each) for each in _several(components, "components")]
    if len({each.type for each in wanted}) < len(wanted):
        raise ConfigError(f"components={components!r}: expected each type once")
    return Question(DescribeClientQuotas(wanted, strict=arguments.flag(strict, "strict")), dict)


def alter_client_quotas(
    alterations: Mapping[Any, Mapping[str, float | None]], *, validate_only: bool
) -> Question[None]:
    """`Admin.alter_client_quotas`."""
    if not isinstance(alterations, Mapping):
        raise ConfigError(f"alterations={alterations!r}: expected a mapping {{entity: {{quota: number or None}}}}")
    wanted: dict[Entity, dict[str, float | None]] = {}
    for given, changes in alterations.items():
        entity = quota_entity(given)
        if entity in wanted:
            raise ConfigError(f"alterations: {entity} is there twice")
        wanted[entity] = quota_changes(changes, entity)
    api = AlterClientQuotas(wanted, validate_only=arguments.flag(validate_only, "validate_only"))
    return Question(api if wanted else None, lambda found: None)


def describe_user_scram_credentials(users: Iterable[str] | None) -> Question[dict[str, dict[str, int]]]:
    """`Admin.describe_user_scram_credentials`."""
    if users is None:
        return Question(DescribeUserScramCredentials(None), dict)
    given = [users] if isinstance(users, str) else _several(users, "users")
    names = list(dict.fromkeys(user_name(each) for each in given))
    return Question(DescribeUserScramCredentials(names) if names else None, dict)


def alter_user_scram_credentials(alterations: Mapping[str, Mapping[str, Any]], rng: RandomFraction) -> Question[None]:
    """`Admin.alter_user_scram_credentials`; no error has a password."""
    wanted: dict[tuple[str, str], Salted | None] = {}
    for user, credentials in _of_users(alterations):
        if not isinstance(credentials, Mapping):
            raise ConfigError(f"user {user!r}: expected a mapping {{mechanism: password, or None to remove it}}")
        for given, detail in credentials.items():
            mechanism = scram_mechanism(given, user)
            if (user, mechanism) in wanted:
                raise ConfigError(f"user {user!r}: {mechanism} is there twice")
            salted = None if detail is None else salted_credential(detail, user, mechanism, rng)
            wanted[user, mechanism] = salted
    return Question(AlterUserScramCredentials(wanted) if wanted else None, lambda found: None)


def create_delegation_token(
    *, owner: str | None, renewers: Iterable[str], max_lifetime_ms: int
) -> Question[DelegationToken]:
    """`Admin.create_delegation_token`."""
    of_whom = None if owner is None else principal(owner)
    lifetime = period(max_lifetime_ms, "max_lifetime_ms")
    return Question(CreateDelegationToken(of_whom, principals(renewers, "renewers"), lifetime), as_it_is)


def renew_delegation_token(token: DelegationToken | str | bytes, *, renew_time_period_ms: int) -> Question[int]:
    """`Admin.renew_delegation_token`."""
    within = period(renew_time_period_ms, "renew_time_period_ms")
    return Question(RenewDelegationToken(token_hmac(token), within), as_it_is)


def expire_delegation_token(token: DelegationToken | str | bytes, *, expiry_time_period_ms: int) -> Question[int]:
    """`Admin.expire_delegation_token`."""
    within = period(expiry_time_period_ms, "expiry_time_period_ms")
    return Question(ExpireDelegationToken(token_hmac(token), within), as_it_is)


def describe_delegation_token(owners: Iterable[str] | None) -> Question[list[DelegationToken]]:
    """`Admin.describe_delegation_token`."""
    wanted = None if owners is None else principals(owners, "owners")
    return Question(None if wanted == [] else DescribeDelegationToken(wanted), list)


def _of_users(alterations: object) -> list[tuple[str, Any]]:
    if not isinstance(alterations, Mapping):
        raise ConfigError("alterations: expected a mapping {user: {mechanism: password, or None to remove it}}")
    return [(user_name(user), credentials) for user, credentials in alterations.items()]


def _several(given: object, name: str) -> list[Any]:
    if isinstance(given, str | bytes | Mapping | AclBinding | AclFilter) or not isinstance(given, Iterable):
        raise ConfigError(f"{name}={shown(given)}: expected an iterable of them")
    return list(given)


def _binding(given: object) -> AclBinding:
    fields = _fields(given, "an ACL")
    missing = [name for name in AclBinding._fields if fields.get(name) is None]
    if missing:
        raise ConfigError(f"{given!r} is not an ACL: {missing[0]} is missing; only a filter may leave it out")
    made = AclBinding(**fields)
    if made.pattern_type == "match":
        raise ConfigError(f"{given!r} is not an ACL: the pattern type 'match' is for filters")
    return made


def _filter(given: object) -> AclFilter:
    return AclFilter(**_fields(given, "a filter of ACLs"))


def _fields(given: object, what: str) -> dict[str, Any]:
    """Each field that is given, in kwire's words."""
    names = AclBinding._fields
    if isinstance(given, Mapping):
        odd = [key for key in given if key not in names]
        if odd:
            raise ConfigError(f"{given!r} is not {what}: there is no {odd[0]!r} but {', '.join(names)}")
        fields = dict(given)
    elif isinstance(given, tuple) and len(given) == len(names):
        fields = dict(zip(names, given, strict=True))
    else:
        raise ConfigError(f"{given!r} is not {what}: expected ({', '.join(names)}) or a mapping of these")
    return {name: _field(name, value, given, what) for name, value in fields.items()}


def _field(name: str, value: object, given: object, what: str) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str) or not value:
        raise ConfigError(f"{given!r} is not {what}: {name}={value!r}, expected a str")
    arguments.carried(value, f"{name} of {what}: {arguments.shortened(value)}")
    if name == "principal" and ":" not in value:
        raise ConfigError(f"{given!r} is not {what}: the principal {value!r} has no type, as in 'User:{value}'")
    if name not in CODES:
        return value
    word = word_in(value, ("any", *CODES[name]))
    if word is None:
        raise ConfigError(f"{given!r} is not {what}: {name}={value!r}; there are {', '.join(CODES[name])}")
    return None if word == "any" else word
