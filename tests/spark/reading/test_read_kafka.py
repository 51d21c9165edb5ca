"""`format("kwire")` on Apache Kafka, where a log has what the embedded broker's has not: old formats, transactions, the
broker's own time, records deleted from the front.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import TopicPartition

from kwire.spark.options.read import BatchOptions, parse_batch_options
from kwire.spark.planning.plan_read import plan_tasks
from kwire.spark.ranges.offsets import DataLossError
from kwire.spark.ranges.tasks import Task
from kwire.spark.reading.read_task import read_task
from tests.brokers import Cluster
from tests.brokers.peers import Confluent, PeerRecord
from tests.spark.foreign import WITHIN_S, ForeignClient

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.kafka

NEWEST = "4.4.0"
# An hour ago: Kafka deletes records that are older than its retention.
TIME = int(time.time() * 1000) - 3_600_000

Read = Callable[..., "DataFrame"]


@pytest.fixture
def newest(kafka_cluster: Callable[[str], Cluster]) -> Cluster:
    return kafka_cluster(NEWEST)


@pytest.fixture
def read(spark: SparkSession, newest: Cluster) -> Read:
    def load(**options: str) -> DataFrame:
        source = spark.read.format("kwire").option("kafka.bootstrap.servers", newest.bootstrap_servers)
        return source.options(**options).load()

    return load


def offsets(frame: DataFrame) -> list[int]:
    return sorted(row.offset for row in frame.select("offset").collect())


def test_every_release_from_the_first_log_format_on(
    spark: SparkSession, kafka: Cluster, new_topic: Callable[[], str]
) -> None:
    topic = new_topic()
    sent = [PeerRecord(b"value-%d" % number, b"key-%d" % number, TIME + number) for number in range(200)]
    Confluent(kafka).produce(topic, sent, compression="gzip")
    has_time = kafka.release.number >= (0, 10)
    frame = (
        spark.read.format("kwire")
        .option("kafka.bootstrap.servers", kafka.bootstrap_servers)
        .option("subscribe", topic)
        .load()
    )
    found = frame.where("partition = 0").selectExpr("offset", "key", "value", "unix_millis(timestamp)", "timestampType")
    assert sorted(tuple(row) for row in found.collect()) == [
        (number, b"key-%d" % number, b"value-%d" % number, TIME + number if has_time else -1, 0 if has_time else -1)
        for number in range(200)
    ]


def test_transactions(read: Read, newest: Cluster, new_topic: Callable[[], str]) -> None:
    topic = new_topic()
    client = ForeignClient(newest.bootstrap_servers)
    client.create_topic(topic, 1)
    producer = client.transactional_producer(topic)
    for finish in (producer.commit_transaction, producer.abort_transaction, producer.commit_transaction):
        producer.begin_transaction()
        for number in range(5):
            producer.produce(topic, b"%d" % number, partition=0)
        producer.flush(WITHIN_S)
        finish(WITHIN_S)
    everything = [*range(5), *range(6, 11), *range(12, 17)]
    assert offsets(read(subscribe=topic)) == everything
    assert offsets(read(subscribe=topic, minPartitions="6")) == everything
    committed = {"kafka.isolation.level": "read_committed"}
    assert offsets(read(subscribe=topic, **committed)) == [*range(5), *range(12, 17)]


def test_the_brokers_own_time(read: Read, newest: Cluster, new_topic: Callable[[], str]) -> None:
    topic = new_topic()
    client = ForeignClient(newest.bootstrap_servers)
    client.create_topic(topic, 1, message_timestamp_type="LogAppendTime")
    before = int(time.time() * 1000)
    client.produce(topic, [(0, b"v", None, TIME, [])] * 3)
    after = int(time.time() * 1000)
    found = read(subscribe=topic).selectExpr("unix_millis(timestamp) AS time", "timestampType").collect()
    assert [row.timestampType for row in found] == [1, 1, 1]
    assert all(before <= row.time <= after for row in found)


def test_records_deleted_from_the_front(read: Read, newest: Cluster, new_topic: Callable[[], str]) -> None:
    topic = new_topic()
    client = ForeignClient(newest.bootstrap_servers)
    client.create_topic(topic, 1)
    client.produce(topic, [(0, b"%d" % number, None, TIME, []) for number in range(100)])
    deleted = TopicPartition(topic, 0, 50)
    client.admin.delete_records([deleted])[deleted].result(WITHIN_S)
    assert offsets(read(subscribe=topic)) == list(range(50, 100))
    start = {"startingOffsets": f'{{"{topic}":{{"0":10}}}}'}
    with pytest.raises(Exception, match=rf"Could not read records in offset \[10, 100\) for topic partition {topic}-0"):
        read(subscribe=topic, **start).count()
    lenient = {"failOnDataLoss": "false", **start}
    assert offsets(read(subscribe=topic, **lenient)) == list(range(50, 100))
    sixty = {"endingOffsets": f'{{"{topic}":{{"0":60}}}}'}
    assert offsets(read(subscribe=topic, **lenient, **sixty)) == list(range(50, 60))


def values(options: BatchOptions, tasks: list[Task]) -> list[bytes]:
    return [
        bytes(value) for task in tasks for batch in read_task(options, task) for value in batch["value"].to_pylist()
    ]


@pytest.mark.parametrize(
    ("again", "told"),
    [
        (0, "the topic does not exist any more"),
        (5, "the topic was deleted and created anew"),
        (50, "the topic was deleted and created anew"),
    ],
)
def test_a_topic_deleted_or_recreated_under_a_task(
    newest: Cluster, new_topic: Callable[[], str], again: int, told: str
) -> None:
    topic = new_topic()
    client = ForeignClient(newest.bootstrap_servers)
    client.create_topic(topic, 1)
    client.produce(topic, [(0, b"%d" % number, None, TIME, []) for number in range(10)])
    given = {"kafka.bootstrap.servers": newest.bootstrap_servers, "subscribe": topic, "columns": "value"}
    strict, lenient = (parse_batch_options({**given, "failOnDataLoss": fails}) for fails in ("true", "false"))
    tasks = plan_tasks(strict)
    assert len(values(strict, tasks)) == 10
    client.admin.delete_topics([topic])[topic].result(WITHIN_S)
    if again:
        client.create_topic(topic, 1)
        client.produce(topic, [(0, b"new", None, TIME, [])] * again)
    began = time.monotonic()
    with pytest.raises(DataLossError, match=told):
        values(strict, tasks)
    assert len(values(lenient, tasks)) == min(again, 10)
    assert time.monotonic() - began < WITHIN_S
