"""Planning and reading tasks in this process, on the embedded broker, without Spark."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator

import pyarrow as pa
import pytest

from kwire import Admin, Producer
from kwire.engine.common.addresses import TopicPartition
from kwire.spark.options.read import BatchOptions, parse_batch_options
from kwire.spark.planning.plan_read import plan_tasks
from kwire.spark.ranges.offsets import DataLossError
from kwire.spark.ranges.tasks import OffsetRange, Task
from kwire.spark.reading.read_task import read_task
from kwire.spark.workers.clients import close_idle_clients, idle_clients
from kwire.testing import Broker

TOPIC = "tens"
PARTITIONS = 3
Options = Callable[..., BatchOptions]


@pytest.fixture(scope="module")
def servers() -> Iterator[str]:
    """TOPIC has three partitions; partition p has the 100 records p000 to p099."""
    with Broker() as broker:
        with Admin(broker.bootstrap_servers) as admin:
            admin.create_topics({TOPIC: PARTITIONS})
        with Producer(broker.bootstrap_servers) as producer:
            for partition in range(PARTITIONS):
                for number in range(100):
                    producer.send(TOPIC, b"%d%03d" % (partition, number), partition=partition)
            producer.flush(timeout=10)
        yield broker.bootstrap_servers


@pytest.fixture
def options(servers: str) -> Iterator[Options]:
    def make(**more: str) -> BatchOptions:
        return parse_batch_options({"kafka.bootstrap.servers": servers, "subscribe": TOPIC, **more})

    yield make
    close_idle_clients()


def part(partition: int, start: int, end: int) -> OffsetRange:
    return OffsetRange(TopicPartition(TOPIC, partition), start, end)


def values(options: BatchOptions, *ranges: OffsetRange) -> list[bytes]:
    table = pa.Table.from_batches(list(read_task(options, ranges)), schema=pa.schema([("value", pa.binary())]))
    found: list[bytes] = table.column("value").to_pylist()
    return found


def expected(*ranges: OffsetRange) -> list[bytes]:
    return [b"%d%03d" % (each.partition.partition, n) for each in ranges for n in range(each.start, each.end)]


def test_a_plan_covers_the_topic(options: Options) -> None:
    tasks = plan_tasks(options(maxTasks="0"))
    assert [(each.partition, each.start, each.end) for (each,) in tasks] == [
        (TopicPartition(TOPIC, partition), 0, 100) for partition in range(PARTITIONS)
    ]
    assert all(each.leader >= 0 for (each,) in tasks)
    assert [len(task) for task in plan_tasks(options(maxTasks="1"))] == [PARTITIONS]


def test_exactly_the_ranges_are_read(options: Options) -> None:
    ranges = [part(0, 0, 100), part(1, 7, 8), part(2, 95, 100)]
    assert sorted(values(options(columns="value"), *ranges)) == expected(*ranges)


def test_several_ranges_of_one_partition_in_one_task(options: Options) -> None:
    ranges = [part(0, 0, 10), part(0, 50, 60), part(0, 60, 65), part(1, 1, 2), part(0, 99, 100)]
    assert sorted(values(options(columns="value"), *ranges)) == sorted(expected(*ranges))


def test_any_packing_reads_each_record_once(options: Options) -> None:
    chosen = options(columns="value", minPartitions="13", maxTasks="13")
    tasks: list[Task] = plan_tasks(chosen)
    assert len(tasks) >= 12
    assert sorted(value for task in tasks for value in values(chosen, *task)) == expected(
        *(part(partition, 0, 100) for partition in range(PARTITIONS))
    )


def test_a_start_before_the_log_or_behind_it(options: Options) -> None:
    with pytest.raises(DataLossError, match=r"offset \[150, 160\) for topic partition tens-0: the log has \[0, 100\)"):
        values(options(columns="value"), part(0, 150, 160))
    lenient = options(columns="value", failOnDataLoss="false")
    assert values(lenient, part(0, 150, 160), part(1, 0, 3)) == expected(part(1, 0, 3))


def test_the_consumer_is_kept_for_the_next_task(options: Options) -> None:
    chosen = options(columns="value")
    values(chosen, part(0, 0, 10))
    (kept,) = idle_clients()
    values(chosen, part(1, 0, 10))
    assert idle_clients() == [kept]


def test_a_task_that_failed_leaves_no_consumer(options: Options) -> None:
    chosen = options(columns="value")
    with pytest.raises(DataLossError):
        values(chosen, part(0, 150, 160))
    assert idle_clients() == []
    assert values(chosen, part(0, 0, 10)) == expected(part(0, 0, 10))


def test_a_task_that_is_stopped_leaves_no_consumer(options: Options, servers: str) -> None:
    with Producer(servers) as producer:
        producer.send_many("long", [b"%d" % number for number in range(30_000)])
        producer.flush(timeout=10)
    chosen = options(subscribe="long", columns="value")
    whole = [piece for task in plan_tasks(chosen) for piece in task]
    rows = read_task(chosen, tuple(whole))
    assert isinstance(rows, Generator)
    assert next(rows).num_rows == 10_000
    rows.close()
    assert idle_clients() == []
    assert sum(batch.num_rows for batch in read_task(chosen, tuple(whole))) == 30_000


def test_the_log_tells_what_a_task_read(options: Options, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO", logger="kwire.spark"):
        values(options(columns="value"), part(0, 10, 40), part(2, 0, 7))
    told = [record.getMessage() for record in caplog.records if " read " in record.getMessage()]
    assert [text.partition(", in ")[0] for text in told] == [
        "This process read tens-0, offsets 10 to 40: 30 rows, 324 bytes",
        "This process read tens-2, offsets 0 to 7: 7 rows, 71 bytes",
    ]


def test_the_log_tells_what_is_planned(options: Options, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO", logger="kwire.spark"):
        plan_tasks(options(startingOffsets='{"tens":{"0":90,"1":100,"2":95}}', maxTasks="1"))
    assert "15 offsets in 1 task: tens-0 from 90 to 100, tens-2 from 95 to 100" in caplog.messages
