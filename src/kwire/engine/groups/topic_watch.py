"""The topics that a member of a classic group wants, and when a change of them calls for a rebalance.

Layer 3, no I/O. A pattern is matched here, against the names of all topics; so each member that sees another list of
topics joins again. The leader watches the partitions, and with a client_rack the racks, of the topics of all members.
"""

from __future__ import annotations

from kwire._typing import TYPE_CHECKING
from kwire.engine.common.topic_pattern import TopicPattern
from kwire.engine.groups.assignors import ClusterView

if TYPE_CHECKING:
    from kwire.engine.consumer.subscription import Subscription
    from kwire.engine.ports import Services
    from kwire.engine.settings.clients import ConsumerSettings

    Partitions = dict[str, object]


class TopicWatch:
    """The topics of one member.

    joined   the topics that it has sent to the group
    """

    def __init__(self, core: Services, settings: ConsumerSettings, subscription: Subscription) -> None:
        self._cluster = core.cluster
        self._subscription = subscription
        self._with_racks = bool(settings.client_rack)
        self._exclude_internal = settings.exclude_internal_topics
        self._pattern: TopicPattern | None = None
        self._led: frozenset[str] | None = None
        self._seen: Partitions = {}
        self.joined: tuple[str, ...] = ()

    def subscribe(self, topics: tuple[str, ...], pattern: str | None, now: float) -> None:
        """Wants these topics, or those whose whole names match."""
        made = None if pattern is None else TopicPattern(pattern, exclude_internal=self._exclude_internal)
        self._pattern = made
        self._subscription.subscribe(topics, now, made)

    @property
    def known(self) -> bool:
        """Whether it is known which topics match."""
        return self._pattern is None or self._cluster.is_followed(owner=self._subscription)

    def wants(self, topic: str) -> bool:
        """Whether the topic is subscribed to."""
        if self._pattern is not None:
            return self._pattern(topic, False)
        return topic in self._subscription.subscribed

    @property
    def changed(self) -> bool:
        """Whether other topics are subscribed to than were sent to the group."""
        return set(self.joined) != set(self._subscription.subscribed)

    def join(self) -> None:
        """The present topics go to the group."""
        self.joined = self._subscription.subscribed

    def lead(self, topics: frozenset[str] | None, skips: bool = False) -> None:
        """The member has assigned the partitions of these topics; None: another one is the leader. `skips`: they were
        assigned before, and what this member saw then still counts, if it was not another process of the same name."""
        if topics is None or topics != self._led or not skips:
            self._seen = {} if topics is None else self._partitions(topics)
        self._led = topics

    @property
    def leads(self) -> bool:
        """Whether the member has assigned the group's partitions."""
        return self._led is not None

    def forget(self) -> None:
        """It is no member any more."""
        self.lead(None)
        self.joined = ()

    def why_rejoin(self) -> str | None:
        """What has changed so that the group has to rebalance; None if nothing has."""
        if self.known and self.changed:
            return "the topics that match the subscription have changed"
        if self._led is not None and self._partitions(self._led) != self._seen:
            return "the partitions of the group's topics have changed"
        return None

    def _partitions(self, topics: frozenset[str]) -> Partitions:
        view = ClusterView.of(self._cluster, topics)
        if self._with_racks:
            return {topic: view.racks(topic) for topic in topics}
        return {topic: view.partition_count(topic) for topic in topics}
