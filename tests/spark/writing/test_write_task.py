"""Writing the rows of tasks in this process, on the embedded broker, without Spark."""

from __future__ import annotations

import gc
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pytest

from kwire import Admin, Producer, partitioners, records
from kwire.errors import BrokerError, ConfigError
from kwire.spark.options.write import WriteOptions, parse_write_options
from kwire.spark.workers.clients import close_idle_clients, idle_clients
from kwire.spark.writing.write_task import TaskReport, WriteError, write_rows, write_task
from kwire.testing import Broker
from tests.drivers.waiting import until

Options = Callable[..., WriteOptions]
INVALID_RECORD = 87


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker(topics={"three": 3, "one": 1}) as running:
        yield running
        close_idle_clients()


@pytest.fixture
def options(broker: Broker) -> Options:
    def make(**more: str) -> WriteOptions:
        return parse_write_options({"kafka.bootstrap.servers": broker.bootstrap_servers, **more})

    return make


def batch(**columns: Any) -> pa.RecordBatch:
    types: dict[str, pa.DataType] = {"partition": pa.int32(), "topic": pa.string(), "headers": HEADERS}
    return pa.record_batch({name: pa.array(column, types.get(name)) for name, column in columns.items()})


HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))


def stored(broker: Broker, topic: str, partition: int = 0) -> list[records.Record]:
    return list(records.decode(broker.record_set(topic, partition=partition)))


def test_rows_are_written_with_all_their_columns(broker: Broker, options: Options) -> None:
    report = write_task(
        options(),
        [
            batch(
                topic=["one", "three", "one"],
                key=["k", None, ""],
                value=[b"a", b"b", None],
                partition=[None, 2, 0],
                headers=[[{"key": "h", "value": b"1"}, {"key": "h", "value": None}], None, []],
                timestamp=[1, 2, 3],
                other=["is", "not", "written"],
            )
        ],
    )
    assert report == TaskReport(3, {("one", 0): 2, ("three", 2): 1})
    first, second = stored(broker, "one")
    assert (first.key, first.value, tuple(first.headers)) == (b"k", b"a", (("h", b"1"), ("h", None)))
    assert (second.key, second.value, tuple(second.headers)) == (b"", None, ())
    assert first.timestamp > 1_000_000
    [third] = stored(broker, "three", 2)
    assert (third.key, third.value, tuple(third.headers)) == (None, b"b", ())


def test_rows_go_where_the_jobs_partitioner_puts_their_keys(broker: Broker, options: Options) -> None:
    keys = [b"customer-%d" % number for number in range(60)]
    rows = batch(key=keys, value=keys)
    write_task(options(topic="three", **{"kafka.partitioner": "consistent_random"}), [rows])
    for partition in range(3):
        placed = {record.key for record in stored(broker, "three", partition)}
        assert placed == {key for key in keys if partitioners.crc32(key, 3) == partition}


def test_large_columns_are_written(broker: Broker, options: Options) -> None:
    large = pa.large_list(pa.struct([("key", pa.large_string()), ("value", pa.large_binary())]))
    columns = {
        "topic": pa.array(["one", "three"], pa.large_string()),
        "key": pa.array(["k", None], pa.large_string()),
        "value": pa.array([b"a", b"b"], pa.large_binary()),
        "partition": pa.array([0, 1], pa.int32()),
        "headers": pa.array([[{"key": "h", "value": b"1"}], None], large),
    }
    assert write_task(options(), [pa.record_batch(columns)]).next_offsets == {("one", 0): 1, ("three", 1): 1}
    [record] = stored(broker, "one")
    assert (record.key, record.value, tuple(record.headers)) == (b"k", b"a", (("h", b"1"),))


