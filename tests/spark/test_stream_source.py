"""A stream's start, its batches and what it says of losses, on the embedded broker, without Spark."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewPartitions

import kwire
from kwire.engine.addresses import TopicPartition
from kwire.errors import ConfigError, UnknownTopicError
from kwire.spark.offsets import DataLossError
from kwire.spark.planning import Task
from kwire.spark.stream_offsets import Offsets
from kwire.spark.stream_options import parse_stream_options
from kwire.spark.stream_source import StreamSource
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

    def stream(self, **options: str) -> StreamSource:
        """A stream as a new run has it: nothing remembered."""
        defaults = {"kafka.bootstrap.servers": self.servers}
        if "subscribePattern" not in options:
            defaults["subscribe"] = TOPIC
        source = StreamSource(parse_stream_options(defaults | options), sleep=self.waits.append)
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


def test_minimum_is_waited_for_but_not_when_all_is_to_be_read(cluster: Cluster) -> None:
    cluster.create(1)
    cluster.write(2)
    stream = cluster.stream(startingOffsets="earliest", minOffsetsPerTrigger="5")
    assert step(stream, at(0)) == at(2), "the first batch does not wait"
    cluster.write(4)
    assert step(stream, at(2)) == at(2)
    cluster.write(1)
    assert step(stream, at(2)) == at(7)


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
