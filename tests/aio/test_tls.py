"""`kwire.aio` with TLS against listeners that refuse, hang up, stay silent or speak something else."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kwire import aio, errors
from kwire.drivers.loop_tls import TlsSocket
from kwire.testing import Broker
from tests.aio.conftest import Run, raised
from tests.certificates import Authority
from tests.drivers.tls_sides import AUTHORITY, Listener, ServerSide, client_context, passes_on, server_context
from tests.timing import PATIENT


@contextlib.contextmanager
def listening(serve: Any) -> Iterator[str]:
    listener = Listener(serve)
    try:
        yield f"127.0.0.1:{listener.port}"
    finally:
        listener.close()


async def failure(servers: str, **settings: Any) -> Exception:
    given = {"security_protocol": "SSL", "ssl_context": client_context(), **settings}
    async with aio.Admin(servers, **given) as admin:
        try:
            await admin.list_topics(timeout=PATIENT)
        except errors.KafkaError as error:
            return error
    raise AssertionError("it got through")


def test_a_broker_without_tls_is_recognized(run: Run) -> None:
    with Broker(topics={"t": 1}) as broker:

        async def main() -> None:
            error = await failure(broker.bootstrap_servers)
            assert isinstance(error, errors.AuthError)
            assert "answers in plaintext: is security_protocol=PLAINTEXT" in str(error)

        run(main())


def test_a_listener_with_tls_is_recognized_without_it(run: Run, tmp_path: Path) -> None:
    def alert(near: socket.socket) -> None:
        near.recv(1000)
        near.sendall(bytes.fromhex("15 03 03 00 02 02 50"))

    async def main() -> None:
        error = await failure(servers, security_protocol="PLAINTEXT", ssl_context=None)
        assert isinstance(error, errors.AuthError)
        assert "the broker speaks TLS on this port" in str(error)

    with listening(alert) as servers:
        run(main())


def test_refusals_keep_their_words(run: Run, tmp_path: Path) -> None:
    with Broker(topics={"t": 1}) as broker:

        async def refused(context: Any) -> str:
            with listening(passes_on(context, broker.bootstrap_servers)) as servers:
                error = await failure(servers)
                assert isinstance(error, errors.AuthError)
                return str(error)

        async def main() -> None:
            expired = server_context(tmp_path, AUTHORITY.issue("broker", days=-3))
            assert "certificate has expired on" in await refused(expired)
            wants_certificates = server_context(tmp_path, clients=Authority())
            assert "certificate_required: it wants a certificate" in await refused(wants_certificates)

        run(main())


def test_a_reset_after_a_refusal_leaves_its_words(run: Run, tmp_path: Path) -> None:
    context = server_context(tmp_path, clients=Authority())

    def refuse(near: socket.socket) -> None:
        side = ServerSide(context)
        while not side.closed:
            near.sendall(side.feed(near.recv(65536)))
        near.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    async def main() -> None:
        assert "certificate_required" in str(await failure(servers))

    with listening(refuse) as servers:
        run(main())


@pytest.mark.parametrize("begin", [b"", b"\x16\x03\x03\x00\x7a\x02\x00", b"\x15\x03\x03\x00\x02\x02\x50"])
def test_a_handshake_that_breaks_off_is_tried_again_until_the_call_ends(run: Run, begin: bytes) -> None:
    def break_off(near: socket.socket) -> None:
        near.recv(65536)
        near.sendall(begin)
        near.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    async def main() -> None:
        async with aio.Admin(servers, security_protocol="SSL", ssl_context=client_context()) as admin:
            await raised(lambda: admin.list_topics(timeout=0.5), "TLS")

    with listening(break_off) as servers:
        run(main())


def test_a_handshake_without_an_answer_ends_in_time(run: Run) -> None:
    async def main() -> None:
        async with aio.Admin(
            servers, security_protocol="SSL", ssl_context=client_context(), socket_connection_setup_timeout_ms=200
        ) as admin:
            await raised(lambda: admin.list_topics(timeout=1), "TLS handshake did not end")

    with listening(lambda near: time.sleep(PATIENT)) as servers:
        run(main())


def test_a_socket_that_takes_little_at_a_time_from_the_first_byte(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def send_some(sock: TlsSocket, data: memoryview, flags: int) -> int:
        if sock.paused:
            raise BlockingIOError
        sock.hand_over(bytes(data[:100]))
        sock.pause_writing()
        asyncio.get_running_loop().call_soon(sock.resume_writing)
        return min(len(data), 100)

    monkeypatch.setattr(TlsSocket, "_send", send_some)
    with Broker(topics={"t": 1}, tls="mutual") as broker:

        async def main() -> None:
            async with aio.Producer(broker.bootstrap_servers, **broker.client_settings) as producer:
                assert (await asyncio.wait_for(producer.send("t", b"v" * 5000), PATIENT)).offset == 0

        run(main())
