"""A plain connection on an event loop: its asyncio protocol, its transport, and the task that connects it.

Layer 4. Bytes are moved by the compiled half (`LoopSocketBase` in loop_driver.pxi); the driver is told what happens.
"""

from __future__ import annotations

import asyncio

from kwire._codec import LoopSocketBase
from kwire._typing import TYPE_CHECKING, Any, override
from kwire.engine.connections.connection import Connection

if TYPE_CHECKING:
    import socket

    from kwire.drivers.loop import LoopDriver


class LoopSocket(LoopSocketBase, asyncio.BufferedProtocol):
    """A connection's protocol, its transport, and the task that connects it."""

    def __init__(self, driver: LoopDriver, connection: Connection) -> None:
        super().__init__(driver, connection)
        self.task: asyncio.Task[None] | None = None
        self.transport: asyncio.Transport | None = None
        self.socket: socket.socket | None = None

    @override
    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        self.driver._made(self)

    @override
    def connection_lost(self, error: Exception | None) -> None:
        self.driver._ended(self, error)

    @override
    def pause_writing(self) -> None:
        self.paused = True

    @override
    def resume_writing(self) -> None:
        self.paused = False
        self.driver.write_on(self)

    @override
    def hand_over(self, data: bytes) -> None:
        assert self.transport is not None
        self.transport.write(data)

    # -- plain, unless a subclass says otherwise --------------------------------------------------------------------

    def begin(self, now: float) -> None:
        """The socket is connected."""
        self.driver.core.connection_made(self.connection, now)

    @override
    def write_tls(self, now: float) -> None:
        raise AssertionError("a plain connection is written to by the compiled half")

    def why_ended(self, reason: str) -> Exception | str:
        """The reason for the end of the connection, as the core is told."""
        return reason

    def say_goodbye(self) -> None:
        """The connection is about to be closed."""
