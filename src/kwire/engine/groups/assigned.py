"""What a member was assigned and the cluster does not have: a partition beyond its topic's, a topic that is not there.

Layer 3, no I/O. Whoever assigned it may know what is news to the broker that was asked for metadata; so that is asked
for again and again (`PositionLookup.leader`, `TopicNames`), and the member reads the rest. Each answer is a look: what
is still missing at the second one is warned of, once, and what was missing for default_api_timeout_ms is an
UnknownTopicError, again after each such time. Java's client says nothing of it.
"""

from __future__ import annotations

from collections.abc import Mapping

from kwire._typing import TYPE_CHECKING
from kwire.errors import UnknownTopicError
from kwire.errors.listing import first_of

if TYPE_CHECKING:
    from kwire.engine.groups.membership import Membership
    from kwire.engine.ports import Services
    from kwire.engine.settings import ConsumerSettings
    from kwire.engine.subscription import Subscription

_SHOWN = 5

Why = Mapping[str, object]
"""What is missing, by its name, each with the reason."""


class Missing:
    """What one member misses, which is told."""

    def __init__(self, settings: ConsumerSettings, member: Membership) -> None:
        self._group_id = settings.group_id
        self._patience = settings.default_api_timeout_ms / 1000
        self._member = member
        self._since: dict[str, float] = {}
        self._told: set[str] = set()

    def look(self, missing: Why, now: float) -> None:
        """This is what is missing now, and nothing else."""
        before = self._since
        self._since = {name: before.get(name, now) for name in missing}
        self._told &= missing.keys()
        news = [name for name in missing if name in before and name not in self._told]
        if news:
            self._told.update(news)
            what, why = _in_words(news, missing)
            self._member.warn(
                f"group {self._group_id!r} has assigned {what} to this consumer, but {why}; metadata is asked for "
                "again until that has changed"
            )
        overdue = [name for name, since in self._since.items() if now - since >= self._patience]
        if overdue:
            self._since.update(dict.fromkeys(overdue, now))
            what, why = _in_words(overdue, missing)
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

    def on_metadata(self, now: float) -> None:
        """Metadata came, or was asked for in vain."""
        cluster = self._cluster
        if cluster.generation == self._seen:
            return
        self._seen = cluster.generation
        states = self._subscription.states.values() if self._subscription.by_group else ()
        found = {str(state): cluster.missing(state.tp.topic, state.tp.partition) for state in states}
        self._missing.look({name: why for name, why in found.items() if why is not None}, now)


def _in_words(names: list[str], missing: Why) -> tuple[str, object]:
    return first_of(names, _SHOWN), missing[names[0]]
