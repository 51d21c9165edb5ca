"""Topics that are deleted or recreated, and logs that are shorter than planned, under a task: told within seconds.

Plain calls on the embedded broker, without Spark.
"""

from __future__ import annotations

import logging
import re
import socket
import time
from collections.abc import Callable, Iterator

import pytest

from kwire import Producer
from kwire.engine.common.addresses import TopicPartition
from kwire.errors import KafkaTimeoutError
from kwire.errors.broker import OffsetOutOfRangeError
from kwire.spark.options.read import BatchOptions, parse_batch_options
from kwire.spark.planning.plan_read import plan_tasks
from kwire.spark.ranges.offsets import DataLossError
from kwire.spark.ranges.tasks import OffsetRange, Task
from kwire.spark.reading import read_loss
from kwire.spark.reading import read_task as reading
from kwire.spark.reading.read_task import read_task
from kwire.spark.workers.clients import close_idle_clients, idle_clients
from kwire.testing import Broker

SECONDS = 30
Options = Callable[..., BatchOptions]


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kwire.spark.reading.read_task._POLL_S", 0.05)
    monkeypatch.setattr("kwire.spark.reading.read_task._FIRST_LOOK_S", 0.1)


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker(topics={"gone": 2, "stays": 1}) as broker:
        broker.append("gone", [b"%d" % number for number in range(10)])
        broker.append("gone", [b"%d" % number for number in range(10)], partition=1)
        broker.append("stays", [b"a", b"b"])
        yield broker
    close_idle_clients()


@pytest.fixture
def options(broker: Broker) -> Options:
    def make(**more: str) -> BatchOptions:
        defaults = {"kafka.bootstrap.servers": broker.bootstrap_servers, "subscribe": "gone,stays", "columns": "value"}
        return parse_batch_options({**defaults, "maxTasks": "1", **more})

    return make


def values(options: BatchOptions, task: Task) -> list[bytes]:
    return [value for batch in read_task(options, task) for value in batch.column("value").to_pylist()]


def refused_soon(text: str, options: BatchOptions, task: Task) -> None:
    began = time.monotonic()
    with pytest.raises(DataLossError, match=text):
        values(options, task)
    assert time.monotonic() - began < SECONDS


def test_a_deleted_topic(broker: Broker, options: Options) -> None:
    (task,) = plan_tasks(options())
    broker.delete_topic("gone")
    refused_soon(r"offset \[0, 10\) for topic partition gone-0: the topic does not exist any more", options(), task)


def test_a_deleted_topic_ends_its_ranges_where_loss_is_allowed(
    broker: Broker, options: Options, caplog: pytest.LogCaptureFixture
) -> None:
    chosen = options(failOnDataLoss="false")
    (task,) = plan_tasks(chosen)
    broker.delete_topic("gone")
    with caplog.at_level(logging.WARNING, "kwire.spark"):
        assert values(chosen, task) == [b"a", b"b"]
    assert sum("does not exist any more" in record.getMessage() for record in caplog.records) == 2


def test_a_topic_recreated_with_fewer_records(broker: Broker, options: Options) -> None:
    (task,) = plan_tasks(options())
    broker.delete_topic("gone")
    broker.create_topic("gone", 2)
    broker.append("gone", [b"new"] * 4)
    refused_soon("for topic partition gone-[01]: the topic was deleted and created anew", options(), task)


def test_a_topic_recreated_with_fewer_partitions(broker: Broker, options: Options) -> None:
    (task,) = plan_tasks(options())
    broker.delete_topic("gone")
    broker.create_topic("gone", 1)
    broker.append("gone", [b"new"] * 10)
    refused_soon(
        r"gone-[01]: the (topic|partition) (was deleted and created anew|does not exist any more)", options(), task
    )


def test_a_topic_recreated_with_more_records(broker: Broker, options: Options) -> None:
    (task,) = plan_tasks(options())
    broker.delete_topic("gone")
    broker.create_topic("gone", 2)
    for partition in range(2):
        broker.append("gone", [b"new"] * 40, partition=partition)
    refused_soon("gone-0: the topic was deleted and created anew", options(), task)
    lenient = options(failOnDataLoss="false")
    assert sorted(values(lenient, task)) == [b"a", b"b"] + [b"new"] * 20


