"""Records with their keys and values as columns, by the schemas of a registry."""

from __future__ import annotations

import asyncio
import json
import threading
from typing import Any

import pyarrow as pa
import pytest

from kwire import TopicPartition, aio, records
from kwire.engine.consumer.records import ConsumerRecords
from kwire.errors import ConfigError, SerializationError
from kwire.registry import (
    AvroDeserializer,
    AvroSerializer,
    JsonSchemaDeserializer,
    JsonSchemaSerializer,
    ProtobufDeserializer,
    ProtobufSerializer,
    Registry,
    Schema,
    SchemaReference,
    SerializationContext,
)
from tests.registry.messages import CLASSES, an_order
from tests.registry.server import RegistryServer

OLD = '{"type":"record","name":"Order","fields":[{"name":"id","type":"int"}]}'
NEW = json.dumps(
    {
        "type": "record",
        "name": "Order",
        "fields": [{"name": "id", "type": "long"}, {"name": "note", "type": ["null", "string"], "default": None}],
    }
)


@pytest.fixture
def registry(server: RegistryServer) -> Registry:
    return Registry(server.url, retry_backoff_ms=1)


def polled(*items: Any) -> ConsumerRecords:
    """As a poll returns values, or records: of two partitions, the first from offset 7 on."""
    half = len(items) // 2
    return ConsumerRecords(
        [
            (TopicPartition("orders", 0), records.decode(records.encode(items[:half], base_offset=7))),
            (TopicPartition("orders", 1), records.decode(records.encode(items[half:]))),
        ]
    )


def written(registry: Registry, schema: str, *values: Any, **settings: Any) -> list[bytes]:
    serializer = AvroSerializer(registry, schema, **settings)
    context = SerializationContext("orders", "value", [])
    return [serializer(value, context) or b"" for value in values]


def test_fields_stand_in_the_place_of_the_value(registry: Registry) -> None:
    batch = polled(*written(registry, NEW, {"id": 1, "note": "x"}, {"id": 2})).to_arrow(
        value=AvroDeserializer(registry)
    )
    assert batch.schema.names == [
        "topic", "partition", "offset", "timestamp", "timestamp_type", "key", "id", "note", "headers"
    ]  # fmt: skip
    assert batch.column("id").to_pylist() == [1, 2]
    assert batch.column("note").to_pylist() == ["x", None]
    assert batch.column("offset").to_pylist() == [7, 0]
    assert batch.column("partition").to_pylist() == [0, 1]


def test_values_of_many_schemas_look_as_the_newest_of_them_says(registry: Registry, server: RegistryServer) -> None:
    old, new = written(registry, OLD, {"id": 1}), written(registry, NEW, {"id": 2, "note": "n"})
    deserializer = AvroDeserializer(registry)
    assert polled(*old, *old).to_arrow(["id"], value=deserializer).schema.field("id").type == pa.int32()
    for values in ((*old, *new), (*new, *old), (*old, *old)):
        batch = polled(*values).to_arrow(value=deserializer)
        assert batch.schema.field("id").type == pa.int64()
        assert batch.schema.names[6:8] == ["id", "note"]
    assert sorted(each for each in server.asked if each.startswith("GET")) == [
        "GET /schemas/ids/1",
        "GET /schemas/ids/2",
    ]


def test_values_look_as_the_readers_schema_says_where_one_is_given(registry: Registry) -> None:
    values = [*written(registry, OLD, {"id": 1}), *written(registry, NEW, {"id": 2, "note": "n"})]
    fields = [{"name": "more", "type": "int", "default": 9}, {"name": "id", "type": "long"}]
    reader = json.dumps({"type": "record", "name": "Order", "fields": fields})
    batch = polled(*values).to_arrow(["offset", "id", "more"], value=AvroDeserializer(registry, reader))
    assert batch.to_pydict() == {"offset": [7, 0], "id": [1, 2], "more": [9, 9]}


def test_the_columns_are_what_the_values_are_one_by_one(registry: Registry) -> None:
    values = [{"id": n, "note": None if n % 3 else f"note {n}"} for n in range(100)]
    found = polled(*written(registry, NEW, *values))
    deserializer = AvroDeserializer(registry)
    context = SerializationContext("orders", "value", [])
    assert found.to_arrow(["id", "note"], value=deserializer).to_pylist() == [
        deserializer(record.value, context) for record in found
    ]


def test_a_null_is_null_in_all_columns_and_no_records_have_no_fields(registry: Registry) -> None:
    deserializer = AvroDeserializer(registry)
    assert "value" not in polled().to_arrow(value=deserializer).schema.names
    assert polled(None, None).to_arrow(value=deserializer).num_rows == 2
    found = polled(*written(registry, NEW, {"id": 1}), None).to_arrow(["id"], value=deserializer)
    assert found.to_pydict() == {"id": [1, None]}


