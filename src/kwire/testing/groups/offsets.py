"""What groups have committed: offsets by group, topic and partition, with those of open transactions apart.

Retention as in Kafka (KIP-211): an offset that brought its own time (OffsetCommit 1 to 4) goes at that time. Any other
goes `offsets_retention_minutes` after its group has become empty, or, in a group that never had members or that does
not read the topic any more, after its commit. Expiry is looked at whenever offsets are.

Transactions: `add_pending` holds what a producer has committed in its open transaction, `complete` makes it the group's
offsets or drops it. Until then a reader that asks for stable offsets is told UNSTABLE_OFFSET_COMMIT.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

Key = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Committed:
    """One committed offset. Times in ms since 1970; `expires_ms` only where the commit said so."""

    offset: int
    leader_epoch: int = -1
    metadata: str | None = ""
    committed_ms: int = 0
    expires_ms: int | None = None


class Offsets:
    """The offsets of all groups of one store. Keys of a group are (topic, partition)."""

    def __init__(self) -> None:
        self._groups: dict[str, dict[Key, Committed]] = {}
        self._pending: dict[int, dict[str, dict[Key, Committed]]] = {}

    def commit(self, group_id: str, topic: str, partition: int, committed: Committed) -> None:
        """Replaces what the group had committed."""
        self._groups.setdefault(group_id, {})[topic, partition] = committed

    def of(self, group_id: str) -> dict[Key, Committed]:
        """What the group has committed; not to be changed."""
        return self._groups.get(group_id, {})

    def find(self, group_id: str, topic: str, partition: int) -> Committed | None:
        return self.of(group_id).get((topic, partition))

    def delete(self, group_id: str, topic: str, partition: int) -> None:
        """Forgets a partition's offset, pending ones too; harmless when there is none."""
        for offsets in self._stores(group_id):
            offsets.pop((topic, partition), None)

    def delete_group(self, group_id: str) -> None:
        """Forgets all offsets of a group, pending ones too."""
        self._groups.pop(group_id, None)
        for groups in self._pending.values():
            groups.pop(group_id, None)

    def delete_topic(self, topic: str) -> None:
        """Forgets a topic that was deleted, in every group."""
        for group_id in {*self._groups, *(each for groups in self._pending.values() for each in groups)}:
            for offsets in self._stores(group_id):
                for key in [key for key in offsets if key[0] == topic]:
                    del offsets[key]

    def expire(self, group_id: str, is_over: Callable[[Key, Committed], bool]) -> None:
        """Forgets the offsets that `is_over` names, unless a transaction is about to replace them."""
        offsets = self._groups.get(group_id, {})
        for key in [key for key, each in offsets.items() if is_over(key, each) and not self.is_pending(group_id, *key)]:
            del offsets[key]

    # Transactions.

    def add_pending(self, producer_id: int, group_id: str, topic: str, partition: int, committed: Committed) -> None:
        """An offset that is the group's once the producer's transaction is committed."""
        self._pending.setdefault(producer_id, {}).setdefault(group_id, {})[topic, partition] = committed

    def complete(self, producer_id: int, *, committed: bool) -> None:
        """The transaction of a producer has ended: its offsets become the groups', or are dropped."""
        for group_id, offsets in self._pending.pop(producer_id, {}).items():
            if committed:
                self._groups.setdefault(group_id, {}).update(offsets)

    def is_pending(self, group_id: str, topic: str, partition: int) -> bool:
        """Whether an open transaction holds an offset of this partition."""
        return any((topic, partition) in groups.get(group_id, {}) for groups in self._pending.values())

    def has_pending(self, group_id: str) -> bool:
        """Whether an open transaction holds offsets of the group."""
        return any(groups.get(group_id) for groups in self._pending.values())

    def _stores(self, group_id: str) -> Iterator[dict[Key, Committed]]:
        for groups in (self._groups, *self._pending.values()):
            if group_id in groups:
                yield groups[group_id]
