"""A connection's bytes between its socket and its frames, unencrypted; `tls.py` has the same with TLS between them."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from kwire._codec import FrameReceiver

if TYPE_CHECKING:
    from kwire._codec import Buffer


class Transport(Protocol):
    """How the server reads and writes a connection. Every method returns at once; all but `close` raise OSError.

    `unsent` tells whether bytes are left that the socket did not take, `ended` whether the client has ended its side
    while its socket is still open.
    """

    @property
    def unsent(self) -> bool: ...

    @property
    def ended(self) -> bool: ...

    def receive(self, receiver: FrameReceiver) -> list[Buffer] | None:
        """Reads once and returns the frames that are now whole; None at the end of the stream. Raises FrameError."""

    def send(self, parts: Sequence[memoryview]) -> int:
        """Sends what is unsent and then `parts`, as far as the socket takes them; returns how many bytes of these."""

    def close(self) -> None:
        """Closes the socket."""


class PlainTransport:
    """The bytes as they are."""

    unsent = False
    ended = False

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock

    def receive(self, receiver: FrameReceiver) -> list[Buffer] | None:
        count = self._socket.recv_into(receiver.buffer())
        return receiver.received(count) if count else None

    def send(self, parts: Sequence[memoryview]) -> int:
        return self._socket.sendmsg(parts)

    def close(self) -> None:
        self._socket.close()
