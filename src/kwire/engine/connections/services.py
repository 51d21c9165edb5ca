"""What links, negotiations and sessions may ask of the connections of their client, so that a stub can stand for them.

Layer 3. `Connections` fulfils it.
"""

from __future__ import annotations

from collections.abc import Callable

from kwire._codec import Timer
from kwire._typing import TYPE_CHECKING
from kwire.engine.common.addresses import Address
from kwire.engine.common.retry import Backoff, RandomFraction
from kwire.errors import KafkaError

if TYPE_CHECKING:
    from typing import Protocol

    from kwire.engine.connections.authentication import Login
    from kwire.engine.connections.connection import Connection
    from kwire.engine.connections.flows import RunApart
    from kwire.engine.settings.clients import ClientSettings
else:
    Protocol = object

OnMade = Callable[["Connection", float], None]
OnLost = Callable[["Connection", KafkaError, float], None]


class ConnectionServices(Protocol):
    """Connections of their own, and timers."""

    @property
    def settings(self) -> ClientSettings: ...

    @property
    def reconnect_backoff(self) -> Backoff: ...

    @property
    def refusal_backoff(self) -> Backoff: ...

    @property
    def rng(self) -> RandomFraction: ...

    @property
    def run_apart(self) -> RunApart: ...

    @property
    def login(self) -> Login | None:
        """How the client logs in; None for one that does not."""

    def call_at(self, when: float, callback: Callable[[float], object]) -> Timer: ...

    def open(self, address: Address, now: float, on_made: OnMade, on_lost: OnLost) -> Connection:
        """A fresh connection, which the driver is asked to connect."""

    def close(self, connection: Connection, now: float) -> None:
        """Closes it without telling its owner."""

    def lose(self, connection: Connection, error: KafkaError, now: float) -> None:
        """Closes it: requests in flight fail with `error`, then its owner is notified."""

    def warn(self, text: str) -> None:
        """Hands a text for the log to the driver."""
