"""The login of one connection: which requests it may send now, as which user, and until when.

Kafka's order, for a re-authentication, too:

    ApiVersions, once   optional
    SaslHandshake       names the mechanism; after version 0 come bare tokens, after version 1 SaslAuthenticate requests
    tokens              until the mechanism is complete
    any request         until the session ends, if it does: from then on only SaslHandshake, to log in again

Without accounts a connection starts with the last step.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from enum import Enum

from kwire.errors import broker as codes
from kwire.schema.api_keys import API_VERSIONS, SASL_AUTHENTICATE, SASL_HANDSHAKE
from kwire.testing.release import Release
from kwire.testing.requests import CloseConnectionError
from kwire.testing.sasl import Accounts
from kwire.testing.sasl.exchange import Exchange, RefusedError

_REAUTHENTICATION_INTERVAL = 1.0


class Step(Enum):
    """The frames that the broker expects next."""

    VERSIONS_OR_HANDSHAKE = "ApiVersions or SaslHandshake"
    HANDSHAKE = "SaslHandshake"
    AUTHENTICATE = "SaslAuthenticate"
    TOKENS = "a bare token"
    REQUESTS = "requests"


class Session:
    """One connection's login. `now` is a monotonic clock in seconds, `host` the address of the client,
    `listener` the number of the listener that it came by. `on_close` is called when the connection closes.

    `refusal` is set when the login failed: the connection closes after the answer that says so.
    """

    def __init__(
        self,
        accounts: Accounts | None,
        release: Release,
        now: Callable[[], float],
        host: str = "127.0.0.1",
        listener: int = 0,
    ) -> None:
        self._accounts = accounts
        self._release = release
        self._now = now
        self.host = host
        self.listener = listener
        self.on_close: list[Callable[[], None]] = []
        self._exchange: Exchange | None = None
        self._began_again = -math.inf
        self._wrong_mechanism = ""
        self.step = Step.REQUESTS if accounts is None else Step.VERSIONS_OR_HANDSHAKE
        self.mechanism = ""
        self.principal: str | None = None
        self.by_token = False
        self.ends = math.inf
        self.refusal: str | None = None

    @property
    def reauthenticating(self) -> bool:
        """Whether this login follows another one."""
        return self.principal is not None

    def admit(self, key: int) -> int:
        """The error code that a request of `key` has to be refused with, 0 if it may be served.

        Raises CloseConnectionError where Kafka says nothing.
        """
        if self.step is Step.REQUESTS:
            self._admit_logged_in(key)
        elif self.step is Step.AUTHENTICATE:
            if key != SASL_AUTHENTICATE:
                self.refusal = f"API key {key} during a login: SaslAuthenticate is expected"
                return codes.ILLEGAL_SASL_STATE.code
        elif key == API_VERSIONS and self.step is Step.VERSIONS_OR_HANDSHAKE:
            pass
        elif key != SASL_HANDSHAKE:
            raise CloseConnectionError(f"API key {key} before the login: {self.step.value} is expected")
        return 0

    def versions_told(self) -> None:
        """ApiVersions was answered with what it asked for."""
        if self.step is Step.VERSIONS_OR_HANDSHAKE and self._release.tells_versions_once:
            self.step = Step.HANDSHAKE

    def choose(self, mechanism: str, *, bare_tokens: bool) -> list[str]:
        """Begins a login; returns the mechanisms that there are. Raises BrokerError for one that there is not.

        In a re-authentication that closes the connection without a word, as a change of the mechanism does later.
        """
        if self._accounts is None or self.step is Step.REQUESTS:
            raise codes.ILLEGAL_SASL_STATE("no login is expected now")
        if mechanism not in self._accounts.mechanisms:
            self.refusal = f"SASL mechanism {mechanism!r} is not offered"
            if self.reauthenticating:
                raise CloseConnectionError(self.refusal)
            raise codes.UNSUPPORTED_SASL_MECHANISM(self.refusal)
        self.step = Step.TOKENS if bare_tokens else Step.AUTHENTICATE
        if self.reauthenticating and mechanism != self.mechanism:
            self._wrong_mechanism = f"SASL mechanism {mechanism!r} after a login by {self.mechanism!r}"
        self.mechanism = mechanism
        self._exchange = self._accounts.begin(mechanism)
        return self.mechanisms

    @property
    def mechanisms(self) -> list[str]:
        """Those that the broker offers; none after the login."""
        return [] if self._accounts is None or self.step is Step.REQUESTS else list(self._accounts.mechanisms)

    def fail(self, reason: str) -> None:
        """A login that is under way fails; another request than those of a login is not concerned."""
        if self.step is not Step.REQUESTS and self.refusal is None:
            self.refusal = reason

    def evaluate(self, token: bytes) -> tuple[bytes, int]:
        """(the answer to a token, the session's lifetime in ms).

        Raises RefusedError, MalformedError, and CloseConnectionError where the login has another mechanism now.
        """
        assert self._exchange is not None
        if self._wrong_mechanism:
            raise CloseConnectionError(self._wrong_mechanism)
        answer = self._exchange.evaluate(token)
        principal = self._exchange.principal
        if principal is None:
            return answer, 0
        if self.principal not in (None, principal):
            raise RefusedError(f"a re-authentication as {principal!r} instead of {self.principal!r}")
        self.principal = principal
        self.by_token = self._exchange.by_token
        lifetime_ms = self._begin_session(self._exchange.expires)
        self.step = Step.REQUESTS
        return answer, lifetime_ms

    def _admit_logged_in(self, key: int) -> None:
        if self.ends == math.inf:
            return
        if key == SASL_HANDSHAKE and self._now() - self._began_again >= _REAUTHENTICATION_INTERVAL:
            self._began_again = self._now()
            self.step = Step.HANDSHAKE
        elif self._now() >= self.ends:
            raise CloseConnectionError(f"the session of {self.principal!r} has ended")

    def _begin_session(self, credentials_expire: float | None) -> int:
        """Notes when the session ends; returns its lifetime in ms, 0 for one without end."""
        assert self._accounts is not None
        if self.step is Step.TOKENS and not self._release.ends_bare_logins:
            return 0
        limits = [float(self._accounts.max_reauth_ms)] if self._accounts.max_reauth_ms > 0 else []
        if credentials_expire is not None and (limits or self._release.tokens_end_sessions):
            limits.append((credentials_expire - self._accounts.clock()) * 1000)
        if not limits:
            return 0
        lifetime_ms = max(int(min(limits)), 0)
        self.ends = self._now() + lifetime_ms / 1000
        return lifetime_ms
