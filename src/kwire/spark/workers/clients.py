"""Clients that a Spark worker keeps from task to task, so that the next one finds their connections open.

Knows neither consumers nor producers: a client is whatever can be closed. Not shared with a process that was forked,
and not between two tasks that run at once.
"""

from __future__ import annotations

import atexit
import os
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import Final, Protocol, TypeVar, cast


class Closeable(Protocol):
    """What is kept here."""

    def close(self) -> None: ...


Client = TypeVar("Client", bound=Closeable)

MAX_IDLE: Final = 8

_idle: dict[tuple[int, Hashable], Closeable] = {}


@contextmanager
def borrowed(make: Callable[[], Client], name: Hashable) -> Iterator[Client]:
    """A client of this process that is called `name`, or a new one.

    It is kept for later when the block ends well, and closed when the block fails or is left early. Of those kept, the
    one that was not used for longest is closed when there are more than MAX_IDLE.
    """
    place = (os.getpid(), name)
    client = cast(Client, _idle.pop(place, None) or make())
    try:
        yield client
    except BaseException:
        client.close()
        raise
    displaced = _idle.pop(place, None)
    _idle[place] = client
    if displaced is not None:
        displaced.close()
    own = [place for place in _idle if place[0] == os.getpid()]
    for place in own[:-MAX_IDLE]:
        _idle.pop(place).close()


def idle_clients() -> list[Closeable]:
    """The clients that this process keeps."""
    return [client for (process, _), client in _idle.items() if process == os.getpid()]


@atexit.register
def close_idle_clients() -> None:
    """Closes the connections that this process keeps for later tasks."""
    for place in [place for place in _idle if place[0] == os.getpid()]:
        _idle.pop(place).close()
