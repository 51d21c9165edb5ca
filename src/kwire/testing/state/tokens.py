"""Delegation tokens (KIP-48): who has which, and until when. Needs the property delegation.token.secret.key.

A token expires when it is not renewed in time, and for good at the end of its lifetime. One that has expired stays
known: Kafka removes it within an hour.
"""

from __future__ import annotations

import base64
import hmac
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from kwire.errors import broker as codes
from kwire.testing.sasl.scram import MIN_ITERATIONS, ScramCredentials
from kwire.testing.settings.properties import BrokerProperties

Principal = tuple[str, str]


@dataclass
class Token:
    """Times in ms since 1970."""

    token_id: str
    hmac: bytes = field(repr=False)
    owner: Principal
    requester: Principal
    renewers: list[Principal]
    issued: int
    expires: int
    ends: int

    def is_of(self, principal: Principal) -> bool:
        """Whether that principal may renew it and let it expire."""
        return principal == self.owner or principal == self.requester or principal in self.renewers


class Tokens:
    """The tokens of a cluster. `clock` is the time in ms since 1970."""

    def __init__(self, clock: Callable[[], int], properties: BrokerProperties) -> None:
        self._clock = clock
        self._properties = properties
        self._by_id: dict[str, Token] = {}

    def __iter__(self) -> Iterator[Token]:
        return iter(self._by_id.values())

    def require_enabled(self) -> None:
        """Raises BrokerError without the property."""
        if not self._properties.delegation_token_secret_key:
            raise codes.DELEGATION_TOKEN_AUTH_DISABLED("there is no delegation.token.secret.key")

    def create(self, owner: Principal, requester: Principal, renewers: list[Principal], lifetime_ms: int) -> Token:
        """A new one; a lifetime of 0 or less is the longest. Raises BrokerError."""
        self.require_enabled()
        if any(kind != "User" for kind, _ in renewers):
            raise codes.INVALID_PRINCIPAL_TYPE("renewers are users")
        now, longest = self._clock(), self._properties.delegation_token_max_lifetime_ms
        ends = now + (min(lifetime_ms, longest) if lifetime_ms > 0 else longest)
        token_id = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        secret = hmac.digest(self._properties.delegation_token_secret_key.encode(), token_id.encode(), "sha512")
        expires = min(ends, now + self._properties.delegation_token_expiry_time_ms)
        made = Token(token_id, secret, owner, requester, renewers, now, expires, ends)
        self._by_id[token_id] = made
        return made

    def renew(self, secret: bytes, period_ms: int, principal: Principal) -> int:
        """When it expires from now on. Raises BrokerError."""
        token, now = self._find(secret), self._clock()
        if min(token.ends, token.expires) < now:
            raise codes.DELEGATION_TOKEN_EXPIRED("it has expired")
        self._check_owner(token, principal)
        period = self._properties.delegation_token_expiry_time_ms if period_ms < 0 else period_ms
        token.expires = min(token.ends, now + period)
        return token.expires

    def expire(self, secret: bytes, period_ms: int, principal: Principal) -> int:
        """The same; a negative period removes it. Raises BrokerError."""
        token, now = self._find(secret), self._clock()
        self._check_owner(token, principal)
        if period_ms < 0:
            del self._by_id[token.token_id]
            return now
        if min(token.ends, token.expires) < now:
            raise codes.DELEGATION_TOKEN_EXPIRED("it has expired")
        token.expires = min(token.ends, now + period_ms)
        return token.expires

    def login(self, token_id: str, hash_name: str) -> tuple[str, ScramCredentials, float] | None:
        """The user that the token stands for, what proves it, and the time of day in seconds when it expires; None for
        one that is unknown or has expired."""
        token = self._by_id.get(token_id)
        if token is None or token.expires < self._clock():
            return None
        password = base64.b64encode(token.hmac).decode()
        return token.owner[1], ScramCredentials.of(password, hash_name, MIN_ITERATIONS), token.expires / 1000

    def _find(self, secret: bytes) -> Token:
        self.require_enabled()
        for token in self:
            if hmac.compare_digest(token.hmac, secret):
                return token
        raise codes.DELEGATION_TOKEN_NOT_FOUND("no token has this hmac")

    def _check_owner(self, token: Token, principal: Principal) -> None:
        if not token.is_of(principal):
            raise codes.DELEGATION_TOKEN_OWNER_MISMATCH("it is another's")
