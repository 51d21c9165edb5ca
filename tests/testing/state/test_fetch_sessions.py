"""Fetch sessions: what a node remembers of a reader, and what it tells."""

from __future__ import annotations

from typing import Any

import pytest

from kwire.errors import broker as codes
from kwire.protocol import FetchRequest
from kwire.testing.settings.properties import BrokerProperties
from tests.testing.in_process import InProcess
from tests.testing.wire import batch, fetch, produce, values

VERSION = 12


@pytest.fixture
def broker() -> InProcess:
    made = InProcess()
    made.cluster.create_topic("orders", 3)
    for partition in range(3):
        made.ask(produce(batch(b"a%d" % partition), partition=partition), 9)
    return made


def open_session(broker: InProcess, offset: int = 1, version: int = VERSION) -> int:
    session_id: int = broker.ask(fetch(offset, partitions=[0, 1, 2], session_epoch=0), version).session_id
    assert session_id > 0
    return session_id


def told(response: Any) -> dict[int, list[bytes | None]]:
    """The records by partition, in the order of the answer."""
    rows = [row for topic in response.responses for row in topic.partitions]
    return {row.partition_index: values(row.records) for row in rows}


def following(session_id: int, epoch: int, **more: Any) -> FetchRequest:
    """A request that changes nothing."""
    return fetch(0, partitions=[], session_id=session_id, session_epoch=epoch, min_bytes=0, **more)


def test_only_what_is_new_is_told(broker: InProcess) -> None:
    session_id = open_session(broker)
    assert told(broker.ask(following(session_id, 1), VERSION)) == {}
    broker.ask(produce(batch(b"b"), partition=1), 9)
    response = broker.ask(following(session_id, 2), VERSION)
    assert response.session_id == session_id
    assert told(response) == {1: [b"b"]}


def test_a_partition_that_gave_records_goes_to_the_end(broker: InProcess) -> None:
    session_id = open_session(broker)
    broker.ask(produce(batch(b"b"), partition=0), 9)
    assert list(told(broker.ask(following(session_id, 1), VERSION))) == [0]
    broker.ask(produce(batch(b"b"), partition=2), 9)
    assert list(told(broker.ask(following(session_id, 2), VERSION))) == [2, 0]
    broker.ask(produce(batch(b"b"), partition=1), 9)
    assert list(told(broker.ask(following(session_id, 3), VERSION))) == [1, 2, 0]


def test_changed_and_forgotten_partitions(broker: InProcess) -> None:
    session_id = open_session(broker, offset=1)
    forgotten = [FetchRequest.ForgottenTopic(topic="orders", partitions=[0, 2])]
    request = fetch(0, partitions=[1], session_id=session_id, session_epoch=1)
    request.forgotten_topics_data = forgotten
    assert told(broker.ask(request, VERSION)) == {1: [b"a1"]}
    broker.ask(produce(batch(b"b"), partition=2), 9)
    assert told(broker.ask(fetch(1, partitions=[1], session_id=session_id, session_epoch=2), VERSION)) == {}


def test_a_session_without_partitions_ends(broker: InProcess) -> None:
    session_id = open_session(broker)
    request = following(session_id, 1)
    request.forgotten_topics_data = [FetchRequest.ForgottenTopic(topic="orders", partitions=[0, 1, 2])]
    assert broker.ask(request, VERSION).session_id == 0
    again = broker.ask(following(session_id, 2), VERSION)
    assert again.error_code == codes.FETCH_SESSION_ID_NOT_FOUND.code


def test_epochs_and_ids_are_checked(broker: InProcess) -> None:
    session_id = open_session(broker)
    assert broker.ask(following(session_id, 2), VERSION).error_code == codes.INVALID_FETCH_SESSION_EPOCH.code
    assert broker.ask(following(session_id + 1, 1), VERSION).error_code == codes.FETCH_SESSION_ID_NOT_FOUND.code
    by_id = broker.ask(following(session_id, 1), 13)
    assert by_id.error_code == codes.FETCH_SESSION_TOPIC_ID_ERROR.code
    assert broker.ask(following(session_id, 1), VERSION).error_code == 0


@pytest.mark.parametrize("epoch", [0, -1])
def test_a_whole_request_ends_the_session(broker: InProcess, epoch: int) -> None:
    session_id = open_session(broker)
    whole = broker.ask(fetch(0, session_id=session_id, session_epoch=epoch), VERSION)
    assert told(whole) == {0: [b"a0"]}
    assert (whole.session_id > session_id) is (epoch == 0)
    assert broker.ask(following(session_id, 1), VERSION).error_code == codes.FETCH_SESSION_ID_NOT_FOUND.code


def test_an_error_is_told_each_time_and_its_end_too(broker: InProcess) -> None:
    session_id = open_session(broker)
    topic = broker.cluster.topics["orders"]
    lost = topic.partitions.pop()
    for epoch in (1, 2):
        [row] = broker.ask(following(session_id, epoch), VERSION).responses[0].partitions
        assert (row.partition_index, row.error_code) == (2, codes.UNKNOWN_TOPIC_OR_PARTITION.code)
    topic.partitions.append(lost)
    [row] = broker.ask(following(session_id, 3), VERSION).responses[0].partitions
    assert (row.partition_index, row.error_code, row.high_watermark) == (2, 0, 1)


