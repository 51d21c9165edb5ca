"""A TCP proxy that holds back what a client says on one of its connections. Answers of the broker pass at once."""

import asyncio

from tests.brokers.proxy import Proxy


class SlowProxy(Proxy):
    """Holds back one connection after `hold_next`; the others are forwarded at once."""

    def __init__(self, port: int, target: int) -> None:
        super().__init__(port, target)
        self._next: float | None = 0.0

    def hold_next(self, seconds: float | None) -> None:
        """Each part that the next connection carries to the broker comes this much later; None: never."""
        self._next = seconds

    async def _carry(
        self, reader: asyncio.StreamReader, writers: list[asyncio.StreamWriter], delay: float | None = 0.0
    ) -> None:
        delay, self._next = self._next, 0.0
        await super()._carry(reader, writers, delay)
