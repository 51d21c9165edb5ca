"""Free TCP ports on loopback for servers that must know their port before they start.

They are taken from below the range from which the kernel serves outgoing connections, so that between this answer and
the server's bind no client's own port can land on one.
"""

import random
import socket

LOOPBACK = "127.0.0.1"
_FIRST, _LAST = 20000, 32000
_given: set[int] = set()


def free_ports(count: int) -> list[int]:
    """So many ports on which nothing listens now and which were not given out before in this process."""
    found: list[int] = []
    while len(found) < count:
        port = random.randrange(_FIRST, _LAST)
        if port not in _given and _can_bind(port):
            _given.add(port)
            found.append(port)
    return found


def is_open(port: int) -> bool:
    """Whether something on loopback takes connections at that port."""
    try:
        socket.create_connection((LOOPBACK, port), timeout=1.0).close()
    except OSError:
        return False
    return True


def _can_bind(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
    return True
