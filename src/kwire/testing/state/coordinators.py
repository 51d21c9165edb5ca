"""Which node coordinates a group, a transactional id or a share partition.

As in Kafka: the key's Java hash chooses a partition of an internal topic, whose leader is the coordinator. A partition
that lost its leader gets another living node; it keeps that one when the first returns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

GROUP, TRANSACTION, SHARE = 0, 1, 2


@dataclass(frozen=True, slots=True)
class CoordinatorMoved:
    """The waker that is touched when the coordinator of a key may have moved: of one partition of one kind."""

    kind: int
    slot: int


class Coordinators:
    """The leaders of the internal topics' partitions; `slots` is how many by kind. `wake` is told of what moves."""

    def __init__(self, slots: dict[int, int], wake: Callable[[Iterable[CoordinatorMoved]], None]) -> None:
        self.slots = slots
        self._wake = wake
        self._leaders: dict[CoordinatorMoved, int] = {}
        self._alive: list[int] = []

    def slot(self, kind: int, key: str) -> CoordinatorMoved:
        """The partition of a key; also the waker for flows that end when its coordinator moves."""
        return CoordinatorMoved(kind, (java_hash(key) & 0x7FFFFFFF) % self.slots[kind])

    def leader(self, kind: int, key: str) -> int | None:
        """The id of the node; None while no node is alive."""
        return self.leader_of(kind, self.slot(kind, key).slot)

    def leader_of(self, kind: int, slot: int) -> int | None:
        """The same, of a partition by its number."""
        at = CoordinatorMoved(kind, slot)
        if at not in self._leaders and self._alive:
            self._leaders[at] = self._alive[at.slot % len(self._alive)]
        return self._leaders.get(at)

    def move(self, kind: int, key: str, node: int) -> None:
        """Makes `node` the coordinator of a key, and of every other key of its partition."""
        at = self.slot(kind, key)
        self._leaders[at] = node
        self._wake([at])

    def nodes_changed(self, alive: Iterable[int]) -> None:
        """Partitions whose leader is gone get another when they are asked for again."""
        self._alive = sorted(alive)
        lost = [at for at, leader in self._leaders.items() if leader not in self._alive]
        for at in lost:
            del self._leaders[at]
        self._wake(lost)


def java_hash(text: str) -> int:
    """`String.hashCode`, as an unsigned number: over UTF-16 code units."""
    units = memoryview(text.encode("utf-16-le", "surrogatepass")).cast("H")
    value = 0
    for unit in units:
        value = (value * 31 + unit) & 0xFFFFFFFF
    return value
