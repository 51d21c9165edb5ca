"""TLS of one connection, from bytes to bytes, for every driver.

Layer 4, no sockets. Imported only where TLS is wanted. A driver keeps a `TlsConnection` for each connection, which says
when to hand on, to encrypt and to send; the driver moves the bytes. It stands on a `TlsStream`: received ciphertext
goes in by `feed`, its plaintext comes out by `read_into`; plaintext goes in by `encrypt`, the ciphertext to send comes
out by `outgoing`.

    stream = client.stream(address)  then, until handshake() returns True: send what is outgoing, feed what came
    stream.feed(client.room[:n])     then read_into(connection.receiver.buffer()) while `readable`: poll does not see
                                     decrypted bytes, so none may be left when it is asked again
    stream.encrypt(parts)            then send what is outgoing to its end before the next
    stream.outgoing(), .sent(n)      look after reading, too: the answer to a key update is outgoing then
    stream.end()                     the socket has ended: the error to report
    stream.close()                   then send what is outgoing if the socket takes it

`feed`, `handshake`, `read_into` and `encrypt` raise AuthError for what no other try mends and OSError for the rest. The
stream is of no use after that, but what is outgoing (an alert that says why) should still be sent.

A broker may ask for another handshake (TLS 1.2) or new keys (TLS 1.3) at any time; `encrypt` may then take nothing
until more was fed. Sessions are resumed: the last one of each address is kept, and forgotten when a handshake fails.

Where a connection ended at the first bytes of TLS, the next stream to that address is a `PlaintextProbe`.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterator, Sequence

from kwire._codec import TlsRecords
from kwire._typing import TYPE_CHECKING, Any, NamedTuple
from kwire.drivers.plaintext_probe import PlaintextProbe
from kwire.drivers.sockets import NO_SIGNAL
from kwire.drivers.tls_errors import TLS_HANDSHAKE, chain_of, explained, not_tls
from kwire.engine.common.addresses import Address
from kwire.errors import AuthError, FrameError

if TYPE_CHECKING:
    from kwire.drivers.tls_renewal import RenewedContext
    from kwire.engine.connections.connection import Connection
    from kwire.engine.core import Core
    from kwire.engine.settings.clients import ClientSettings

RECEIVED_AT_ONCE = 128 * 1024
"""Bytes of ciphertext received before they are decrypted: with OpenSSL's copy they stay in a second cache."""

ENCRYPTED_AT_ONCE = 256 * 1024
"""Bytes of plaintext encrypted before they are sent."""

PORTIONS_AT_ONCE = 8
"""How often one connection encrypts and sends before others have their turn."""

JOINED_BELOW = 64 * 1024
"""Parts of a request below this size are joined before they are encrypted, so that they share TLS's records."""

MAX_ADDRESSES = 1000
"""So many addresses are remembered with a session to resume, the last ones used, and so many with a suspicion."""

_FIRST_BYTES = (0x15, 0x16)
"""What a TLS server begins with: the record of an alert or of a handshake message."""


class Agreed(NamedTuple):
    """What both sides agreed on, "" before they have; and the broker's certificates, its own first, trusted or not."""

    version: str
    cipher: str
    chain: Sequence[dict[str, Any]]


class TlsClient:
    """What the connections of one client share: the context, the sessions to resume, and room to receive into."""

    def __init__(self, context: ssl.SSLContext, renewed: RenewedContext | None = None) -> None:
        self.context = context
        self._renewed = renewed
        self.room = memoryview(bytearray(RECEIVED_AT_ONCE))
        self.sessions: dict[Address, ssl.SSLSession | ssl.SSLObject] = {}  # to resume, or whose session to resume
        self.suspects: set[Address] = set()  # of speaking plaintext

    @classmethod
    def of(cls, settings: ClientSettings) -> TlsClient:
        """Raises ConfigError for certificates and keys that cannot be used."""
        from kwire.drivers.tls_renewal import RenewedContext

        renewed = RenewedContext.of_client(settings)
        return cls(renewed.current(), renewed)

    def begin(self, connection: Connection) -> TlsConnection:
        """Begins TLS on a connection whose socket is connected; raises AuthError where it cannot begin."""
        connection.step = TLS_HANDSHAKE
        return TlsConnection(connection, self.stream(connection.address))

    def stream(self, address: Address) -> TlsStream | PlaintextProbe:
        """The client's side of a new connection to that address."""
        if address in self.suspects:
            self.suspects.discard(address)
            return PlaintextProbe(address, self.suspects)
        if len(self.suspects) >= MAX_ADDRESSES:
            self.suspects.clear()
        self._renew()
        return TlsStream(self, address)

    def _renew(self) -> None:
        """Takes in what has changed of the certificates' files; a session of another context cannot be resumed."""
        context = self.context if self._renewed is None else self._renewed.current()
        if context is not self.context:
            self.context, self.sessions = context, {}


