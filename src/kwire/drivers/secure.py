"""The interface of a socket that is not plain, as the reactor drives it: the seam for TLS.

Layer 4. A `SecureSocket` stands on a connected, non-blocking socket, and is driven by the reactor alone. Its methods
never block: where they would, they return the negative mask (-READS, -WRITES) of what to wait for. They raise OSError.
"""

from __future__ import annotations

import socket
from collections.abc import Callable

from kwire._typing import TYPE_CHECKING
from kwire.engine.addresses import Address

if TYPE_CHECKING:
    from typing import Protocol
else:
    Protocol = object


class SecureSocket(Protocol):
    """See the module's text."""

    def handshake(self) -> int:
        """Goes on with the handshake: 0 when it is done, else READS or WRITES, which is what it waits for."""

    def read_into(self, room: memoryview) -> int:
        """Decrypts into `room`: how many bytes; 0 when the other side has ended."""

    def write(self, data: bytes) -> int:
        """Encrypts and sends some of `data`: how many bytes. After a negative mask it is called with the same, or with
        more after it."""


Secure = Callable[[socket.socket, Address], SecureSocket]
"""Makes a SecureSocket of a connected socket."""
