"""Which partitions a sticky assignor has moved between which members, so that it does not move two in a circle.

Layer 3, no I/O. Java's PartitionMovements: where a partition is to go from A to B and another one of its topic has gone
from B to A before, that one goes back instead. Of several it is the first one of a HashSet, see `java_order.py`.
"""

from __future__ import annotations

from kwire.engine.common.addresses import TopicPartition
from kwire.engine.groups.assignors.java_order import Bins, spread, string_hash

_PRIME = 31
_MASK = 0xFFFFFFFF

Pair = tuple[str, str]


class Movements:
    """The movements of one assignment."""

    def __init__(self) -> None:
        self._pairs: dict[TopicPartition, Pair] = {}
        self._moved: dict[str, dict[Pair, _Moved]] = {}

    def move(self, partition: TopicPartition, source: str, target: str) -> None:
        """The partition goes from one member to another; one that comes back to where it was has not moved."""
        before = self._pairs.get(partition)
        if before is None:
            self._add(partition, (source, target))
            return
        self._remove(partition, before)
        if before[0] != target:
            self._add(partition, (before[0], target))

    def instead_of(self, partition: TopicPartition, source: str, target: str) -> TopicPartition:
        """The partition to move where this one is to go from one member to another: this one, or one that goes back."""
        by_pair = self._moved.get(partition.topic)
        if by_pair is None:
            return partition
        before = self._pairs.get(partition)
        moved = by_pair.get((target, before[0] if before is not None else source))
        return moved.first() if moved is not None else partition

    def _add(self, partition: TopicPartition, pair: Pair) -> None:
        self._pairs[partition] = pair
        by_pair = self._moved.setdefault(partition.topic, {})
        if pair not in by_pair:
            by_pair[pair] = _Moved()
        by_pair[pair].add(partition)

    def _remove(self, partition: TopicPartition, pair: Pair) -> None:
        del self._pairs[partition]
        by_pair = self._moved[partition.topic]
        if not by_pair[pair].remove(partition):
            del by_pair[pair]
        if not by_pair:
            del self._moved[partition.topic]


class _Moved:
    """A HashSet of TopicPartition, as far as its first one goes."""

    def __init__(self) -> None:
        self._hashes: dict[TopicPartition, int] = {}
        self._bins = Bins()

    def add(self, partition: TopicPartition) -> None:
        found = spread((_PRIME * (_PRIME + partition.partition) + string_hash(partition.topic)) & _MASK)
        self._bins.grow_for(found, self._hashes.values())
        self._hashes[partition] = found

    def remove(self, partition: TopicPartition) -> bool:
        """Whether others are left."""
        del self._hashes[partition]
        return bool(self._hashes)

    def first(self) -> TopicPartition:
        mask = self._bins.count - 1
        return min(self._hashes, key=lambda partition: self._hashes[partition] & mask)
