"""The base of the clients for asyncio: opening and closing.

Layer 5: knows settings, a core and its loop driver. Calls and records are the clients' own.

What only runs a wait is written by `make docs`, from the methods of `_client.py`.
"""

from __future__ import annotations

from types import TracebackType

from kwire._typing import Self, override
from kwire.aio.door import LoopDoor
from kwire.drivers.loop import LoopDriver
from kwire.fronts.front import Front, SettingsType
from kwire.schema import k00_produce, k01_fetch, k03_metadata, k22_init_producer_id

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

    async def close(self) -> None:
        """Closes all connections. Calls that wait meanwhile raise ClientClosedError. Idempotent."""
        await self._door.close()

    async def __aenter__(self) -> Self:
        self._driver.check_loop()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
