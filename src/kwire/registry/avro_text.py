"""Avro schemas as text, with those that they refer to: what is parsed, pickled and kept. No I/O."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kwire.columns.avro_schema import AvroType, named_types, parse_avro_schema
from kwire.engine.connections.sasl.exchange import quoted
from kwire.errors import ConfigError, UnknownSchemaError
from kwire.registry.schema import Schema, SchemaReference

_SHOWN = 40


@dataclass(frozen=True)
class AvroText:
    """An Avro schema as its text, with those that it refers to, each before the ones that need it."""

    text: str
    references: tuple[str, ...] = ()

    def parse_framed(self) -> AvroType:
        """As `parse`, for values with a schema's id; ConfigError for those of `bytes` alone, which have no length."""
        parsed = self.parse()
        if parsed.kind == "bytes":
            raise ConfigError("serializers write a schema of bytes alone as it is, and no column is made of that")
        return parsed

    def parse(self) -> AvroType:
        known: dict[str, AvroType] = {}
        for reference in self.references:
            known |= named_types(parse_avro_schema(reference, known))
        return parse_avro_schema(self.text, known)


def avro_text(schema: Schema, references: Mapping[SchemaReference, Schema], what: str) -> AvroText:
    """A schema of a registry; `what` says which, for errors."""
    for each in (schema, *references.values()):
        if each.schema_type != "AVRO":
            raise UnknownSchemaError(f"{what} is {quoted(each.schema_type[:_SHOWN])}, not Avro")
    return AvroText(schema.text, tuple(each.text for each in references.values()))
