"""Positions in virtual time: each leader by itself, what takes too long, and logs that were truncated."""

from __future__ import annotations

from typing import Any

import pytest

from kwire import errors, protocol
from kwire.engine.common.addresses import TopicPartition
from kwire.engine.consumer.fetcher import LEADER_FOR_S, Fetcher
from kwire.engine.consumer.partition_state import NO_EPOCH
from kwire.schema.api_keys import FETCH, LIST_OFFSETS, OFFSET_FOR_LEADER_EPOCH
from tests.engine.consumer.test_fetcher import T0, T1, A, B, LogBroker, OldLogBroker, Reading
from tests.engine.world import Broker


def two_brokers(**settings: Any) -> tuple[Reading, LogBroker, LogBroker]:
    """Partitions 0 and 2 are led by the first broker, 1 and 3 by the second."""
    first, second = LogBroker(), LogBroker(node_id=1, address=B)
    for broker in (first, second):
        broker.brokers = {0: A, 1: B}
        broker.topics = {"t": [0, 1, 0, 1]}
    return Reading(first, {B: second}, **settings), first, second


def test_a_leader_that_hangs_holds_up_its_own_partitions_only() -> None:
    reading, first, second = two_brokers(default_api_timeout_ms=45_000)
    second.handlers[LIST_OFFSETS] = lambda message, version, now: None
    first.append(0, [b"healthy"])
    begun = reading.world.now
    reading.assign(T0, T1, TopicPartition("t", 3))
    assert reading.take() == {T0: [b"healthy"]}
    assert reading.world.now - begun < 1


def test_positions_that_take_too_long_are_one_error_for_each_broker() -> None:
    reading, first, second = two_brokers(default_api_timeout_ms=45_000)
    second.handlers[LIST_OFFSETS] = lambda message, version, now: None
    begun = reading.world.now
    reading.assign(T0, T1, TopicPartition("t", 3))
    with pytest.raises(errors.ConnectError, match=r"no position of t-1, t-3 within 45 s: the leader, broker 1 \(b:2\)"):
        reading.take()
    assert reading.world.now - begun == pytest.approx(45, abs=1)
    assert not reading.fetcher.has_something()
    first.append(0, [b"goes on"])
    assert reading.take() == {T0: [b"goes on"]}


@pytest.mark.parametrize("api_key", [LIST_OFFSETS, OFFSET_FOR_LEADER_EPOCH])
def test_a_position_is_asked_of_the_next_leader_while_the_last_one_hangs(api_key: int) -> None:
    first, second = EpochBroker(), EpochBroker()
    second.node_id = 1
    for broker in (first, second):
        broker.brokers, broker.topics, broker.logs = {0: A, 1: B}, {"t": [0, 1]}, first.logs
    reading = Reading(first, {B: second})
    first.append(1, [b"0", b"1"], partition_leader_epoch=5)
    second.handlers[api_key] = lambda message, version, now: None
    reading.assign(T1)
    if api_key == OFFSET_FOR_LEADER_EPOCH:
        reading.fetcher.subscription.state(T1).seek(1, 4)
    reading.world.run(lambda: api_key in [key for key, _, _ in second.requests])
    for broker in (first, second):
        broker.topics, broker.epoch = {"t": [0, 0]}, 6
    reading.world.core.cluster.refresh(reading.world.now)
    begun = reading.world.now
    assert reading.take()[T1][-1:] == [b"1"]
    assert reading.world.now - begun < 2.0


@pytest.mark.parametrize("reset", ["earliest", "latest"])
def test_a_leader_that_knows_no_end_of_its_log_is_asked_in_good_time_and_told_of(reset: str) -> None:
    reading = Reading(broker := LogBroker(), auto_offset_reset=reset, default_api_timeout_ms=5_000)
    answer = broker.handlers[LIST_OFFSETS]

    def without_offset(message: Any, version: int, now: float) -> Any:
        response = answer(message, version, now)
        response.topics[0].partitions[0].offset = -1
        return response

    broker.handlers[LIST_OFFSETS] = without_offset
    reading.assign(T0)
    with pytest.raises(errors.ConnectError, match="no position of t-0"):
        reading.take()
    assert [key for key, _, _ in broker.requests].count(LIST_OFFSETS) < 20
    broker.handlers[LIST_OFFSETS] = answer
    reading.world.run(lambda: reading.fetcher.subscription.state(T0).position == 0)


def test_a_leader_that_answers_again_is_read_from_again() -> None:
    reading, _, second = two_brokers()
    answer = second.handlers[LIST_OFFSETS]
    second.handlers[LIST_OFFSETS] = lambda message, version, now: None
    second.append(1, [b"late"])
    reading.assign(T1)
    reading.world.run(reading.world.now + 20)
    second.handlers[LIST_OFFSETS] = answer
    assert reading.take() == {T1: [b"late"]}


