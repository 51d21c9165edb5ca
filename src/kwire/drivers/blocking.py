"""One plain TCP connection: frames out, frames in, each call with a deadline.

For the generations without correlation ids, where one request is on its way at a time. Layer 4: knows frames, no
messages. After any error, Ctrl-C included, the connection is closed: its next bytes could belong to anything.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from kwire._codec import FrameReceiver
from kwire.drivers.sockets import SocketAddress, cause_of, literal, look_up
from kwire.engine.common.addresses import Address
from kwire.errors import ConnectError, KafkaTimeoutError
from kwire.errors.wording import Cause

if TYPE_CHECKING:
    from typing_extensions import Buffer

__all__ = ["BlockingConnection", "ConnectionClosedError"]

_MAX_FRAME = 1 << 28


class ConnectionClosedError(ConnectError):
    """The other side closed a connection that was open."""


class BlockingConnection:
    """To be used by one thread at a time. Times are seconds from the call on."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self._socket: socket.socket | None = None
        self._pid = -1
        self._receiver = FrameReceiver(_MAX_FRAME)
        self._frames: deque[Buffer] = deque()

    @property
    def open(self) -> bool:
        """Whether there is a connection, and of this process."""
        return self._socket is not None and self._pid == os.getpid()

    def close(self) -> None:
        """Closes; a later call connects again."""
        made, self._socket = self._socket, None
        if made is not None:
            made.close()
        self._frames.clear()
        self._receiver = FrameReceiver(_MAX_FRAME)

    def send(self, frame: bytes, timeout: float) -> None:
        """Connects if need be, and writes all of `frame`. Raises ConnectError, KafkaTimeoutError."""
        deadline = time.monotonic() + timeout
        if not self.open:
            self.close()
            self._connect(deadline)
        with self._closed_by_any_error("a request was not taken", timeout):
            self._within(deadline).sendall(frame)

    def receive(self, timeout: float) -> Buffer:
        """The next frame, without its size. Raises ConnectionClosedError, KafkaTimeoutError, FrameError."""
        deadline = time.monotonic() + timeout
        with self._closed_by_any_error("no answer", timeout):
            while not self._frames:
                count = self._within(deadline).recv_into(self._receiver.buffer())
                if not count:
                    raise ConnectionError("closed by the other side")
                self._frames.extend(self._receiver.received(count))
        return self._frames.popleft()

    @contextmanager
    def _closed_by_any_error(self, silence: str, timeout: float) -> Iterator[None]:
        """Closes the connection at the first error in the block; errors of sockets become kwire's."""
        try:
            yield
        except TimeoutError as error:
            self.close()
            raise KafkaTimeoutError(f"{self.address}: {silence} within {timeout:g} s") from error
        except OSError as error:
            self.close()
            raise ConnectionClosedError("", {str(self.address): f"the connection broke: {error}"}) from error
        except BaseException:
            self.close()
            raise

    def _connect(self, deadline: float) -> None:
        causes = []
        for family, target in self._socket_addresses(deadline):
            made = socket.socket(family, socket.SOCK_STREAM)
            try:
                made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                made.settimeout(max(deadline - time.monotonic(), 0.001))
                made.connect(target)
            except OSError as error:
                made.close()
                causes.append(cause_of(error))
            except BaseException:
                made.close()
                raise
            else:
                self._socket, self._pid = made, os.getpid()
                return
        kinds = {cause.kind for cause in causes}
        cause = Cause(", ".join(causes), kinds.pop() if len(kinds) == 1 else "other")
        raise ConnectError("no connection", {str(self.address): cause})

    def _socket_addresses(self, deadline: float) -> list[SocketAddress]:
        found = literal(self.address)
        if found is not None:
            return found
        known = threading.Event()
        wanted = True
        answer: list[tuple[list[SocketAddress], str]] = []

        def done(addresses: list[SocketAddress], error: str) -> None:
            answer.append((addresses, error))
            known.set()

        look_up(self.address, done, lambda: wanted)
        if not known.wait(max(deadline - time.monotonic(), 0)):
            wanted = False
            raise ConnectError(
                "no connection", {str(self.address): Cause("its name was not resolved in time", "timeout")}
            )
        addresses, error = answer[0]
        if error:
            raise ConnectError("no connection", {str(self.address): error})
        return addresses

    def _within(self, deadline: float) -> socket.socket:
        """The socket, which waits until `deadline` at most."""
        made = self._socket
        left = deadline - time.monotonic()
        if made is None:
            raise ConnectionError("the connection is closed")
        if left <= 0:
            raise TimeoutError
        made.settimeout(left)
        return made
