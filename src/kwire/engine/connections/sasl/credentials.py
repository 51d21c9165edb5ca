"""The user and password of PLAIN and SCRAM: those of the settings, or what a callable returns at each login.

A callable may block, and is run apart; it returns (user, password). What it returned is not kept for later logins, but
logins at the same time share one call. So a password may change while clients live. Around that moment the callable may
still return the old one, or a broker not know the new one yet: a client that has been logged in takes a refusal for a
ConnectError, and asks again, for PATIENCE_S. One at its first login, or after that time, is told.

Layer 3, no I/O, no clock.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from kwire._typing import Any
from kwire.engine.common.secret import Secret
from kwire.engine.connections.flows import Flow, SharedCalls
from kwire.engine.connections.sasl.scram import SaltedPasswords
from kwire.engine.connections.sasl.sources import Source, UnusableError, asked, items_of
from kwire.engine.settings.kinds import verbatim_text
from kwire.errors import AuthError, ConnectError
from kwire.errors.wording import SettingName, Wording

PATIENCE_S = 120.0
"""Seconds after the first refusal: a secret that is mounted into a container may take a minute to change there."""

_SETTING = SettingName("sasl_credentials")
_STEP = Wording("the user and password of {setting}", setting=_SETTING)
_ASKED_AGAIN = "the broker refuses what {setting} returned, which is asked again: {why}"


class Credentials:
    """A user and password, and what SCRAM has computed of them."""

    __slots__ = ("password", "salted", "user")

    def __init__(self, user: str, password: str) -> None:
        self.user = user
        self.password = Secret(password)
        self.salted = SaltedPasswords()


class OwnCredentials:
    """Those that the client logs in with."""

    def __init__(self, user: str, password: str, source: Source | None) -> None:
        self._source = source
        self._last = self._former = Credentials(user, password)
        self._patient_until = -math.inf
        self._calls = SharedCalls(_drop)

    @property
    def secrets(self) -> tuple[str, ...]:
        """What must not appear in an error."""
        return self._last.password, self._former.password

    def log_in(self, say_them: Callable[[Credentials], Flow[None]]) -> Flow[None]:
        """Says those that are in force now."""
        if self._source is None:
            return (yield from say_them(self._last))
        credentials, now = yield from asked(self._source, _STEP, self._calls, self._keep)
        try:
            yield from say_them(credentials)
        except AuthError as error:
            if now > self._patient_until:
                raise
            self._patient_until = min(self._patient_until, now + PATIENCE_S)
            raise ConnectError(Wording(_ASKED_AGAIN, setting=_SETTING, why=error.reason)) from None
        self._patient_until = math.inf
        return None

    def _keep(self, returned: object, now: float) -> tuple[Credentials, float]:
        try:
            user, password = _checked(returned)
        except UnusableError as why:
            reason = Wording("what the callable returned cannot be used: {why}", why=str(why))
            raise AuthError(step=_STEP, reason=reason) from None
        if (user, password) != (self._last.user, self._last.password):
            self._former, self._last = self._last, Credentials(user, password)
        return self._last, now


def _checked(returned: object) -> tuple[str, str]:
    """What the callable returned. No error shows it."""
    user, password = items_of(returned, "(user, password)", 2)
    try:
        user, password = verbatim_text(user), verbatim_text(password)
    except (TypeError, ValueError):
        raise UnusableError("they are not two strings that can be encoded as UTF-8") from None
    if not user or not password:
        raise UnusableError("one of them is empty")
    return user, password


def _drop(returned: Any, now: float) -> None:
    """No login waits for them any more."""
