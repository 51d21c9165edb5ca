"""Whether a port at which TLS got no answer speaks Kafka in plaintext: asked, not guessed.

Layer 4, no sockets. A broker without TLS takes the first bytes of TLS for a request of 350 MB and hangs up without a
word. So does a load balancer that has no broker at the moment, and that should be waited for. So the attempt after
asks ApiVersions in plaintext, which tells nothing about the client, and ends whatever is answered.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from kwire._typing import Any
from kwire.drivers.tls_errors import not_tls
from kwire.engine.common.addresses import Address

_CORRELATION_ID = 0x6B776972
_QUESTION = struct.pack(">ihhih", 10, 18, 0, _CORRELATION_ID, -1)
_LONGEST_ANSWER = 1 << 20


class PlaintextProbe:
    """Stands in for a `TlsStream`, whose handshake it never ends."""

    __slots__ = ("_address", "_received", "_suspects", "_unsent")

    established = readable = cut = False

    def __init__(self, address: Address, suspects: set[Address]) -> None:
        self._address = address
        self._suspects = suspects
        self._received = b""
        self._unsent = memoryview(_QUESTION)

    def feed(self, data: memoryview | bytes) -> None:
        """That came. Raises AuthError if it is a broker's answer, which the next attempt will then ask for again."""
        self._received += data[:8]
        if len(self._received) >= 8:
            size, correlation_id = struct.unpack(">ii", self._received[:8])
            if correlation_id == _CORRELATION_ID and 0 < size < _LONGEST_ANSWER:
                self._suspects.add(self._address)
                raise not_tls(self._address, self._received)
            raise self.end()

    def handshake(self) -> bool:
        """Never done."""
        return False

    @property
    def has_outgoing(self) -> bool:
        """Whether the question is not sent yet."""
        return len(self._unsent) > 0

    def outgoing(self) -> memoryview:
        """The rest of the question."""
        return self._unsent

    def sent(self, count: int) -> None:
        """So much of it was taken by the socket."""
        self._unsent = self._unsent[count:]

    def end(self, reason: str = "the broker closed the connection") -> OSError:
        """The error to report where the socket has ended: no broker in plaintext either."""
        return ConnectionError(f"{reason} at the first bytes of TLS, and does not answer in plaintext either")

    def read_into(self, room: memoryview) -> int:
        """Nothing is decrypted."""
        return 0

    def encrypt(self, parts: Sequence[Any]) -> int:
        """Nothing is encrypted."""
        return 0

    def close(self) -> None:
        """Nothing is to be said."""
