"""The share session with one broker: what it knows is to be fetched there, and the number of the next request.

Layer 3, no I/O. Requests of a session are numbered, so there is one in flight at most.

    epoch  0 opens a session, and ends an older one of this member; then 1, 2, ... 2^31-1, 1; -1 ends it
    lost   after SHARE_SESSION_NOT_FOUND, INVALID_SHARE_SESSION_EPOCH or a lost connection the next request opens
           another one; that request cannot acknowledge anything
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from kwire._typing import TYPE_CHECKING
from kwire.engine.common.pace import Pace
from kwire.engine.share.acknowledging import Acknowledgement

if TYPE_CHECKING:
    from uuid import UUID

    Key = tuple[UUID, int]
    """A partition as the wire names it."""

NEW_SESSION = 0
LAST_REQUEST = -1
_MAX_EPOCH = 2**31 - 1


class ShareSession:
    """`waiting` are acknowledgements to be told, `telling` those of the request in flight, `partitions` what the broker
    has been told to fetch."""

    __slots__ = (
        "asked_at",
        "epoch",
        "failures",
        "in_flight",
        "node",
        "pace",
        "partitions",
        "retry_at",
        "telling",
        "waiting",
    )

    def __init__(self, node: int) -> None:
        self.node = node
        self.epoch = NEW_SESSION
        self.partitions: dict[Key, None] = {}
        self.waiting: deque[Acknowledgement] = deque()
        self.telling: list[Acknowledgement] = []
        self.in_flight = False
        self.retry_at = 0.0
        self.failures = 0
        self.asked_at = 0.0
        self.pace = Pace()

    @property
    def is_new(self) -> bool:
        """Whether the next request opens it."""
        return self.epoch == NEW_SESSION

    def count(self) -> None:
        """A request was answered."""
        self.epoch = 1 if self.epoch >= _MAX_EPOCH else self.epoch + 1

    def lose(self) -> None:
        """The broker does not have it any more."""
        self.epoch = NEW_SESSION
        self.partitions = {}

    def changes(self, wanted: Iterable[Key]) -> tuple[list[Key], list[Key]]:
        """The partitions to add and to forget, which the broker is being told."""
        kept = dict.fromkeys(wanted)
        added = [key for key in kept if key not in self.partitions]
        forgotten = [key for key in self.partitions if key not in kept]
        self.partitions = kept
        return added, forgotten
