"""Delegation tokens in arguments and responses (KIP-48): principals, HMACs, and tokens as results. Layer 3, no I/O."""

from __future__ import annotations

from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections.abc import Iterable

from kwire._typing import Any
from kwire.engine.admin.access_results import DelegationToken
from kwire.engine.calls.arguments import carried, shortened
from kwire.engine.common.secret import Secret, shown
from kwire.errors import ConfigError

NEEDS = "Kafka 1.1 or newer"
BY_THE_BROKER = -1
"""A time that the broker's settings decide; of an expiry: now."""


def principal(given: object) -> tuple[str, str]:
    """Type and name of "User:bob"."""
    kind, colon, name = given.partition(":") if isinstance(given, str) else ("", "", "")
    if not (kind and colon and name):
        raise ConfigError(f"{given!r} is not a principal: expected a type and a name, as in 'User:bob'")
    carried(str(given), f"{shortened(name)} is not a principal")
    return kind, name


def principals(given: object, name: str) -> list[tuple[str, str]]:
    """Several of them, each once."""
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise ConfigError(f"{name}={shown(given)}: expected an iterable of principals, as ['User:bob']")
    return list(dict.fromkeys(principal(each) for each in given))


def period(given: object, name: str) -> int:
    """Milliseconds, or -1."""
    if isinstance(given, bool) or not isinstance(given, int) or not BY_THE_BROKER <= given < 2**63:
        raise ConfigError(f"{name}={given!r}: expected milliseconds from 0, or {BY_THE_BROKER}")
    return given


def token_hmac(given: object) -> bytes:
    """The HMAC of a token: of the token itself, of its `hmac`, or as bytes. No error has it."""
    if isinstance(given, DelegationToken):
        given = given.hmac
    try:
        found = b64decode(given.encode(), validate=True) if isinstance(given, str) else given
    except (Base64Error, ValueError):
        found = None
    if not isinstance(found, bytes) or not found:
        raise ConfigError("hmac: expected a DelegationToken, its hmac in base64, or the bytes of that")
    return found


def delegation_token(
    row: Any, issued: int, expires: int, ends: int, renewers: Iterable[tuple[str, str]]
) -> DelegationToken:
    """What a response has of a token."""
    requester = (row.token_requester_principal_type, row.token_requester_principal_name)
    return DelegationToken(
        token_id=row.token_id,
        hmac=Secret(b64encode(row.hmac).decode()),
        owner=f"{row.principal_type}:{row.principal_name}",
        requester=":".join(requester) if all(requester) else "",
        issue_timestamp=issued,
        expiry_timestamp=expires,
        max_timestamp=ends,
        renewers=tuple(map(":".join, renewers)),
    )
