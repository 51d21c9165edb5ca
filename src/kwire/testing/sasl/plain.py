"""PLAIN (RFC 4616), as Kafka's broker checks it.

    token   [authzid] NUL user NUL password, in UTF-8; the answer is empty

An authorization id has to be the user's name.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping

from kwire.testing.sasl.exchange import MalformedError, RefusedError


class PlainExchange:
    """One token, and it is done."""

    expires = None
    by_token = False

    def __init__(self, users: Mapping[str, str]) -> None:
        self._users = users
        self.principal: str | None = None

    def evaluate(self, token: bytes) -> bytes:
        parts = token.decode("utf-8", "replace").split("\0")
        if len(parts) != 3:
            raise MalformedError(f"a PLAIN token has 3 parts, not {len(parts)}")
        authorization_id, user, password = parts
        if not user:
            raise RefusedError("Authentication failed: no username")
        if not password:
            raise RefusedError("Authentication failed: no password")
        known = self._users.get(user)
        if known is None or not hmac.compare_digest(known.encode(), password.encode()):
            raise RefusedError("Authentication failed: invalid username or password")
        if authorization_id not in ("", user):
            raise RefusedError("Authentication failed: the authorization id is not the username")
        self.principal = user
        return b""
