"""The login of one connection, renewed before the broker ends it (KIP-368).

Layer 3, no I/O. A session is as long as the broker says, which is `connections.max.reauth.ms` or what is left of a
token. At 85 to 95 % of it the link is RENEWING: new requests wait, what is in flight is answered first, then
SaslHandshake and SaslAuthenticate come on the same connection, and the link goes on. The same happens before the first
request that comes after that time, if nobody drove the client when it was due. A broker that is asked again within a
second of the last login takes SaslHandshake for an ordinary request and refuses it: so where sessions are that short,
requests wait longer.

A login that is refused, or one that takes longer than socket_connection_setup_timeout_ms, ends the connection.
"""

from __future__ import annotations

from functools import partial
from math import inf

from kwire._codec import Timer
from kwire._typing import TYPE_CHECKING
from kwire.engine.connections.connection import Connection
from kwire.engine.connections.flows import run
from kwire.engine.connections.services import ConnectionServices
from kwire.errors import AuthError, ConnectError, KafkaError

if TYPE_CHECKING:
    from typing import Protocol

    from kwire.engine.connections.versions import Versions
else:
    Protocol = object

FIRST_PART = 0.85
SPREAD = 0.1
"""A session is renewed when 85 to 95 % of it have passed, so that those of many connections do not end together."""

MIN_BETWEEN_S = 1.05
"""Seconds after a login before which no other one is begun."""


class Suspendable(Protocol):
    """The link whose connection a session is of."""

    session_ends: float
    connection: Connection | None
    versions: Versions | None

    @property
    def who(self) -> str: ...

    def suspend(self) -> None:
        """Lets new requests wait."""

    def resume(self, now: float) -> None:
        """Sends what has waited."""


class LoginSession:
    """The present session of a link's connection, if there is one."""

    def __init__(self, link: Suspendable, connections: ConnectionServices) -> None:
        self._link = link
        self._connections = connections
        self._lifetime = 0.0
        self._not_before = 0.0
        self._renewing = False
        self._began = 0.0
        self._timer: Timer | None = None

    def begin(self, lifetime: float, now: float) -> None:
        """A login was accepted, for `lifetime` seconds; 0 is for ever."""
        self._stop_timer()
        self._renewing = False
        self._lifetime = lifetime
        self._not_before = now + MIN_BETWEEN_S
        if lifetime > 0:
            part = FIRST_PART + SPREAD * self._connections.rng()
            self._link.session_ends = now + lifetime * part
            self._timer = self._connections.call_at(self._link.session_ends, self.renew)
        else:
            self._link.session_ends = inf

    def end(self) -> None:
        """The connection has ended."""
        self._stop_timer()
        self._renewing = False
        self._link.session_ends = inf

    def renew(self, now: float) -> None:
        """Lets requests wait, and logs in again as soon as that may be done."""
        connection = self._link.connection
        if connection is None or self._renewing:
            return
        self._link.suspend()
        self._stop_timer()
        if now < self._not_before:
            self._timer = self._connections.call_at(self._not_before, self.renew)
            return
        self._renewing = True
        self._began = now
        self._log_in(connection, now)

    def _log_in(self, connection: Connection, now: float) -> None:
        login, versions = self._connections.login, self._link.versions
        assert login is not None
        assert versions is not None
        self._timer = self._connections.call_at(now + self._patience, partial(self._end_if_too_slow, connection))

        def on_error(error: KafkaError, now: float) -> None:
            if isinstance(error, AuthError) and error.step == login.handshake_step:  # nothing was said of who we are
                error = ConnectError(f"{self._link.who}: logging in again: {error}")
            self._connections.lose(connection, error, now)

        run(
            connection,
            login.flow(versions, connection.address, self._lifetime, now),
            partial(self._renewed, connection),
            on_error,
            now,
            self._connections.run_apart,
        )

    def _renewed(self, connection: Connection, lifetime: float, now: float) -> None:
        if connection is self._link.connection:
            self.begin(lifetime, now)
            self._link.resume(now)

    @property
    def _patience(self) -> float:
        return self._connections.settings.socket_connection_setup_timeout_ms / 1000

    def _end_if_too_slow(self, connection: Connection, now: float) -> None:
        """Ends a connection whose login takes too long; what was in flight before it has time of its own."""
        held = bool(connection.in_flight) and not connection.in_flight[0].raw
        due = max(self._began, connection.received_at) + self._patience
        if held or due > now:
            self._timer = self._connections.call_at(
                now + self._patience if held else due, partial(self._end_if_too_slow, connection)
            )
            return
        limit = self._connections.settings.socket_connection_setup_timeout_ms
        error = ConnectError(f"{self._link.who}: logging in again, {connection.step} did not end within {limit} ms")
        self._connections.lose(connection, error, now)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
