"""The refusals of a cluster's brokers (AuthError), and when waiting requests fail: soon, as a retry will not help.

Layer 3, no I/O. While a broker refuses this client and no other is connected, everything that waits for any broker
fails with that error, and so does what comes until one is tried again. Brokers not tried yet have OTHERS_FOR_S before
that. When a broker that refuses is tried again is up to its links (`link.py`); a user's own call shortens the wait.
"""

from __future__ import annotations

from collections.abc import Callable

from kwire._codec import Timer
from kwire.engine.connections.connections import Connections
from kwire.engine.connections.node import Node
from kwire.errors import AuthError

OTHERS_FOR_S = 2.0
"""Seconds after a refusal that brokers which were not tried yet have to prove better."""

REFUSED_AFTER_S = 0.02
"""Seconds after which what was submitted to brokers that refuse is failed: never within `submit` itself."""


class Refusals:
    """`exist` says whether a broker refuses this client, or did when it was last tried.

    `nodes()` returns all brokers, `fail_waiting(error, now)` fails all that waits for them, and `go_on(now)` connects
    for what still waits after OTHERS_FOR_S.
    """

    def __init__(
        self,
        connections: Connections,
        nodes: Callable[[], list[Node]],
        fail_waiting: Callable[[AuthError, float], None],
        go_on: Callable[[float], None],
    ) -> None:
        self.exist = False
        self._connections = connections
        self._nodes = nodes
        self._fail_waiting = fail_waiting
        self._go_on = go_on
        self._others_had_time = False
        self._others_timer: Timer | None = None
        self._telling: Timer | None = None

    @property
    def others_hang(self) -> bool:
        """Whether brokers that do not refuse have had time enough: nothing waits for them then."""
        return self.exist and self._others_had_time

    @property
    def error(self) -> AuthError | None:
        """Why no broker can be used, while at least one refuses this client; None while another one may do."""
        if not self.exist:
            return None
        nodes = self._nodes()
        if any(node.connection is not None for node in nodes):
            return None
        if not self.others_hang and any(not node.refusal and not node.last_error for node in nodes):
            return None
        return next((node.refusal for node in nodes if node.refusal is not None), None)

    def begin(self, now: float) -> None:
        """A broker refused this client: if no other can be used, what waits fails."""
        if not self.exist:
            self.exist = True
            self._others_had_time = False
            self._others_timer = self._connections.call_at(now + OTHERS_FOR_S, self._others_are_late)
        self.tell_soon(now)

    def tell_soon(self, now: float) -> None:
        """Fails what waits in a moment, if no broker can be used then."""
        if self._telling is None or not self._telling.active:
            self._telling = self._connections.call_at(now + REFUSED_AFTER_S, self._tell)

    def retry(self, now: float) -> None:
        """Brokers that refused this client are asked again soon: a user's call wants to know."""
        for node in self._nodes():
            node.retry_refused(now)

    def look_again(self) -> None:
        """A broker can be used: if none refuses any more, the next refusal begins anew."""
        if not self.exist:
            return
        self.exist = any(node.refusal is not None for node in self._nodes())
        if not self.exist and self._others_timer is not None:
            self._others_timer.cancel()

    def reset(self) -> None:
        """After an interrupted step."""
        self.exist = False

    def _tell(self, now: float) -> None:
        error = self.error
        if error is not None:
            self._fail_waiting(error, now)

    def _others_are_late(self, now: float) -> None:
        self._others_had_time = True
        self._tell(now)
        self._go_on(now)
