"""What a broker from before 0.10 can for groups, found out by what it answers, never by one lost connection."""

from __future__ import annotations

from typing import Any

import pytest

from kwire import protocol
from kwire.engine.calls.offsets import OffsetAndMetadata
from kwire.engine.common.request import ANY, Purpose
from kwire.engine.connections.versions import BEFORE_0_10, KAFKA_0_8_1, KAFKA_0_8_2, KAFKA_0_9, Versions
from kwire.errors import BrokerError
from kwire.schema.api_keys import FIND_COORDINATOR, HEARTBEAT, LIST_GROUPS, OFFSET_COMMIT, OFFSET_FETCH
from kwire.schema.error_codes import UNSUPPORTED_VERSION
from tests.engine.groups.offsets_world import Committing, OffsetsBroker, T
from tests.engine.world import HANG_UP, SILENCE, Answer

PROBES = (LIST_GROUPS, FIND_COORDINATOR)


class OldOffsetsBroker(OffsetsBroker):
    """Closes the connection at a key it does not know (0.9 says nothing more on it); `restarts` more at a known one."""

    def __init__(self, release: str, restarts: int = 0) -> None:
        super().__init__(release)
        self.with_ids = False
        self.restarts = restarts
        self.asked: list[int] = []
        self.handlers[LIST_GROUPS] = lambda message, version, now: protocol.ListGroupsResponse()
        self.handlers[HEARTBEAT] = lambda message, version, now: protocol.HeartbeatResponse()

    def answer(self, frame: bytes, now: float) -> Answer:
        key = int.from_bytes(frame[4:6], "big")
        if key == 18 and LIST_GROUPS in self.versions:
            return SILENCE
        if key in PROBES:
            self.asked.append(key)
        if key in PROBES and self.restarts:
            self.restarts -= 1
            return HANG_UP
        return super().answer(frame, now) if key in self.versions else HANG_UP


CASES = [
    ("0.8.1.1", KAFKA_0_8_1, [16, 16, 10, 10], 0),
    ("0.8.2.2", KAFKA_0_8_2, [16, 16, 10], 1),
    ("0.9.0.1", KAFKA_0_9, [16], 2),
]


def of_coordinator(it: Committing) -> Versions | None:
    """The versions on the connection to a coordinator."""
    links = [node.links[Purpose.COORDINATOR] for node in it.world.core._nodes.values()]
    return next(link.versions for link in links if link is not None)


@pytest.mark.parametrize(("release", "verdict", "asked", "version"), CASES)
def test_each_generation_is_told_by_what_it_answers(
    release: str, verdict: Versions, asked: list[int], version: int
) -> None:
    it = Committing(broker=OldOffsetsBroker(release))
    assert it.committed(T[0]) == {T[0]: None}
    it.commit({T[0]: OffsetAndMetadata(7, "note", 3)})
    assert of_coordinator(it) is verdict
    assert it.broker.asked[: len(asked)] == asked
    assert it.broker.commits[0][0] == version
    assert it.committed(T[0]) == {T[0]: OffsetAndMetadata(7, "note")}
    assert {fetched for fetched, _ in it.broker.fetched} == {min(version, 1)}


@pytest.mark.parametrize(("release", "verdict", "asked", "version"), CASES[1:])
def test_one_lost_connection_proves_nothing(release: str, verdict: Versions, asked: list[int], version: int) -> None:
    it = Committing(broker=OldOffsetsBroker(release, restarts=1))
    it.commit({T[0]: 7})
    assert of_coordinator(it) is verdict


def test_0_8_1_leaves_commits_to_any_broker() -> None:
    it = Committing(broker=OldOffsetsBroker("0.8.1.1"))
    it.commit({T[0]: 7})
    assert it.coordinator.node == ANY


@pytest.mark.parametrize("release", ["0.8.1.1", "0.8.2.2"])
def test_groups_are_refused_where_there_are_none(release: str) -> None:
    it = Committing(broker=OldOffsetsBroker(release))
    errors: list[Any] = []
    it.coordinator.request(
        HEARTBEAT, protocol.HeartbeatRequest(group_id="g"), print, lambda error, now: errors.append(error), it.world.now
    )
    it.world.run(lambda: bool(errors))
    assert isinstance(errors[0], BrokerError)
    assert errors[0].code == UNSUPPORTED_VERSION
    assert "from before Kafka 0.10" in str(errors[0])
    assert all(key != HEARTBEAT for key, _, _ in it.broker.requests)


def test_connections_for_data_are_not_asked() -> None:
    broker = OldOffsetsBroker("0.8.2.2")
    it = Committing(broker=broker)
    broker.append(0, [b"v"])
    it.fetcher.positions.committed = None
    it.fetcher.subscription.in_group = False
    it.assign(T[0])
    it.take()
    assert broker.asked == []


def test_a_broker_with_api_versions_is_not_asked() -> None:
    it = Committing("0.10.0.1")
    it.commit({T[0]: 7})
    assert not any(key == LIST_GROUPS for key, _, _ in it.broker.requests)


def test_the_tables_are_those_of_the_releases() -> None:
    for release, table in (("0.8.1.1", KAFKA_0_8_1), ("0.8.2.2", KAFKA_0_8_2), ("0.9.0.1", KAFKA_0_9)):
        offered = protocol.versions_of(release)
        ours = {key: versions for key, versions in table.ranges.items() if key not in BEFORE_0_10.ranges}
        theirs = {key: offered[key] for key in range(OFFSET_COMMIT, LIST_GROUPS + 1) if key in offered}
        if release == "0.8.2.2":
            theirs = {key: theirs[key] for key in (OFFSET_COMMIT, OFFSET_FETCH, FIND_COORDINATOR)}
        assert ours == theirs
