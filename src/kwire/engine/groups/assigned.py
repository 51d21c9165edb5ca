"""What a member was assigned and the cluster does not have: a partition beyond its topic's, a topic that is not there.

Layer 3, no I/O. Whoever assigned it may know what is news to the broker that was asked for metadata; so that is asked
for again and again (`PositionLookup.leader`, `TopicNames`), and the member reads the rest. Each answer is a look: what
is still missing at the second one is warned of, once, and what was missing for default_api_timeout_ms is an
UnknownTopicError, again after each such time. Java's client does not report it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kwire._typing import TYPE_CHECKING
from kwire.engine.common.addresses import TopicPartition
from kwire.errors import KafkaError, UnknownTopicError
from kwire.errors.listing import first_of

if TYPE_CHECKING:
    from typing import Protocol

    from kwire.engine.consumer.subscription import Subscription
    from kwire.engine.ports import Services
    from kwire.engine.settings.clients import ConsumerSettings
else:
    Protocol = object

_SHOWN = 5

LOOK_TAKES_S = 20e-6
"""Seconds between two looks, for each partition assigned: looking never takes all of the time."""

Explain = Callable[[object], object]
"""The reason why something is missing, from what `look` got."""


class Warned(Protocol):
    """The member that misses something: its warnings and errors."""

    fault: KafkaError | None
    warn: Callable[[str], object]


class Missing:
    """What one member misses, which is warned of and raised."""

    def __init__(self, settings: ConsumerSettings, member: Warned) -> None:
        self._group_id = settings.group_id
        self._patience = settings.default_api_timeout_ms / 1000
        self._member = member
        self._since: dict[str, float] = {}
        self._told: set[str] = set()

    def look(self, missing: Mapping[str, object], now: float, explain: Explain = str) -> None:
        """This is what is missing now, by name, and nothing else; `explain` is asked why of few of them."""
        before = self._since
        self._since = {name: before.get(name, now) for name in missing}
        self._told &= missing.keys()
        news = [name for name in missing if name in before and name not in self._told]
        if news:
            self._told.update(news)
            what, why = first_of(news, _SHOWN), explain(missing[news[0]])
            self._member.warn(
                f"group {self._group_id!r} has assigned {what} to this consumer, but {why}; metadata is refreshed "
                "until that changes"
            )
        overdue = [name for name, since in self._since.items() if now - since >= self._patience]
        if overdue:
            self._since.update(dict.fromkeys(overdue, now))
            what, why = first_of(overdue, _SHOWN), explain(missing[overdue[0]])
            waited = f"{self._patience:g} s"
            self._member.fault = self._member.fault or UnknownTopicError(
                f"group {self._group_id!r} has assigned {what} to this consumer, but for {waited} now {why}"
            )


class AssignedPartitions:
    """The partitions that a group has assigned, each looked for in all metadata that comes."""

    def __init__(self, core: Services, subscription: Subscription, missing: Missing) -> None:
        self._cluster = core.cluster
        self._subscription = subscription
        self._missing = missing
        self._seen = 0
        self._next_look = 0.0

    def on_metadata(self, now: float) -> None:
        """Metadata came, or was asked for in vain."""
        cluster = self._cluster
        if cluster.generation == self._seen or now < self._next_look:
            return
        self._seen = cluster.generation
        assigned = self._subscription.states if self._subscription.by_group else ()
        self._next_look = now + len(assigned) * LOOK_TAKES_S
        missing = {str(tp): tp for tp in assigned if cluster.is_missing(tp.topic, tp.partition)}
        self._missing.look(missing, now, self._why)

    def _why(self, tp: object) -> object:
        assert isinstance(tp, TopicPartition)
        return self._cluster.missing(tp.topic, tp.partition)
