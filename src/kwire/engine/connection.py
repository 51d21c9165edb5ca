"""One connection to a broker: frames in, requests out, answers matched in order.

Layer 3, no I/O. A connection is handed to the driver as an opaque handle: the driver opens a socket for it, moves
bytes, and tells the core what happened. Requests are written one after the other without waiting (pipelining); a broker
answers in that order, so the answer to read next is always that of the oldest request. An answer with another
correlation id, or an answer nobody asked for, makes the connection useless: FrameError, closed.

What stands on it: `negotiation.py` runs the connect flow over fresh connections, `node.py` owns the one that is ready.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from kwire import protocol
from kwire._codec import CLOSE, CONNECT, WARN, WRITE, ConnectionBase, PlanTable
from kwire._typing import Any, override
from kwire.engine.addresses import Address
from kwire.errors import KafkaError

__all__ = ["CLOSE", "CLOSED", "CONNECT", "CONNECTING", "OPEN", "WARN", "WRITE", "Connection", "Events"]

CONNECTING = "connecting"
OPEN = "open"
CLOSED = "closed"


_PLANS = PlanTable(protocol.request_plans)

Events = deque[tuple[str, Any]]
"""(CONNECT | WRITE | CLOSE, Connection) or (WARN, text)."""


class Connection(ConnectionBase):
    """A byte stream to one address, and the requests under way on it.

    `on_made` and `on_lost` are set by whoever owns it at the time. `on_lost` takes the requests that were under way.
    """

    __slots__ = ("address", "client_id", "number", "on_lost", "on_made", "state")

    def __init__(self, number: int, address: Address, client_id: str, max_frame: int, events: Events) -> None:
        super().__init__(address, max_frame, protocol.RequestHeader(client_id=client_id), _PLANS, events)
        self.number = number
        self.address = address
        self.client_id = client_id
        self.state = CONNECTING
        self.on_made: Callable[[Connection, float], None] = _nobody
        self.on_lost: Callable[[Connection, KafkaError, float], None] = _nobody_loses

    @override
    def __repr__(self) -> str:
        return f"<connection {self.number} to {self.address}, {self.state}, {len(self.in_flight)} in flight>"

    def become(self, state: str) -> None:
        """OPEN or CLOSED from now on."""
        self.state = state
        self.open = state is OPEN


def _nobody(connection: Connection, now: float) -> None:
    """Stands where no owner listens yet."""


def _nobody_loses(connection: Connection, error: KafkaError, now: float) -> None:
    """Stands where no owner listens any more."""
