"""How long polls of a consumer, or of a share consumer, wait before they raise what keeps records from them.

Layer 3, no I/O; used with the core to itself. After default_api_timeout_ms of polls each of these is raised, and then
counted anew:

    brokers   no broker ever answered: ConnectError with a cause for each address, or whatever else failed
    topics    a topic is missing: UnknownTopicError
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kwire._typing import TYPE_CHECKING
from kwire.errors import UnknownTopicError

if TYPE_CHECKING:
    from kwire.engine.metadata.cluster import Cluster


class PollPatience:
    """Counts from the first poll that looked in vain; `seconds` is how long."""

    def __init__(self, cluster: Cluster, seconds: float) -> None:
        self._cluster = cluster
        self._seconds = seconds
        self._polled_at = 0.0
        self._alone_since: float | None = None
        self._missing_since: dict[str, float] = {}

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

    def missing(
        self, topics: Iterable[str], now: float, *, once: bool = False
    ) -> Iterator[tuple[str, UnknownTopicError]]:
        """The topics that have been missing for too long, with the error; `once`: none again before it was there."""
        for topic in topics:
            error = self._cluster.unknown_topic(topic)
            if error is None:
                self._missing_since.pop(topic, None)
            elif now - self._missing_since.setdefault(topic, now) >= self._seconds:
                if once:
                    self._missing_since[topic] = float("inf")
                else:
                    del self._missing_since[topic]
                yield topic, error
