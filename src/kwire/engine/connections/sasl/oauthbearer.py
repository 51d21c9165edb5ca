"""OAUTHBEARER: a bearer token, issued by someone else, which names the user.

    client   n,,^Aauth=Bearer <token>[^A<name>=<value> ...]^A^A        (^A is the byte 1)
    broker   an empty token; or JSON with a status, and then
    client   ^A
    broker   its refusal

Tokens come from `source`, a callable that may block, and is run apart: it returns (token, lifetime in seconds), or with
a third item for SASL extensions (a mapping). A token is kept for further logins while more than a fifth of its life is
left, and more than the session that a login is for is expected to last: the broker ends a session with its token. One
that a broker refuses is not used again; one that was accepted before, and is not any more, is no news for the user.
Logins that want a token at the same time share one call; what that returns is
kept even if none of them could wait so long.

    unsecured   a JSON Web Signature without a signature, for brokers under test: header.claims. in base64url

Layer 3, no I/O, no clock. Sources: RFC 7628, KIP-255, KIP-342 (extensions), KIP-368; RFC 7515, appendix A.5.
"""

from __future__ import annotations

import json
import math
from base64 import urlsafe_b64encode
from collections.abc import Mapping

from kwire.engine.common.secret import Secret
from kwire.engine.connections.flows import Flow, SharedCalls
from kwire.engine.connections.sasl.exchange import Say, quoted
from kwire.engine.connections.sasl.sources import Source, UnusableError, asked, items_of
from kwire.engine.settings.values import is_extension
from kwire.errors import AuthError, ConnectError
from kwire.errors.wording import SettingName, Wording

MIN_SHARE_LEFT = 0.2
"""A token is asked for anew when less than this part of its life is left; Java's client does the same."""

_SEPARATOR = "\x01"
_TIMES = ((1e9, 1e10), (1e12, 1e13))
"""Seconds and milliseconds since 1970, from 2001 to 2286: no lifetime of a token, but the time at which it ends."""
_CALLABLE = "sasl_oauth_token"


class Token:
    """A token, its extensions and how long it lives; times are those of the engine."""

    __slots__ = ("expires_at", "extensions", "lifetime", "text")

    def __init__(self, text: str, lifetime: float, extensions: Mapping[str, str], now: float) -> None:
        self.text = Secret(text)
        self.lifetime = lifetime
        self.extensions = extensions
        self.expires_at = now + lifetime

    def refuse(self) -> None:
        """A broker does not accept it: the next login asks for another one."""
        self.expires_at = -math.inf

    def will_do(self, session: float, now: float) -> bool:
        """Whether enough of its life is left for a session that long."""
        return self.expires_at - now >= max(MIN_SHARE_LEFT * self.lifetime, session)


class Tokens:
    """The tokens of one client: the last one, for as long as it will do.

    A driver may set another `source`; errors name the `setting` that says where tokens come from.
    """

    def __init__(
        self,
        extensions: Mapping[str, str] | None = None,
        source: Source | None = None,
        setting: str = _CALLABLE,
    ) -> None:
        self.source = source
        self.step = Wording("the token of {setting}", setting=SettingName(setting))
        self._whose = "the callable" if setting == _CALLABLE else SettingName(setting)
        self._extensions = dict(extensions or {})
        self.last: Token | None = None
        self._calls = SharedCalls(self._keep_unasked)

    @property
    def secrets(self) -> tuple[str, ...]:
        """What must not appear in an error."""
        return (self.last.text,) if self.last is not None else ()

    def find(self, session: float, now: float) -> Flow[Token]:
        """The last token, or a new one."""
        if self.last is not None and self.last.will_do(session, now):
            return self.last
        if self.source is None:
            raise AuthError(step=self.step, reason="this client has no source of tokens")
        return (yield from asked(self.source, self.step, self._calls, self._keep))

    def _keep(self, returned: object, now: float) -> Token:
        try:
            self.last = token = _token(returned, self._extensions, now)
        except UnusableError as why:
            reason = Wording("what {whose} returned cannot be used: {why}", whose=self._whose, why=str(why))
            raise AuthError(step=self.step, reason=reason) from None
        return token

    def _keep_unasked(self, returned: object, now: float) -> None:
        try:
            self._keep(returned, now)
        except Exception:
            pass  # the next login asks again, and tells


def oauthbearer(say: Say, tokens: Tokens, session: float, now: float) -> Flow[None]:
    """Says the token; a refusal is answered as the RFC wants it, so that the broker says why."""
    kept = tokens.last
    token = yield from tokens.find(session, now)
    fields = [
        "n,,",
        f"auth=Bearer {token.text.reveal()}",
        *(f"{name}={value}" for name, value in token.extensions.items()),
    ]
    try:
        status = yield from say((_SEPARATOR.join(fields) + _SEPARATOR * 2).encode())
        if status:
            yield from say(_SEPARATOR.encode(), answered=False)
            raise AuthError(reason=f"the broker refuses the token: {quoted(status)}")
    except AuthError as error:
        token.refuse()
        if token is kept:  # a fresh one may do: the source is asked before anyone is told
            raise ConnectError(f"the broker no longer accepts the token: {error.reason}") from None
        raise


def unsecured_token(claims: Mapping[str, object], issued_at: float, lifetime: float) -> str:
    """A token without a signature that says `claims`, from `issued_at` (seconds since 1970) on."""
    # A broker's clock counts milliseconds: what begins within this one has not begun for it.
    body = {"iat": math.floor(issued_at * 1000) / 1000, "exp": issued_at + lifetime, **claims}
    parts = (json.dumps(part, separators=(",", ":")).encode() for part in ({"alg": "none"}, body))
    return "".join(urlsafe_b64encode(part).rstrip(b"=").decode() + "." for part in parts)


def _token(returned: object, extensions: Mapping[str, str], now: float) -> Token:
    """What the callable returned, checked. No error shows it."""
    text, lifetime, *more = items_of(returned, "(token, lifetime in seconds) or (token, lifetime, extensions)", 2, 3)
    if not isinstance(text, str) or not text or not all("!" <= letter <= "~" for letter in text):
        raise UnusableError("its token is not a str of visible ASCII characters")
    if isinstance(lifetime, bool) or not isinstance(lifetime, int | float) or not lifetime > 0:
        raise UnusableError("its lifetime is not a number of seconds above 0")
    if any(first <= lifetime < last for first, last in _TIMES):
        raise UnusableError("its lifetime is a time since 1970, not the seconds from now on: subtract time.time()")
    return Token(text, float(lifetime), {**extensions, **_extensions(*more)}, now)


def _extensions(given: object = None) -> dict[str, str]:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise UnusableError("its extensions are not a mapping")
    if not all(is_extension(name, value) for name, value in given.items()):
        raise UnusableError("its extensions are not names (letters only, not 'auth') with printable values")
    return dict(given)
