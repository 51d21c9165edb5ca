"""What all mechanisms share: how they say a token, and how they quote what the other side said.

Layer 3, no I/O.
"""

from __future__ import annotations

from kwire._typing import TYPE_CHECKING
from kwire.engine.flows import Flow

if TYPE_CHECKING:
    from typing import Protocol
else:
    Protocol = object

MAX_QUOTED = 300
"""So many characters of what the other side said go into an error."""


class Say(Protocol):
    """Sends a token; the flow returns the broker's answer.

    `answered=False`: after this token the mechanism is at its end, so that where tokens travel bare none answers it.
    """

    def __call__(self, token: bytes, *, answered: bool = True) -> Flow[bytes]: ...


def quoted(said: bytes | str | None) -> str:
    """What the other side said, as it may stand in an error: printable, and not longer than MAX_QUOTED."""
    text = said.decode("utf-8", "replace") if isinstance(said, bytes) else said or ""
    shown = "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text[:MAX_QUOTED])
    return shown + "..." if len(text) > MAX_QUOTED else shown
