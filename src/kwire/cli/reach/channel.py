"""One connection to a broker, on an event loop: frames over TCP or TLS, and the clients' own flows run on them.

Every wait can be cancelled. Errors are OSError where the connection broke, else KafkaError.
"""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress
from time import monotonic
from typing import Any, TypeVar

from kwire import protocol
from kwire._codec import Buffer, FrameReceiver
from kwire.drivers.apart import future_of_thread
from kwire.drivers.plaintext_probe import PlaintextProbe
from kwire.drivers.sockets import SocketAddress, prepare
from kwire.drivers.tls import RECEIVED_AT_ONCE, Agreed, TlsClient, TlsStream
from kwire.engine.common.addresses import Address
from kwire.engine.connections.connections import speaks_tls
from kwire.engine.connections.flows import Apart, Ask, Flow, Raw
from kwire.errors import AuthError, FrameError, KafkaError

_MAX_FRAME = 100 * 1024 * 1024

Result = TypeVar("Result")


async def connect(where: SocketAddress) -> socket.socket:
    """A connected socket; OSError where that fails."""
    family, target = where
    made = socket.socket(family, socket.SOCK_STREAM)
    prepare(made, -1, -1)
    try:
        await asyncio.get_running_loop().sock_connect(made, target)
    except BaseException:
        made.close()
        raise
    return made


class Channel:
    """A connected socket as requests and answers."""

    def __init__(self, made: socket.socket, address: Address, client_id: str) -> None:
        self._socket = made
        self._address = address
        self._client_id = client_id
        self._stream: TlsStream | PlaintextProbe | None = None
        self._receiver = FrameReceiver(_MAX_FRAME)
        self._frames: list[Buffer] = []
        self._asked = 0

    def close(self) -> None:
        """Closes the socket; TLS is told where that takes no time."""
        if self._stream is not None and not self._stream.has_outgoing:
            self._stream.close()
            with suppress(OSError):  # the other side is gone, or takes nothing now
                self._socket.send(self._stream.outgoing())
        self._socket.close()

    async def begin_tls(self, client: TlsClient) -> None:
        """The handshake of TLS, or where the last one ended at its first bytes, a question in plaintext."""
        self._stream = stream = client.stream(self._address)
        try:
            while not stream.handshake():
                await self._flush()
                stream.feed(await self._received())
        except AuthError:
            with suppress(OSError):  # the alert that says why
                await self._flush()
            raise
        await self._flush()

    @property
    def agreed(self) -> Agreed | None:
        """What TLS agreed on."""
        return self._stream.agreed if isinstance(self._stream, TlsStream) else None

    async def run(self, flow: Flow[Result]) -> Result:
        """What the flow returns; its steps are taken one after the other."""
        answer: Any = None
        thrown: Exception | None = None
        while True:
            try:
                step = flow.send(answer) if thrown is None else flow.throw(thrown)
            except StopIteration as end:
                return end.value  # type: ignore[no-any-return]
            answer = thrown = None
            if isinstance(step, Apart):
                try:
                    answer = await future_of_thread(asyncio.get_running_loop(), step.function), monotonic()
                except Exception as error:
                    thrown = error
            elif isinstance(step, Raw):
                await self._send(len(step.token).to_bytes(4, "big") + step.token)
                answer = await self._frame(step.name) if step.answered else None
            else:
                answer = await self._answer(step)

    async def ask(self, api_key: int, version: int, message: protocol.Request) -> Any:
        """The answer to one request."""
        frame = await self._answer(Ask(api_key, version, message))
        return protocol.decode_response_body(frame, api_key, version)[1]

    async def _answer(self, step: Ask) -> Buffer:
        self._asked += 1
        await self._send(
            protocol.encode_request(step.message, step.version, correlation_id=self._asked, client_id=self._client_id)
        )
        frame = await self._frame(step.name or protocol.APIS[step.api_key].name)
        found = int.from_bytes(frame[:4], "big")
        if found != self._asked:
            raise FrameError(f"it answered with correlation id {found} where {self._asked} was due")
        return frame

    async def _frame(self, step: str) -> Buffer:
        while not self._frames:
            try:
                await self._take_more()
            except (OSError, KafkaError):
                self._check_for_tls(step)
                raise
            if self._receiver.fault is not None:
                self._check_for_tls(step)
                raise self._receiver.fault
        return self._frames.pop(0)

    def _check_for_tls(self, step: str) -> None:
        if self._receiver.looks_like_tls:
            raise speaks_tls(self._address, step)

    async def _take_more(self) -> None:
        """Waits for bytes, where none are left to decrypt: an answer may have come together with the end of TLS."""
        if self._stream is None:
            self._frames += self._receiver.feed(await self._received())
            return
        if not self._stream.readable:
            self._stream.feed(await self._received())
        while self._stream.readable and not self._frames:
            if count := self._stream.read_into(self._receiver.buffer()):
                self._frames += self._receiver.received(count)

    async def _received(self) -> bytes:
        data = await asyncio.get_running_loop().sock_recv(self._socket, RECEIVED_AT_ONCE)
        if data:
            return data
        reason = "the broker closed the connection"
        raise ConnectionError(reason) if self._stream is None else self._stream.end(reason)

    async def _send(self, frame: bytes) -> None:
        if self._stream is None:
            await asyncio.get_running_loop().sock_sendall(self._socket, frame)
            return
        rest = memoryview(frame)
        while rest:
            rest = rest[self._stream.encrypt([rest]) :]
            await self._flush()

    async def _flush(self) -> None:
        assert self._stream is not None
        while data := self._stream.outgoing():
            await asyncio.get_running_loop().sock_sendall(self._socket, data)
            self._stream.sent(len(data))
