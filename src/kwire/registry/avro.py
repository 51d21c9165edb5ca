"""Avro values by the schemas of a registry, with fastavro.

A schema that is `bytes` alone is written as those bytes, without Avro's length, as Confluent's serializers do.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable
from io import BytesIO
from typing import TYPE_CHECKING, Any

from kwire._typing import override
from kwire.errors import ConfigError, UnknownSchemaError
from kwire.registry.avro_text import AvroText, avro_text
from kwire.registry.flows import Flow
from kwire.registry.framing import Framed, Framing
from kwire.registry.front import RegistryFront, given_schema
from kwire.registry.schema import Schema
from kwire.registry.serializer import (
    Decode,
    Encode,
    References,
    SchemaDeserializer,
    SchemaSerializer,
    check_rules,
    missing,
)
from kwire.registry.subjects import Strategy, SubjectName

if TYPE_CHECKING:
    from kwire.registry.columns import Decode as DecodeColumns

try:
    import fastavro
except ImportError as error:
    raise missing("fastavro", "avro", error) from None


class AvroSerializer(SchemaSerializer):
    """Writes values as Avro: dicts for records, or whatever `to_dict(value, context)` makes a dict of.

    `schema` is Avro's JSON, or a Schema with references; it may be left out with `use_latest`.

    The other keywords are those of all serializers: see `SchemaSerializer`.
    """

    kind = "Avro"

    def __init__(
        self,
        registry: RegistryFront,
        schema: Schema | str | None = None,
        *,
        subject: SubjectName | Strategy = "topic",
        auto_register: bool = True,
        use_latest: bool = False,
        normalize: bool = False,
        framing: Framing = "prefix",
        to_dict: Callable[[Any], Any] | None = None,
    ) -> None:
        super().__init__(
            registry,
            subject,
            framing,
            auto_register=auto_register,
            use_latest=use_latest,
            normalize=normalize,
        )
        if schema is None and not use_latest:
            raise ConfigError("schema: give one, or use_latest=True")
        self._schema = None if schema is None else _with_object(given_schema(schema, None, ()))
        self._name = None if self._schema is None else _name(json.loads(self._schema.text))
        self._to_dict = to_dict

    @override
    def schema_for(self, context: Any) -> Flow[Schema]:
        yield from ()
        assert self._schema is not None
        return self._schema

    @override
    def record_name(self, value: Any) -> str | None:
        return self._name

    @override
    def encoder(self, schema: Schema, references: References) -> Encode:
        parsed, to_dict = parsed_avro(schema, references.values(), "the schema"), self._to_dict
        write = fastavro.schemaless_writer

        def encode(value: Any) -> bytes:
            out = BytesIO()
            write(out, parsed, value if to_dict is None else to_dict(value))
            return out.getvalue()

        def as_it_is(value: Any) -> bytes:
            made = value if to_dict is None else to_dict(value)
            return made.encode() if isinstance(made, str) else bytes(made)

        return as_it_is if _is_bytes(parsed) else encode


class AvroDeserializer(SchemaDeserializer):
    """Reads Avro values as dicts, each by the schema whose id it has.

    `reader_schema`: what values are to look like, whatever they were written with; None: as they were written.
    `from_dict(value)` makes something else of each.
    """

    kind = "Avro"

    def __init__(
        self,
        registry: RegistryFront,
        reader_schema: Schema | str | None = None,
        *,
        from_dict: Callable[[Any], Any] | None = None,
    ) -> None:
        super().__init__(registry)
        self._reader = None if reader_schema is None else given_schema(reader_schema, None, ())
        self._from_dict = from_dict

    @override
    def columns(self, field: str, wanted: Collection[str] | None) -> DecodeColumns:
        from kwire.registry.avro_columns import AvroColumns

        reader = None if self._reader is None else self._at_once(self._text(self._reader, "the reader's schema"), "it")
        return AvroColumns(self._text_of, reader, field, wanted).decode

    def _text_of(self, id_: int | str) -> AvroText:
        def flow() -> Flow[AvroText]:
            schema = yield from self._registry._of_frame(id_, serialized=False)
            check_rules(self._registry, schema, f"schema {id_}")
            return (yield from self._text(schema, f"schema {id_}"))

        return self._at_once(flow(), f"schema {id_}")

    def _text(self, schema: Schema, what: str) -> Flow[AvroText]:
        references = yield from self._registry._resolved(schema, what)
        return avro_text(schema, references, what)

    def _parsed_reader(self) -> Flow[Any]:
        """The reader's schema as fastavro reads it; None where there is none."""
        if self._reader is None:
            return None
        references = yield from self._registry._resolved(self._reader, "the reader's schema")
        return parsed_avro(self._reader, references.values(), "the reader's schema")

    @override
    def decoder(self, schema: Schema, references: References, what: str) -> Flow[Decode]:
        reader = yield from self._parsed_reader()
        writer, from_dict = parsed_avro(schema, references.values(), what), self._from_dict
        read = fastavro.schemaless_reader
        is_bytes = _is_bytes(writer)

        def decode(framed: Framed) -> Any:
            value = framed.payload if is_bytes else read(BytesIO(framed.payload), writer, reader)
            return value if from_dict is None else from_dict(value)

        return decode


