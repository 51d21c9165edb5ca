"""`kwire.write` against the embedded broker: rows as records, and what is said of rows that are not written."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import duckdb
import pandas
import polars
import pyarrow as pa
import pytest

import kwire
from kwire import errors
from kwire.testing import Broker


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker(topics={"t": 2}) as running:
        yield running


def values(broker: Broker, topic: str = "t") -> list[Any]:
    return sorted(kwire.read(topic, broker.bootstrap_servers, value="text")["value"].to_pylist(), key=str)


FRAMES: list[Any] = [
    pa.table({"value": ["a", "b"]}),
    pa.record_batch({"value": pa.array([b"a", b"b"])}),
    pa.table({"value": ["a", "b"]}).to_reader(),
    pandas.DataFrame({"value": ["a", "b"]}),
    polars.DataFrame({"value": ["a", "b"]}),
    duckdb.sql("select unnest(['a', 'b']) as value"),
]


@pytest.mark.parametrize("frame", FRAMES, ids=lambda frame: f"{type(frame).__module__}.{type(frame).__name__}")
def test_tables_of_all_kinds_are_written(broker: Broker, frame: Any) -> None:
    assert kwire.write(frame, "t", broker.bootstrap_servers) == 2
    assert values(broker) == ["a", "b"]


def test_a_table_that_was_read_is_written_back_as_it_was(broker: Broker) -> None:
    rows = {
        "value": ["a", None, "c"],
        "key": pa.array([b"k", None, b""]),
        "partition": pa.array([1, 0, 1], pa.int32()),
        "timestamp": pa.array([1_700_000_000_000, 5, 0], pa.timestamp("ms", "UTC")),
        "headers": pa.array(
            [[{"key": "h", "value": b"1"}, {"key": "h", "value": None}], [], []],
            pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())])),
        ),
    }
    broker.create_topic("copy", 2)
    kwire.write(pa.table(rows), "t", broker.bootstrap_servers)
    first = kwire.read("t", broker.bootstrap_servers)
    kwire.write(first, "copy", broker.bootstrap_servers)
    second = kwire.read("copy", broker.bootstrap_servers)
    assert second.drop_columns(["topic"]) == first.drop_columns(["topic"])
    assert first.num_rows == 3


def test_columns_of_other_names_are_named(broker: Broker) -> None:
    frame = pa.table({"id": ["1", "2"], "body": ["x", "y"], "at": [7, 8], "where": [1, None]})
    named = {"key": "id", "value": "body", "timestamp": "at", "partition": "where"}
    kwire.write(frame, "t", broker.bootstrap_servers, **named)  # type: ignore[arg-type]
    found = kwire.read("t", broker.bootstrap_servers, key="text", value="text").to_pylist()
    row = next(each for each in found if each["key"] == "1")
    assert (row["partition"], row["value"], row["timestamp"].timestamp()) == (1, "x", 0.007)
    before = kwire.read("t", broker.bootstrap_servers, end={("t", 1): 0}).num_rows
    kwire.write(frame, "t", broker.bootstrap_servers, value="body", partition=0)
    assert kwire.read("t", broker.bootstrap_servers, end={("t", 1): 0}).num_rows == before + 2


@pytest.mark.parametrize(
    ("frame", "arguments", "text"),
    [
        ({"a": ["x"]}, {}, "value: the table has no column of that name, but a: name the one"),
        ({"value": [1]}, {}, "value: column 'value' is int64; cast it to text or binary"),
        ({"value": ["x"]}, {"key": "id"}, "key: the table has no column 'id', but value"),
        ({"value": ["x"], "partition": [-2]}, {}, "partition: column 'partition' has -2"),
        ({"value": ["x"], "partition": ["one"]}, {}, "partition: column 'partition' has no partitions"),
    ],
)
def test_columns_that_no_record_can_be_made_of_are_refused(
    broker: Broker, frame: dict[str, Any], arguments: dict[str, Any], text: str
) -> None:
    with pytest.raises(errors.ConfigError, match=text):
        kwire.write(pa.table(frame), "t", broker.bootstrap_servers, **arguments)
    assert values(broker) == []


def test_what_is_no_table_is_refused(broker: Broker) -> None:
    with pytest.raises(errors.ConfigError, match="list is no table: give one of pyarrow, pandas, Polars or DuckDB"):
        kwire.write(["a"], "t", broker.bootstrap_servers)


def test_the_first_row_that_is_too_large_is_named(broker: Broker) -> None:
    frame = pa.table({"value": ["small", "x" * 2_000_000, "small"]})
    with pytest.raises(errors.DeliveryError, match="row 1 cannot be written to t: a record of 2000036 bytes"):
        kwire.write(frame, "t", broker.bootstrap_servers)


def test_rows_that_the_broker_refuses_are_counted(broker: Broker) -> None:
    broker.faults.error("Produce", 87, times=None)
    with pytest.raises(errors.DeliveryError, match=r"row 0 was not written to t-\d \(the first of 3 that failed\)"):
        kwire.write(pa.table({"value": ["a"] * 3, "partition": [0] * 3}), "t", broker.bootstrap_servers)


def test_progress_is_told_in_rows(broker: Broker) -> None:
    told: list[int] = []
    frame = pa.table({"value": ["x"] * 100_000})
    assert kwire.write(frame, "t", broker.bootstrap_servers, progress=told.append) == 100_000
    assert told == [65_536, 100_000]


def test_with_a_transactional_id_all_rows_are_one_transaction(broker: Broker) -> None:
    frame = pa.table({"value": ["a", "b", "x" * 2_000_000]})
    with pytest.raises(errors.DeliveryError, match="row 2 cannot be written"):
        kwire.write(frame, "t", broker.bootstrap_servers, transactional_id="job")
    committed: dict[str, Any] = {"isolation_level": "read_committed"}
    assert kwire.read("t", broker.bootstrap_servers, **committed).num_rows == 0
    assert kwire.write(frame.slice(0, 2), "t", broker.bootstrap_servers, transactional_id="job") == 2
    assert kwire.read("t", broker.bootstrap_servers, **committed).num_rows == 2


def test_a_topic_that_is_not_there_fails_all_rows_with_what_to_do() -> None:
    frame = pa.table({"value": ["x"] * 100_000})
    with Broker(auto_create_topics=False) as strict, pytest.raises(errors.DeliveryError) as raised:
        kwire.write(frame, "nowhere", strict.bootstrap_servers, max_block_ms=200)
    assert "row 0 was not written to nowhere (the first of 65,536 that failed): topic nowhere" in str(raised.value)


def batches(broker: Broker) -> int:
    data = broker.record_set("t", partition=0)
    count = 0
    while data:
        count += 1
        data = data[12 + int.from_bytes(data[8:12], "big") :]
    return count


def test_batches_are_larger_than_those_of_a_producer_unless_their_size_is_given(broker: Broker) -> None:
    frame = pa.table({"value": ["x" * 1000] * 500})
    kwire.write(frame, "t", broker.bootstrap_servers, partition=0, linger_ms=1000)
    large = batches(broker)
    kwire.write(frame, "t", broker.bootstrap_servers, partition=0, linger_ms=1000, batch_size=16_384)
    assert large <= 5
    assert batches(broker) - large >= 500_000 // 16_384