@pytest.mark.parametrize("settings", [{"acks": "0"}, {"acks": "1"}, {"compression.type": "lz4"}, {"linger.ms": "0"}])
def test_settings_of_the_producer_take_effect(broker: Broker, options: Options, settings: dict[str, str]) -> None:
    given = options(topic="one", **{f"kafka.{name}": value for name, value in settings.items()})
    report = write_task(given, [batch(value=[f"{number}-{row}" for row in range(500)]) for number in range(4)])
    close_idle_clients()
    assert report.rows == 2000
    assert report.next_offsets == ({} if settings == {"acks": "0"} else {("one", 0): 2000})
    expected = [b"%d-%d" % (number, row) for number in range(4) for row in range(500)]
    until(lambda: len(stored(broker, "one")) >= len(expected))  # with acks=0 nothing waits for the broker
    assert [record.value for record in stored(broker, "one")] == expected


def test_the_option_topic_goes_before_the_column(broker: Broker, options: Options) -> None:
    write_task(options(topic="one"), [batch(topic=["three", None], value=["a", "b"])])
    assert [record.value for record in stored(broker, "one")] == [b"a", b"b"]


def test_rows_of_one_topic_keep_their_order(broker: Broker, options: Options) -> None:
    batches = [
        batch(topic=["one", "three"] * 50, value=[f"{number}-{row}" for row in range(100)], partition=[0] * 100)
        for number in range(20)
    ]
    report = write_task(options(), batches)
    assert report.rows == 2000
    expected = [b"%d-%d" % (number, row) for number in range(20) for row in range(100)]
    assert [record.value for record in stored(broker, "one")] == expected[::2]
    assert [record.value for record in stored(broker, "three")] == expected[1::2]


def test_a_slice_of_a_batch_is_written(broker: Broker, options: Options) -> None:
    whole = batch(topic=["one"] * 6, value=list("abcdef"), partition=[None, 0, 0, None, 0, 0])
    write_task(options(), [whole.slice(2, 3), whole.slice(0, 0)])
    assert [record.value for record in stored(broker, "one")] == [b"c", b"d", b"e"]


def test_a_task_without_rows_writes_nothing(options: Options) -> None:
    assert write_task(options(topic="one"), []) == TaskReport(0, {})


def test_the_next_task_of_a_worker_has_the_same_producer(broker: Broker, options: Options) -> None:
    write_task(options(topic="one"), [batch(value=["a"])])
    [first] = idle_clients()
    write_task(options(topic="one"), [batch(value=["b"])])
    assert idle_clients() == [first]
    ids = {each.producer_id for each in records.decode(broker.record_set("one", partition=0)).batches}
    assert len(ids) == 1
    assert ids != {-1}


def test_what_a_worker_imported_is_left_out_of_its_garbage_collections(options: Options) -> None:
    write_task(options(topic="one"), [])
    assert gc.get_freeze_count() > 1000


def test_a_failed_task_closes_its_producer_at_once(options: Options) -> None:
    def rows() -> Iterator[pa.RecordBatch]:
        yield batch(value=["a"])
        raise RuntimeError("the rows fail")

    with pytest.raises(RuntimeError, match="the rows fail"):
        write_task(options(topic="one"), rows())
    assert idle_clients() == []


@pytest.mark.parametrize(
    ("columns", "text"),
    [
        ({"topic": ["one", None], "value": ["a", "b"]}, "row 12 of the task cannot be written: the topic is null. Use"),
        ({"topic": ["one", "no such/name"], "value": ["a", "b"]}, "row 12 of the task (topic no such/name) cannot be"),
        (
            {"topic": ["one"] * 2, "value": ["a", "b"], "partition": [None, -1]},
            "row 12 of the task cannot be written: Invalid partition: -1; partitions count from 0, and null leaves",
        ),
        (
            {"topic": ["one"] * 2, "value": ["a", "b"], "headers": [[], [{"key": None, "value": b""}]]},
            "row 12 of the task (topic one) cannot be written: a null header, or one without a key",
        ),
        (
            {"topic": ["one"] * 2, "value": ["a", "b" * 2_000_000]},
            "row 12 of the task (topic one) cannot be written: a record of 20",
        ),
    ],
)
def test_a_row_that_cannot_be_written_is_named(options: Options, columns: dict[str, Any], text: str) -> None:
    before = batch(topic=["one"] * 11, value=["x"] * 11)
    with pytest.raises(WriteError) as raised:
        write_task(options(), [before, batch(**columns)])
    assert str(raised.value).startswith(text)
    assert raised.value.row == 12
    assert raised.value.is_final
    assert idle_clients() == []


