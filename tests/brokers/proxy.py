"""A TCP proxy on loopback, for tests of what networks do; what it does to a connection is its subclasses' own.

One thread with an asyncio loop; no protocol is known here.
"""

import asyncio
import threading
from types import TracebackType
from typing import Self

from tests.brokers.ports import LOOPBACK

_PART = 65536
_STARTS_WITHIN_S = 30.0


class Proxy:
    """Forwards `port` to `target` (both on loopback). A context manager."""

    def __init__(self, port: int, target: int) -> None:
        self._port = port
        self._target = target
        self._ready = threading.Event()
        self._loop = asyncio.new_event_loop()
        self._over = asyncio.Event()
        self._thread = threading.Thread(target=self._loop.run_until_complete, args=(self._serve(),), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        if not self._ready.wait(_STARTS_WITHIN_S):
            raise TimeoutError(f"the proxy did not listen on port {self._port} within {_STARTS_WITHIN_S:.0f} s")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join()
        self._loop.close()

    async def _serve(self) -> None:
        server = await asyncio.start_server(self._forward, LOOPBACK, self._port)
        self._ready.set()
        await self._over.wait()
        server.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers = [writer]
        try:
            await self._carry(reader, writers)
        except OSError:
            pass  # the target does not listen: the near side is told by the end of its connection
        finally:
            for each in writers:
                each.transport.abort()

    async def _carry(
        self, reader: asyncio.StreamReader, writers: list[asyncio.StreamWriter], delay: float | None = 0.0
    ) -> None:
        """Carries bytes both ways until one side ends; those of the client `delay` seconds later, or (None) not at all.

        `writers` has that of the near side; the far one is added.
        """
        far_reader, far_writer = await asyncio.open_connection(LOOPBACK, self._target)
        writers.append(far_writer)
        tasks = [
            asyncio.create_task(_pump(reader, far_writer, delay)),
            asyncio.create_task(_pump(far_reader, writers[0], 0.0)),
        ]
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, delay: float | None) -> None:
    try:
        while part := await reader.read(_PART):
            if delay is None:
                continue
            await asyncio.sleep(delay)
            writer.write(part)
            await writer.drain()
    except OSError:
        return
