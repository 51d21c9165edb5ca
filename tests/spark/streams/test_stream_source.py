"""A stream's start, its batches and what it says of losses, on the embedded broker, without Spark."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewPartitions

import kwire
from kwire.engine.common.addresses import TopicPartition
from kwire.errors import ConfigError, UnknownTopicError
from kwire.errors.broker import ClusterAuthorizationFailedError, TopicAuthorizationFailedError, UnknownServerError
from kwire.spark.options.stream import parse_stream_options
from kwire.spark.ranges.offsets import DataLossError
from kwire.spark.ranges.stream_offsets import Offsets
from kwire.spark.ranges.tasks import DEFAULT_RECORD_SIZE, Task
from kwire.spark.streams import source as stream_source
from kwire.spark.streams.source import StreamSource
from kwire.testing import Broker

TOPIC = "orders"


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as broker:
        yield broker


class Cluster:
    """TOPIC on the broker, empty at the start of each test; and streams of it."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self.servers = broker.bootstrap_servers
        self.admin = kwire.Admin(self.servers)
        self.producer = kwire.Producer(self.servers)
        self.sources: list[StreamSource] = []
        self.waits: list[float] = []
        self.clock: Callable[[], float] = time.monotonic

    def write(self, count: int, partition: int = 0, topic: str = TOPIC) -> None:
        for number in range(count):
            self.producer.send(topic, b"%d" % number, partition=partition, timestamp=1000 * (number + 1))
        self.producer.flush()

    def create(self, partitions: int, topic: str = TOPIC) -> None:
        self.admin.create_topics({topic: partitions})

    def add_partitions(self, total: int) -> None:
        client = AdminClient({"bootstrap.servers": self.servers})
        client.create_partitions([NewPartitions(TOPIC, total)])[TOPIC].result(30)

    def delete(self) -> None:
        self.admin.delete_topics([TOPIC])

    @contextmanager
    def faults(self) -> Iterator[None]:
        """What goes wrong in the block ends with it."""
        try:
            yield
        finally:
            self.broker.faults.clear()

    def stream(self, **options: str) -> StreamSource:
        """A stream as a new run has it: nothing remembered."""
        defaults = {"kafka.bootstrap.servers": self.servers}
        if not {"subscribePattern", "assign"} & options.keys():
            defaults["subscribe"] = TOPIC
        source = StreamSource(parse_stream_options(defaults | options), clock=self.clock, sleep=self.waits.append)
        self.sources.append(source)
        return source

    def close(self) -> None:
        for source in self.sources:
            source.close()
        self.producer.close()
        names = [name for name in self.admin.describe_topics() if not name.startswith("__")]
        self.admin.delete_topics(names)
        self.admin.close()


@pytest.fixture
def cluster(broker: Broker) -> Iterator[Cluster]:
    cluster = Cluster(broker)
    yield cluster
    cluster.close()


def at(*offsets: int, topic: str = TOPIC) -> dict[TopicPartition, int]:
    return {TopicPartition(topic, number): offset for number, offset in enumerate(offsets)}


def ranges(tasks: list[Task]) -> list[tuple[int, int, int]]:
    """What the tasks read: (partition, start, end)."""
    return sorted((each.partition.partition, each.start, each.end) for task in tasks for each in task)


def step(stream: StreamSource, start: Offsets) -> Offsets:
    """The end of the next batch."""
    return stream.latest(start, limited=True)


def test_a_topic_that_may_not_be_read_ends_the_query_before_a_task_runs(cluster: Cluster) -> None:
    cluster.create(1)
    cluster.write(3)
    cluster.broker.deny("read", "topic", TOPIC)
    try:
        with pytest.raises(TopicAuthorizationFailedError, match="topic 'orders', to read it"):
            cluster.stream().initial()
        with pytest.raises(TopicAuthorizationFailedError, match="topic 'orders', to read it"):
            cluster.stream().plan(at(0), at(3))
    finally:
        cluster.broker.permit("read", "topic", TOPIC)


