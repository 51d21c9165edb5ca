"""How long polls of a consumer, or of a share consumer, wait before they raise what keeps records from them.

Layer 3, no I/O; used with the core to itself. After default_api_timeout_ms of polls each of these is raised, and then
counted anew:

    brokers   no broker ever answered: ConnectError with a cause for each address, or whatever else failed
    topics    a topic is missing: UnknownTopicError. A warning names it long before, since the name may be misspelt;
              in a group that is all: it reads the topic once it exists
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from kwire._typing import TYPE_CHECKING
from kwire.engine.common.outage import WARN_AFTER_S
from kwire.errors import UnknownTopicError

if TYPE_CHECKING:
    from kwire.engine.metadata.cluster import Cluster
    from kwire.engine.ports import Services


class PollPatience:
    """Counts from the first poll that looked in vain; `seconds` is how long."""

    def __init__(self, cluster: Cluster, seconds: float) -> None:
        self._cluster = cluster
        self._seconds = seconds
        self._polled_at = 0.0
        self._alone_since: float | None = None
        self._missing_since: dict[str, float] = {}
        self._warned_of: set[str] = set()

    def begin(self, now: float) -> None:
        """Begins a poll."""
        self._polled_at = now

    def check_brokers(self, now: float) -> None:
        """Raises why no broker ever answered."""
        if self._cluster.generation > 0:
            self._alone_since = None
            return
        if self._alone_since is None:
            self._alone_since = self._polled_at
        if now - self._alone_since >= self._seconds:
            self._alone_since = None
            raise self._cluster.no_answer(f"no metadata within {self._seconds:g} s")

    def check_topics(self, topics: Collection[str], core: Services, now: float) -> None:
        """Warns of topics that are missing; raises UnknownTopicError for one that has been for too long."""
        for _, error in self.to_warn_of(topics, now):
            core.warn(f"{error}; polls wait for it, and raise this in the end")
        for topic, error, since in self._count(topics, now):
            if now - since >= self._seconds:
                del self._missing_since[topic]
                raise error

    def to_warn_of(self, topics: Iterable[str], now: float) -> Iterator[tuple[str, UnknownTopicError]]:
        """The topics that have been missing for a while, with the error; each once before it is there."""
        for topic, error, since in self._count(topics, now):
            if topic not in self._warned_of and now - since >= min(self._seconds, WARN_AFTER_S):
                self._warned_of.add(topic)
                yield topic, error

    def _count(self, topics: Iterable[str], now: float) -> Iterator[tuple[str, UnknownTopicError, float]]:
        for topic in topics:
            error = self._cluster.unknown_topic(topic)
            if error is None:
                self._missing_since.pop(topic, None)
                self._warned_of.discard(topic)
            else:
                yield topic, error, self._missing_since.setdefault(topic, now)