def test_keys_become_columns_too_and_a_name_that_is_taken_says_whose_it_is(registry: Registry) -> None:
    schema = '{"type":"record","name":"K","fields":[{"name":"id","type":"int"},{"name":"offset","type":"int"}]}'
    (key,) = written(registry, schema, {"id": 3, "offset": 4}, subject="record")
    (value,) = written(registry, NEW, {"id": 1})
    deserializer = AvroDeserializer(registry)
    found = polled((value, key), (value, key))
    batch = found.to_arrow(key=deserializer, value=deserializer)
    assert batch.schema.names[5:9] == ["id", "key_offset", "value_id", "note"]
    chosen = found.to_arrow(["value_id", "key_offset", "offset"], key=deserializer, value=deserializer)
    assert chosen.to_pydict() == {"value_id": [1, 1], "key_offset": [4, 4], "offset": [7, 0]}


def test_a_schema_that_is_no_record_is_one_column(registry: Registry) -> None:
    values = written(registry, '"long"', 5, 6)
    assert polled(*values).to_arrow(["value"], value=AvroDeserializer(registry)).to_pydict() == {"value": [5, 6]}


def test_schemas_that_refer_to_others(registry: Registry) -> None:
    registry.register("cents", '{"type":"fixed","name":"Cents","size":2}')
    schema = Schema(
        '{"type":"record","name":"Bill","fields":[{"name":"c","type":"Cents"}]}',
        "AVRO",
        (SchemaReference("Cents", "cents", 1),),
    )
    serializer = AvroSerializer(registry, schema)
    value = serializer({"c": b"ab"}, SerializationContext("orders"))
    for deserializer in (AvroDeserializer(registry), AvroDeserializer(registry, schema)):
        assert polled(value, value).to_arrow(["c"], value=deserializer).to_pydict() == {"c": [b"ab", b"ab"]}


def test_values_whose_schema_stands_in_a_header(registry: Registry) -> None:
    items = []
    for n, schema in enumerate((OLD, NEW, OLD, NEW)):
        context = SerializationContext("orders", "value", [("a", b"b")])
        value = AvroSerializer(registry, schema, framing="header")({"id": n}, context)
        items.append((value, None, None, context.headers))
    items.append((written(registry, OLD, {"id": 4})[0], None, None, []))
    items.append((None, None, None, []))
    found = polled(*items)
    batch = found.to_arrow(["id", "note"], value=AvroDeserializer(registry, NEW))
    assert batch.to_pydict() == {"id": [0, 1, 2, 3, 4, None], "note": [None] * 6}
    alike = polled(items[1], items[3])
    assert alike.to_arrow(["id"], value=AvroDeserializer(registry)).to_pydict() == {"id": [1, 3]}


def test_protobuf_messages_become_columns(registry: Registry) -> None:
    for framing in ("prefix", "header"):
        context = SerializationContext("orders", "value", [])
        value = ProtobufSerializer(registry, CLASSES["Order"], framing=framing)(an_order(), context)  # type: ignore[arg-type]
        deserializer = ProtobufDeserializer(registry, CLASSES["Order"])
        item = (value, None, None, context.headers)
        batch = polled(item, item).to_arrow(["id", "lines"], value=deserializer)
        assert batch.to_pylist() == [{"id": 7, "lines": [{"sku": "a"}]}] * 2
        whole = polled(item, item).to_arrow(value=deserializer)
        assert whole.schema.names[6:9] == ["id", "lines", "at"]
        assert whole.column("at")[0].as_py().timestamp() == 5
    with pytest.raises(ConfigError, match="give message_class"):
        polled().to_arrow(value=ProtobufDeserializer(registry))


JSON_ORDER = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "title": "Order",
    "properties": {
        "id": {"type": "integer"},
        "price": {"type": ["number", "null"]},
        "paid": {"oneOf": [{"type": "null"}, {"type": "boolean"}]},
        "lines": {"type": "array", "items": {"$ref": "#/definitions/line"}},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "any": {},
        "tree": {"$ref": "#/definitions/tree"},
    },
    "definitions": {
        "line": {"type": "object", "properties": {"sku": {"type": "string"}}},
        "tree": {"type": "object", "properties": {"left": {"$ref": "#/definitions/tree"}}},
    },
}


def test_json_values_become_columns_by_their_schema(registry: Registry) -> None:
    small = {**JSON_ORDER, "properties": {k: v for k, v in JSON_ORDER["properties"].items() if k != "tree"}}  # type: ignore[attr-defined]
    value = {"id": 7, "price": 1.5, "paid": True, "lines": [{"sku": "a"}], "labels": {"x": "y"}, "any": [1, {"a": 2}]}
    serializer = JsonSchemaSerializer(registry, json.dumps(small))
    deserializer = JsonSchemaDeserializer(registry, json.dumps(small))
    written = serializer(value, SerializationContext("orders"))
    found = polled(written, None, written)
    batch = found.to_arrow(list(value), value=deserializer)
    shown = {**value, "labels": [("x", "y")], "any": '[1,{"a":2}]'}
    assert batch.to_pylist() == [shown, dict.fromkeys(value), shown]
    assert found.to_arrow(["paid", "id"], value=deserializer).schema.names == ["paid", "id"]
    with pytest.raises(SerializationError, match="at offset 7 cannot be deserialized: it does not begin with a zero"):
        polled(b'{"id":7}', written).to_arrow(value=deserializer)
    context = SerializationContext("orders", "value", [])
    bare = JsonSchemaSerializer(registry, json.dumps(small), framing="header")(value, context)
    assert polled(*[(bare, None, None, context.headers)] * 2).to_arrow(["id"], value=deserializer).to_pydict() == {
        "id": [7, 7]
    }