def test_rows_that_were_not_delivered_are_named_with_the_reason(options: Options) -> None:
    rows = batch(topic=["one", "three", "three"], value=["a", "b", "c"], partition=[0, 7, 7])
    with pytest.raises(WriteError) as raised:
        write_task(options(**{"kafka.max.block.ms": "300"}), [rows])
    text = str(raised.value)
    assert text.startswith("row 1 of the task was not written to three-7 (the first of 2 rows that failed so far): ")
    assert "topic three has 3 partitions, and no partition 7 appeared within kafka.max.block.ms=300" in text
    assert raised.value.row == 1
    assert not raised.value.is_final, "somebody may add partitions"


def test_a_topic_that_does_not_exist_is_named(options: Options) -> None:
    created = {"kafka.allow.auto.create.topics": "false", "kafka.max.block.ms": "300"}
    with pytest.raises(WriteError, match="row 0 of the task was not written to topic absent: topic absent does not"):
        write_task(options(topic="absent", **created), [batch(value=["a"])])


def test_the_reason_of_the_broker_is_told(broker: Broker, options: Options) -> None:
    broker.faults.error("Produce", INVALID_RECORD)
    with pytest.raises(WriteError) as raised:
        write_task(options(topic="one"), [batch(value=["a"] * 10)])
    text = str(raised.value)
    assert text.startswith("row 0 of the task was not written to one-0 (the first of 10 rows that failed so far): ")
    assert "INVALID_RECORD" in text
    assert raised.value.is_final
    assert isinstance(raised.value.__cause__, BrokerError)


def test_a_topic_named_like_a_setting_keeps_its_name(broker: Broker, options: Options) -> None:
    write_task(options(topic="batch_size"), [batch(value=["a"])])
    broker.faults.error("Produce", INVALID_RECORD)
    with pytest.raises(WriteError) as raised:
        write_task(options(topic="batch_size"), [batch(value=["a"])])
    assert str(raised.value).startswith(
        "row 0 of the task was not written to batch_size-0: batch_size-0: INVALID_RECOR"
    )


def test_a_row_that_is_too_large_names_the_option(options: Options) -> None:
    with pytest.raises(WriteError, match=r"larger than kafka\.max\.request\.size=1000$"):
        write_task(options(topic="one", **{"kafka.max.request.size": "1000"}), [batch(value=["b" * 2000])])


def test_no_row_is_lost_or_doubled_when_the_broker_answers_late(broker: Broker, options: Options) -> None:
    patient = {"kafka.request.timeout.ms": "300", "kafka.delivery.timeout.ms": "20000", "kafka.batch.size": "2000"}
    broker.faults.delay("Produce", 0.8, times=3)
    batches = [batch(value=[f"{number}-{row}" for row in range(100)]) for number in range(10)]
    assert write_task(options(topic="one", **patient), batches) == TaskReport(1000, {("one", 0): 1000})
    expected = [b"%d-%d" % (number, row) for number in range(10) for row in range(100)]
    assert [record.value for record in stored(broker, "one")] == expected


def test_no_row_is_lost_when_connections_break(broker: Broker, options: Options) -> None:
    def batches() -> Iterator[pa.RecordBatch]:
        for number in range(20):
            broker.close_connections()
            yield batch(value=[f"{number}-{row}" for row in range(50)], partition=[0] * 50)

    report = write_task(options(topic="three", **{"kafka.linger.ms": "0"}), batches())
    assert report == TaskReport(1000, {("three", 0): 1000})
    assert len({record.value for record in stored(broker, "three")}) == 1000


def test_a_broker_that_never_answers_fails_the_task_and_its_producer(broker: Broker, options: Options) -> None:
    write_task(options(topic="one"), [])
    broker.faults.mute("Produce", times=None)
    hasty = {"kafka.request.timeout.ms": "200", "kafka.delivery.timeout.ms": "700"}
    with pytest.raises(
        WriteError, match=r"row 0 of the task was not written to one-0: .*kafka\.delivery\.timeout\.ms=700"
    ):
        write_task(options(topic="one", **hasty), [batch(value=["a"])])
    assert len(idle_clients()) == 1


