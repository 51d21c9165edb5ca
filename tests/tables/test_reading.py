"""`kwire.read` against the embedded broker: which records, in which types, and what is said where that cannot be."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import duckdb
import polars
import pyarrow as pa
import pytest

import kwire
from kwire import Admin, Producer, TopicPartition, errors
from kwire.registry import AvroDeserializer, AvroSerializer, Registry
from kwire.tables import reading
from kwire.testing import Broker
from tests.registry.conftest import server
from tests.registry.server import RegistryServer

__all__ = ["server"]

BEGIN = 1_700_000_000_000
T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    """t has two partitions of 100 records, a second apart."""
    with Broker(topics={"t": 2, "odd": 1}) as running:
        with Producer(running.bootstrap_servers) as producer:
            for number in range(200):
                producer.send(
                    "t", f'{{"n": {number}}}'.encode(), key=b"k%d" % number if number % 4 else None,
                    partition=number % 2, timestamp=BEGIN + 1000 * (number // 2), headers=[("h", b"%d" % number)],
                )  # fmt: skip
            producer.send("odd", b"ok", partition=0)
            producer.send("odd", b"\xff\x00", key=b"k", partition=0)
        yield running


def read(broker: Broker, *topic: str, **more: Any) -> pa.Table:
    return kwire.read(*(topic or ("t",)), broker.bootstrap_servers, **more)


def counts(table: pa.Table) -> dict[int, list[int]]:
    """The first offset and the one after the last of each partition."""
    found: dict[int, list[int]] = {}
    for partition, offset in zip(table["partition"].to_pylist(), table["offset"].to_pylist(), strict=True):
        found.setdefault(partition, [offset, offset])[1] = offset + 1
    return found


def test_all_records_stand_in_the_order_of_their_partitions(broker: Broker) -> None:
    table = read(broker)
    places = list(zip(table["partition"].to_pylist(), table["offset"].to_pylist(), strict=True))
    assert places == [(partition, offset) for partition in (0, 1) for offset in range(100)]
    assert table.slice(101, 1).to_pylist() == [
        {
            "topic": "t", "partition": 1, "offset": 1, "timestamp": datetime.fromtimestamp(BEGIN / 1000 + 1, UTC),
            "key": b"k3", "value": b'{"n": 3}', "headers": [{"key": "h", "value": b"3"}],
        }
    ]  # fmt: skip
    assert table["key"].null_count == 50


def test_columns_come_in_the_order_asked_for_and_as_text(broker: Broker) -> None:
    table = read(broker, columns=["value", "key", "timestamp"], key="text", value="json")
    kinds = [pa.string(), pa.string(), pa.timestamp("ms", "UTC")]
    assert [table.schema.field(name).type for name in ("value", "key", "timestamp")] == kinds
    assert table.column_names == ["value", "key", "timestamp"]
    assert table["value"][0].as_py() == '{"n": 0}'


def test_what_others_make_of_the_table(broker: Broker) -> None:
    orders = read(broker, value="json")
    found = duckdb.sql("select sum(cast(value->>'n' as int)), typeof(any_value(value)), max(timestamp) from orders")
    assert found is not None
    assert found.fetchall() == [(sum(range(200)), "JSON", datetime.fromtimestamp(BEGIN / 1000 + 99, UTC))]
    frame = polars.DataFrame(read(broker, value="text"))
    assert frame.schema["timestamp"] == polars.Datetime("ms", "UTC")
    assert orders.to_pandas()["offset"].sum() == 2 * sum(range(100))


BOUNDS: list[tuple[dict[str, Any], dict[int, list[int]]]] = [
    ({"start": 98}, {0: [98, 100], 1: [98, 100]}),
    ({"end": 2}, {0: [0, 2], 1: [0, 2]}),
    ({"start": "latest"}, {}),
    ({"start": 3, "end": 2}, {}),
    ({"end": 10_000}, {0: [0, 100], 1: [0, 100]}),
    ({"start": {T0: 99}, "end": {("t", 1): 1}}, {0: [99, 100], 1: [0, 1]}),
    ({"start": datetime.fromtimestamp(BEGIN / 1000 + 97.5, UTC)}, {0: [98, 100], 1: [98, 100]}),
    ({"end": datetime.fromtimestamp(BEGIN / 1000 + 1, UTC)}, {0: [0, 1], 1: [0, 1]}),
    ({"start": timedelta(hours=1)}, {}),
    ({"end": timedelta(hours=1)}, {0: [0, 100], 1: [0, 100]}),
]


@pytest.mark.parametrize(("bounds", "wanted"), BOUNDS)
def test_bounds_are_offsets_ends_times_and_ages(
    broker: Broker, bounds: dict[str, Any], wanted: dict[int, list[int]]
) -> None:
    assert counts(read(broker, **bounds)) == wanted


def test_progress_is_told_in_offsets(broker: Broker) -> None:
    told: list[tuple[int, int]] = []
    read(broker, start=50, progress=lambda *numbers: told.append(numbers))
    assert told[-1] == (100, 100)
    assert told == sorted(told)


def test_bytes_that_are_no_text_are_named(broker: Broker) -> None:
    with pytest.raises(errors.SerializationError, match=r"odd-0 offset 1: value is not UTF-8 text") as caught:
        read(broker, "odd", value="text")
    error = caught.value
    assert (error.topic, error.partition, error.offset, error.field, error.raw) == ("odd", 0, 1, "value", b"\xff\x00")


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"columns": ["body"]}, "columns: 'body' is none of topic, partition"),
        ({"value": "avro"}, "value='avro': one of 'binary', 'text', 'json'"),
        ({"start": -1}, "start=-1: an offset, 'earliest'"),
        ({"end": True}, "end=True: an offset"),
        ({"start": {("other", 0): 1}}, "start names other-0, which is not among"),
    ],
)
def test_arguments_that_cannot_be_meant_are_refused(broker: Broker, arguments: dict[str, Any], text: str) -> None:
    with pytest.raises(errors.ConfigError, match=text):
        read(broker, **arguments)


def test_a_start_that_the_log_no_longer_has_is_an_error() -> None:
    with Broker(topics={"t": 1}) as broker, Admin(broker.bootstrap_servers) as admin:
        kwire.write(pa.table({"value": ["a"] * 5}), "t", broker.bootstrap_servers)
        admin.delete_records({T0: 3})
        with pytest.raises(errors.KafkaError, match="t-0 begins at 3 by now; the records from 1 on are gone"):
            read(broker, start=1)
        assert read(broker)["offset"].to_pylist() == [3, 4]


def test_a_broker_that_falls_silent_ends_the_read_with_where_it_is() -> None:
    with Broker(topics={"t": 1}) as broker:
        kwire.write(pa.table({"value": ["a"] * 5}), "t", broker.bootstrap_servers)
        broker.faults.mute("Fetch", times=None)
        with pytest.raises(errors.KafkaTimeoutError, match=r"no record came within 0\.5 s; t-0 is at 0 of 5"):
            read(broker, default_api_timeout_ms=500)


def test_batches_are_read_as_they_are_asked_for(broker: Broker) -> None:
    reader = kwire.read_batches("t", broker.bootstrap_servers, columns=["offset"])
    assert reader.schema.names == ["offset"]
    assert sum(batch.num_rows for batch in reader) == 200
    with kwire.read_batches(["t", "odd"], broker.bootstrap_servers) as several:
        assert several.read_next_batch().num_rows > 0


@pytest.mark.parametrize("batches", [0, 1])
def test_a_reader_of_batches_that_is_closed_early_closes_its_consumer(
    batches: int, broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Kept(kwire.Consumer):
        def __init__(self, *places: Any, **settings: Any) -> None:
            super().__init__(*places, **settings)
            made.append(self)

    made: list[kwire.Consumer] = []
    monkeypatch.setattr(reading, "Consumer", Kept)
    with kwire.read_batches("t", broker.bootstrap_servers) as reader:
        for _ in range(batches):
            assert reader.read_next_batch().num_rows > 0
    del reader
    assert "(closed)" in repr(made[0])


def test_fields_of_a_registrys_schemas_are_columns(server: RegistryServer) -> None:
    old = '{"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}'
    new = old.replace("}]}", '}, {"name": "note", "type": ["null", "string"], "default": null}]}')
    schemas = Registry(server.url)
    with Broker(topics={"t": 2}) as broker:
        for number, schema in enumerate((old, new)):
            with Producer(broker.bootstrap_servers, value_serializer=AvroSerializer(schemas, schema)) as producer:
                producer.send("t", {"id": number, "note": "first"}, key=b"k", partition=number)
        table = kwire.read("t", broker.bootstrap_servers, key="text", value=AvroDeserializer(schemas))
        assert table.select(["partition", "key", "id", "note"]).to_pylist() == [
            {"partition": 0, "key": "k", "id": 0, "note": None},
            {"partition": 1, "key": "k", "id": 1, "note": "first"},
        ]
        assert table.schema.field("timestamp").type == pa.timestamp("ms", "UTC")
        assert not {"value", "timestamp_type"} & set(table.column_names)
        one = read(broker, columns=["id"], value=AvroDeserializer(schemas, reader_schema=old))
        assert one.to_pydict() == {"id": [0, 1]}
