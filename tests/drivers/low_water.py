"""What the tests of low-water marks share: a broker that dribbles over TLS, and a look at the marks. No tests."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from kwire import Producer
from kwire._codec import ConnectionSocket
from kwire.drivers import reactor
from kwire.drivers.loop_tls import TlsSocket
from kwire.testing import Broker
from tests.brokers.ports import LOOPBACK, free_ports
from tests.drivers.tls_sides import Listener, client_context, passes_on, server_context
from tests.timing import PATIENT

AWAITED_AT_ONCE = 1 << 20
VALUES = [bytes([number]) * 300_000 for number in range(12)]


def never_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is below the mark is never read, however long it is there."""
    for kind in (reactor._Socket, TlsSocket):
        monkeypatch.setattr(kind, "_look", lambda sock, now: None, raising=False)


def note_marks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The marks that sockets have from now on."""
    seen: list[int] = []

    def await_frame(sock: Any, core: Any, cut: bool, now: float) -> int:
        ConnectionSocket.await_frame(sock, core, cut, now)
        if sock.fd >= 0:
            seen.append(sock.socket.getsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT))
        return 0

    for kind in (reactor._Socket, TlsSocket):
        monkeypatch.setattr(kind, "await_frame", await_frame, raising=False)
    return seen


@contextmanager
def dribbling(folder: Path, piece: int) -> Iterator[dict[str, Any]]:
    """The settings of clients of a broker with VALUES in the topic "t": it sends `piece` bytes at a time over TLS."""
    [port] = free_ports(1)
    serve = passes_on(server_context(folder), f"{LOOPBACK}:{port}", piece=piece)
    listener = Listener(serve)
    address = f"{LOOPBACK}:{listener.port}"
    settings = {"bootstrap_servers": address, "security_protocol": "SSL", "ssl_context": client_context()}
    try:
        with Broker(topics={"t": 1}, port=port, advertised=address):
            with Producer(**settings, batch_size=1 << 20) as producer:
                for value in VALUES:
                    producer.send("t", value)
                producer.flush(timeout=PATIENT)
            yield settings
    finally:
        listener.close()