def test_a_moved_log_start_is_told(broker: InProcess) -> None:
    session_id = open_session(broker)
    broker.cluster.topics["orders"].partitions[1].log.delete_before(1)
    assert told(broker.ask(following(session_id, 1), VERSION)) == {1: []}
    assert told(broker.ask(following(session_id, 2), VERSION)) == {}


def test_a_session_waits_for_any_of_its_partitions(broker: InProcess) -> None:
    session_id = open_session(broker)
    request = following(session_id, 1, max_wait_ms=1000)
    request.min_bytes = 1
    waiting = broker.begin(request, VERSION)
    broker.ask(produce(batch(b"b"), partition=2), 9)
    assert waiting.wake()
    assert told(waiting.response) == {2: [b"b"]}


def test_of_two_requests_at_a_time_one_is_refused(broker: InProcess) -> None:
    session_id = open_session(broker)
    request = following(session_id, 1, max_wait_ms=1000)
    request.min_bytes = 1
    waiting = broker.begin(request, VERSION)
    broker.ask(following(session_id, 2), VERSION)
    broker.now = 2.0
    assert waiting.wake()
    assert waiting.response.error_code == codes.INVALID_FETCH_SESSION_EPOCH.code


def test_a_full_cache_keeps_what_is_in_use_and_larger() -> None:
    broker = InProcess(properties=BrokerProperties(max_incremental_fetch_session_cache_slots=1))
    broker.cluster.create_topic("orders", 3)
    small = broker.ask(fetch(0, partitions=[0], session_epoch=0), VERSION).session_id
    large = fetch(0, partitions=[0, 1], session_epoch=0)
    assert broker.ask(large, VERSION).session_id == 0
    broker.now = 121.0
    broker.ask(following(small, 1), VERSION)
    assert broker.ask(fetch(0, partitions=[1], session_epoch=0), VERSION).session_id == 0
    session_id = broker.ask(large, VERSION).session_id
    assert session_id > small
    broker.now = 250.0
    assert broker.ask(fetch(0, partitions=[1], session_epoch=0), VERSION).session_id > session_id


def test_sessions_end_with_their_node() -> None:
    broker = InProcess(nodes=3)
    broker.cluster.create_topic("orders", 1)
    session_id = broker.ask(fetch(0, session_epoch=0), VERSION, node=1).session_id
    assert broker.ask(following(session_id, 1), VERSION, node=2).error_code == codes.FETCH_SESSION_ID_NOT_FOUND.code
    broker.cluster.kill(1)
    broker.cluster.revive(1)
    assert broker.ask(following(session_id, 1), VERSION, node=1).error_code == codes.FETCH_SESSION_ID_NOT_FOUND.code


def test_before_version_7_there_are_none(broker: InProcess) -> None:
    assert InProcess("1.0.2").ask(fetch(0, session_epoch=-1), 6).session_id == 0
    assert broker.ask(fetch(0, session_epoch=-1), VERSION).session_id == 0


def followers(**options: Any) -> InProcess:
    selector = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
    properties = BrokerProperties(replica_selector_class=selector)
    made = InProcess(nodes=3, racks=["a", "b", "c"], properties=properties, **options)
    made.cluster.create_topic("orders", 1)
    made.ask(produce(batch(b"a")), 9)
    return made


def test_a_leader_names_the_replica_in_the_readers_rack() -> None:
    broker = followers()
    [row] = broker.ask(fetch(0, rack_id="b", max_wait_ms=1000, min_bytes=1000), 11, node=1).responses[0].partitions
    assert (row.error_code, row.preferred_read_replica, values(row.records)) == (0, 2, [])
    [row] = broker.ask(fetch(0, rack_id="b"), 11, node=2).responses[0].partitions
    assert (row.preferred_read_replica, values(row.records)) == (-1, [b"a"])
    for rack in ("a", "elsewhere", ""):
        [row] = broker.ask(fetch(0, rack_id=rack), 11, node=1).responses[0].partitions
        assert (row.preferred_read_replica, values(row.records)) == (-1, [b"a"])


def test_a_follower_serves_readers_from_version_11_on() -> None:
    broker = followers()
    [row] = broker.ask(fetch(0), 10, node=2).responses[0].partitions
    assert row.error_code == codes.NOT_LEADER_OR_FOLLOWER.code
    broker.cluster.kill(2)
    [row] = broker.ask(fetch(0, rack_id="b"), 11, node=1).responses[0].partitions
    assert row.preferred_read_replica == -1


def test_a_reader_learns_where_its_log_parts() -> None:
    broker = followers()
    partition = broker.cluster.topics["orders"].partitions[0]
    broker.ask(produce(batch(b"b")), 9)
    broker.cluster.truncate(partition, 1)
    request = fetch(2)
    request.topics[0].partitions[0].last_fetched_epoch = 0
    [row] = broker.ask(request, 12, node=partition.leader).responses[0].partitions
    assert (row.error_code, row.diverging_epoch.epoch, row.diverging_epoch.end_offset) == (0, 0, 1)
    request.topics[0].partitions[0].fetch_offset = 1
    [row] = broker.ask(request, 12, node=partition.leader).responses[0].partitions
    assert (row.error_code, row.diverging_epoch.end_offset) == (0, -1)
