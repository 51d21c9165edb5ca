"""A TCP proxy in front of one node that does to connections what networks do, as long as a fault is begun.

It knows of the protocol only where a first request has the client's id (plaintext), to cut one client from one node.
"""

import asyncio
import random
import socket
import struct

from tests.brokers.ports import LOOPBACK
from tests.brokers.proxy import Proxy
from tests.chaos.schedule import Fault

_PART = 16384
_SLOW_PART_S = 0.05


class Connection:
    """One connection of a client through the proxy. Silent: what is said on it is lost, until it is cut.

    Its `pumps` are kept here, as asyncio would drop those of a silent one, which wait for nothing, and end both sides.
    """

    def __init__(self, client: str, writers: list[asyncio.StreamWriter]) -> None:
        self.client = client
        self.silent = False
        self.pumps: list[asyncio.Task[None]] = []
        self._writers = writers

    def suffers(self, fault: Fault) -> bool:
        return fault.client is None or fault.client == self.client

    def cut(self) -> None:
        """Both sides see a reset."""
        self.silent = False
        for writer in self._writers:
            if (found := writer.get_extra_info("socket")) is not None and found.fileno() >= 0:
                found.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            writer.transport.abort()


class FaultyProxy(Proxy):
    """Forwards to one node; `begin` and `end` are called from any thread."""

    def __init__(self, port: int, target: int, seed: int) -> None:
        super().__init__(port, target)
        self._rng = random.Random(seed)
        self._faults: list[Fault] = []
        self._connections: set[Connection] = set()

    def begin(self, fault: Fault) -> None:
        self._loop.call_soon_threadsafe(self._begin, fault)

    def end(self, fault: Fault) -> None:
        self._loop.call_soon_threadsafe(self._end, fault)

    def _begin(self, fault: Fault) -> None:
        self._faults.append(fault)
        for connection in [each for each in self._connections if each.suffers(fault)]:
            if fault.kind == "reset":
                connection.cut()
            elif fault.kind in ("half_open", "split"):
                connection.silent = True

    def _end(self, fault: Fault) -> None:
        """Half-open connections stay so: it is the client's to find out."""
        if fault in self._faults:
            self._faults.remove(fault)
        if fault.kind == "split":
            for connection in [each for each in self._connections if each.silent and each.suffers(fault)]:
                connection.cut()

    def _of(self, connection: Connection, kind: str) -> Fault | None:
        return next((fault for fault in self._faults if fault.kind == kind and connection.suffers(fault)), None)

    async def _carry(
        self, reader: asyncio.StreamReader, writers: list[asyncio.StreamWriter], delay: float | None = 0.0
    ) -> None:
        first = await reader.read(_PART)
        connection = Connection(_client_id(first), writers)
        self._connections.add(connection)
        try:
            connection.silent = self._of(connection, "split") is not None
            far_reader, far_writer = await asyncio.open_connection(LOOPBACK, self._target)
            writers.append(far_writer)
            connection.pumps = [
                asyncio.create_task(self._pump(connection, first, reader, far_writer)),
                asyncio.create_task(self._pump(connection, b"", far_reader, writers[0])),
            ]
            life = self._of(connection, "reset")
            await asyncio.wait(
                connection.pumps,
                return_when=asyncio.FIRST_COMPLETED,
                timeout=self._rng.uniform(0.02, life.amount) if life else None,
            )
            if life:
                connection.cut()
        except asyncio.CancelledError:
            return  # the proxy ends; asyncio would tell of each connection
        finally:
            for pump in connection.pumps:
                pump.cancel()
            self._connections.discard(connection)

    async def _pump(
        self, connection: Connection, part: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        try:
            while part or (part := await reader.read(self._size(connection))):
                if not connection.silent:
                    await asyncio.sleep(self._lateness(connection, part))
                if not connection.silent:
                    writer.write(self._flipped(connection, part))
                    await writer.drain()
                part = b""
            if connection.silent:
                await asyncio.Event().wait()  # not even the end of the connection arrives
        except OSError:
            return

    def _size(self, connection: Connection) -> int:
        slow = self._of(connection, "slow")
        return max(1, int(slow.amount * _SLOW_PART_S)) if slow else _PART

    def _lateness(self, connection: Connection, part: bytes) -> float:
        delay, slow = self._of(connection, "delay"), self._of(connection, "slow")
        return (delay.amount if delay else 0.0) + (len(part) / slow.amount if slow else 0.0)

    def _flipped(self, connection: Connection, part: bytes) -> bytes:
        flip = self._of(connection, "flip")
        if flip is None or self._rng.random() > flip.amount:
            return part
        damaged = bytearray(part)
        damaged[self._rng.randrange(len(damaged))] ^= 1 << self._rng.randrange(8)
        return bytes(damaged)


def _client_id(request: bytes) -> str:
    """Of a request's header: size, API key, version, correlation id, then the client's id."""
    if len(request) < 14:
        return ""
    (length,) = struct.unpack_from(">h", request, 12)
    return request[14 : 14 + max(length, 0)].decode(errors="replace")
