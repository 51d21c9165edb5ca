"""The names of topic ids: assignments of KIP-848 and KIP-932 name topics by id alone.

Layer 3, no I/O. A name comes from the metadata that the client has, else from a Metadata request by id, which is
repeated while a broker does not know the id: one that lags, or a topic that was deleted and that the coordinator is
about to take away again. Where the broker that was asked is silent, another one is asked, too.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from kwire import errors, protocol
from kwire._codec import Timer
from kwire._typing import TYPE_CHECKING, override
from kwire.engine.calls.hedged_request import HedgedRequest
from kwire.engine.common.recovery import Recoverable
from kwire.errors import KafkaError
from kwire.schema.api_keys import METADATA

if TYPE_CHECKING:
    from uuid import UUID

    from kwire.engine.ports import Services

_FIRST_VERSION_BY_ID = 12


def _ignore(topic_ids: Collection[UUID], now: float) -> None:
    """What has no name is not reported."""


class TopicNames(Recoverable):
    """The names that one member of a group knows; `on_found(now)` is called when there are more of them, and after
    each answer `on_missing` with the ids that no broker has named yet."""

    def __init__(
        self,
        core: Services,
        on_found: Callable[[float], None],
        on_missing: Callable[[Collection[UUID], float], object] = _ignore,
    ) -> None:
        self._core = core
        self._on_found = on_found
        self._on_missing = on_missing
        self._known: dict[UUID, str] = {}
        self._missing: frozenset[UUID] = frozenset()
        self._request: HedgedRequest | None = None
        self._again: Timer | None = None
        self._failures = 0
        core.cluster.listeners.append(self._on_metadata)
        self.recover_with(core)

    def name(self, topic_id: UUID) -> str | None:
        """The topic's name; None while it is not known."""
        found = self._core.cluster.names.get(topic_id) or self._known.get(topic_id)
        if found is not None:
            self._known[topic_id] = found
        return found

    def find(self, topic_ids: Iterable[UUID], now: float) -> None:
        """Asks for those of these ids that have no name yet; all others are forgotten."""
        wanted = frozenset(topic_ids)
        self._known = {topic_id: name for topic_id, name in self._known.items() if topic_id in wanted}
        self._missing = frozenset(topic_id for topic_id in wanted if self.name(topic_id) is None)
        if self._missing and self._request is None and self._again is None:
            self._failures = 0
            self._ask(now)

    def stop(self) -> None:
        """Asks no more, and forgets all names."""
        self._missing = frozenset()
        self._known.clear()
        self._stop_asking()

    def _stop_asking(self) -> None:
        if self._again is not None:
            self._again.cancel()
            self._again = None
        if self._request is not None:
            self._request.cancel()
            self._request = None

    def _on_metadata(self, now: float) -> None:
        if self._missing:
            self._take_in(now)

    def _take_in(self, now: float) -> None:
        """Notes which names have become known, and tells of them."""
        left = frozenset(topic_id for topic_id in self._missing if self.name(topic_id) is None)
        news = len(left) < len(self._missing)
        self._missing = left
        if news:
            self._on_found(now)

    def _ask(self, now: float) -> None:
        self._again = None
        if self._missing and self._request is None:
            versions = range(_FIRST_VERSION_BY_ID, protocol.APIS[METADATA].versions[-1] + 1)
            request = HedgedRequest(
                self._core, METADATA, self._message, self._on_response, self._on_error, now, versions=versions
            )
            self._request = None if request.done else request

    def _message(self, version: int) -> protocol.MetadataRequest:
        made = protocol.MetadataRequest
        rows = [made.MetadataRequestTopic(topic_id=topic_id, name=None) for topic_id in sorted(self._missing)]
        return made(topics=rows, allow_auto_topic_creation=False)

    def _on_response(self, response: protocol.MetadataResponse, version: int, now: float) -> None:
        self._request = None
        self._known.update(
            (row.topic_id, row.name) for row in response.topics if row.name is not None and not row.error_code
        )
        self._take_in(now)
        self._on_missing(self._missing, now)
        if self._missing:
            self._retry(now)

    def _on_error(self, error: KafkaError, now: float) -> None:
        self._request = None
        if not isinstance(error, errors.ClientClosedError):
            self._retry(now)

    def _retry(self, now: float) -> None:
        if self._again is None:
            self._failures += 1
            self._again = self._core.call_at(now + self._core.retry_backoff.wait(self._failures), self._ask)

    @override
    def recover(self, now: float) -> None:
        """Asks again for what is missing."""
        self._stop_asking()
        self._ask(now)
