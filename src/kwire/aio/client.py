"""The base of the clients for asyncio: opening and closing.

Layer 5: knows settings, a core and its loop driver. Calls and records are the clients' own.

What only runs a wait is written by `make docs`, from the methods of `_client.py`.
"""

from __future__ import annotations

from types import TracebackType

from kwire._typing import TYPE_CHECKING, Self, override
from kwire.aio.door import LoopDoor
from kwire.drivers.loop import LoopDriver
from kwire.engine.common import other_blocks
from kwire.fronts.front import LAST_PUSH_S, Front, SettingsType
from kwire.schema import k00_produce, k01_fetch, k03_metadata, k22_init_producer_id

if TYPE_CHECKING:
    from uuid import UUID

    from kwire.engine.settings.options import Timeout

PRELOADED = (k00_produce, k01_fetch, k03_metadata, k22_init_producer_id)
"""What the first requests need: imported here, because later the event loop would stand still for milliseconds."""


class Client(Front[SettingsType]):
    """The base of Producer, Consumer and Admin on an event loop: that of its first use."""

    _driver: LoopDriver
    _door: LoopDoor

    @override
    def _open(self, settings: SettingsType) -> None:
        super()._open(settings)
        self._driver = LoopDriver(self._core, name=self._kind)
        self._door = LoopDoor(self._driver, self._kind, one_caller=self._one_caller)
        self._put_together()
        self._start_telemetry()

    async def close(self) -> None:
        """Closes all connections. Calls that wait meanwhile raise ClientClosedError. Idempotent."""
        until = self._door.now() + LAST_PUSH_S
        await self._door.close(self._with_last_push(None, until), until)

    async def __aenter__(self) -> Self:
        self._driver.check_loop()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    if not TYPE_CHECKING:
        __enter__ = other_blocks.ASYNC_WITH

    async def client_instance_id(self, timeout: Timeout = None) -> UUID:
        """The id under which brokers know the metrics that this client pushes (KIP-714), as one of them has given it.

        Raises ConfigError without `enable_metrics_push`, UnsupportedVersionError where brokers take no metrics, and
        KafkaTimeoutError where none has answered within `timeout` seconds.
        """
        return await self._door.run(self._instance_id(timeout), alone=False)