def test_new_query_starts_at_the_end_and_pins_that_with_an_empty_batch(cluster: Cluster) -> None:
    cluster.create(2)
    cluster.write(3)
    stream = cluster.stream()
    assert stream.initial() == at(3, 0)
    cluster.write(2)
    assert step(stream, stream.initial()) == at(3, 0)
    assert stream.plan(at(3, 0), at(3, 0)) == []
    assert step(stream, at(3, 0)) == at(5, 0)
    assert ranges(stream.plan(at(3, 0), at(5, 0))) == [(0, 3, 5)]


def test_first_batch_that_was_cut_off_is_empty_again(cluster: Cluster) -> None:
    """The checkpoint has the end of batch 0, Spark asks for its start again: nothing after that end may be lost."""
    cluster.create(1)
    cluster.write(3)
    first = cluster.stream()
    end = step(first, first.initial())
    marks = [first.marks_first_batch]
    step(first, end)
    assert [*marks, first.marks_first_batch] == [True, False]
    cluster.write(4)
    again = cluster.stream()
    assert again.plan(again.initial(), end, marked=True) == []
    assert ranges(again.plan(end, step(again, end))) == [(0, 3, 7)]


def test_first_batch_that_was_cut_off_may_have_lost_its_head(
    cluster: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    """The checkpoint has the end of batch 0 only: it cannot tell, so it is said."""
    cluster.create(2)
    cluster.write(9)
    end = step(first := cluster.stream(startingOffsets="earliest"), first.initial())
    again = cluster.stream(startingOffsets="earliest")
    assert ranges(again.plan(again.initial(), end)) == [(0, 0, 9)]
    assert not caplog.records
    cluster.broker.delete_records(TOPIC, before=6)
    again = cluster.stream(startingOffsets="earliest")
    assert ranges(again.plan(again.initial(), end)) == [(0, 6, 9)]
    assert "made again, from the first records that there are now (orders-0 at 6)" in caplog.text


def test_first_batch_that_sparks_source_did_not_finish_is_refused(
    cluster: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    cluster.create(1)
    cluster.write(3)
    stream = cluster.stream()
    stream.initial()
    assert "set to the second line of the checkpoint's file sources/0/0" in loses(stream, stream.initial(), at(3))
    lenient = cluster.stream(failOnDataLoss="false")
    assert lenient.plan(lenient.initial(), at(3)) == []
    assert "It is taken to have none" in caplog.text
    told = cluster.stream(startingOffsets='{"orders":{"0":1}}')
    assert ranges(told.plan(told.initial(), at(3))) == [(0, 1, 3)]


def test_only_partitions_that_start_at_their_end_are_pinned(cluster: Cluster) -> None:
    cluster.create(2)
    cluster.write(3)
    stream = cluster.stream(startingTimestamp="2000", startingOffsetsByTimestampStrategy="latest")
    assert stream.initial() == at(1, 0)
    cluster.write(2)
    cluster.write(2, 1)
    end = step(stream, stream.initial())
    assert end == at(5, 0)
    cluster.write(1, 1)
    again = cluster.stream(startingTimestamp="2000", startingOffsetsByTimestampStrategy="latest")
    assert again.initial() == at(1, 1)
    assert ranges(again.plan(again.initial(), end, marked=True)) == [(0, 1, 5)]
    assert ranges(again.plan(end, step(again, end))) == [(1, 0, 3)]


def test_first_batch_that_was_cut_off_and_then_aged_out_is_a_loss(cluster: Cluster) -> None:
    cluster.create(1)
    cluster.write(3)
    end = step(first := cluster.stream(), first.initial())
    cluster.write(4)
    cluster.broker.delete_records(TOPIC, before=5)
    again = cluster.stream()
    assert "offset was changed from 7 to 3" in loses(again, again.initial(), end, marked=True)


def test_spark_4_0_asks_without_a_start(cluster: Cluster) -> None:
    cluster.create(1)
    cluster.write(3)
    stream = cluster.stream()
    assert stream.latest(None, limited=False) == stream.initial() == at(3)
    stream.plan(at(3), at(3))
    cluster.write(1)
    assert stream.latest(None, limited=False) == at(4)
    resumed = cluster.stream()
    assert ranges(resumed.plan(at(2), at(4))) == [(0, 2, 4)]
    assert resumed.latest(None, limited=False) == at(4)


@pytest.mark.parametrize(
    ("options", "start"),
    [
        ({"startingOffsets": "earliest"}, (0, 0)),
        ({"startingOffsets": '{"orders":{"0":2,"1":-1}}'}, (2, 1)),
        ({"startingOffsets": '{"orders":{"0":-1,"1":-2}}'}, (5, 0)),
        ({"startingTimestamp": "1000"}, (0, 0)),
        ({"startingOffsetsByTimestamp": '{"orders":{"0":3000,"1":1000}}'}, (2, 0)),
        ({"startingTimestamp": "2000", "startingOffsetsByTimestampStrategy": "latest"}, (1, 1)),
    ],
    ids=str,
)
def test_start_by_offset_and_by_time(cluster: Cluster, options: dict[str, str], start: tuple[int, int]) -> None:
    cluster.create(2)
    cluster.write(5)
    cluster.write(1, 1)
    assert cluster.stream(**options).initial() == at(*start)


def test_start_must_name_each_partition(cluster: Cluster) -> None:
    cluster.create(2)
    with pytest.raises(ConfigError, match="not named: orders-1"):
        cluster.stream(startingOffsets='{"orders":{"0":2}}').initial()


def test_time_without_a_record_that_late_is_an_error(cluster: Cluster) -> None:
    cluster.create(1)
    with pytest.raises(ConfigError, match="No offset matched from request of topic-partition orders-0 and timestamp 7"):
        cluster.stream(startingTimestamp="7").initial()


def test_limits_of_a_batch(cluster: Cluster) -> None:
    cluster.create(3)
    cluster.write(10)
    cluster.write(5, 1)
    stream = cluster.stream(startingOffsets="earliest", maxOffsetsPerTrigger="7")
    assert step(stream, at(0, 0, 0)) == at(4, 2, 0)
    assert step(stream, at(4, 2, 0)) == at(8, 4, 0)
    assert step(stream, at(8, 4, 0)) == at(10, 5, 0)
    assert stream.newest() == at(10, 5, 0)
    assert stream.latest(at(0, 0, 0), limited=False) == at(10, 5, 0), "Trigger.Once reads all"


def test_new_partition_counts_from_its_first_offset_in_a_limited_batch(cluster: Cluster) -> None:
    cluster.create(2)
    cluster.write(6)
    cluster.write(6, 1)
    cluster.broker.delete_records(TOPIC, before=2, partition=1)
    stream = cluster.stream(startingOffsets="earliest", maxOffsetsPerTrigger="5")
    assert step(stream, at(0)) == at(3, 4)


def test_batch_is_limited_by_bytes(cluster: Cluster) -> None:
    cluster.create(2)
    for _ in range(100):
        cluster.producer.send(TOPIC, b"x" * 10_000, partition=0)
        cluster.producer.send(TOPIC, b"x" * 100, partition=1)
    cluster.producer.flush()
    stream = cluster.stream(startingOffsets="earliest", maxBytesPerTrigger="100000")
    end = step(stream, at(0, 0))
    assert 5 <= end[TopicPartition(TOPIC, 0)] <= 10
    assert 5 <= end[TopicPartition(TOPIC, 1)] <= 10
    assert step(stream, at(95, 95)) == at(100, 100)


def lines(cluster: Cluster, count: int) -> None:
    for _ in range(count):
        cluster.producer.send(TOPIC, b"x" * 1000, partition=0)
    cluster.producer.flush()


class Clock:
    """Goes on when it is told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def describe_log_dirs_fails(broker: Broker, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if how == "late":
        monkeypatch.setattr(stream_source, "SIZES_WITHIN_S", 0.1)
        broker.faults.delay("DescribeLogDirs", 3)
    else:
        broker.faults.error("DescribeLogDirs", UnknownServerError, times=None)


FAILURES = pytest.mark.parametrize("how", ["late", "error"])


@FAILURES
def test_sizes_that_were_told_count_until_they_are_told_anew(
    cluster: Cluster, how: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    cluster.create(1)
    lines(cluster, 100)
    cluster.clock = clock = Clock()
    stream = cluster.stream(startingOffsets="earliest", maxBytesPerTrigger="10000")
    (end,) = step(stream, at(0)).values()
    assert 5 <= end <= 10
    clock.now += 61
    with cluster.faults():
        describe_log_dirs_fails(cluster.broker, how, monkeypatch)
        assert step(stream, at(0)) == at(end)
        cluster.broker.faults.clear()
        cluster.broker.faults.error("DescribeLogDirs", ClusterAuthorizationFailedError, times=None)
        assert step(stream, at(0)) == at(end), "after a failure it is not asked at once"
        clock.now += 11
        monkeypatch.undo()
        with pytest.raises(ConfigError, match="needs the permission Describe on the cluster"):
            step(stream, at(0))
    assert "maxBytesPerTrigger assumes" not in caplog.text


@FAILURES
def test_sizes_that_were_never_told_are_guessed_and_asked_for_again(
    cluster: Cluster, how: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    cluster.create(1)
    lines(cluster, 100)
    cluster.clock = clock = Clock()
    stream = cluster.stream(
        startingOffsets="earliest",
        maxBytesPerTrigger="10000",
        **{"kafka.default.api.timeout.ms": "2000"},
    )
    with cluster.faults():
        describe_log_dirs_fails(cluster.broker, how, monkeypatch)
        assert step(stream, at(0)) == at(10_000 // DEFAULT_RECORD_SIZE)
    assert "maxBytesPerTrigger assumes 128 bytes for a record of 1 partition until they do" in caplog.text
    clock.now += 11
    (end,) = step(stream, at(0)).values()
    assert 5 <= end <= 10


def test_a_first_answer_that_takes_as_long_as_any_other_is_waited_for(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream_source, "SIZES_WITHIN_S", 0.01)
    cluster.create(1)
    lines(cluster, 100)
    stream = cluster.stream(startingOffsets="earliest", maxBytesPerTrigger="10000")
    with cluster.faults():
        cluster.broker.faults.delay("DescribeLogDirs", 0.3)
        (end,) = step(stream, at(0)).values()
    assert 5 <= end <= 10


def test_a_log_that_its_leader_does_not_list_is_guessed(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk may have failed."""
    cluster.create(1)
    lines(cluster, 100)
    stream = cluster.stream(startingOffsets="earliest", maxBytesPerTrigger="10000")
    monkeypatch.setattr(stream._cluster, "record_sizes", lambda partitions, within: dict.fromkeys(partitions, 0.0))
    assert step(stream, at(0)) == at(10_000 // DEFAULT_RECORD_SIZE)


def test_minimum_is_waited_for_but_not_when_all_is_to_be_read(cluster: Cluster) -> None:
    cluster.create(1)
    cluster.write(2)
    stream = cluster.stream(startingOffsets="earliest", minOffsetsPerTrigger="5")
    assert step(stream, at(0)) == at(2), "the first batch does not wait"
    cluster.write(4)
    assert step(stream, at(2)) == at(2)
    cluster.write(1)
    assert step(stream, at(2)) == at(7)


def test_a_minimum_of_no_offsets_is_none(cluster: Cluster) -> None:
    cluster.create(1)
    stream = cluster.stream(startingOffsets="earliest", minOffsetsPerTrigger="0")
    assert step(stream, at(0)) == at(0)
    cluster.write(1)
    assert step(stream, at(0)) == at(1)


def test_available_now_ends_where_it_began(cluster: Cluster) -> None:
    cluster.create(1)
    cluster.write(4)
    stream = cluster.stream(startingOffsets="earliest", maxOffsetsPerTrigger="3", minOffsetsPerTrigger="2")
    stream.freeze()
    assert step(stream, stream.initial()) == at(3)
    cluster.write(5)
    assert ranges(stream.plan(at(0), at(3))) == [(0, 0, 3)]
    assert step(stream, at(3)) == at(4)
    assert ranges(stream.plan(at(3), at(4))) == [(0, 3, 4)]
    assert step(stream, at(4)) == at(4)


def test_new_partition_is_read_from_its_first_record(cluster: Cluster) -> None:
    cluster.create(1)
    stream = cluster.stream(startingOffsets="earliest")
    assert step(stream, at(0)) == at(0)
    cluster.add_partitions(2)
    cluster.write(2, 1)
    assert step(stream, at(0)) == at(0, 2)
    assert ranges(stream.plan(at(0), at(0, 2))) == [(1, 0, 2)]


def test_new_topic_of_a_pattern_is_read_from_its_first_record(cluster: Cluster) -> None:
    cluster.create(1)
    stream = cluster.stream(subscribePattern="ord.*", startingOffsets="latest")
    assert step(stream, stream.initial()) == at(0)
    cluster.create(1, "ordinary")
    cluster.write(2, topic="ordinary")
    end = step(stream, at(0))
    assert end == at(0) | at(2, topic="ordinary")
    assert ranges(stream.plan(at(0), end)) == [(0, 0, 2)]


def loses(stream: StreamSource, start: Offsets, end: Offsets, *, marked: bool = False) -> str:
    with pytest.raises(DataLossError) as raised:
        stream.plan(start, end, marked=marked)
    return str(raised.value)


def test_new_partition_whose_first_records_are_gone(cluster: Cluster, caplog: pytest.LogCaptureFixture) -> None:
    cluster.create(2)
    cluster.write(5, 1)
    cluster.broker.delete_records(TOPIC, before=3, partition=1)
    stream = cluster.stream()
    assert loses(stream, at(0), step(stream, at(0))).startswith("Added partition orders-1 starts from 3 instead of 0.")
    lenient = cluster.stream(failOnDataLoss="false")
    with caplog.at_level(logging.WARNING):
        assert ranges(lenient.plan(at(0), step(lenient, at(0)))) == [(1, 3, 5)]
    assert "Added partition orders-1 starts from 3" in caplog.text


def test_deleted_partition(cluster: Cluster) -> None:
    cluster.create(1)
    cluster.write(1)
    stream = cluster.stream()
    assert loses(stream, at(0, 7), step(stream, at(0, 7))).startswith("Partitions orders-1 have been deleted")
    lenient = cluster.stream(failOnDataLoss="false")
    assert ranges(lenient.plan(at(0, 7), step(lenient, at(0, 7)))) == [(0, 0, 1)]


def test_assigned_partition_that_vanishes_is_a_loss_like_any_other(
    cluster: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    cluster.create(2)
    cluster.write(3)
    assign = '{"orders":[0,1]}'
    strict, lenient = cluster.stream(assign=assign), cluster.stream(assign=assign, failOnDataLoss="false")
    assert step(strict, at(0, 0)) == step(lenient, at(0, 0)) == at(3, 0)
    cluster.delete()
    cluster.create(1)
    cluster.write(5)
    assert loses(strict, at(3, 0), step(strict, at(3, 0))).startswith("Partitions orders-1 have been deleted")
    with caplog.at_level(logging.WARNING):
        assert ranges(lenient.plan(at(3, 0), step(lenient, at(3, 0)))) == [(0, 3, 5)]
    assert "Partitions orders-1 have been deleted" in caplog.text
    with pytest.raises(ConfigError, match="assign names orders-1, which does not exist; orders has 1 partition"):
        cluster.stream(assign=assign).initial()


def test_all_partitions_that_were_assigned_may_vanish_and_come_back(
    cluster: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    cluster.create(2)
    cluster.write(3, partition=1)
    one = TopicPartition(TOPIC, 1)
    assign = '{"orders":[1]}'
    strict, lenient = cluster.stream(assign=assign), cluster.stream(assign=assign, failOnDataLoss="false")
    assert step(strict, {one: 0}) == step(lenient, {one: 0}) == {one: 3}
    cluster.delete()
    cluster.create(1)
    assert loses(strict, {one: 3}, step(strict, {one: 3})).startswith("Partitions orders-1 have been deleted")
    with caplog.at_level(logging.WARNING):
        assert ranges(lenient.plan({one: 3}, gone := step(lenient, {one: 3}))) == []
    assert "Partitions orders-1 have been deleted" in caplog.text
    cluster.add_partitions(2)
    cluster.write(5, partition=1)
    assert ranges(lenient.plan(gone, step(lenient, gone))) == [(1, 0, 5)]


def test_offsets_that_went_backwards_are_asked_for_again_and_then_lost(cluster: Cluster) -> None:
    cluster.create(1)
    cluster.write(4)
    stream = cluster.stream()
    assert step(stream, at(10)) == at(4)
    assert len(cluster.waits) == 2
    assert loses(stream, at(10), at(4)).startswith("Partition orders-0 offset was changed from 10 to 4.")
    assert cluster.stream(failOnDataLoss="false").plan(at(10), at(4)) == []


def test_topic_created_anew_is_a_loss_though_its_log_is_longer(
    cluster: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    cluster.create(1)
    cluster.write(2)
    strict, lenient = cluster.stream(), cluster.stream(failOnDataLoss="false")
    assert step(strict, at(0)) == step(lenient, at(0)) == at(2)
    cluster.delete()
    cluster.create(1)
    cluster.write(5)
    loss = loses(strict, at(2), step(strict, at(2)))
    assert loss.startswith("Topic orders was deleted and created anew;")
    assert "a query started again from this checkpoint does not notice that" in loss
    started_again = cluster.stream()
    assert ranges(started_again.plan(at(2), step(started_again, at(2)))) == [(0, 2, 5)]
    with caplog.at_level(logging.WARNING):
        assert ranges(lenient.plan(at(2), step(lenient, at(2)))) == [(0, 2, 5)]
    assert "records of the new orders-0 before offset 2 are not read" in caplog.text
    caplog.clear()
    cluster.write(1)
    assert ranges(lenient.plan(at(5), step(lenient, at(5)))) == [(0, 5, 6)]
    assert not caplog.records, "a loss is told once"


def test_group_has_the_offsets_of_what_was_read(cluster: Cluster) -> None:
    cluster.create(2)
    cluster.write(4)
    stream = cluster.stream(startingOffsets="earliest", commitGroupId="dashboard", maxOffsetsPerTrigger="3")
    step(stream, stream.initial())
    assert cluster.admin.lag("dashboard") == at(4, 0)
    stream.finished(at(3, 0))
    assert cluster.admin.lag("dashboard") == at(1, 0)
    assert step(stream, at(4, 0)) == at(4, 0)
    assert cluster.admin.lag("dashboard") == at(0, 0)


def test_group_that_takes_no_offsets_stops_nothing(cluster: Cluster, caplog: pytest.LogCaptureFixture) -> None:
    cluster.create(1)
    cluster.write(1)
    with kwire.Consumer(cluster.servers, group_id="busy", auto_offset_reset="earliest") as member:
        member.subscribe([TOPIC])
        member.poll(timeout=10)
        stream = cluster.stream(startingOffsets="earliest", commitGroupId="busy")
        with caplog.at_level(logging.WARNING):
            assert step(stream, at(0)) == at(1)
            stream.finished(at(1))
    assert len([record for record in caplog.records if "Cannot commit offsets" in record.getMessage()]) == 1


def test_topic_that_is_gone_is_an_error_whatever_the_option(cluster: Cluster) -> None:
    cluster.create(1)
    stream = cluster.stream(failOnDataLoss="false")
    step(stream, at(0))
    cluster.delete()
    with pytest.raises(UnknownTopicError, match=TOPIC):
        step(stream, at(0))


def test_offsets_beyond_the_frozen_ends_fail(cluster: Cluster) -> None:
    cluster.create(1)
    cluster.write(2)
    stream = cluster.stream(failOnDataLoss="false")
    stream.freeze()
    assert step(stream, at(0)) == at(2)
    cluster.delete()
    cluster.create(1)
    with pytest.raises(kwire.KafkaError, match="The log of orders-0 now ends at 0, before 2"):
        stream.plan(at(0), at(2))


class Forgetful:
    """Answers a question wrongly for so many times, as a broker that has just started, or just become leader."""

    def __init__(self, question: Callable[..., Any], wrong: object, times: int) -> None:
        self.question, self.wrong, self.left = question, wrong, times

    def __call__(self, *given: object, **named: object) -> object:
        self.left -= 1
        if self.left < 0:
            return self.question(*given, **named)
        if isinstance(self.wrong, Exception):
            raise self.wrong
        return self.wrong


UNKNOWN = UnknownTopicError("topic 'orders' does not exist")


@pytest.mark.parametrize("wrong", [UNKNOWN, at(1)], ids=["unknown", "behind"])
def test_what_available_now_is_to_read_may_be_out_of_sight_for_a_moment(
    cluster: Cluster, wrong: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.create(2)
    cluster.write(2)
    stream = cluster.stream()
    stream.freeze()
    assert step(stream, at(0, 0)) == at(2, 0)
    monkeypatch.setattr(stream._cluster, "latest", Forgetful(stream._cluster.latest, wrong, 2))
    assert ranges(stream.plan(at(0, 0), at(2, 0))) == [(0, 0, 2)]


@pytest.mark.parametrize("wrong", [UNKNOWN, {}], ids=["unknown", "forgotten"])
def test_a_topic_may_be_out_of_sight_when_a_query_starts(
    cluster: Cluster, wrong: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.create(1)
    cluster.write(2)
    uses: list[Callable[[StreamSource], list[Task]]] = [
        lambda stream: stream.plan(at(0), at(2)),
        lambda stream: stream.plan(at(0), step(stream, at(0))),
    ]
    if wrong:
        uses.append(lambda stream: stream.plan(stream.initial(), at(2)))
    for use in uses:
        stream = cluster.stream(startingOffsets="earliest")
        monkeypatch.setattr(stream._cluster, "partitions", Forgetful(stream._cluster.partitions, wrong, 2))
        assert ranges(use(stream)) == [(0, 0, 2)]


def test_first_batch_made_before_a_partition_was_added(cluster: Cluster) -> None:
    cluster.create(2)
    cluster.write(3)
    stream = cluster.stream(startingOffsets="earliest")
    assert ranges(stream.plan(stream.initial(), at(3))) == [(0, 0, 3)]


def test_thousand_partitions_are_one_or_two_tasks(cluster: Cluster) -> None:
    cluster.create(300)
    stream = cluster.stream(startingOffsets="earliest")
    for number in range(300):
        cluster.producer.send(TOPIC, b"x", partition=number)
    cluster.producer.flush()
    start = stream.initial()
    assert len(stream.plan(start, step(stream, start))) <= 2
