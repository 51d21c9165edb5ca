"""TCP sockets for the drivers: names looked up off the calling thread, connections opened without blocking.

Layer 4. Nothing here knows the engine: an address goes in, a connected socket or the cause why there is none comes out.
The module `_socket` has all that is needed here; `socket` would bring enum and selectors along, a fifth of an import.
"""

from __future__ import annotations

import _socket
import errno
import os
import sys
from collections.abc import Callable

from kwire.drivers.name_lookups import NameLookups
from kwire.engine.common.addresses import Address
from kwire.errors.wording import Cause

SocketAddress = tuple[int, tuple[object, ...]]
"""Address family and what connect() takes."""

NO_SIGNAL = getattr(_socket, "MSG_NOSIGNAL", 0)
"""A flag of send(): a broker that is gone is an error, also where the process lets SIGPIPE end it."""

TLS_READS_AT_ONCE = 8
"""How often one socket with TLS is received from before others have their turn."""

TOO_SLOW = Cause("no answer to the connection attempt", "timeout")
"""One address of a name has not answered, and the next is tried."""

_IN_PROGRESS = {errno.EINPROGRESS, errno.EWOULDBLOCK, errno.EALREADY}
_KINDS = {
    errno.ECONNREFUSED: "refused",
    errno.EHOSTUNREACH: "unreachable",
    errno.ENETUNREACH: "unreachable",
    errno.ETIMEDOUT: "timeout",
}


def literal(address: Address) -> list[SocketAddress] | None:
    """The socket address of an IPv4 or IPv6 literal; None for a name."""
    for family in (_socket.AF_INET, _socket.AF_INET6):
        try:
            _socket.inet_pton(family, address.host)
        except (OSError, ValueError):
            continue
        rest = (0, 0) if family == _socket.AF_INET6 else ()
        return [(family, (address.host, address.port, *rest))]
    return None


def resolve(address: Address) -> tuple[list[SocketAddress], str]:
    """The socket addresses of a name; the text is "" if all went well, else why there are none. Blocks.

    A program that replaces `socket.getaddrinfo` has imported `socket`, and is asked.
    """
    asked = sys.modules.get("socket", _socket)
    try:
        rows = asked.getaddrinfo(address.host, address.port, type=_socket.SOCK_STREAM)
    except (OSError, ValueError, OverflowError) as error:
        return [], unresolved(address, error)
    return list(dict.fromkeys((row[0], row[4]) for row in rows)), ""


def unresolved(address: Address, error: Exception) -> Cause:
    """Why a name has no address."""
    why = error.args[-1] if error.args else error
    return Cause(f"the name {address.host!r} cannot be resolved: {why}", "unresolved")


def cause_of(error: BaseException) -> Cause:
    """An error of a socket, as the system words it; one that was made of a cause has that."""
    if isinstance(error, OSError) and error.errno is not None and error.errno > 0:
        return cause_of_errno(error.errno)
    said = str(error) or type(error).__name__
    if isinstance(said, Cause):
        return said
    return Cause(said, "timeout" if isinstance(error, TimeoutError) else "other")


def cause_of_errno(code: int) -> Cause:
    """An error of the system."""
    return Cause(os.strerror(code), _KINDS.get(code, "other"))


def look_up(
    address: Address, done: Callable[[list[SocketAddress], str], None], wanted: Callable[[], bool] = lambda: True
) -> None:
    """Resolves a name on another thread and calls `done(addresses, error)` there, unless that is `wanted` no more."""
    _lookups.ask(address, done, wanted)


_lookups: NameLookups[Address, list[SocketAddress]] = NameLookups(resolve, [])
os.register_at_fork(after_in_child=_lookups.reset)


def prepare(made: _socket.socket, send_buffer: int, receive_buffer: int) -> None:
    """Makes a new socket one that does not block, with these sizes of its buffers (-1: the system's)."""
    made.setblocking(False)
    made.setsockopt(_socket.IPPROTO_TCP, _socket.TCP_NODELAY, 1)
    made.setsockopt(_socket.SOL_SOCKET, _socket.SO_KEEPALIVE, 1)
    if send_buffer > 0:
        made.setsockopt(_socket.SOL_SOCKET, _socket.SO_SNDBUF, send_buffer)
    if receive_buffer > 0:
        made.setsockopt(_socket.SOL_SOCKET, _socket.SO_RCVBUF, receive_buffer)


def open_socket(where: SocketAddress, send_buffer: int, receive_buffer: int) -> tuple[_socket.socket | None, str]:
    """Begins to connect; the socket, if there is one, and the reason if that failed at once."""
    family, target = where
    try:
        made = _socket.socket(family, _socket.SOCK_STREAM)
        prepare(made, send_buffer, receive_buffer)
    except OSError as error:  # too many open files, or no such family here
        return None, str(error)
    try:
        code = made.connect_ex(target)
    except (OSError, OverflowError) as error:
        return made, str(error)
    return made, "" if code in _IN_PROGRESS or code == 0 else cause_of_errno(code)


def connect_error(made: _socket.socket) -> str:
    """Why a connect in progress failed; "" if it did not."""
    code = made.getsockopt(_socket.SOL_SOCKET, _socket.SO_ERROR)
    return cause_of_errno(code) if code else ""