class TlsConnection:
    """A connection with its stream. `send` is the socket's, or the driver's in its place."""

    __slots__ = ("_connection", "_encrypted", "stream")

    def __init__(self, connection: Connection, stream: TlsStream | PlaintextProbe) -> None:
        self.stream = stream
        self._connection = connection
        self._encrypted = 0  # bytes of the connection's that the stream took, and the socket not yet

    def hand_on(self, core: Core, now: float) -> None:
        """Hands the core all that was received."""
        connection, stream = self._connection, self.stream
        while connection.open and stream.readable:
            if count := stream.read_into(connection.receiver.buffer()):
                core.received(connection, count, now)

    def write(self, send: Callable[[memoryview, int], int], now: float) -> bool:
        """Encrypts and sends what there is; returns whether nothing is left."""
        connection, stream = self._connection, self.stream
        for _ in range(PORTIONS_AT_ONCE):
            if not self._encrypted and (parts := connection.data_to_send()):
                self._encrypted = stream.encrypt(parts)
            if not stream.has_outgoing:
                return True
            if not self.flush(send):
                return False
            connection.sent(self._encrypted, now)
            self._encrypted = 0
        return False

    def flush(self, send: Callable[[memoryview, int], int]) -> bool:
        """Sends what is outgoing; returns whether the socket took all of it."""
        stream = self.stream
        try:
            while data := stream.outgoing():
                stream.sent(send(data, NO_SIGNAL))
        except BlockingIOError:
            return False
        except OSError as error:
            raise stream.end(error.strerror or str(error)) from error
        return True

    @staticmethod
    def refusal_or(error: AuthError | OSError, take_in: Callable[[], object]) -> Exception:
        """Why writing failed. A broker that refuses says why before it closes: that may be there to take in."""
        try:
            take_in()
        except AuthError as refusal:
            return refusal
        except (FrameError, OSError):
            pass
        return error

    def say_goodbye(self, send: Callable[[memoryview, int], int]) -> None:
        """Not after what was not sent: that must not leave now."""
        stream = self.stream
        cut = stream.established and stream.has_outgoing
        stream.close()
        try:
            if not cut:
                self.flush(send)
        except OSError:
            pass  # the other side is gone


