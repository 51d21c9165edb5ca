"""What a client has counted of each topic, within a bound on topics that it reads no more.

Layer 3, no I/O. A client may live for months and read thousands of topics, one after the other. So from time to time
the counts of topics out of use are added up in one number: the whole is right for ever, its parts while they are read.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from kwire._typing import NamedTuple

MAX_UNUSED = 1000
"""So many topics have counts before those out of use are looked for; then so many more than are in use."""

_OTHERS = ""


class Counts(NamedTuple):
    """How many of each topic, and of the topics that have no count of their own any more."""

    by_topic: Mapping[str, int]
    others: int

    @property
    def whole(self) -> int:
        return sum(self.by_topic.values()) + self.others


class TopicTotals:
    """One count. `in_use()` returns the topics that keep theirs."""

    __slots__ = ("_by_topic", "_in_use", "_max")

    def __init__(self, in_use: Callable[[], Collection[str]]) -> None:
        self._by_topic: dict[str, int] = {_OTHERS: 0}
        self._in_use = in_use
        self._max = MAX_UNUSED

    def add(self, topic: str, count: int) -> None:
        """Counts so many more; fewer, where the count is negative."""
        known = self._by_topic.get(topic)
        if known is None and len(self._by_topic) > self._max:
            self._drop_unused()
        self._by_topic[topic] = (known or 0) + count

    def snapshot(self) -> Counts:
        """The counts now, for any thread at any time."""
        by_topic = dict(self._by_topic)
        return Counts(by_topic, by_topic.pop(_OTHERS))

    def _drop_unused(self) -> None:
        in_use = set(self._in_use())
        kept = {topic: count for topic, count in self._by_topic.items() if topic in in_use}
        kept[_OTHERS] = sum(self._by_topic.values()) - sum(kept.values())
        self._by_topic = kept
        self._max = len(kept) + MAX_UNUSED
