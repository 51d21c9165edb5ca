"""OAUTHBEARER (RFC 7628) with unsecured tokens, as Kafka's broker takes them where no other validator is configured.

    token     n,[a=authzid],^A auth=Bearer TOKEN ^A [key=value ^A ...] ^A
    answer    empty, or the refusal as JSON; the client confirms that with ^A and gets it again as an error
    TOKEN     header.claims. in base64url, without a signature: {"alg": "none"}, {"sub": ..., "exp": ..., "iat": ...}

`sub` names the user. `exp` must be in the future; `iat` is optional, and must be neither in the future nor after `exp`.
No scope is required.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Callable
from typing import Any

from kwire.testing.sasl.exchange import MalformedError, RefusedError

__all__ = ["OAuthBearerExchange", "unsecured_token"]

_CONFIRMED = b"\x01"
_REFUSAL = '{"status":"invalid_token"}'
_NAME = r"(?:[\x01-\x2b\x2d-\x3c\x3e-\x7f]|=2C|=3D)+"
_PAIR = r"[A-Za-z]+=[\x21-\x7e \t\r\n]+\x01"
_FIRST = re.compile(rf"n,(?:a=(?P<authorization>{_NAME}))?,\x01(?P<pairs>(?:{_PAIR})*)\x01")
_BEARER = re.compile(r"(?P<scheme>\w+) +(?P<token>[-_~+/.A-Za-z0-9]+=*)", re.ASCII)


class OAuthBearerExchange:
    """One token, or a refused one and the client's confirmation. `clock` is the time of day in seconds."""

    by_token = False

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._refused = False
        self.principal: str | None = None
        self.expires: float | None = None

    def evaluate(self, token: bytes) -> bytes:
        if self._refused and token == _CONFIRMED:
            raise RefusedError(_REFUSAL)
        authorization_id, bearer = _read_first(token.decode("utf-8", "replace"))
        try:
            subject, expires = _validated(bearer, self._clock())
        except ValueError:
            self._refused = True
            return _REFUSAL.encode()
        if authorization_id not in ("", subject):
            raise RefusedError("Authentication failed: the authorization id is not the principal of the token")
        self.principal, self.expires = subject, expires
        return b""


def unsecured_token(subject: str, issued: float, lifetime: float) -> str:
    """A token that the exchange takes; times in seconds."""
    claims = {"sub": subject, "iat": issued, "exp": issued + lifetime}
    parts = [json.dumps(part).encode() for part in ({"alg": "none"}, claims)]
    return "".join(base64.urlsafe_b64encode(part).decode("ascii").rstrip("=") + "." for part in parts)


def _read_first(text: str) -> tuple[str, str]:
    """(authorization id, bearer token) of the client's first message."""
    message = _FIRST.fullmatch(text)
    if message is None:
        raise MalformedError("not a client's first OAUTHBEARER message")
    pairs = dict(pair.split("=", 1) for pair in message["pairs"].split("\x01") if pair)
    bearer = _BEARER.fullmatch(pairs.get("auth", ""))
    if bearer is None or bearer["scheme"].lower() != "bearer":
        raise MalformedError("the client's first OAUTHBEARER message has no bearer token")
    return (message["authorization"] or "").replace("=2C", ",").replace("=3D", "="), bearer["token"]


def _validated(token: str, now: float) -> tuple[str, float]:
    """(user, when the token expires). Raises ValueError for a token that is not valid now."""
    parts = token.split(".")
    if len(parts) != 3 or parts[2]:
        raise ValueError("not an unsecured token: header, claims and no signature")
    header, claims = _json_object(parts[0]), _json_object(parts[1])
    if header.get("alg") != "none":
        raise ValueError("the algorithm is not 'none'")
    subject, expires, issued = claims.get("sub"), _time(claims, "exp"), _time(claims, "iat")
    if not isinstance(subject, str) or not subject.strip():
        raise ValueError("no subject")
    if expires is None or expires <= now:
        raise ValueError("no expiration time, or one that has passed")
    if issued is not None and not (issued <= now and issued < expires):
        raise ValueError("issued in the future, or after its expiration")
    return subject, expires


def _json_object(part: str) -> dict[str, Any]:
    try:
        text = base64.b64decode(part + "=" * (-len(part) % 4), altchars=b"-_", validate=True)
        found = json.loads(text, parse_constant=_not_json)
    except (binascii.Error, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(str(error)) from None
    if not isinstance(found, dict):
        raise ValueError("not a JSON object")
    return found


def _not_json(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _time(claims: dict[str, Any], name: str) -> float | None:
    found = claims.get(name)
    if found is None:
        return None
    if isinstance(found, bool) or not isinstance(found, int | float):
        raise ValueError(f"{name} is not a number")
    try:
        return float(found)
    except OverflowError as error:
        raise ValueError(str(error)) from None
