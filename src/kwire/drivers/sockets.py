"""TCP sockets for the drivers: names looked up off the calling thread, connections opened without blocking.

Layer 4. Nothing here knows the engine: an address goes in, a connected socket or an error comes out.
"""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Callable

from kwire.drivers.name_lookups import NameLookups
from kwire.engine.common.addresses import Address

SocketAddress = tuple[int, tuple[object, ...]]
"""Address family and what connect() takes."""

NO_SIGNAL = getattr(socket, "MSG_NOSIGNAL", 0)
"""A flag of send(): a broker that is gone is an error, also where the process lets SIGPIPE end it."""

_IN_PROGRESS = {errno.EINPROGRESS, errno.EWOULDBLOCK, errno.EALREADY}


def literal(address: Address) -> list[SocketAddress] | None:
    """The socket address of an IPv4 or IPv6 literal; None for a name."""
    for family in (socket.AF_INET, socket.AF_INET6):
        try:
            socket.inet_pton(family, address.host)
        except (OSError, ValueError):
            continue
        rest = (0, 0) if family == socket.AF_INET6 else ()
        return [(family, (address.host, address.port, *rest))]
    return None


def resolve(address: Address) -> tuple[list[SocketAddress], str]:
    """The socket addresses of a name; the text is "" if all went well, else why there are none. Blocks."""
    try:
        rows = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
    except (OSError, ValueError, OverflowError) as error:
        return [], f"the name {address.host!r} cannot be resolved: {error.args[-1] if error.args else error}"
    return list(dict.fromkeys((row[0], row[4]) for row in rows)), ""


def look_up(
    address: Address, done: Callable[[list[SocketAddress], str], None], wanted: Callable[[], bool] = lambda: True
) -> None:
    """Resolves a name on another thread and calls `done(addresses, error)` there, unless that is `wanted` no more."""
    _lookups.ask(address, done, wanted)


_lookups: NameLookups[Address, list[SocketAddress]] = NameLookups(resolve, [])
os.register_at_fork(after_in_child=_lookups.reset)


def make_socket(family: int, send_buffer: int, receive_buffer: int) -> socket.socket:
    """A socket that does not block, with these sizes of its buffers (-1: the system's)."""
    made = socket.socket(family, socket.SOCK_STREAM)
    made.setblocking(False)
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    if send_buffer > 0:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, send_buffer)
    if receive_buffer > 0:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    return made


def open_socket(where: SocketAddress, send_buffer: int, receive_buffer: int) -> tuple[socket.socket | None, str]:
    """Begins to connect; the socket, if there is one, and the reason if that failed at once."""
    family, target = where
    try:
        made = make_socket(family, send_buffer, receive_buffer)
    except OSError as error:  # too many open files, or no such family here
        return None, str(error)
    try:
        code = made.connect_ex(target)
    except (OSError, OverflowError) as error:
        return made, str(error)
    return made, "" if code in _IN_PROGRESS or code == 0 else os.strerror(code)


def connect_error(made: socket.socket) -> str:
    """Why a connect in progress failed; "" if it did not."""
    code = made.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
    return os.strerror(code) if code else ""