def test_a_task_never_reports_rows_that_are_not_acknowledged(
    broker: Broker, options: Options, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Producer, "flush", lambda self: None)
    broker.faults.mute("Produce", times=None)
    with pytest.raises(WriteError, match="rows are not acknowledged"):
        write_task(options(topic="one"), [batch(value=["a"])])


def test_a_full_buffer_waits_for_room_and_names_the_row_if_there_is_none(broker: Broker, options: Options) -> None:
    small = {"kafka.buffer.memory": "20000", "kafka.batch.size": "5000", "kafka.linger.ms": "0"}
    report = write_task(options(topic="one", **small), [batch(value=["v" * 100] * 1000)])
    assert report.next_offsets == {("one", 0): 1000}
    broker.faults.mute("Produce", times=None)
    with pytest.raises(
        WriteError, match=r"row \d+ of the task \(topic one\) cannot be written: .*kafka\.buffer\.memory=20000"
    ):
        write_task(options(topic="one", **small, **{"kafka.max.block.ms": "300"}), [batch(value=["v" * 100] * 1000)])


def test_rows_are_written_with_a_producer_that_is_handed_in(broker: Broker, options: Options) -> None:
    with Producer(broker.bootstrap_servers, transactional_id="tx") as producer:
        producer.init_transactions()
        producer.begin_transaction()
        report = write_rows(options(topic="one"), [batch(value=["a", "b"])], producer)
        producer.abort_transaction()
    assert report == TaskReport(2, {("one", 0): 2})


def test_a_topic_made_between_two_tasks_is_found(broker: Broker, options: Options) -> None:
    write_task(options(topic="one"), [batch(value=["a"])])
    with Admin(broker.bootstrap_servers) as admin:
        admin.create_topics({"later": 2})
    write_task(options(topic="later"), [batch(value=["b"], partition=[1])])
    assert [record.value for record in stored(broker, "later", 1)] == [b"b"]


def test_reports_and_options_go_to_other_processes(options: Options) -> None:
    login = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.username": "u"}
    login["sasl.password"] = "hidden"
    written = options(topic="one", **{f"kafka.{name}": value for name, value in login.items()})
    assert "hidden" not in repr(pickle.loads(pickle.dumps(written)))
    report = TaskReport(1, {("one", 0): 1})
    assert pickle.loads(pickle.dumps(report)) == report


def test_what_spark_gives_the_writer_of_a_stream_is_no_option_of_ours(options: Options) -> None:
    assert options(checkpointLocation="/c", queryName="q", topic="one").topic == "one"


def test_larger_batches_are_the_default_and_can_be_set(options: Options) -> None:
    assert options().client["batch.size"] == "262144"
    assert options(**{"kafka.batch.size": "1000"}).client["batch.size"] == "1000"
    assert "linger.ms" not in options(**{"kafka.queue.buffering.max.ms": "1"}).client


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"kafka.transactional.id": "x"}, "Kafka option 'transactional.id' is not supported: each task needs an id"),
        ({"kafka.key.serializer": "x"}, "Kafka option 'key.serializer' is not supported"),
        ({"topic": " "}, "topic: the value is empty"),
        ({"deliveryGuarantee": "exactly-once"}, "deliveryGuarantee 'exactly-once' needs transactionalIdPrefix"),
        ({"transactionalIdPrefix": "q"}, "transactionalIdPrefix has no effect without"),
        ({"topics": "a"}, "Unknown option 'topics'; did you mean 'topic'"),
        ({"kafka.acks": "2"}, "kafka.acks='2': expected one of 0, 1, 'all'"),
        ({"kafka.compression.type": "brotli"}, "kafka.compression.type='brotli': expected one of 'none'"),
        ({"kafka.batch.size": "x"}, "kafka.batch.size"),
    ],
)
def test_options_at_fault_are_named(options: Options, given: dict[str, str], text: str) -> None:
    with pytest.raises(ConfigError) as raised:
        options(**given)
    assert text in str(raised.value)
