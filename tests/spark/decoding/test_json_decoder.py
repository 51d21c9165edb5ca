"""`decoder=json` without Spark: the schema's DDL to columns, time zones, options, and one read from a broker."""

from __future__ import annotations

import pickle
from bisect import bisect_right
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest

from kwire import Producer
from kwire.errors import ConfigError
from kwire.spark.decoding.arrow_types import arrow_schema
from kwire.spark.decoding.contract import DecodeError, Fault
from kwire.spark.decoding.ddl import parse_schema
from kwire.spark.decoding.decoders.texts import zone_table
from kwire.spark.decoding.options import parse_decoding
from kwire.spark.options.given import GivenOptions
from kwire.spark.options.read import parse_batch_options
from kwire.spark.planning.plan_read import plan_tasks
from kwire.spark.reading.read_task import read_task
from kwire.spark.workers.clients import close_idle_clients
from kwire.testing import Broker
from tests.spark.decoding.test_ddl import ALL_TYPES


def decoder(schema: str, **more: str):  # type: ignore[no-untyped-def]
    options = {"decoder": "json", "decoder.schema": schema, **{f"decoder.{name}": text for name, text in more.items()}}
    found = parse_decoding(GivenOptions(options)).value
    assert found is not None
    return pickle.loads(pickle.dumps(found.format))


def decode(schema: str, *values: bytes | None, **more: str) -> tuple[list[list[object]], list[Fault]]:
    made = decoder(schema, **more)
    arrays, faults = made.open(made.schema.fieldNames())(pa.record_batch({"value": pa.array(values, pa.binary())}))
    assert [array.type for array in arrays] == [each.type for each in arrow_schema(made.schema)]
    return [array.to_pylist() for array in arrays], list(faults)


def test_every_type_of_the_ddl() -> None:
    value = (
        b'{"a":true,"b":1,"c":2,"d":3,"e":4,"f":0.5,"g":0.25,"h":"x","i":"AQ==","j":"2024-02-29",'
        b'"k":"2024-02-29T00:00:01Z","l":"2024-02-29 00:00:01","m":1.5,"n":[{"k":{"x":1,"y z":[2]}}]}'
    )
    columns, faults = decode(ALL_TYPES, value, None)
    assert faults == []
    assert all(values[0] is not None and values[1] is None for values in columns)
    assert columns[-1][0] == [[("k", {"x": 1, "y z": [2]})]]


def test_values_with_a_schemas_id_before_them() -> None:
    """As the serializers of Confluent's JSON Schema write them."""
    values = (b'\0\0\0\0\x07{"a":1}', b'{"a":2}', None, b"\0\0\0", b'\0\0\0\1\0{"a":"x"}', b'\0\1\1\1\1{"a":6}')
    (found,), faults = decode("a INT", *values, framing="confluent")
    assert found == [1, None, None, None, None, 6]
    assert [each.row for each in faults] == [1, 3, 4]
    assert [each.reason.startswith("it does not begin with") for each in faults] == [True, True, False]
    sliced = pa.record_batch({"value": pa.array([b"x", *values], pa.binary())}).slice(1)
    made = decoder("a INT", framing="confluent")
    arrays, _ = made.open(["a"])(sliced)
    assert arrays[0].to_pylist() == found
    (found,), faults = decode("a INT", b'{"a":2}', framing="none")
    assert (found, faults) == ([2], [])


def test_only_the_fields_that_are_wanted_are_built() -> None:
    values = pa.record_batch({"value": pa.array([b'{"a":1,"b":"no number","c":3}', b"{"])})
    (array,), faults = decoder("a INT, b INT, c INT").open(["c"])(values)
    assert array.to_pylist() == [3, None]
    assert faults == [Fault(1, "the JSON ends early (byte 1)")]
    assert decoder("a INT").open([])(values)[0] == []


def test_a_fault_says_where() -> None:
    _, faults = decode("a STRUCT<b: ARRAY<INT>>", b'{"a":{"b":[1,"2"]}}', b"x")
    assert faults == [
        Fault(0, 'a.b[]: expected INT, got "2" (byte 13)'),
        Fault(1, "expected an object, got x (byte 0)"),
    ]


