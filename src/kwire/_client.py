"""The base of the synchronous clients: opening and closing.

Layer 5, below the clients: knows settings, a core and its reactor. Calls and records are the clients' own.
"""

from __future__ import annotations

from types import TracebackType

from kwire._door import ThreadDoor
from kwire._typing import TYPE_CHECKING, Self, override
from kwire.drivers.reactor import Reactor
from kwire.fronts.front import Front, SettingsType

if TYPE_CHECKING:
    from typing import ClassVar
else:
    from kwire._typing import ClassVar


class Client(Front[SettingsType]):
    """The base of Producer, Consumer and Admin."""

    _reads_by_itself: ClassVar[bool] = False
    """Whether its callers read what they wait for, so that its background thread is there for timers only."""

    _reactor: Reactor
    _door: ThreadDoor

    @override
    def _open(self, settings: SettingsType, *, background: bool = False) -> None:
        super()._open(settings)
        self._reactor = Reactor(self._core, background=background, seldom=self._reads_by_itself, name=self._kind)
        self._door = ThreadDoor(self._reactor, self._kind, one_caller=self._one_caller)
        self._put_together()

    def close(self) -> None:
        """Closes all connections. Calls that wait meanwhile raise ClientClosedError. Idempotent."""
        self._door.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
