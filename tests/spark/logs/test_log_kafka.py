"""Folders that brokers wrote, read as files and over the broker: the same rows, however the files are cut.

Without a JVM for Spark: what the planning process and the workers run is run here.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from confluent_kafka import TopicPartition

from kwire.log_files.indexes import parse_aborted, parse_open_transactions
from kwire.spark.logs.plan import plan_log_tasks
from kwire.spark.logs.task import read_log_task
from kwire.spark.options.log import parse_log_options
from kwire.spark.options.read import parse_batch_options
from kwire.spark.planning.plan_read import plan_tasks
from kwire.spark.reading.read_task import read_task
from tests.brokers import Cluster
from tests.brokers.peers import Confluent, PeerRecord
from tests.spark.foreign import WITHIN_S, ForeignClient

pytestmark = pytest.mark.kafka

TIME = int(time.time() * 1000) - 3_600_000
# Kafka 4 has no smaller ones.
MIB = str(1 << 20)
Rows = list[dict[str, Any]]


def topic_rows(cluster: Cluster, topic: str, **options: str) -> Rows:
    options = {"kafka.bootstrap.servers": cluster.bootstrap_servers, "subscribe": topic, **options}
    parsed = parse_batch_options({"includeHeaders": "true", **options})
    return _sorted(batch for task in plan_tasks(parsed) for batch in read_task(parsed, task))


def log_rows(path: Path, **options: str) -> Rows:
    parsed = parse_log_options({"includeHeaders": "true", "path": str(path), **options})
    return _sorted(batch for task in plan_log_tasks(parsed) for batch in read_log_task(parsed, task))


def _sorted(batches: Iterator[pa.RecordBatch]) -> Rows:
    rows = [row for batch in batches for row in batch.to_pylist()]
    return sorted(rows, key=lambda row: (row["partition"], row["offset"]))


def folder_of(cluster: Cluster, topic: str, partition: int = 0) -> Path:
    return cluster.segments(topic, partition)[0].parent


def assert_same(cluster: Cluster, topic: str, folder: Path, **options: str) -> Rows:
    expected = topic_rows(cluster, topic, **{f"kafka.{name}": value for name, value in options.items()})
    names = {"isolation.level": "isolationLevel"}
    own = {names[name]: value for name, value in options.items()}
    assert log_rows(folder, **own) == expected
    assert log_rows(folder, maxBytesPerTask="1", **own) == expected
    return expected


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_every_release(kafka: Cluster, codec: str, new_topic: Callable[[], str]) -> None:
    topic = new_topic()
    sent = [PeerRecord(b"value %d" % number * (number % 9), b"%d" % number, TIME + number) for number in range(3000)]
    for start in range(0, 3000, 300):
        Confluent(kafka).produce(topic, sent[start : start + 300], compression=codec)
    rows = assert_same(kafka, topic, folder_of(kafka, topic))
    assert [row["key"] for row in rows] == [record.key for record in sent]
    bounds = {f"{end}Offsets": json.dumps({topic: {"0": at}}) for end, at in (("starting", 777), ("ending", 2222))}
    assert log_rows(folder_of(kafka, topic), **bounds) == rows[777:2222]
    if kafka.release.number >= (0, 10, 1):
        times = {"startingTimestamp": str(TIME + 1234), "endingTimestamp": str(TIME + 2345)}
        assert log_rows(folder_of(kafka, topic), **times) == rows[1234:2345] == topic_rows(kafka, topic, **times)


@pytest.fixture
def newest(kafka_cluster: Callable[[str], Cluster]) -> Cluster:
    return kafka_cluster("4.4.0")


@pytest.fixture
def client(newest: Cluster) -> ForeignClient:
    return ForeignClient(newest.bootstrap_servers)


def fill(client: ForeignClient, topic: str, first: int = 0, count: int = 3000, size: int = 1000) -> None:
    items = [
        (0, b"%d" % number * (size // 5), b"%d" % (number % 500), TIME + number, [])
        for number in range(first, first + count)
    ]
    client.produce(topic, items)


def test_many_segments(newest: Cluster, client: ForeignClient, new_topic: Callable[[], str]) -> None:
    topic = new_topic()
    client.create_topic(topic, 1, segment_bytes=MIB)
    fill(client, topic)
    folder = folder_of(newest, topic)
    assert len(newest.segments(topic)) > 2
    rows = assert_same(newest, topic, folder)
    for start in (0, 999, 2999):
        times = {"startingTimestamp": str(TIME + start)}
        assert log_rows(folder, **times) == rows[start:]
        bounds = {"startingOffsets": json.dumps({topic: {"0": start}})}
        assert log_rows(folder, **bounds) == rows[start:]
    for suffix in (".index", ".timeindex"):
        copied = copy_of(folder, without=suffix)
        assert log_rows(copied, maxBytesPerTask="100k", **times) == rows[start:]


def copy_of(folder: Path, without: str) -> Path:
    """A copy of a partition's folder that lacks some files."""
    copy = folder.parent.parent / f"without{without}" / folder.name
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(folder, copy, ignore=shutil.ignore_patterns(f"*{without}"))
    return copy


