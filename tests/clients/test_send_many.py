"""`Producer.send_many`: columns as tables of other libraries hand them over."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Iterator
from typing import Any

import pandas
import pyarrow as pa
import pytest

from kwire import Consumer, Producer, errors, records
from kwire.testing import Broker
from tests.timing import PATIENT


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker(topics={"t": 1}) as running:
        yield running


def sent(broker: Broker, columns: Any) -> list[tuple[Any, ...]]:
    """What stands in the log after `columns` were sent: (value, key, headers) of each record."""
    with Producer(broker.bootstrap_servers) as producer:
        deliveries = producer.send_many("t", columns)
        assert [delivery.result(PATIENT).offset for delivery in deliveries] == list(range(len(deliveries)))
    stored = records.decode(broker.record_set("t", partition=0))
    return [(record.value, record.key, tuple(record.headers)) for record in stored]


def test_a_table_of_several_chunks(broker: Broker) -> None:
    header = [{"key": "h", "value": b"1"}]
    pieces = [
        pa.table({"key": [b"k1", None], "value": [b"a", b"b"], "headers": [header, []]}),
        pa.table({"key": [b"k3"], "value": [b"c"], "headers": [header]}),
    ]
    assert sent(broker, pa.concat_tables(pieces)) == [
        (b"a", b"k1", (("h", b"1"),)),
        (b"b", None, ()),
        (b"c", b"k3", (("h", b"1"),)),
    ]


def test_a_chunked_array_is_values(broker: Broker) -> None:
    assert sent(broker, pa.chunked_array([[b"a"], [b"b", None]])) == [
        (b"a", None, ()),
        (b"b", None, ()),
        (None, None, ()),
    ]


def test_a_pandas_frame(broker: Broker) -> None:
    frame = pandas.DataFrame({"value": [b"a", b"b"], "key": ["k1", "k2"]})
    assert sent(broker, frame) == [(b"a", b"k1", ()), (b"b", b"k2", ())]


@pytest.mark.parametrize("library", ["polars", "duckdb"])
def test_tables_of_other_libraries(broker: Broker, library: str) -> None:
    made = pytest.importorskip(library)
    if library == "polars":
        assert sent(broker, made.DataFrame({"value": [b"a"], "key": ["k"]})) == [(b"a", b"k", ())]
    else:
        assert sent(broker, made.sql("select 'a'::blob as value, 'k' as key")) == [(b"a", b"k", ())]


def test_a_reader_is_read_to_its_end(broker: Broker) -> None:
    schema = pa.schema({"value": pa.binary()})
    batches = (pa.record_batch({"value": [b"%d" % number]}, schema=schema) for number in range(3))
    reader = pa.RecordBatchReader.from_batches(schema, batches)
    assert [value for value, _, _ in sent(broker, reader)] == [b"0", b"1", b"2"]


def test_no_rows_are_no_deliveries(broker: Broker) -> None:
    assert sent(broker, pa.table({"value": pa.array([], pa.binary())})) == []


def test_a_stream_that_fails_says_what_it_said(broker: Broker) -> None:
    schema = pa.schema({"value": pa.binary()})

    def batches() -> Iterator[pa.RecordBatch]:
        yield pa.record_batch({"value": [b"first"]}, schema=schema)
        raise ValueError("no more disk")

    with Producer(broker.bootstrap_servers) as producer:
        with pytest.raises(errors.CodecError, match="no more disk"):
            producer.send_many("t", pa.RecordBatchReader.from_batches(schema, batches()))
        producer.flush()
    assert broker.values("t", partition=0) == [b"first"]


class Source:
    """Something with `__arrow_c_stream__` that returns what it was given."""

    def __init__(self, given: object) -> None:
        self.given = given

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.given


def test_what_is_no_stream_is_refused(broker: Broker) -> None:
    table = pa.table({"value": [b"v"]})
    used = table.__arrow_c_stream__()
    with Producer(broker.bootstrap_servers) as producer:
        assert len(producer.send_many("t", Source(used))) == 1
        with pytest.raises(errors.CodecError, match="released"):
            producer.send_many("t", Source(used))
        for given in (None, b"", table.schema.__arrow_c_schema__()):
            with pytest.raises(TypeError, match=r"Source\.__arrow_c_stream__"):
                producer.send_many("t", Source(given))
        with pytest.raises(errors.CodecError, match="no column named value"):
            producer.send_many("t", pa.table({"other": [b"v"]}))
        with pytest.raises(errors.CodecError, match="cast it"):
            producer.send_many("t", pa.table({"value": [1]}))


def test_what_was_not_read_is_released(broker: Broker) -> None:
    gc.collect()
    before = pa.total_allocated_bytes()
    with Producer(broker.bootstrap_servers) as producer:
        for _ in range(3):
            table = pa.table({"value": pa.array([bytes(1000)] * 100 + [bytes(2_000_000)])})
            with pytest.raises(errors.LimitError):
                producer.send_many("t", table)
            del table
    gc.collect()
    assert pa.total_allocated_bytes() - before < 1_000_000


def test_columns_that_are_not_used_are_named_in_a_warning(broker: Broker) -> None:
    with Producer(broker.bootstrap_servers) as producer:
        with pytest.warns(UserWarning, match=r"not used: topic, colour$") as caught:
            producer.send_many("t", pa.table({"topic": ["u"], "value": [b"v"], "colour": ["red"]}))
        assert caught[0].filename == __file__
        producer.flush()
        with Consumer(broker.bootstrap_servers, auto_offset_reset="earliest") as consumer:
            consumer.assign([("t", 0)])
            polled = consumer.poll(timeout=PATIENT)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for part in polled.by_partition().values():
                producer.send_many("t", part)
                producer.send_many("t", part.to_arrow())
