"""max_poll_interval_ms: a member that does not poll for that long leaves its group.

Layer 3, no I/O. A poll costs two assignments here: one timer goes round, and looks when the last poll ended.
"""

from __future__ import annotations

from collections.abc import Callable

from kwire._codec import Timer
from kwire._typing import TYPE_CHECKING, override
from kwire.engine.common.recovery import Recoverable

if TYPE_CHECKING:
    from kwire.engine.ports import Services


class PollLimit(Recoverable):
    """Calls `on_overdue(now)`, once, when the last poll ended `seconds` ago; a poll begins the count anew."""

    def __init__(self, core: Services, seconds: float, on_overdue: Callable[[float], None]) -> None:
        self._core = core
        self._seconds = seconds
        self._on_overdue = on_overdue
        self._is_polling = False
        self._ended_at = 0.0
        self._timer: Timer | None = None

    def poll(self, now: float) -> None:
        """A poll begins, or still waits."""
        self._is_polling = True
        self._ended_at = now
        if self._timer is None:
            self._timer = self._core.call_at(now + self._seconds, self._look)

    def end(self, now: float) -> None:
        """The poll has ended."""
        self._is_polling = False
        self._ended_at = now

    def is_over(self, now: float) -> bool:
        """Whether it has been too long since the last poll ended."""
        return self._due(now) <= now

    def _due(self, now: float) -> float:
        return (now if self._is_polling else self._ended_at) + self._seconds

    def stop(self) -> None:
        """Looks no more, until the next poll."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    @override
    def recover(self, now: float) -> None:
        """Looks once more, by one timer."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = self._core.call_at(now, self._look)

    def _look(self, now: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        due = self._due(now)
        if due > now:
            self._timer = self._core.call_at(due, self._look)
        else:
            self._timer = None
            self._on_overdue(now)