def test_a_compacted_topic(newest: Cluster, client: ForeignClient, new_topic: Callable[[], str]) -> None:
    topic = new_topic()
    config = {"cleanup_policy": "compact", "min_cleanable_dirty_ratio": "0.01", "max_compaction_lag_ms": "100"}
    client.create_topic(topic, 1, segment_bytes=MIB, segment_ms="500", **config)
    fill(client, topic, count=2000)
    deadline = time.monotonic() + 60
    while len(rows := topic_rows(newest, topic)) > 1500 and time.monotonic() < deadline:
        time.sleep(1)
        fill(client, topic, first=2000, count=1, size=10)
    assert len(rows) <= 1500
    folder = copy_of(folder_of(newest, topic), without=".nothing")
    last = {"endingOffsets": json.dumps({topic: {"0": 2000}})}
    assert log_rows(folder, **last) == topic_rows(newest, topic, **last)


def test_the_brokers_own_time(newest: Cluster, client: ForeignClient, new_topic: Callable[[], str]) -> None:
    topic = new_topic()
    client.create_topic(topic, 1, message_timestamp_type="LogAppendTime")
    fill(client, topic, count=100)
    assert {row["timestampType"] for row in assert_same(newest, topic, folder_of(newest, topic))} == {1}


def test_transactions(kafka_cluster: Callable[[str], Cluster], new_topic: Callable[[], str]) -> None:
    newest = kafka_cluster("4.4.0")
    client, topic = ForeignClient(newest.bootstrap_servers), new_topic()
    client.create_topic(topic, 1, segment_bytes=MIB)
    one, two = (client.transactional_producer(f"{topic}-{number}") for number in range(2))

    def send(producer: Any, count: int) -> None:
        for number in range(count):
            producer.produce(topic, b"%d" % number * 200, partition=0, timestamp=TIME)
            if number % 100 == 0:
                producer.flush(WITHIN_S)
        producer.flush(WITHIN_S)

    for aborts in (False, True, False, True):
        one.begin_transaction()
        two.begin_transaction()
        send(one, 300)
        send(two, 700)
        send(one, 900)
        (one.abort_transaction if aborts else one.commit_transaction)(WITHIN_S)
        (two.commit_transaction if aborts else two.abort_transaction)(WITHIN_S)
        fill(client, topic, count=5)
    one.begin_transaction()
    send(one, 10)
    fill(client, topic, count=5)
    committed = {"isolation.level": "read_committed"}
    assert len(newest.segments(topic)) > 3
    folder = folder_of(newest, topic)
    assert list(folder.glob("*.txnindex"))
    everything = assert_same(newest, topic, folder)
    wanted = assert_same(newest, topic, folder, **committed)
    assert 0 < len(wanted) < len(everything) - 15
    level = {"isolationLevel": "read_committed"}
    for suffix in (".txnindex", ".snapshot", ".index", "*[xt]"):
        copied = copy_of(folder, without=suffix)
        assert log_rows(copied, **level) == wanted
        assert log_rows(copied, maxBytesPerTask="1", **level) == wanted
    late = {"startingOffsets": json.dumps({topic: {"0": 2500}})}
    assert log_rows(folder, **level, **late) == [row for row in wanted if row["offset"] >= 2500]
    one.abort_transaction(WITHIN_S)


def test_what_files_beside_segments_say(newest: Cluster, client: ForeignClient, new_topic: Callable[[], str]) -> None:
    topic = new_topic()
    client.create_topic(topic, 1, segment_bytes=MIB)
    producer = client.transactional_producer(topic)
    producer.begin_transaction()
    producer.produce(topic, b"v", partition=0)
    producer.flush(WITHIN_S)
    producer.abort_transaction(WITHIN_S)
    producer.begin_transaction()
    producer.produce(topic, b"v", partition=0)
    producer.flush(WITHIN_S)
    fill(client, topic, count=2500)
    folder = folder_of(newest, topic)
    deadline = time.monotonic() + WITHIN_S
    while not list(folder.glob("*.snapshot")) and time.monotonic() < deadline:
        time.sleep(0.05)
    aborted = [entry for path in folder.glob("*.txnindex") for entry in parse_aborted(path.read_bytes()) or ()]
    assert [(each.first, each.last) for each in aborted] == [(0, 1)]
    opened = [parse_open_transactions(path.read_bytes()) for path in sorted(folder.glob("*.snapshot"))]
    assert [list((each or {}).values()) for each in opened][-1] == [2]
    producer.abort_transaction(WITHIN_S)


def test_records_deleted_from_the_front(new_topic: Callable[[], str]) -> None:
    with Cluster(
        "4.4.0", overrides={"log.flush.start.offset.checkpoint.interval.ms": "100", "log.initial.task.delay.ms": "100"}
    ) as cluster:
        client, topic = ForeignClient(cluster.bootstrap_servers), new_topic()
        client.create_topic(topic, 1)
        fill(client, topic, count=100)
        deleted = TopicPartition(topic, 0, 50)
        client.admin.delete_records([deleted])[deleted].result(WITHIN_S)
        deadline = time.monotonic() + WITHIN_S
        noted = folder_of(cluster, topic).parent / "log-start-offset-checkpoint"
        while f"{topic} 0 50" not in noted.read_text() and time.monotonic() < deadline:
            time.sleep(0.05)
        rows = assert_same(cluster, topic, folder_of(cluster, topic))
        assert [row["offset"] for row in rows] == list(range(50, 100))
