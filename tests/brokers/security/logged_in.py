"""A bare connection of alice's to a listener without TLS, logged in by PLAIN."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager

from kwire.protocol import SaslAuthenticateRequest, SaslHandshakeRequest
from tests.brokers.listeners import Listener
from tests.brokers.security.logins import PASSWORD
from tests.brokers.wire import Wire

_WITHIN_S = 20.0


@contextmanager
def logged_in(listener: Listener) -> Iterator[tuple[Wire, int]]:
    """The connection, and the milliseconds for which the broker takes the login for good (0: for ever)."""
    host, _, port = listener.address.partition(":")
    with socket.create_connection((host, int(port)), timeout=_WITHIN_S) as connection:
        wire = Wire(connection)
        assert wire.call(SaslHandshakeRequest(mechanism="PLAIN"), 1).error_code == 0
        login = f"\0alice\0{PASSWORD}".encode()
        answer = wire.call(SaslAuthenticateRequest(auth_bytes=login), 2)
        assert answer.error_code == 0
        yield wire, answer.session_lifetime_ms
