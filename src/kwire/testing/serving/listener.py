"""Where one node listens: its address, and the connections that it accepted.

What comes over an accepted socket is for its connection to know.
"""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable
from functools import partial

from kwire import errors
from kwire.testing.serving.apis import BrokerApis
from kwire.testing.serving.connection import Connection
from kwire.testing.serving.transport import PlainTransport, Transport
from kwire.testing.serving.wire_0_7 import BrokerApis07
from kwire.testing.serving.wire_proposal import ProposalApis

logger = logging.getLogger("kwire.testing")
AnyApis = BrokerApis | BrokerApis07 | ProposalApis


class Listener:
    """Serves `apis` on `host`:`port`; port 0 takes a free one, and keeps it. A dead node's is not `enabled`.

    `number` tells it from the others of its node.
    """

    def __init__(
        self,
        apis: AnyApis,
        host: str,
        port: int,
        max_frame: int,
        new_transport: Callable[[socket.socket], Transport] = PlainTransport,
        number: int = 0,
    ) -> None:
        self.apis = apis
        self.host = host
        self.port = port
        self.enabled = True
        self.socket: socket.socket | None = None
        self.connections: set[Connection] = set()
        self._number = number
        self._max_frame = max_frame
        self._new_transport = new_transport

    def open(self) -> socket.socket:
        """Listens, on the port that it had before if there was one. Raises ConfigError."""
        listener = socket.socket(socket.AF_INET6 if ":" in self.host else socket.AF_INET, socket.SOCK_STREAM)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((self.host, self.port))
            listener.listen(128)
        except (OSError, OverflowError) as error:
            listener.close()
            reason = getattr(error, "strerror", None) or error
            raise errors.ConfigError(f"cannot listen on {self.host}:{self.port}: {reason}") from error
        listener.setblocking(False)
        self.port = listener.getsockname()[1]
        self.socket = listener
        return listener

    def close(self) -> None:
        """New connections are refused; the present ones go on."""
        if self.socket is not None:
            self.socket.close()
            self.socket = None

    def accept(self, now: Callable[[], float], on_close: Callable[[Connection], None]) -> Connection | None:
        """The connection that waits, if it still does."""
        assert self.socket is not None
        try:
            sock, (host, *_) = self.socket.accept()
        except OSError as error:
            logger.info("a connection went away before it was accepted: %s", error)
            return None
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            made = Connection(
                sock,
                self._new_transport(sock),
                self.apis.connect(host, self._number),
                self._max_frame,
                now,
                lambda: self.apis.faults.bytes_per_second,
                partial(self._closed, on_close),
            )
        except OSError as error:
            logger.info("a connection went away before it was served: %s", error)
            sock.close()
            return None
        self.connections.add(made)
        return made

    def _closed(self, on_close: Callable[[Connection], None], connection: Connection) -> None:
        self.connections.discard(connection)
        on_close(connection)
