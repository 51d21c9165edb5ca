"""`kwire.write` through serializers: columns of any type, one or several, become the values and keys of records."""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

import kwire
from kwire import errors, registry
from kwire.testing import Broker
from tests.registry.server import RegistryServer, serving

ORDER = """{"type": "record", "name": "Order", "fields": [
    {"name": "id", "type": "long"},
    {"name": "note", "type": ["null", "string"]},
    {"name": "tags", "type": {"type": "map", "values": "int"}},
    {"name": "lines", "type": {"type": "array", "items": {"type": "record", "name": "Line", "fields": [
        {"name": "amount", "type": {"type": "bytes", "logicalType": "decimal", "precision": 6, "scale": 2}}]}}}
]}"""


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker(topics={"t": 2}) as running:
        yield running


@pytest.fixture
def server() -> Iterator[RegistryServer]:
    with serving() as found:
        yield found


def orders() -> pa.Table:
    lines = pa.list_(pa.struct([("amount", pa.decimal128(6, 2))]))
    return pa.table(
        {
            "id": pa.array([1, 2], pa.int64()),
            "note": ["x", None],
            "tags": pa.array([[("a", 1)], []], pa.map_(pa.string(), pa.int32())),
            "lines": pa.array([[{"amount": Decimal("1.50")}], []], lines),
            "other": [b"", b""],
        }
    )


def read(broker: Broker, topic: str = "t") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = kwire.read(topic, broker.bootstrap_servers).to_pylist()
    return sorted(found, key=lambda row: str(row["value"]))


def test_several_columns_become_one_value(broker: Broker) -> None:
    frame = pa.table({"a": [1, 2], "b": ["x", None], "k": ["one", "two"]})
    wrote = kwire.write(frame, "t", broker.bootstrap_servers, value=["b", "a"], key="k", value_serializer="json")
    assert wrote == 2
    assert {row["key"]: row["value"] for row in read(broker)} == {
        b"one": b'{"b":"x","a":1}',
        b"two": b'{"b":null,"a":2}',
    }


def test_one_column_of_any_type_goes_through_its_serializer(broker: Broker) -> None:
    frame = pa.table({"value": [{"n": 1}, None], "id": pa.array([7, 8], pa.int32())})
    settings: Any = {"key_serializer": "int64", "value_serializer": "json"}
    kwire.write(frame, "t", broker.bootstrap_servers, key="id", partition=1, **settings)
    assert [(row["key"][-1], row["value"], row["partition"]) for row in read(broker)] == [
        (8, None, 1),
        (7, b'{"n":1}', 1),
    ]


@pytest.mark.parametrize("framing", ["prefix", "header"])
def test_columns_are_written_by_the_schema_of_a_registry(
    broker: Broker, server: RegistryServer, framing: registry.Framing
) -> None:
    r = registry.Registry(server.url)
    frame = orders().append_column("headers", pa.array([[{"key": "h", "value": b"1"}], None], HEADERS))
    kwire.write(
        frame, "t", broker.bootstrap_servers, value=["id", "note", "tags", "lines"],
        value_serializer=registry.AvroSerializer(r, ORDER, framing=framing),
    )  # fmt: skip
    table = kwire.read("t", broker.bootstrap_servers, value=registry.AvroDeserializer(r))
    rows = sorted(table.select(["id", "note", "tags", "lines", "headers"]).to_pylist(), key=lambda row: row["id"])
    assert [(row["id"], row["note"], row["tags"]) for row in rows] == [(1, "x", [("a", 1)]), (2, None, [])]
    assert rows[0]["lines"] == [{"amount": Decimal("1.50")}]
    names = ["h"] + ["__value_schema_id"] * (framing == "header")
    assert [header["key"] for header in rows[0]["headers"]] == names


HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))


def test_the_rows_before_one_that_cannot_be_written_are(broker: Broker) -> None:
    def odd(value: Any) -> bytes:
        if value["n"] == 100_003:
            raise ValueError("no")
        return json.dumps(value).encode()

    frame = pa.table({"n": range(100_010)})
    with pytest.raises(errors.DeliveryError, match=r"row 100003 cannot be written to t: .*ValueError: no") as caught:
        kwire.write(frame, "t", broker.bootstrap_servers, value=["n"], value_serializer=odd, partition=0)
    assert isinstance(caught.value.exceptions[0], errors.SerializationError)
    assert kwire.read("t", broker.bootstrap_servers, columns=["offset"]).num_rows == 100_003


def test_a_serializer_that_makes_no_bytes_is_refused(broker: Broker) -> None:
    with pytest.raises(errors.DeliveryError, match=r"row 0 .*the value's serializer returned a str, not bytes"):
        kwire.write(pa.table({"value": ["x"]}), "t", broker.bootstrap_servers, value_serializer=lambda value: value)


def test_several_columns_need_a_serializer_and_have_to_be_there(broker: Broker) -> None:
    frame = pa.table({"value": [b"x"], "a": [1]})
    with pytest.raises(errors.ConfigError, match=r"value=\[.*: one column, or several with a value_serializer"):
        kwire.write(frame, "t", broker.bootstrap_servers, value=["value", "a"])
    with pytest.raises(errors.ConfigError, match="key: the table has no column 'b', but value, a"):
        kwire.write(frame, "t", broker.bootstrap_servers, key=["a", "b"], key_serializer="json")