def parsed_avro(schema: Schema, references: Iterable[Schema], what: str) -> Any:
    """A schema as fastavro reads it, with all that it refers to inside it."""
    if schema.schema_type != "AVRO":
        raise UnknownSchemaError(f"{what} is {schema.schema_type}, not Avro")
    try:
        named: dict[str, Any] = {}
        for each in references:
            fastavro.parse_schema(json.loads(each.text), named_schemas=named)
        known = dict(named)
        parsed = fastavro.parse_schema(json.loads(schema.text), named_schemas=named)
        return fastavro.parse_schema(_whole(parsed, known)) if known else parsed
    except (ValueError, KeyError, TypeError, fastavro.schema.SchemaParseException) as error:
        raise ConfigError(f"{what} is no Avro schema: {type(error).__name__}: {error}") from None


def _whole(schema: Any, known: dict[str, Any]) -> Any:
    """A schema with each type that it names, of those not yet said, in the place of the first such name."""
    if isinstance(schema, str):
        return _whole(known.pop(schema), known) if schema in known else schema
    if isinstance(schema, list):
        return [_whole(each, known) for each in schema]
    made = {key: value for key, value in schema.items() if not key.startswith("__")}
    if "." not in made.get("name", "."):
        made["namespace"] = ""
    for key in ("items", "values"):
        if key in made:
            made[key] = _whole(made[key], known)
    if isinstance(made["type"], dict | list):
        made["type"] = _whole(made["type"], known)
    if "fields" in made:
        made["fields"] = [{**each, "type": _whole(each["type"], known)} for each in made["fields"]]
    return made


def _with_object(schema: Schema) -> Schema:
    """As Confluent's serializers register it: without white space around it, a type's name alone as an object."""
    text = schema.text.strip()
    if not text.startswith(("{", "[")):
        text = f'{{"type":{text}}}'
    try:
        json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"schema: it is no JSON: {error}") from None
    return Schema(text, schema.schema_type, schema.references)


def _name(schema: Any) -> str | None:
    """The full name of a record, enum or fixed; of another type its own."""
    if isinstance(schema, list):
        return None
    name: str | None = schema.get("name")
    if name is None:
        kind = schema.get("type")
        return kind if isinstance(kind, str) else None
    namespace = schema.get("namespace")
    return f"{namespace}.{name}" if namespace and "." not in name else name


def _is_bytes(parsed: Any) -> bool:
    return parsed == "bytes" or (isinstance(parsed, dict) and parsed.get("type") == "bytes")