def test_a_json_schema_within_itself_ends_as_text(registry: Registry) -> None:
    deserializer = JsonSchemaDeserializer(registry, json.dumps(JSON_ORDER), validate=False)
    value = b"\0\0\0\0\1" + json.dumps({"id": 1, "tree": {"left": {"left": None}}}).encode()
    batch = polled(value, value).to_arrow(["tree"], value=deserializer)
    assert batch.column("tree")[0].as_py()["left"]["left"] is None


# --- what cannot be read ---


def test_the_first_value_that_cannot_be_read_is_raised_with_its_place(registry: Registry) -> None:
    good, bad = written(registry, NEW, {"id": 1, "note": "x"}, {"id": 2, "note": "yy"})
    found = polled(good, good, good, bad[:-1], b"no frame", good)
    deserializer = AvroDeserializer(registry)
    with pytest.raises(SerializationError, match=r"the value of orders-1 at offset 0 .*; 1 more") as caught:
        found.to_arrow(value=deserializer)
    error = caught.value
    assert (error.topic, error.partition, error.offset, error.field) == ("orders", 1, 0, "value")
    assert error.raw == bad[:-1]
    nulls = found.to_arrow(["id", "offset"], value=deserializer, errors="null")
    assert nulls.to_pydict() == {"id": [1, 1, 1, None, None, 1], "offset": [7, 8, 9, 0, 1, 2]}


def test_values_that_all_name_no_schema(registry: Registry) -> None:
    with pytest.raises(SerializationError, match="none of these values names a schema that the registry has"):
        polled(b"x", b"y").to_arrow(value=AvroDeserializer(registry))
    with pytest.raises(SerializationError, match="schema 99 is not in the registry"):
        polled(b"\0\0\0\0\x63x", *written(registry, OLD, {"id": 1})).to_arrow(value=AvroDeserializer(registry, OLD))


def test_bytes_alone_make_no_column_since_they_have_no_length(registry: Registry) -> None:
    values = written(registry, '"bytes"', b"\2a", b"\2b")
    with pytest.raises(ConfigError, match="a schema of bytes alone"):
        polled(*values).to_arrow(value=AvroDeserializer(registry))
    with pytest.raises(SerializationError, match="a schema of bytes alone"):
        polled(*values).to_arrow(value=AvroDeserializer(registry, '"string"'))


def test_threads_may_share_a_deserializer(registry: Registry) -> None:
    deserializer = AvroDeserializer(registry)
    polls = [polled(*written(registry, schema, {"id": 1}, {"id": 2})) for schema in (OLD, NEW)]
    wrong: list[Any] = []

    def read() -> None:
        for n in range(100):
            try:
                found = polls[n % 2].to_arrow(["id"], value=deserializer).column("id").to_pylist()
            except Exception as error:
                found = [error]
            if found != [1, 2]:
                wrong.append(found)

    threads = [threading.Thread(target=read) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert wrong == []


def test_what_makes_no_columns_is_refused(registry: Registry) -> None:
    with pytest.raises(ConfigError, match="makes columns by its own schema"):
        polled().to_arrow(value=JsonSchemaDeserializer(registry))
    with pytest.raises(ConfigError, match="a JSON schema without properties"):
        polled().to_arrow(value=JsonSchemaDeserializer(registry, "true"))
    with pytest.raises(ConfigError, match=r"expected a deserializer of kwire\.registry"):
        polled().to_arrow(value=bytes.decode)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="columns: there is no 'xyz'; there are topic"):
        polled(*written(registry, OLD, {"id": 1})).to_arrow(["xyz"], value=AvroDeserializer(registry))


def test_with_a_registry_of_asyncio_schemas_are_found_before(server: RegistryServer) -> None:
    values = written(Registry(server.url), OLD, {"id": 1}, {"id": 2})

    async def main() -> None:
        deserializer = AvroDeserializer(aio.Registry(server.url))
        found = polled(*values)
        with pytest.raises(SerializationError, match=r"await prepare\(records\)"):
            found.to_arrow(value=deserializer)
        await deserializer.prepare(found)
        assert found.to_arrow(["id"], value=deserializer).to_pydict() == {"id": [1, 2]}

    asyncio.run(main())
