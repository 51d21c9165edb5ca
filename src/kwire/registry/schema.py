"""Schemas as a registry knows them. No I/O."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SchemaReference:
    """What a schema calls another one, and which version of which subject that is."""

    name: str
    subject: str
    version: int


@dataclass(frozen=True, slots=True)
class Schema:
    """A schema: its text, of which kind it is (AVRO, PROTOBUF or JSON), and the schemas that it refers to.

    `has_rules`: the registry has rules for its values (Confluent's data contracts), such as which fields to encrypt.
    """

    text: str
    schema_type: str = "AVRO"
    references: tuple[SchemaReference, ...] = ()
    has_rules: bool = False


@dataclass(frozen=True, slots=True)
class RegisteredSchema:
    """A schema with its id and its place in the registry; `guid` is None with registries that have none."""

    id: int
    subject: str
    version: int | None
    schema: Schema
    guid: str | None = None
