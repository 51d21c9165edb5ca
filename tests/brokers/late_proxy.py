"""A TCP proxy that forwards what a client says at once, and holds back answers of the broker when told to."""

import asyncio

from tests.brokers.ports import LOOPBACK
from tests.brokers.proxy import Proxy

_PART = 65536


class LateProxy(Proxy):
    """Holds back the answers of some connections, once their clients have said more than a handshake needs."""

    def __init__(self, port: int, target: int, *, handshake: int) -> None:
        super().__init__(port, target)
        self._handshake = handshake
        self._held_back = 0
        self._seconds = 0.0
        self.connections_held = 0

    def hold_answers(self, connections: int, seconds: float) -> None:
        """The next so many connections hear nothing for so long, from when they have said more than `handshake`."""
        self._held_back, self._seconds = connections, seconds

    async def _carry(
        self, reader: asyncio.StreamReader, writers: list[asyncio.StreamWriter], delay: float | None = 0.0
    ) -> None:
        far_reader, far_writer = await asyncio.open_connection(LOOPBACK, self._target)
        writers.append(far_writer)
        silent_until = [0.0]
        tasks = [
            asyncio.create_task(self._forward_questions(reader, far_writer, silent_until)),
            asyncio.create_task(self._forward_answers(far_reader, writers[0], silent_until)),
        ]
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)

    async def _forward_questions(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, silent_until: list[float]
    ) -> None:
        said = 0
        while part := await reader.read(_PART):
            before, said = said, said + len(part)
            if before <= self._handshake < said and self._held_back:
                self._held_back -= 1
                self.connections_held += 1
                silent_until[0] = asyncio.get_running_loop().time() + self._seconds
            writer.write(part)
            await writer.drain()

    async def _forward_answers(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, silent_until: list[float]
    ) -> None:
        while part := await reader.read(_PART):
            while (left := silent_until[0] - asyncio.get_running_loop().time()) > 0:
                await asyncio.sleep(left)
            writer.write(part)
            await writer.drain()
