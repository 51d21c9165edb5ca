"""PLAIN: the user's name and password, as they are. Without TLS everyone between client and broker can read them.

    client   [authzid] NUL authcid NUL passwd        (UTF-8)
    broker   an empty token

Layer 3, no I/O. Source: RFC 4616. The RFC wants SASLprep; brokers compare the bytes, and Java's client sends them
unchanged, so that is done here, too. kwire sends no authzid: brokers refuse one that is not the user itself.
"""

from __future__ import annotations

from kwire.engine.connections.flows import Flow
from kwire.engine.connections.sasl.exchange import Say
from kwire.errors import AuthError


def plain(say: Say, username: str, password: str) -> Flow[None]:
    """Says both in one token."""
    fields = (b"", username.encode(), password.encode())
    if any(b"\0" in field for field in fields):
        raise AuthError(reason="PLAIN cannot send a user or password with a NUL character in it")
    yield from say(b"\0".join(fields))