@pytest.mark.parametrize(
    ("zone", "text", "utc"),
    [
        ("UTC", "2024-07-01 12:00:00", "2024-07-01 12:00:00"),
        ("+02:00", "2024-07-01 12:00:00", "2024-07-01 10:00:00"),
        ("GMT+02:00", "2024-07-01 12:00:00", "2024-07-01 10:00:00"),
        ("-03:30", "2024-07-01 12:00:00", "2024-07-01 15:30:00"),
        ("Europe/Paris", "2024-07-01 12:00:00", "2024-07-01 10:00:00"),
        ("Europe/Paris", "2024-01-01 12:00:00", "2024-01-01 11:00:00"),
        ("Europe/Paris", "2024-03-31 02:30:00", "2024-03-31 01:30:00"),
        ("Europe/Paris", "2024-10-27 02:30:00", "2024-10-27 00:30:00"),
        ("Europe/Paris", "2024-10-27 03:00:00", "2024-10-27 02:00:00"),
        ("America/New_York", "2024-11-03 01:30:00", "2024-11-03 05:30:00"),
    ],
)
def test_timestamps_without_a_zone_are_in_the_one_of_the_options(zone: str, text: str, utc: str) -> None:
    columns, _ = decode("a TIMESTAMP", b'{"a":"%s"}' % text.encode(), timeZone=zone)
    assert f"{columns[0][0]:%Y-%m-%d %H:%M:%S}" == utc


@pytest.mark.parametrize(
    "name",
    ["Europe/Paris", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "America/Argentina/Catamarca"],
)
def test_a_zone_table_says_what_zoneinfo_says(name: str) -> None:
    """Also of two changes in one month, and of the years that only a rule is for."""
    table, zone = zone_table(name), ZoneInfo(name)
    until = [time for time, _ in table if time is not None]
    days = [*range(0, 60_000, 11), *range(60_000, 2_960_000, 1_009)]
    for local in (datetime(1890, 1, 1, 3, 17) + timedelta(days=day) for day in days):
        shown = (local - datetime(1970, 1, 1)) // timedelta(seconds=1)
        east = table[bisect_right(until, shown)][1]
        assert local.replace(tzinfo=zone).utcoffset() == timedelta(seconds=east), (name, local)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"schema": "a MAP<INT, INT>"}, r"decoder\.schema: a: the keys of a map in JSON are STRING"),
        ({"schema": "a VOID"}, r"decoder\.schema: a: texts cannot be decoded to columns of Arrow format 'n'"),
        ({"schema": "a ARRAY<INTERVAL DAY TO SECOND>"}, r"decoder\.schema: a: texts cannot be decoded .* 'tDu'"),
        ({"schema": "a INT", "timeZone": "Mars/Olympus"}, r"decoder\.timeZone: there is no time zone 'Mars/Olympus'"),
        ({"schema": "a INT", "timeZone": "../etc/passwd"}, r"decoder\.timeZone: there is no time zone"),
        ({"schema": "a INT", "timeZone": "+18:01"}, r"decoder\.timeZone: there is no time zone '\+18:01'"),
        ({"schema": "a INT", "timeZone": "+02:60"}, r"decoder\.timeZone: there is no time zone '\+02:60'"),
        ({"schema": "a INT", "sep": ";"}, r"decoder\.sep has no meaning with decoder=json"),
        ({}, r"decoder: the option decoder\.schema must be given"),
    ],
)
def test_wrong_options_are_named(options: dict[str, str], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        parse_decoding(GivenOptions({"decoder": "json", **{f"decoder.{name}": text for name, text in options.items()}}))


def test_a_topic_is_read_decoded() -> None:
    with Broker() as broker:
        with Producer(broker.bootstrap_servers) as producer:
            for number in range(50):
                producer.send("orders", b'{"id":%d,"item":"i%d"}' % (number, number), key=b'{"region":"eu"}')
            producer.send("orders", b"not JSON", key=b'{"region":"us"}')
            producer.flush(timeout=10)
        given = {
            "kafka.bootstrap.servers": broker.bootstrap_servers,
            "subscribe": "orders",
            "decoder": "JSON",
            "decoder.schema": "id BIGINT, item STRING",
            "decoder.mode": "column",
            "keyDecoder": "json",
            "keyDecoder.schema": "region STRING",
        }
        options = parse_batch_options(given)
        assert options.columns[:5] == ("region", "id", "item", "_corrupt", "topic")
        (task,) = plan_tasks(options)
        rows = pa.Table.from_batches(list(read_task(options, task)))
        assert rows.schema.names == list(options.columns)
        assert arrow_schema(parse_schema(options.decoding.ddl(options.columns))).equals(rows.schema)
        assert rows["id"].to_pylist() == [*range(50), None]
        assert rows["_corrupt"].to_pylist() == [None] * 50 + [b"not JSON"]
        assert rows["region"].to_pylist() == ["eu"] * 50 + ["us"]
        failing = parse_batch_options(given | {"decoder.mode": "fail", "columns": "item, offset"})
        with pytest.raises(
            DecodeError, match=r"value of orders-0 at offset 50 .* as json: expected an object, got not"
        ):
            list(read_task(failing, plan_tasks(failing)[0]))
        close_idle_clients()
