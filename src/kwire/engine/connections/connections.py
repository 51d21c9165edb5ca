"""The connections of one client: opened, closed and lost here, and nowhere else; the driver gets events.

Layer 3, no I/O. See `core.py` for the events and for what the driver calls.
"""

from __future__ import annotations

from collections.abc import Callable

from kwire._codec import Timer, Timers, Traffic
from kwire._typing import TYPE_CHECKING
from kwire.engine.common.addresses import Address
from kwire.engine.common.retry import Backoff, RandomFraction
from kwire.engine.connections.connection import CLOSE, CLOSED, CONNECT, OPEN, WARN, Connection, Events
from kwire.engine.connections.flows import RunApart
from kwire.engine.connections.services import OnLost, OnMade
from kwire.engine.settings.clients import ClientSettings
from kwire.errors import AuthError, ConnectError, KafkaError
from kwire.errors.wording import Wording

if TYPE_CHECKING:
    from kwire.engine.connections.authentication import Login


MIN_REFUSED_MS = 1_000
"""The first wait after a refusal is at least so long, and doubles: what was refused will be refused again."""

MAX_REFUSED_MS = 30_000
"""The longest wait after refusals in a row."""


class Connections:
    """Fulfils `ConnectionServices`."""

    def __init__(
        self,
        settings: ClientSettings,
        timers: Timers,
        events: Events,
        rng: RandomFraction,
        run_apart: RunApart,
        login: Login | None,
        traffic: Traffic,
    ) -> None:
        self.settings = settings
        self.run_apart = run_apart
        self.rng = rng
        self.login = login
        self.reconnect_backoff = Backoff(settings.reconnect_backoff_ms, settings.reconnect_backoff_max_ms, rng)
        first = max(settings.reconnect_backoff_max_ms, MIN_REFUSED_MS)
        self.refusal_backoff = Backoff(first, max(first, MAX_REFUSED_MS), rng)
        self._timers = timers
        self._events = events
        self._traffic = traffic
        self._open: set[Connection] = set()
        self._count = 0

    def call_at(self, when: float, callback: Callable[[float], object]) -> Timer:
        """Runs `callback(now)` when `when` has come."""
        return self._timers.call_at(when, callback)

    def warn(self, text: str) -> None:
        """Hands a text for the log to the driver."""
        self._events.append((WARN, text))

    def open(self, address: Address, now: float, on_made: OnMade, on_lost: OnLost) -> Connection:
        """A fresh connection, which the driver is asked to connect."""
        self._count += 1
        settings = self.settings
        connection = Connection(
            self._count, address, settings.client_id, settings.receive_message_max_bytes, self._events, self._traffic
        )
        connection.on_made = on_made
        connection.on_lost = on_lost
        self._open.add(connection)
        self._events.append((CONNECT, connection))
        return connection

    def made(self, connection: Connection, now: float) -> None:
        """The driver connected the socket."""
        if connection.state != CLOSED:
            connection.become(OPEN)
            self._traffic.connections_made += 1
            connection.on_made(connection, now)

    def ended(self, connection: Connection, error: str | BaseException, now: float) -> None:
        """The driver could not connect the socket, or it ended."""
        if connection.state != CLOSED:
            connection.ended = True
            self._end(connection, _loss(connection, error), now)

    def close(self, connection: Connection, now: float) -> None:
        """Closes it without telling its owner."""
        connection.on_lost = _not_told
        self.lose(connection, ConnectError("closed"), now)

    def lose(self, connection: Connection, error: KafkaError, now: float) -> None:
        """Tells the driver to close it; requests in flight on it fail with `error`, then its owner is notified."""
        if connection.state != CLOSED:
            self._events.append((CLOSE, connection))
            self._end(connection, error, now)

    def lose_all(self, error: KafkaError, now: float) -> None:
        """Loses every connection."""
        for connection in list(self._open):
            self.lose(connection, error, now)

    def forget(self) -> None:
        """After an interrupted step: the driver closes all sockets itself, and no owner is notified."""
        self._events.clear()
        for connection in list(self._open):
            if connection.state != CLOSED:
                connection.become(CLOSED)
            connection.drop_requests()
        self._open.clear()

    def _end(self, connection: Connection, error: KafkaError, now: float) -> None:
        self._traffic.connections_lost += connection.open
        connection.become(CLOSED)
        self._open.discard(connection)
        if connection.receiver.looks_like_tls:
            error = speaks_tls(connection.address, connection.step)
        connection.on_lost(connection, error, now)
        for request in connection.drop_requests():
            request.fail(error, now)


def _loss(connection: Connection, error: str | BaseException) -> KafkaError:
    """The error of what the driver reports: an AuthError keeps its words."""
    if isinstance(error, AuthError):
        error.broker = error.broker or str(connection.address)
        return error
    return ConnectError("connection lost", {str(connection.address): str(error) or type(error).__name__})


def speaks_tls(address: Address, step: str) -> AuthError:
    """A record of TLS came where a frame was due: recognized here, which costs the frames nothing."""
    return AuthError(
        Wording("the broker speaks TLS on this port: is {security_protocol}=SSL (or SASL_SSL) meant?"),
        broker=str(address),
        step=step,
        reason="TLS",
    )


def _not_told(connection: Connection, error: KafkaError, now: float) -> None:
    """No-op `on_lost` of a connection that was closed on purpose."""
