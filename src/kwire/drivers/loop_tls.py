"""A connection with TLS on an event loop: a `TlsStream` between the transport and the core.

Layer 4. Imported only where TLS is wanted. The transport is a plain one: it receives ciphertext into the room that all
connections of the client share, and is decrypted straight into the core's blocks. The loop's own TLS transport would
keep a buffer of its own, which cannot be taken back; it takes a fifth more time on asyncio's loop, as much on uvloop's.
"""

from __future__ import annotations

from functools import partial

from kwire._typing import TYPE_CHECKING, Any, override
from kwire.drivers.loop import LoopSocket
from kwire.drivers.sockets import NO_SIGNAL
from kwire.drivers.tls import TlsClient
from kwire.drivers.tls_errors import TLS_HANDSHAKE
from kwire.errors import AuthError, FrameError

if TYPE_CHECKING:
    from kwire.drivers.loop import LoopDriver
    from kwire.drivers.plaintext_probe import PlaintextProbe
    from kwire.drivers.tls import TlsStream
    from kwire.engine.connection import Connection

WRITES_AT_ONCE = 8
"""How often one connection encrypts before the loop turns."""

HANDED_OVER = 4096
"""Bytes that the transport is given when the socket is full, to be told when it may go on."""


class TlsSocket(LoopSocket):
    """See the module's text. `connected` turns True with the end of the handshake."""

    def __init__(self, client: TlsClient, driver: LoopDriver, connection: Connection) -> None:
        super().__init__(driver, connection)
        self.plain = False
        self._client = client
        self._tls: TlsStream | PlaintextProbe | None = None
        self._encrypted = 0

    # -- what the transport calls -----------------------------------------------------------------------------------

    @override
    def get_buffer(self, hint: int) -> Any:
        return self._client.room

    @override
    def buffer_updated(self, count: int) -> None:
        if self.fd >= 0:
            self.driver.step(partial(self._receive, count))

    # -- steps ------------------------------------------------------------------------------------------------------

    @override
    def begin(self, now: float) -> None:
        """Begins the handshake."""
        self.connection.step = TLS_HANDSHAKE
        try:
            self._tls = self._client.stream(self.connection.address)
            self._shake_hands(self._tls, now)
        except (AuthError, OSError) as error:
            self.driver._lost(self, error, now)

    def _receive(self, count: int, now: float) -> None:
        connection, tls = self.connection, self._tls
        if tls is None or self.fd < 0:
            return
        try:
            self._take_in(tls, count, now)
        except (AuthError, FrameError, OSError) as error:
            if self.fd >= 0:
                self.driver._lost(self, error, now)
            return
        if self.fd >= 0 and (tls.has_outgoing or connection.wants_write):
            self.write_tls(now)

    def _take_in(self, tls: TlsStream | PlaintextProbe, count: int, now: float) -> None:
        connection = self.connection
        tls.feed(self._client.room[:count])
        if not tls.established and not self._shake_hands(tls, now):
            return
        while connection.open and tls.readable:
            if count := tls.read_into(connection.receiver.buffer()):
                self.driver.core.received(connection, count, now)

    def _shake_hands(self, tls: TlsStream | PlaintextProbe, now: float) -> bool:
        done = tls.handshake()
        if done:
            self.driver.core.connection_made(self.connection, now)  # its first request leaves with the handshake's end
        else:
            self._flush(tls)
        return done

    @override
    def write_tls(self, now: float) -> None:
        connection, tls = self.connection, self._tls
        assert tls is not None
        try:
            for _ in range(WRITES_AT_ONCE):
                if not tls.established:
                    return
                if not self._encrypted and (parts := connection.data_to_send()):
                    self._encrypted = tls.encrypt(parts)
                if not tls.has_outgoing or not self._flush(tls):
                    return
                connection.sent(self._encrypted, now)
                self._encrypted = 0
            self.driver.write_soon(self)
        except (AuthError, OSError) as error:
            self._lost_in_writing(tls, error, now)

    def _lost_in_writing(self, tls: TlsStream | PlaintextProbe, error: AuthError | OSError, now: float) -> None:
        """A broker that refuses says why before it closes: that may be there to read."""
        reason: Exception = error
        try:
            if self.socket is not None and (count := self.socket.recv_into(self._client.room)):
                self._take_in(tls, count, now)
        except BlockingIOError:
            pass
        except (AuthError, FrameError, OSError) as said:
            reason = said if isinstance(said, AuthError) else error
        if self.fd >= 0:
            self.driver._lost(self, reason, now)

    def _flush(self, tls: TlsStream | PlaintextProbe) -> bool:
        """Sends what is outgoing; returns whether the socket took all of it. Else the transport tells when to go on."""
        assert self.socket is not None
        while not self.paused and (data := tls.outgoing()):
            try:
                count = self.socket.send(data, NO_SIGNAL)
            except BlockingIOError:
                count = min(len(data), HANDED_OVER)
                self.hand_over(bytes(data[:count]))
            except OSError as error:
                raise tls.end(error.strerror or str(error)) from error
            tls.sent(count)
        return not tls.has_outgoing

    @override
    def why_ended(self, reason: str) -> Exception | str:
        return reason if self._tls is None else self._tls.end(reason)

    @override
    def say_goodbye(self) -> None:
        """Not after what was not sent: that must not leave now."""
        tls, self._tls = self._tls, None
        if tls is None or self.fd < 0 or self.paused:
            return
        cut = tls.established and tls.has_outgoing
        tls.close()
        try:
            if not cut and self.socket is not None:
                self.socket.send(tls.outgoing(), NO_SIGNAL)
        except OSError:
            pass  # the other side is gone, or takes nothing
