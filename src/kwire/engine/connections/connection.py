"""One connection to a broker: frames in, requests out, answers matched in order.

Layer 3, no I/O. A connection is handed to the driver as an opaque handle: the driver opens a socket for it, moves
bytes, and tells the core what happened. Requests are written one after the other without waiting (pipelining); a broker
answers in that order, so the answer to read next is always that of the oldest request. An answer with another
correlation id, or an answer to nothing, makes the connection useless: it is closed, and its requests fail with
ConnectError (caused by a FrameError), so that they are sent again.

States, and what may follow each, printed from MOVES:

    state       what it is                            may be followed by
    CONNECTING  the driver opens a socket             OPEN, CLOSED
    OPEN        bytes go both ways                    CLOSED
    CLOSED      nothing is sent or received any more

`negotiation.py` runs the connect flow over fresh connections, `link.py` owns the one that is ready.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from kwire import protocol
from kwire._codec import CLOSE, CONNECT, WARN, WRITE, ConnectionBase, PlanTable, Traffic
from kwire._typing import Any, override
from kwire.engine.common.addresses import Address
from kwire.engine.common.lifecycle import Lifecycle, Moves, State
from kwire.errors import KafkaError

__all__ = ["CLOSE", "CLOSED", "CONNECT", "CONNECTING", "OPEN", "WARN", "WRITE", "Connection", "Events"]

CONNECTING = "connecting"
OPEN = "open"
CLOSED = "closed"

MOVES: Moves = {
    CONNECTING: State("the driver opens a socket", {OPEN: "it is connected", CLOSED: "it could not be"}),
    OPEN: State("bytes go both ways", {CLOSED: "the connection ended, or this client ended it"}),
    CLOSED: State("nothing is sent or received any more", {}),
}

_PLANS = PlanTable(protocol.request_plans)

Events = deque[tuple[str, Any]]
"""(CONNECT | WRITE | CLOSE, Connection) or (WARN, text)."""


class Connection(ConnectionBase, Lifecycle):
    """A byte stream to one address, and the requests in flight on it.

    Its owner sets `on_made` and `on_lost`. `step` says in words what the attempt to connect is at; `ended`, that the
    other end or the network ended it, not this client.
    """

    MOVES = MOVES
    __slots__ = ("address", "client_id", "ended", "number", "on_lost", "on_made", "state", "step")

    def __init__(
        self,
        number: int,
        address: Address,
        client_id: str,
        max_frame: int,
        events: Events,
        traffic: Traffic | None = None,
    ) -> None:
        super().__init__(address, max_frame, protocol.RequestHeader(client_id=client_id), _PLANS, events, traffic)
        self.number = number
        self.address = address
        self.client_id = client_id
        self.state = CONNECTING
        self.step = ""
        self.ended = False
        self.on_made: Callable[[Connection, float], None] = _ignore_made
        self.on_lost: Callable[[Connection, KafkaError, float], None] = _ignore_loss

    @override
    def __repr__(self) -> str:
        return f"<connection {self.number} to {self.address}, {self.state}, {len(self.in_flight)} in flight>"

    def become(self, state: str) -> None:
        """Changes the state to OPEN or CLOSED."""
        self.move(state)
        self.open = state is OPEN


def _ignore_made(connection: Connection, now: float) -> None:
    """No-op `on_made` of a connection without an owner."""


def _ignore_loss(connection: Connection, error: KafkaError, now: float) -> None:
    """No-op `on_lost` of a connection without an owner."""