class TlsStream:
    """See the module's text."""

    __slots__ = (
        "_address",
        "_answered",
        "_error",
        "_heard",
        "_incoming",
        "_object",
        "_outgoing",
        "_records",
        "_sessions",
        "_suspects",
        "_unsent",
        "cut",
        "established",
    )

    def __init__(self, client: TlsClient, address: Address) -> None:
        self.established = False
        self.cut = False  # a part of a record may have been read
        self._address = address
        self._sessions = client.sessions
        self._suspects = client.suspects
        self._error: AuthError | OSError | None = None
        self._heard = False
        self._answered = False
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._unsent = memoryview(b"")
        name = address.host.partition("%")[0].rstrip(".")
        try:
            self._object: Any = client.context.wrap_bio(
                self._incoming, self._outgoing, server_hostname=name, session=self._session_to_resume()
            )
        except (ssl.SSLError, ValueError) as error:
            raise AuthError(f"TLS cannot begin: {error}", broker=str(address), step=TLS_HANDSHAKE) from error
        self._records = TlsRecords(self._object.read, self._incoming)

    # -- in ---------------------------------------------------------------------------------------------------------

    def feed(self, data: memoryview | bytes) -> None:
        """That ciphertext came."""
        if not self._heard:
            self._heard = True
            if data[0] not in _FIRST_BYTES:
                self._error = not_tls(self._address, bytes(data[:16]))
                raise self._error
        self._incoming.write(data)

    def handshake(self) -> bool:
        """Goes on with the handshake; returns whether it is done."""
        try:
            self._object.do_handshake()
        except ssl.SSLWantReadError:
            return False
        except ssl.SSLError as error:
            self._sessions.pop(self._address, None)
            self._error = self._explained(error)
            raise self._error from error
        self.established = True
        return True

    @property
    def agreed(self) -> Agreed:
        """For who looks at a connection; also after a handshake that failed."""
        cipher = self._object.cipher()
        return Agreed(self._object.version() or "", cipher[0] if cipher else "", chain_of(self._object))

    @property
    def readable(self) -> bool:
        """Whether `read_into` has to be asked before more is awaited."""
        return self._incoming.pending > 0 or self._object.pending() > 0 or self._error is not None

    def read_into(self, room: memoryview) -> int:
        """Decrypts into `room` what is there and fits; returns how many bytes."""
        if self._error is not None:
            raise self._error
        records = self._records
        self.cut = False
        try:
            if records.read_into(room):
                self._error = self.end()
        except ssl.SSLWantReadError:
            self.cut = True
        except ssl.SSLError as error:
            self._error = self._explained(error)
        count = records.count
        if count:
            if not self._answered:
                self._answered = True
                self._keep(self._object)
        elif self._error is not None:
            raise self._error
        return count

    def _keep(self, session: ssl.SSLObject) -> None:
        kept = self._sessions
        kept.pop(self._address, None)
        if len(kept) >= MAX_ADDRESSES:
            del kept[next(iter(kept))]
        kept[self._address] = session

    def end(self, reason: str = "the broker closed the connection") -> OSError:
        """The error to report where the socket has ended, for that reason."""
        if self.established:
            return ConnectionError(reason)
        if self._heard:
            return ConnectionError(f"{reason} during the TLS handshake")
        self._suspects.add(self._address)
        return ConnectionError(f"{reason} at the first bytes of TLS: does this port speak TLS?")

    # -- out --------------------------------------------------------------------------------------------------------

    def encrypt(self, parts: Sequence[Any]) -> int:
        """Encrypts from the start of `parts` (buffers of bytes, none empty); returns how many bytes."""
        taken = 0
        try:
            for data in _portions(parts):
                taken += self._object.write(data)
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLError as error:
            self._error = self._explained(error)
            raise self._error from error
        return taken

    @property
    def has_outgoing(self) -> bool:
        """Whether there is ciphertext to send."""
        return len(self._unsent) > 0 or self._outgoing.pending > 0

    def outgoing(self) -> memoryview:
        """The ciphertext to send next; empty when there is none."""
        if not self._unsent and self._outgoing.pending:
            self._unsent = memoryview(self._outgoing.read())
        return self._unsent

    def sent(self, count: int) -> None:
        """So much of it was taken by the socket."""
        self._unsent = self._unsent[count:]

    def close(self) -> None:
        """Says in TLS that nothing follows, and keeps what is needed to resume the session."""
        if self.established:
            self._session_to_resume()
            try:
                self._object.unwrap()
            except (ssl.SSLError, OSError):
                pass  # the other side need not answer

    def _session_to_resume(self) -> ssl.SSLSession | None:
        """With TLS 1.3 its ticket comes before the first answer. To take it out is slow, so it is done when wanted."""
        kept = self._sessions.get(self._address)
        if isinstance(kept, ssl.SSLObject):
            kept = kept.session
            if kept is None or not (kept.has_ticket or kept.id):
                self._sessions.pop(self._address)
                return None
            self._sessions[self._address] = kept
        return kept

    def _explained(self, error: ssl.SSLError) -> AuthError | OSError:
        return explained(error, self._address, self._object)


def _portions(parts: Sequence[Any]) -> Iterator[bytes | memoryview]:
    """What to encrypt next, ENCRYPTED_AT_ONCE at most: large parts, or a piece of the first; small parts are joined."""
    room = ENCRYPTED_AT_ONCE
    small: list[Any] = []
    for part in parts:
        if len(part) > room:
            break
        room -= len(part)
        if len(part) < JOINED_BELOW:
            small.append(part)
            continue
        if small:
            yield b"".join(small)
            small = []
        yield part
    if small:
        yield b"".join(small)
    elif room == ENCRYPTED_AT_ONCE:
        yield memoryview(parts[0])[:ENCRYPTED_AT_ONCE]
