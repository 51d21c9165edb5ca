"""A TCP proxy that holds back what a client says on one of its connections.

One thread with an asyncio loop; no protocol is known here. Answers of the broker pass at once.
"""

import asyncio
import threading
from types import TracebackType

from tests.brokers.ports import LOOPBACK

_PART = 65536
_STARTS_WITHIN_S = 30.0


class SlowProxy:
    """Forwards `port` to `target` (both on loopback). A context manager."""

    def __init__(self, port: int, target: int) -> None:
        self._port = port
        self._target = target
        self._next: float | None = 0.0
        self._ready = threading.Event()
        self._loop = asyncio.new_event_loop()
        self._over = asyncio.Event()
        self._thread = threading.Thread(target=self._loop.run_until_complete, args=(self._serve(),), daemon=True)

    def hold_next(self, seconds: float | None) -> None:
        """What the next connection carries to the broker comes so much later, each part; None: never."""
        self._next = seconds

    def __enter__(self) -> "SlowProxy":
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
        delay, self._next = self._next, 0.0
        try:
            far_reader, far_writer = await asyncio.open_connection(LOOPBACK, self._target)
            writers.append(far_writer)
            tasks = [
                asyncio.create_task(_pump(reader, far_writer, delay)),
                asyncio.create_task(_pump(far_reader, writer, 0.0)),
            ]
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        except OSError:
            pass  # nobody listens at the target: the near side is told by the end of its connection
        finally:
            for each in writers:
                each.transport.abort()


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
