"""A TCP proxy whose connections do not live long: each is cut after a random time, whatever it carries just then.

One thread with an asyncio loop; no protocol is known here. Bytes that were taken from one side when the end comes are
lost, as with a machine that dies.
"""

import asyncio
import random
import threading
from types import TracebackType

from tests.brokers.ports import LOOPBACK

_PART = 65536
_STARTS_WITHIN_S = 30.0


class MortalProxy:
    """Forwards `port` to `target` (both on loopback); a connection lives for a number of seconds within `life`.

    A context manager. `deaths` counts the connections that were cut.
    """

    def __init__(self, port: int, target: int, *, life: tuple[float, float], seed: int) -> None:
        self._port = port
        self._target = target
        self._life = life
        self._dice = random.Random(seed)
        self._ready = threading.Event()
        self._loop = asyncio.new_event_loop()
        self._over = asyncio.Event()
        self._thread = threading.Thread(target=self._loop.run_until_complete, args=(self._serve(),), daemon=True)
        self.deaths = 0

    def __enter__(self) -> "MortalProxy":
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
            async with asyncio.timeout(self._dice.uniform(*self._life)):
                far_reader, far_writer = await asyncio.open_connection(LOOPBACK, self._target)
                writers.append(far_writer)
                await asyncio.wait(
                    [asyncio.create_task(_pump(reader, far_writer)), asyncio.create_task(_pump(far_reader, writer))],
                    return_when=asyncio.FIRST_COMPLETED,
                )
        except TimeoutError:
            self.deaths += 1
        except OSError:
            pass  # nobody listens at the target: the near side is told by the end of its connection
        finally:
            for each in writers:
                each.transport.abort()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while part := await reader.read(_PART):
            writer.write(part)
            await writer.drain()
    except OSError:
        return
