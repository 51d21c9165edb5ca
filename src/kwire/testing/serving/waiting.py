"""Which connections wait, for what and until when, so that a turn of the server costs nothing for those that do not.

Plain bookkeeping: it reads `due`, `may_send_at` and `suspended` of connections and drives none of them.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kwire.testing.serving.connection import Connection


@dataclass(slots=True, eq=False)
class _Note:
    """What a connection waited for when it was last looked at."""

    connection: Connection
    due: float
    wakers: frozenset[Hashable]


class WaitingConnections:
    """To be told by `note` whenever a connection has been driven, and by `forget` when it is closed."""

    def __init__(self) -> None:
        self._notes: dict[Connection, _Note] = {}
        self._by_waker: dict[Hashable, dict[Connection, None]] = {}
        self._heap: list[tuple[float, int, _Note]] = []
        self._order = itertools.count()
        self._slow: dict[Connection, None] = {}

    def note(self, connection: Connection) -> None:
        """Takes in what the connection waits for now."""
        if connection.may_send_at:
            self._slow[connection] = None
        else:
            self._slow.pop(connection, None)
        known, suspended, due = self._notes.get(connection), connection.suspended, connection.due
        wakers = suspended.wakers if suspended is not None else frozenset()
        if known is not None:
            if known.due == due and known.wakers is wakers:
                return
            self._drop(known)
        if due == math.inf and not wakers:
            return
        made = self._notes[connection] = _Note(connection, due, wakers)
        for waker in wakers:
            self._by_waker.setdefault(waker, {})[connection] = None
        if due < math.inf:
            heapq.heappush(self._heap, (due, next(self._order), made))

    def forget(self, connection: Connection) -> None:
        """The connection is closed."""
        self._slow.pop(connection, None)
        if (known := self._notes.get(connection)) is not None:
            self._drop(known)

    @property
    def next_due(self) -> float:
        """When the first of them is due, by the broker's clock."""
        while self._heap and self._notes.get(self._heap[0][2].connection) is not self._heap[0][2]:
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else math.inf

    @property
    def next_send(self) -> float:
        """When the first slow one may send again, by the system's clock."""
        return min((connection.may_send_at for connection in self._slow), default=math.inf)

    def ready(self, now: float, happened: Iterable[Hashable]) -> list[Connection]:
        """Those that are due, or wait for what has happened, and all slow ones."""
        found = dict.fromkeys(self._slow)
        for each in happened:
            found.update(self._by_waker.get(each, {}))
        while self.next_due <= now:
            found[heapq.heappop(self._heap)[2].connection] = None
        return list(found)

    def _drop(self, known: _Note) -> None:
        del self._notes[known.connection]
        for waker in known.wakers:
            waiting = self._by_waker[waker]
            del waiting[known.connection]
            if not waiting:
                del self._by_waker[waker]
