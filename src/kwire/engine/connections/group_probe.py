"""What a broker before 0.10 supports for groups, found out on a connection to a coordinator.

Layer 3, no I/O. Such a broker does not say which APIs it has. The three generations are told apart by requests that
the older ones do not know, and close the connection at:

    ListGroups answered       0.9: groups, with offsets in Kafka
    FindCoordinator answered  0.8.2: a coordinator for offsets in Kafka, no groups
    neither                   0.8.1: offsets in ZooKeeper, by any broker

A connection may also be closed because the broker restarts. So a question counts as not known only after it ended
CLOSED_OFTEN connections on each of which the broker had just answered Metadata.

Sources: `kafka/api/RequestKeys.scala` of 0.8.1.1, 0.8.2.2 and 0.9.0.1; brokers of these releases as they run.
"""

from __future__ import annotations

from collections.abc import Callable

from kwire import protocol
from kwire.engine.connections.flows import Ask, Flow
from kwire.engine.connections.versions import KAFKA_0_8_1, KAFKA_0_8_2, KAFKA_0_9, Versions
from kwire.schema.api_keys import FIND_COORDINATOR, LIST_GROUPS

CLOSED_OFTEN = 2
"""Connections that a question has to end until the broker is taken not to know it."""

_QUESTIONS = (
    (Ask(LIST_GROUPS, 0, protocol.ListGroupsRequest(), "ListGroups"), KAFKA_0_9),
    (Ask(FIND_COORDINATOR, 0, protocol.FindCoordinatorRequest(), "FindCoordinator"), KAFKA_0_8_2),
)


class GroupProbe:
    """The questions to one broker, over as many connections as it takes."""

    def __init__(self) -> None:
        self._asked: int | None = None
        self._closed = [0] * len(_QUESTIONS)

    @property
    def was_cut(self) -> bool:
        """Whether the last connection ended at one of the questions, so that it should go on with another."""
        return self._asked is not None

    def flow(self, first: Callable[[int], Flow[Versions]], version: int) -> Flow[Versions]:
        """After the flow `first(version)` has found that the broker is an old one: how old."""
        versions = yield from first(version)
        if not versions.before_0_10:
            return versions
        if self._asked is not None:
            self._closed[self._asked] += 1
            self._asked = None
        for index, (ask, verdict) in enumerate(_QUESTIONS):
            if self._closed[index] < CLOSED_OFTEN:
                self._asked = index
                yield ask
                self._begin_anew()
                return verdict
        self._begin_anew()
        return KAFKA_0_8_1

    def _begin_anew(self) -> None:
        """Another time the broker may be another release."""
        self._asked = None
        self._closed = [0] * len(_QUESTIONS)