@pytest.mark.parametrize("answers", [True, False])
def test_what_took_too_long_is_not_told_of_partitions_that_are_read_by_now_or_no_more(answers: bool) -> None:
    reading, first, second = two_brokers(default_api_timeout_ms=45_000)
    answer = second.handlers[LIST_OFFSETS]
    second.handlers[LIST_OFFSETS] = lambda message, version, now: None
    first.append(0, [b"healthy"])
    reading.assign(T1)
    reading.world.run(reading.fetcher.has_something)
    if answers:
        second.handlers[LIST_OFFSETS] = answer
        reading.world.run(lambda: reading.fetcher.subscription.state(T1).position >= 0)
        reading.assign(T0, T1)
    else:
        reading.assign(T0)
    assert reading.take() == {T0: [b"healthy"]}


class EpochBroker(LogBroker):
    """Its metadata tells leader epochs; `ends` are the end offsets of the epochs before the present one."""

    def __init__(self, release: str = "4.4.0") -> None:
        super().__init__(release)
        self.epoch = 5
        self.ends: dict[int, int] = {}

    def topic(self, name: str) -> Any:
        row = super().topic(name)
        for part in row.partitions:
            part.leader_epoch = self.epoch
        return row

    def elect(self, end_of_the_last: int) -> None:
        """A new leader, whose log has the former epoch up to that offset only."""
        self.ends[self.epoch] = end_of_the_last
        self.logs[0] = [entry for entry in self.logs[0] if entry[1] <= end_of_the_last]
        self.epoch += 1

    def fetch_one(self, part: Any, version: int) -> Any:
        row = super().fetch_one(part, version)
        if part.current_leader_epoch < self.epoch:
            row.error_code, row.records = 74, None
        return row

    def end_of_epoch(self, part: Any) -> tuple[int, int]:
        return 0, self.ends.get(part.leader_epoch, self.end(part.partition))


def truncated(**settings: Any) -> tuple[Reading, EpochBroker, list[str]]:
    """A consumer at 4 of a log that an election cuts to 2 and that then goes on with other records."""
    broker = EpochBroker()
    reading = Reading(broker, **settings)
    warnings: list[str] = []
    reading.fetcher = Fetcher(reading.world.core, reading.settings, warnings.append)
    for pair in ([b"0", b"1"], [b"2", b"3"]):
        broker.append(0, pair, partition_leader_epoch=5)
    reading.fetcher.subscription.assign([T0], reading.world.now, at={T0: 0})
    got: list[bytes | None] = []
    while len(got) < 4:
        got += reading.take()[T0]
    broker.elect(2)
    broker.append(0, [b"new 2", b"new 3", b"new 4"], partition_leader_epoch=6)
    return reading, broker, warnings


def test_a_truncated_log_is_read_again_from_where_it_differs_and_said_so() -> None:
    reading, _, warnings = truncated()
    assert reading.take() == {T0: [b"new 2", b"new 3", b"new 4"]}
    assert len(warnings) == 1
    assert "t-0 was truncated below the position 4" in warnings[0]
    assert "offset 2" in warnings[0]


def test_a_truncated_log_names_both_offsets_where_nothing_resets_positions() -> None:
    reading, _, _ = truncated(auto_offset_reset="none")
    for _ in range(3):
        with pytest.raises(errors.LogTruncationError, match="t-0 was truncated below the position 4") as caught:
            reading.take()
    error = caught.value
    assert (error.topic, error.partition, error.record_offset, error.seek_to) == ("t", 0, 4, 2)
    reading.fetcher.subscription.state(T0).seek(2)
    reading.fetcher.pump(reading.world.now)
    assert reading.take() == {T0: [b"new 2", b"new 3", b"new 4"]}


def test_a_new_leader_with_the_whole_log_is_asked_and_read_on_from() -> None:
    reading = Reading(broker := EpochBroker())
    broker.append(0, [b"0"], partition_leader_epoch=5)
    reading.fetcher.subscription.assign([T0], reading.world.now, at={T0: 0})
    assert reading.take() == {T0: [b"0"]}
    broker.elect(1)
    broker.append(0, [b"1"], partition_leader_epoch=6)
    assert reading.take() == {T0: [b"1"]}
    assert [key for key, _, _ in broker.requests].count(OFFSET_FOR_LEADER_EPOCH) == 1


def test_what_an_earlier_assignment_asked_for_is_not_taken_for_an_answer_to_the_present_one() -> None:
    """A group takes a partition away and assigns it again at the same offset while a fetch of it is under way. Its
    records would come before the answer about the epoch of that offset, which then looked like a truncated log."""
    reading = Reading(broker := EpochBroker())
    warnings: list[str] = []
    reading.fetcher = Fetcher(reading.world.core, reading.settings, warnings.append)
    broker.append(0, [b"0", b"1"], partition_leader_epoch=5)
    broker.elect(2)
    broker.append(0, [b"2", b"3"], partition_leader_epoch=6)
    answered_after = {FETCH: 1.0, OFFSET_FOR_LEADER_EPOCH: 2.0}
    for key, seconds in answered_after.items():
        broker.handlers[key] = late(broker, broker.handlers[key], seconds)
    subscription = reading.fetcher.subscription
    for epoch in (NO_EPOCH, 5):
        subscription.assign([], reading.world.now)
        subscription.assign([T0], reading.world.now, at={T0: 0})
        subscription.state(T0).seek(2, epoch)
        reading.fetcher.pump(reading.world.now)
        reading.world.run(reading.world.now + 0.5)
    got = []
    for _ in range(3):
        broker.append(0, [b"more"], partition_leader_epoch=6)
        got += reading.take()[T0]
        reading.world.run(reading.world.now + 1.5)
    assert got[:2] == [b"2", b"3"]
    assert got.count(b"2") == 1
    assert warnings == []


