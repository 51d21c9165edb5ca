"""One caller at a time, for clients that are not for several threads or tasks.

Layer 5, below the clients.
"""

from __future__ import annotations

from collections.abc import Callable

from kwire._typing import TYPE_CHECKING, TypeVar
from kwire.errors import ConcurrentUseError
from kwire.fronts.front import Front, SettingsType

if TYPE_CHECKING:
    from typing import ClassVar
else:
    from kwire._typing import ClassVar

T = TypeVar("T")


class Alone(Front[SettingsType]):
    """The base of such a client; `_used` is set while a call is in progress."""

    callers: ClassVar[str]
    """The word for one of its callers in errors: "thread" or "task"."""

    _used: bool

    def _alone(self, work: Callable[[], T], beside: Callable[[], T] | None = None) -> T:
        """Does the work unless another call is in progress: the second one is told instead of made to wait, or does
        what it may do `beside`.

        Neither another thread nor a signal comes between check and assignment, because no call stands there.
        """
        if self._used:
            return self._beside(work) if beside is None else beside()
        try:
            self._used = True
            self._check_open()
            return work()
        finally:
            self._used = False

    def _beside(self, work: Callable[[], T]) -> T:
        """Refuses the work, because another call is in progress."""
        raise ConcurrentUseError(
            f"this consumer is in use by another {self.callers}, or by the call that this one "
            "interrupts; only wakeup() and close() may be called meanwhile"
        )

    def _call_inside(self, work: Callable[[float], T]) -> T:
        self._check_open()
        return self._step(work)
