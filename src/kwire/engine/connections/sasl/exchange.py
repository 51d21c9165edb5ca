"""What all mechanisms share: how they send a token, and (`quoted`) how they quote what the other side said.

Layer 3, no I/O.
"""

from __future__ import annotations

from kwire._typing import TYPE_CHECKING
from kwire.engine.connections.flows import Flow
from kwire.errors.quoting import MAX_QUOTED, quoted

if TYPE_CHECKING:
    from typing import Protocol
else:
    Protocol = object

__all__ = ["MAX_QUOTED", "Say", "quoted"]


class Say(Protocol):
    """Sends a token; the flow returns the broker's answer.

    `answered=False`: after this token the mechanism is at its end, so that where tokens travel bare none answers it.
    """

    def __call__(self, token: bytes, *, answered: bool = True) -> Flow[bytes]: ...
