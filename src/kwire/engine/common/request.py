"""Requests as components submit them to the core: their targets, purposes, and the types of their callbacks.

Layer 3, no I/O. The class itself is compiled, together with the matching of answers.
"""

from __future__ import annotations

from collections.abc import Callable

from kwire._codec import Request
from kwire._typing import Any
from kwire.errors import KafkaError

__all__ = [
    "ANY",
    "CONTROLLER",
    "Message",
    "MessageOrBuilder",
    "OnError",
    "OnResponse",
    "Purpose",
    "Request",
    "patience_ms",
]

ANY = -1001
"""Send to whichever broker can be reached."""

CONTROLLER = -1002
"""Send to the controller, where one is known; else as ANY."""


class Purpose:
    """Which of the connections to a broker a request goes over."""

    DATA = 0
    """Everything that a broker answers as soon as it can."""

    FETCH = 1
    """Fetch, which a broker holds back until there are records."""

    COORDINATOR = 2
    """Requests of a group to its coordinator, which holds back JoinGroup and SyncGroup."""

    TELEMETRY = 3
    """The metrics of the client, whose answers nothing may wait for."""

    METADATA = 4
    """Metadata while a leader is elected, where the answers on connections for data are held back until then."""


ANSWER_TAKES_S = 1.0
"""Seconds before the end of a client's patience at which a broker gives up: so that it can say so."""


def patience_ms(seconds: float) -> int:
    """What a request says that a broker may take, of a client that waits so long: a tenth less for short waits."""
    return max(round((seconds - min(ANSWER_TAKES_S, seconds / 10)) * 1000), 1)


Message = Any
MessageOrBuilder = Message | Callable[[int], Message]
OnResponse = Callable[[Message, int, float], None]
OnError = Callable[[KafkaError, float], None]
