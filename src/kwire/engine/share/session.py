"""The share session with one broker: the partitions that it fetches, and the epoch of the next request.

Layer 3, no I/O. Requests of a session are numbered, so there is one in flight at most.

States, and what may follow each, printed from MOVES:

    state    what it is                      may be followed by
    NEW      the broker knows of none        OPENING
    OPENING  the first request is in flight  OPEN, NEW
    OPEN     the broker waits for a request  ASKING, NEW
    ASKING   a request is in flight          OPEN, NEW

    epoch  0 opens a session, and ends an older one of this member; then 1, 2, ... 2^31-1, 1; -1 ends it
    lost   after SHARE_SESSION_NOT_FOUND, INVALID_SHARE_SESSION_EPOCH or a lost connection the next request opens
           another one; that request cannot acknowledge anything
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from kwire._typing import TYPE_CHECKING
from kwire.engine.common.lifecycle import Lifecycle, Moves, State
from kwire.engine.common.pace import Pace
from kwire.engine.share.acknowledging import Acknowledgement

if TYPE_CHECKING:
    from uuid import UUID

    Key = tuple[UUID, int]
    """A partition as the wire names it."""

NEW = "new"
OPENING = "opening"
OPEN = "open"
ASKING = "asking"

_LOST = "the broker does not have it any more, or its connection was lost"

MOVES: Moves = {
    NEW: State("the broker knows of none", {OPENING: "a request"}),
    OPENING: State(
        "the first request is in flight",
        {OPEN: "answered", NEW: f"{_LOST}, or the broker has no version that can say it"},
    ),
    OPEN: State("the broker waits for a request", {ASKING: "a request", NEW: "a step was interrupted"}),
    ASKING: State(
        "a request is in flight", {OPEN: "answered, or the broker has no version that can say it", NEW: _LOST}
    ),
}

NEW_SESSION = 0
LAST_REQUEST = -1
_MAX_EPOCH = 2**31 - 1


class ShareSessionHandler(Lifecycle):
    """`waiting` are acknowledgements to be sent, `sending` those of the request in flight, `partitions` what the broker
    was asked to fetch, `losses` how often the session was lost."""

    __slots__ = (
        "asked_at",
        "epoch",
        "failures",
        "losses",
        "node",
        "pace",
        "partitions",
        "retry_at",
        "sending",
        "state",
        "waiting",
    )

    MOVES = MOVES

    def __init__(self, node: int) -> None:
        self.node = node
        self.epoch = NEW_SESSION
        self.partitions: dict[Key, None] = {}
        self.waiting: deque[Acknowledgement] = deque()
        self.sending: list[Acknowledgement] = []
        self.state = NEW
        self.retry_at = 0.0
        self.failures = 0
        self.losses = 0
        self.asked_at = 0.0
        self.pace = Pace()

    @property
    def is_new(self) -> bool:
        """Whether no request was answered yet."""
        return self.epoch == NEW_SESSION

    @property
    def in_flight(self) -> bool:
        """Whether a request is."""
        return self.state in (OPENING, ASKING)

    def begin(self) -> list[Acknowledgement]:
        """A request is made; returns what it is to tell."""
        self.sending, self.waiting = list(self.waiting), deque()
        self.move(OPENING if self.state == NEW else ASKING)
        return self.sending

    def answered(self) -> None:
        """The broker has processed the request, whatever the response."""
        self.sending = []
        self.epoch = 1 if self.epoch >= _MAX_EPOCH else self.epoch + 1
        self.move(OPEN)

    def unsaid(self) -> None:
        """The request was not written."""
        self.sending = []
        self.move(NEW if self.state == OPENING else OPEN)

    def lose(self) -> None:
        """The broker does not have it any more."""
        self.sending = []
        self.epoch = NEW_SESSION
        self.partitions = {}
        self.losses += 1
        if self.state != NEW:
            self.move(NEW)

    def changes(self, wanted: Iterable[Key]) -> tuple[list[Key], list[Key]]:
        """The partitions to add and to forget, for the next request."""
        kept = dict.fromkeys(wanted)
        added = [key for key in kept if key not in self.partitions]
        forgotten = [key for key in self.partitions if key not in kept]
        self.partitions = kept
        return added, forgotten
