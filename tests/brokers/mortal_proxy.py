"""A TCP proxy whose connections do not live long: each is cut after a random time, whatever it carries just then.

Bytes that were taken from one side when the end comes are lost, as with a machine that dies.
"""

import asyncio
import random

from tests.brokers.proxy import Proxy


class MortalProxy(Proxy):
    """A connection lives for a number of seconds within `life`. `deaths` counts the connections that were cut."""

    def __init__(self, port: int, target: int, *, life: tuple[float, float], seed: int) -> None:
        super().__init__(port, target)
        self._life = life
        self._rng = random.Random(seed)
        self.deaths = 0

    async def _carry(
        self, reader: asyncio.StreamReader, writers: list[asyncio.StreamWriter], delay: float | None = 0.0
    ) -> None:
        try:
            async with asyncio.timeout(self._rng.uniform(*self._life)):
                await super()._carry(reader, writers, delay)
        except TimeoutError:
            self.deaths += 1