def late(broker: EpochBroker, handler: Any, seconds: float) -> Any:
    def answer(message: Any, version: int, now: float) -> Any:
        broker.holds = seconds
        return handler(message, version, now)

    return answer


def test_a_broker_that_cannot_tell_the_ends_of_epochs_is_believed() -> None:
    reading = Reading(broker := EpochBroker())
    broker.versions[OFFSET_FOR_LEADER_EPOCH] = (0, 2)
    broker.append(0, [b"0"], partition_leader_epoch=5)
    reading.fetcher.subscription.assign([T0], reading.world.now, at={T0: 0})
    assert reading.take() == {T0: [b"0"]}
    broker.elect(1)
    broker.append(0, [b"1"], partition_leader_epoch=6)
    assert reading.take() == {T0: [b"1"]}


def test_committed_records_are_not_asked_of_a_broker_that_cannot_tell_them() -> None:
    broker = OldLogBroker()
    broker.append(0, [b"perhaps aborted"])
    reading = Reading(broker, isolation_level="read_committed").assign(T0)
    with pytest.raises(errors.BrokerError, match=r"isolation_level='read_committed' needs Kafka 0\.11"):
        reading.take()
    reading.fetcher.subscription.assign([T0], reading.world.now, at={T0: 0})
    with pytest.raises(errors.BrokerError, match=r"isolation_level='read_committed' needs Kafka 0\.11"):
        reading.take()


class Replica(Broker):
    """Knows the cluster and answers each Fetch with one error."""

    def __init__(self, code: int) -> None:
        super().__init__(node_id=1, address=B)
        self.brokers = {0: A, 1: B}
        self.code = code
        self.handlers[1] = self.fetch

    def fetch(self, message: Any, version: int, now: float) -> Any:
        made = protocol.FetchResponse.FetchableTopicResponse
        row = made.PartitionData(partition_index=0, error_code=self.code, high_watermark=1)
        return protocol.FetchResponse(
            responses=[made(topic=message.topics[0].topic, topic_id=message.topics[0].topic_id, partitions=[row])]
        )


class LeaderWithReplica(LogBroker):
    """Sends readers of rack "r" to the replica 1."""

    def fetch(self, message: Any, version: int, now: float) -> Any:
        response = super().fetch(message, version, now)
        if message.rack_id == "r":
            row = response.responses[0].partitions[0]
            row.preferred_read_replica, row.records = 1, None
        return response


@pytest.mark.parametrize("code", [1, 3, 6, 56, 74])
@pytest.mark.parametrize("policy", ["latest", "earliest", "none"])
def test_a_replica_that_refuses_does_not_move_the_position(code: int, policy: str) -> None:
    leader = LeaderWithReplica()
    leader.brokers = {0: A, 1: B}
    leader.append(0, [b"%d" % number for number in range(1000)])
    replica = Replica(code)
    replica.topics = leader.topics
    reading = Reading(leader, {B: replica}, auto_offset_reset=policy, client_rack="r")
    reading.fetcher.subscription.assign([T0], reading.world.now, at={T0: 500})
    begun = reading.world.now
    assert reading.take(1) == {T0: [b"500"]}
    assert reading.world.now - begun < 5


def beside_a_replica_that_cannot_be_reached() -> tuple[Reading, Replica]:
    """A consumer that has read the one record, though the replica near it refuses connections."""
    leader = LeaderWithReplica()
    leader.brokers = {0: A, 1: B}
    leader.append(0, [b"0"])
    replica = Replica(0)
    replica.refuses = "connection refused"
    reading = Reading(leader, {B: replica}, client_rack="r")
    reading.fetcher.subscription.assign([T0], reading.world.now, at={T0: 0})
    assert reading.take(1) == {T0: [b"0"]}
    return reading, replica


def test_a_replica_that_cannot_be_reached_is_left() -> None:
    beside_a_replica_that_cannot_be_reached()


def test_a_near_replica_that_failed_is_tried_again_after_a_while() -> None:
    reading, replica = beside_a_replica_that_cannot_be_reached()
    left_at, replica.refuses = reading.world.now, ""
    reading.world.run(left_at + LEADER_FOR_S - 5)
    assert not replica.requests
    reading.world.run(left_at + LEADER_FOR_S + 5)
    assert FETCH in [key for key, _, _ in replica.requests]
