"""A BufferedProtocol and nothing else: sends a prepared Produce request and awaits the response."""

from __future__ import annotations

import asyncio
import struct

from benchmarks.compare.contenders.loops import round_trips, run
from benchmarks.compare.contenders.raw_requests import check, produce_frame
from benchmarks.compare.contenders.task import Task

_BUFFER_BYTES = 65_536


class _Exchange(asyncio.BufferedProtocol):
    """One request at a time; `answer` is the future of its response."""

    answer: asyncio.Future[bytes]

    def __init__(self) -> None:
        self._buffer = bytearray(_BUFFER_BYTES)
        self._filled = 0

    def get_buffer(self, sizehint: int) -> memoryview:
        """The rest of the buffer."""
        return memoryview(self._buffer)[self._filled :]

    def buffer_updated(self, nbytes: int) -> None:
        """Resolves the future once the frame is whole."""
        self._filled += nbytes
        (size,) = struct.unpack_from(">i", self._buffer)
        if self._filled >= size + 4:
            self._filled = 0
            self.answer.set_result(bytes(memoryview(self._buffer)[: size + 4]))


def aio_round_trip(task: Task) -> dict[str, float]:
    """The same request again and again."""
    return run(task, _round_trips)


async def _round_trips(task: Task) -> dict[str, float]:
    frame = produce_frame(task)
    host, _, port = task.bootstrap.rpartition(":")
    loop = asyncio.get_running_loop()
    transport, protocol = await loop.create_connection(_Exchange, host, int(port))

    def exchange() -> asyncio.Future[bytes]:
        protocol.answer = loop.create_future()
        transport.write(frame)
        return protocol.answer

    check(await exchange(), task.topic)
    measured = await round_trips(exchange, task.count)
    transport.close()
    return measured