def test_a_topic_recreated_between_two_tasks_of_a_worker(broker: Broker, options: Options) -> None:
    (task,) = plan_tasks(options(subscribe="gone"))
    values(options(), task)
    assert idle_clients()
    broker.delete_topic("gone")
    broker.create_topic("gone", 2)
    broker.append("gone", [b"new"] * 40)
    (new,) = plan_tasks(options(subscribe="gone"))
    assert values(options(), new) == [b"new"] * 40
    refused_soon("the topic was deleted and created anew", options(), task)


def test_an_end_beyond_the_log(options: Options) -> None:
    task = (OffsetRange(TopicPartition("gone", 0), 5, 30), OffsetRange(TopicPartition("stays", 0), 0, 2))
    refused_soon(r"offset \[10, 30\) for topic partition gone-0: the log has \[0, 10\)", options(), task)
    assert sorted(values(options(failOnDataLoss="false"), task)) == [b"5", b"6", b"7", b"8", b"9", b"a", b"b"]


def test_a_short_patience_still_has_the_right_error(options: Options) -> None:
    impatient = options(**{"kafkaConsumer.pollTimeoutMs": "80"})
    refused_soon(r"the log has \[0, 10\)", impatient, (OffsetRange(TopicPartition("gone", 0), 5, 30),))


def test_a_cluster_that_is_gone_is_told(options: Options, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read_loss, "_ANSWER_WITHIN_S", 0.5)
    with socket.socket() as refusing:
        refusing.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{refusing.getsockname()[1]}"
        gone = options(**{"kafka.bootstrap.servers": address, "kafkaConsumer.pollTimeoutMs": "80"})
        with pytest.raises(KafkaTimeoutError) as caught:
            values(gone, (OffsetRange(TopicPartition("gone", 0), 0, 5),))
    assert "gone-0 at offset 0 of 5. kafka.bootstrap.servers" in str(caught.value)
    assert f"{address}: Connection refused" in str(caught.value)


def test_records_that_an_open_transaction_holds_back_are_waited_for(broker: Broker, options: Options) -> None:
    with Producer(broker.bootstrap_servers, transactional_id="t") as producer:
        producer.init_transactions()
        producer.begin_transaction()
        producer.send("stays", b"open", partition=0).result(timeout=10)
        chosen = options(**{"kafka.isolation.level": "read_committed", "kafkaConsumer.pollTimeoutMs": "500"})
        task = (OffsetRange(TopicPartition("stays", 0), 0, 3),)
        with pytest.raises(KafkaTimeoutError, match=re.escape("nothing came within 0.5 s")) as caught:
            values(chosen, task)
        assert "stays-0 at offset 2 of 3" in str(caught.value)
        producer.abort_transaction()
    assert values(chosen, task) == [b"a", b"b"]


def test_the_time_that_rows_take_in_spark_is_no_silence(
    broker: Broker, options: Options, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What passes is waited for, however long the rows before it took."""
    monkeypatch.setattr("kwire.spark.reading.columns.ROWS_PER_BATCH", 10)
    broker.create_topic("slow", 1)
    for _ in range(10):
        broker.append("slow", [bytes(1000)] * 10)
    chosen = options(subscribe="slow", **{"kafka.fetch.max.bytes": "15000"})
    (task,) = plan_tasks(chosen)
    rows = read_task(chosen, task)
    count = next(rows).num_rows
    broker.faults.error("Fetch", OffsetOutOfRangeError, times=2)
    clock = SlowClock()
    monkeypatch.setattr(reading, "time", clock)
    clock.ahead += 1000
    assert count + sum(batch.num_rows for batch in rows) == 100
    assert broker.faults.pending == 0


class SlowClock:
    """Time in which Spark did something else is `ahead`."""

    ahead = 0.0

    def monotonic(self) -> float:
        return time.monotonic() + self.ahead

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)
