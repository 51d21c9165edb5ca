"""Values by the schemas of a registry: what the serializers write is what Confluent's write, and each reads the
other's."""

from __future__ import annotations

import asyncio
import json
import pickle
import subprocess
import sys
import uuid
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import schema_registry as confluent
from confluent_kafka.schema_registry import avro as confluent_avro
from confluent_kafka.schema_registry import json_schema as confluent_json
from confluent_kafka.schema_registry import protobuf as confluent_protobuf
from confluent_kafka.serialization import MessageField
from confluent_kafka.serialization import SerializationContext as ConfluentContext

from kwire import aio
from kwire.errors import ConfigError, SerializationError, UnknownSchemaError
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
from kwire.registry import serializer as serializer_module
from tests.each import each
from tests.registry.messages import CLASSES, an_order
from tests.registry.server import RegistryServer

USER = """
  {"type": "record", "name": "User", "namespace": "shop", "fields": [
    {"name": "name", "type": "string"}, {"name": "age", "type": ["null", "int"], "default": null}]}
"""
PERSON = json.dumps(
    {"title": "Person", "type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
)


@pytest.fixture
def registry(server: RegistryServer) -> Registry:
    return Registry(server.url, retry_backoff_ms=1)


@pytest.fixture
def theirs(server: RegistryServer) -> confluent.SchemaRegistryClient:
    return confluent.SchemaRegistryClient({"url": server.url})


def context(topic: str = "t", field: str = "value") -> SerializationContext:
    return SerializationContext(topic, field, [])


# --- the same bytes, and each reads the other's ---


@each("field", ["key", "value"])
@each("framing", ["prefix", "header"])
def test_avro_is_written_and_read_as_confluents(server: RegistryServer, field: str, framing: str) -> None:
    value = {"name": "Ada", "age": 36}
    ours = AvroSerializer(Registry(server.url), USER, framing=framing)  # type: ignore[arg-type]
    client = confluent.SchemaRegistryClient({"url": server.url})
    settings = {} if framing == "prefix" else {"schema.id.serializer": confluent.header_schema_id_serializer}
    their = confluent_avro.AvroSerializer(client, USER, conf=settings)
    one, other = context(field=field), ConfluentContext("t", MessageField(field), [])
    written = ours(value, one)
    assert written == their(value, other)
    assert one.headers == other.headers
    assert len(one.headers) == (framing == "header")
    assert AvroDeserializer(Registry(server.url))(written, other) == value
    assert confluent_avro.AvroDeserializer(client)(written, other) == value


AVRO = [
    ('"string"', "x"),
    ('"bytes"', b"\0\1"),
    ('{"type": "bytes"}', b"ab"),
    ('"long"', 2**40),
    ('["null", "string"]', "x"),
    ('{"type": "array", "items": "int"}', [1, 2]),
    ('{"type": "map", "values": {"type": "enum", "name": "E", "symbols": ["A", "B"]}}', {"k": "B"}),
    ('{"type": "record", "name": "R", "fields": [{"name": "r", "type": ["null", "R"]}]}', {"r": {"r": None}}),
]


@each(("schema", "value"), AVRO)
def test_avro_of_any_type_is_written_and_read_as_confluents(server: RegistryServer, schema: str, value: Any) -> None:
    server.model.compatibility = "NONE"
    client = confluent.SchemaRegistryClient({"url": server.url})
    ours, their = AvroSerializer(Registry(server.url), schema), confluent_avro.AvroSerializer(client, schema)
    written = ours(value, context())
    assert written == their(value, ConfluentContext("t", MessageField.VALUE))
    assert AvroDeserializer(Registry(server.url))(written, context()) == value
    if len(written or b"") > 5:
        assert confluent_avro.AvroDeserializer(client)(written, ConfluentContext("t", MessageField.VALUE)) == value


@each("name", ["First", "Order", "Order.Zero", "Order.Inner"])
@each("framing", ["prefix", "header"])
def test_protobuf_is_written_and_read_as_confluents(server: RegistryServer, name: str, framing: str) -> None:
    made = CLASSES[name]
    value = an_order() if name == "Order" else made()
    registry = Registry(server.url)
    client = confluent.SchemaRegistryClient({"url": server.url})
    ours = ProtobufSerializer(registry, made, framing=framing)  # type: ignore[arg-type]
    settings = {} if framing == "prefix" else {"schema.id.serializer": confluent.header_schema_id_serializer}
    their = confluent_protobuf.ProtobufSerializer(made, client, settings)
    one, other = context(), ConfluentContext("t", MessageField.VALUE, [])
    written = ours(value, one)
    assert written == their(value, other)
    assert one.headers == other.headers
    assert ProtobufDeserializer(registry, made)(written, other) == value
    assert confluent_protobuf.ProtobufDeserializer(made, {}, client)(written, other) == value
    dynamic = ProtobufDeserializer(registry)(written, one)
    assert dynamic.DESCRIPTOR.full_name == made.DESCRIPTOR.full_name
    assert dynamic.SerializeToString() == value.SerializeToString()
    (reference,) = registry.latest("t-value").schema.references
    assert reference == SchemaReference("lines/line.proto", "lines/line.proto", 1)


@each("framing", ["prefix", "header"])
def test_json_is_written_and_read_as_confluents(server: RegistryServer, framing: str) -> None:
    value = {"name": "Zoë", "tags": [1, 2.5, None, True]}
    client = confluent.SchemaRegistryClient({"url": server.url})
    ours = JsonSchemaSerializer(Registry(server.url), PERSON, framing=framing)  # type: ignore[arg-type]
    settings = {} if framing == "prefix" else {"schema.id.serializer": confluent.header_schema_id_serializer}
    their = confluent_json.JSONSerializer(PERSON, client, conf=settings)
    one, other = context(), ConfluentContext("t", MessageField.VALUE, [])
    written = ours(value, one)
    assert written == their(value, other)
    assert one.headers == other.headers
    assert JsonSchemaDeserializer(Registry(server.url))(written, other) == value
    assert confluent_json.JSONDeserializer(PERSON, schema_registry_client=client)(written, other) == value


# --- subjects and schemas ---


@each(
    ("subject", "named"),
    [
        ("topic", "t-value"),
        ("record", "shop.User"),
        ("topic-record", "t-shop.User"),
        (confluent.topic_record_subject_name_strategy, "t-shop.User"),
        (lambda given, name: f"{given.field}/{name}", "value/shop.User"),
    ],
)
def test_a_schema_stands_under_the_subject_that_is_asked_for(server: RegistryServer, subject: Any, named: str) -> None:
    before = set(server.model.subjects)
    AvroSerializer(Registry(server.url), USER, subject=subject)({"name": "x"}, context())
    assert set(server.model.subjects) == before | {named}


def test_the_name_of_a_record_is_protobufs_full_name_or_jsons_title(registry: Registry) -> None:
    ProtobufSerializer(registry, CLASSES["Order.Inner"], subject="record")(CLASSES["Order.Inner"](), context())
    JsonSchemaSerializer(registry, PERSON, subject="record")({"name": "x"}, context())
    assert {"shop.Order.Inner", "Person"} <= set(registry.subjects())
    with pytest.raises(SerializationError, match="has no name"):
        JsonSchemaSerializer(registry, "{}", subject="record")({}, context())


def test_a_subject_is_asked_for_once(registry: Registry, server: RegistryServer) -> None:
    serializer = AvroSerializer(registry, USER)
    for topic in ("t", "u", "t", "u"):
        serializer({"name": "x"}, context(topic))
    assert server.asked == ["POST /subjects/t-value/versions", "POST /subjects/u-value/versions"]


def test_what_a_serializer_knows_has_a_limit(
    registry: Registry, server: RegistryServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serializer_module, "MAX_KEPT", 2)
    serializer = AvroSerializer(registry, USER)
    for topic in ("t", "u", "v", "u"):
        serializer({"name": "x"}, context(topic))
        assert len(serializer._known) <= 2
    assert len(server.asked) == 3


def test_a_schema_that_is_not_to_be_registered_must_be_there(registry: Registry) -> None:
    careful = AvroSerializer(registry, USER, auto_register=False)
    with pytest.raises(UnknownSchemaError):
        careful({"name": "x"}, context())
    id_ = registry.register("t-value", Schema(USER.strip()))
    assert careful({"name": "x"}, context()) == b"\0" + id_.to_bytes(4, "big") + b"\2x\0"


def test_values_are_written_by_the_newest_schema_where_that_is_asked_for(registry: Registry) -> None:
    registry.register("t-value", '{"type":"record","name":"R","fields":[{"name":"a","type":"int"}]}')
    newest = registry.register(
        "t-value",
        '{"type":"record","name":"R","fields":[{"name":"b","type":"int","default":9},{"name":"a","type":"int"}]}',
    )
    assert (
        AvroSerializer(registry, use_latest=True)({"a": 1}, context()) == b"\0" + newest.to_bytes(4, "big") + b"\x12\2"
    )
    with pytest.raises(ConfigError, match="use_latest=True"):
        AvroSerializer(registry)


def test_a_schema_is_normalized_where_that_is_asked_for(registry: Registry, server: RegistryServer) -> None:
    AvroSerializer(registry, USER, normalize=True)({"name": "x"}, context())
    assert server.asked == ["POST /subjects/t-value/versions?normalize=true"]


def test_avro_that_refers_to_other_subjects(registry: Registry, theirs: confluent.SchemaRegistryClient) -> None:
    registry.register(
        "money",
        '{"type":"record","name":"x.Money","fields":[{"name":"c","type":{"type":"fixed","name":"Cents","size":2}}]}',
    )
    reference = SchemaReference("x.Money", "money", 1)
    value = {"c": b"ab"}
    for i, text in enumerate(
        (
            '{"type":"record","name":"Bill","fields":[{"name":"m","type":"x.Money"},{"name":"n","type":"x.Money"}]}',
            '["null","x.Money"]',
            '{"type":"array","items":"x.Money"}',
        )
    ):
        made = ({"m": value, "n": value}, value, [value])[i]
        ours = AvroSerializer(registry, Schema(text, "AVRO", (reference,)))
        their = confluent_avro.AvroSerializer(
            theirs, confluent.Schema(text, "AVRO", [confluent.SchemaReference("x.Money", "money", 1)])
        )
        written = ours(made, context(f"t{i}"))
        assert written == their(made, ConfluentContext(f"t{i}", MessageField.VALUE))
        assert AvroDeserializer(registry)(written, context()) == made


def test_json_that_refers_to_other_subjects(registry: Registry) -> None:
    registry.register("name", '{"type": "string"}', "JSON")
    schema = Schema('{"properties": {"n": {"$ref": "name.json"}}}', "JSON", (SchemaReference("name.json", "name", 1),))
    serializer = JsonSchemaSerializer(registry, schema)
    assert JsonSchemaDeserializer(registry)(serializer({"n": "x"}, context()), context()) == {"n": "x"}
    with pytest.raises(SerializationError, match=r"\$.n: 5 is not of type 'string'"):
        serializer({"n": 5}, context())


def test_values_are_read_as_the_readers_schema_has_them(registry: Registry) -> None:
    fields = [{"name": "name", "type": "string"}, {"name": "level", "type": "int", "default": 3}]
    reader = json.dumps({"type": "record", "name": "shop.User", "fields": fields})
    written = AvroSerializer(registry, USER)({"name": "x", "age": 4}, context())
    assert AvroDeserializer(registry, reader)(written, context()) == {"name": "x", "level": 3}


def test_objects_are_made_into_dicts_and_back(registry: Registry) -> None:
    user = SimpleNamespace(name="x")
    for written, read in (
        (AvroSerializer(registry, USER, to_dict=vars), AvroDeserializer),
        (JsonSchemaSerializer(registry, PERSON, to_dict=vars, subject="record"), JsonSchemaDeserializer),
    ):
        data = written(user, context())
        assert read(registry, from_dict=lambda found: found["name"].upper())(data, context()) == "X"


def test_nothing_is_nothing(registry: Registry, server: RegistryServer) -> None:
    assert AvroSerializer(registry, USER)(None, context()) is None
    assert AvroDeserializer(registry)(None, context()) is None
    assert not server.asked


# --- what does not fit ---


@each(
    ("made", "value", "said"),
    [
        (lambda r: AvroSerializer(r, USER), {"age": 1}, "the value cannot be written as Avro: "),
        (lambda r: AvroSerializer(r, USER), {"name": 5}, "the value cannot be written as Avro: "),
        (lambda r: JsonSchemaSerializer(r, PERSON, subject="record"), {"name": 5}, r"\$.name: 5 is not of type"),
        (lambda r: JsonSchemaSerializer(r, PERSON, subject="record"), {"name": "x", "f": float("nan")}, "as JSON: "),
        (
            lambda r: ProtobufSerializer(r, CLASSES["First"], subject="record"),
            {"id": 1},
            "expected a shop.First, got dict",
        ),
    ],
)
def test_a_value_that_does_not_fit_its_schema(
    server: RegistryServer, made: Callable[[Registry], Any], value: Any, said: str
) -> None:
    with pytest.raises(SerializationError, match=said):
        made(Registry(server.url))(value, context())


@each("raw", [b"", b"\0", b"\0\0\0\0", b"\2\0\0\0\1x", b"\1" + bytes(15)])
def test_bytes_that_name_no_schema(server: RegistryServer, raw: bytes) -> None:
    for made in (AvroDeserializer, ProtobufDeserializer, JsonSchemaDeserializer):
        with pytest.raises(SerializationError, match="it has no schema id in front"):
            made(Registry(server.url))(raw, context())
    assert not server.asked


def test_bytes_of_another_kind_of_schema(registry: Registry) -> None:
    written = AvroSerializer(registry, USER)({"name": "x"}, context())
    for made, said in ((JsonSchemaDeserializer, "not a JSON schema"), (ProtobufDeserializer, "not Protobuf")):
        with pytest.raises(UnknownSchemaError, match=said):
            made(registry)(written, context())
    with pytest.raises(UnknownSchemaError, match="schema 99 is not in the registry"):
        AvroDeserializer(registry)(b"\0\0\0\0\x63x", context())


def test_bytes_that_end_early(registry: Registry) -> None:
    for serializer, read, value in (
        (AvroSerializer(registry, USER), AvroDeserializer(registry), {"name": "a name"}),
        (ProtobufSerializer(registry, CLASSES["Order"], subject="record"), ProtobufDeserializer(registry), an_order()),
        (JsonSchemaSerializer(registry, PERSON, subject="record"), JsonSchemaDeserializer(registry), {"name": "x"}),
    ):
        written = serializer(value, context())
        assert written is not None
        with pytest.raises(SerializationError) as caught:
            read(written[:-1], context())
        assert caught.value.raw == written[:-1]


@each(("package", "name"), [("fastavro", "Avro"), ("jsonschema", "JsonSchema"), ("google.protobuf", "Protobuf")])
def test_a_package_that_is_not_installed_is_named_with_its_extra(package: str, name: str) -> None:
    program = f"""
import sys
sys.modules[{package!r}] = None
from kwire import registry
try:
    registry.{name}Serializer
except ValueError as error:
    print(error)
"""
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert "pip install 'kwire[" in shown


def test_a_guid_in_front_of_a_value_is_read(registry: Registry) -> None:
    written = AvroSerializer(registry, USER)({"name": "x"}, context())
    assert written is not None
    guid = registry.latest("t-value").guid
    assert AvroDeserializer(registry)(b"\1" + uuid.UUID(guid).bytes + written[5:], context()) == {
        "name": "x",
        "age": None,
    }


def test_a_registry_without_guids_is_said_to_have_none(registry: Registry, server: RegistryServer) -> None:
    server.answers["/subjects/t-value/versions"] = (200, {"id": 3})
    with pytest.raises(SerializationError, match="has no GUID for schema 3"):
        AvroSerializer(registry, USER, framing="header")({"name": "x"}, context())


@each(
    ("made", "said"),
    [
        (lambda r: AvroSerializer(r, "nonsense"), "schema: it is no JSON"),
        (lambda r: AvroSerializer(r, "[" * 3000), "schema: it is no JSON"),
        (lambda r: JsonSchemaSerializer(r, "[" * 3000), "schema is no JSON"),
        (lambda r: AvroSerializer(r, USER, subject="value"), "subject='value': expected one of 'topic', 'record'"),
        (lambda r: AvroSerializer(r, USER, framing="suffix"), "framing='suffix': expected one of 'prefix', 'header'"),
        (lambda r: AvroSerializer("http://x", USER), "expected a Registry first, got str"),
        (lambda r: JsonSchemaSerializer(r, "{"), "schema is no JSON"),
        (lambda r: ProtobufSerializer(r, an_order()), "expected a class that protoc has made"),
    ],
)
def test_arguments_that_cannot_be(server: RegistryServer, made: Callable[[Any], Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        made(Registry(server.url))


# --- on an event loop ---


def test_with_a_registry_of_asyncio_schemas_are_found_before(server: RegistryServer) -> None:
    async def main() -> None:
        registry = aio.Registry(server.url)
        serializer, deserializer = AvroSerializer(registry, USER), AvroDeserializer(registry)
        with pytest.raises(SerializationError, match=r"await prepare\('t'\) of the serializer first"):
            serializer({"name": "x"}, context())
        await serializer.prepare("t")
        written = serializer({"name": "x"}, context())
        with pytest.raises(SerializationError, match=r"await prepare\(records\)"):
            deserializer(written, context())
        record = SimpleNamespace(topic="t", key=None, value=written, headers=[])
        other = SimpleNamespace(topic="t", key=None, value=b"\0\0\0\0\x63x", headers=[])
        none = SimpleNamespace(topic="t", key=None, value=None, headers=[])
        await deserializer.prepare([record, other, none, record])
        assert deserializer(written, context()) == {"name": "x", "age": None}

    asyncio.run(main())
    assert server.asked == ["POST /subjects/t-value/versions", "GET /schemas/ids/1", "GET /schemas/ids/99"]


def test_an_id_that_the_registry_has_not_is_not_asked_for_with_each_record(
    server: RegistryServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    deserializer = AvroDeserializer(Registry(server.url))
    for _ in range(50):
        with pytest.raises(UnknownSchemaError, match="schema 99 is not in the registry"):
            deserializer(b"\0\0\0\0\x63x", context())
    assert len(server.asked) == 1
    server.add(99, "string")
    monkeypatch.setattr(serializer_module, "time", SimpleNamespace(monotonic=lambda: float("inf")))
    assert deserializer(b"\0\0\0\0\x63\2x", context()) == "x"


def test_a_reader_on_an_event_loop_says_what_the_registry_has_not(server: RegistryServer) -> None:
    async def main() -> None:
        deserializer = AvroDeserializer(aio.Registry(server.url))
        raw = b"\0\0\0\0\x63x"
        await deserializer.prepare([SimpleNamespace(topic="t", key=None, value=raw, headers=[])])
        with pytest.raises(UnknownSchemaError, match="schema 99 is not in the registry"):
            deserializer(raw, context())

    asyncio.run(main())


_BAD = {
    "AVRO": ("[" * 3000, "5", '{"type":"record","name":"R","fields":5}'),
    "JSON": ("[" * 3000, "5", "null", '{"$schema":5}', '{"$schema":[]}', '{"pattern":"a{99999999999}"}'),
    "PROTOBUF": ("x", "AAAA", ""),
}


@pytest.mark.parametrize(("kind", "text"), [(kind, text) for kind, texts in _BAD.items() for text in texts])
def test_a_schema_that_is_none_is_told_and_not_asked_for_with_each_record(
    kind: str, text: str, server: RegistryServer
) -> None:
    shown = {"schema": text, "schemaType": kind, "id": 7, "version": 1, "subject": "t-value"}
    server.answers |= {"/schemas/ids/7": (200, shown), "/schemas/ids/7?format=serialized": (200, shown)}
    server.answers["/subjects/t-value/versions/latest"] = (200, shown)
    registry = Registry(server.url)
    readers: dict[str, Any] = {
        "AVRO": AvroDeserializer, "JSON": JsonSchemaDeserializer, "PROTOBUF": ProtobufDeserializer,
    }  # fmt: skip
    deserializer = readers[kind](registry)
    for _ in range(20):
        with pytest.raises((ConfigError, SerializationError)):
            deserializer(b"\0\0\0\0\7\0{}", context())
    assert len(server.asked) == 1
    deserializer.prepare([SimpleNamespace(topic="t", key=None, value=b"\0\0\0\0\7\0{}", headers=[])])
    writers: dict[str, Any] = {"AVRO": AvroSerializer, "JSON": JsonSchemaSerializer}
    if kind in writers:
        with pytest.raises(ConfigError):
            writers[kind](registry, use_latest=True).prepare("t")


def test_a_schema_with_rules_is_refused_since_nobody_runs_them(server: RegistryServer) -> None:
    rules = {"domainRules": [{"name": "encrypt", "kind": "TRANSFORM", "type": "ENCRYPT", "tags": ["PII"]}]}
    shown = {"schema": '"string"', "id": 7, "version": 1, "subject": "t-value", "ruleSet": rules}
    server.answers |= {"/schemas/ids/7": (200, shown), "/subjects/t-value/versions/latest": (200, shown)}
    raw = b"\0\0\0\0\7\2x"
    with pytest.raises(SerializationError, match="the schema of t-value has rules, which kwire does not run"):
        AvroSerializer(Registry(server.url), use_latest=True)("x", context())
    with pytest.raises(SerializationError, match="schema 7 has rules"):
        AvroDeserializer(Registry(server.url))(raw, context())
    careless = Registry(server.url, ignore_rules=True)
    assert AvroSerializer(careless, use_latest=True)("x", context()) == raw
    assert AvroDeserializer(careless)(raw, context()) == "x"
    server.answers["/schemas/ids/7"] = (200, {**shown, "ruleSet": {"domainRules": []}})
    assert AvroDeserializer(Registry(server.url))(raw, context()) == "x"


def test_serializers_pickle_as_their_configuration(registry: Registry) -> None:
    for serializer, deserializer, value in (
        (AvroSerializer(registry, USER), AvroDeserializer(registry, USER), {"name": "x", "age": 1}),
        (JsonSchemaSerializer(registry, PERSON, subject="record"), JsonSchemaDeserializer(registry), {"name": "x"}),
    ):
        written = serializer(value, context())
        assert deserializer(written, context()) == value
        write, read = pickle.loads(pickle.dumps((serializer, deserializer)))
        assert write(value, context()) == written
        assert read(written, context()) == value
