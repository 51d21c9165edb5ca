"""The base of the synchronous clients: opening and closing.

Layer 5, below the clients: knows settings, a core and its reactor. Calls and records are the clients' own.
"""

from __future__ import annotations

from types import TracebackType

from kwire._door import ThreadDoor
from kwire._typing import TYPE_CHECKING, Self, override
from kwire.drivers.reactor import Reactor
from kwire.engine.common import other_blocks
from kwire.fronts.front import LAST_PUSH_S, Front, SettingsType

if TYPE_CHECKING:
    from typing import ClassVar
    from uuid import UUID

    from kwire.engine.settings.options import Timeout
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
        self._reactor = Reactor(
            self._core,
            background=background or settings.enable_metrics_push,
            seldom=self._reads_by_itself,
            name=self._kind,
        )
        self._door = ThreadDoor(self._reactor, self._kind, one_caller=self._one_caller)
        self._put_together()
        self._start_telemetry()

    def client_instance_id(self, timeout: Timeout = None) -> UUID:
        """The id under which brokers know the metrics that this client pushes (KIP-714), as one of them has given it.

        Raises ConfigError without `enable_metrics_push`, UnsupportedVersionError where brokers take no metrics, and
        KafkaTimeoutError where none has answered within `timeout` seconds.
        """
        return self._door.run(self._instance_id(timeout), alone=False)

    def close(self) -> None:
        """Closes all connections. Calls that wait meanwhile raise ClientClosedError. Idempotent."""
        until = self._door.now() + LAST_PUSH_S
        self._door.close(self._with_last_push(None, until), until)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    if not TYPE_CHECKING:
        __aenter__ = other_blocks.WITH
