"""What a registry answers, made into what calls return.

    a schema      {"schema": "...", "schemaType": "AVRO", "references": [...], "ruleSet": {"domainRules": [...]}}, and
                  often "id", "version", "subject", "guid"
    a reference   {"name": "...", "subject": "...", "version": 1}

An answer may be any JSON, so all of it is looked at.
"""

from __future__ import annotations

from typing import Any, Final, TypeGuard

from kwire.errors import RegistryError
from kwire.registry.schema import RegisteredSchema, Schema, SchemaReference

MAX_ID: Final = (1 << 31) - 1
DEFAULT_TYPE: Final = "AVRO"
"""That of answers and requests without a type."""


def schema_of(answer: Any, what: str, urls: str) -> Schema:
    text, kind = answer.get("schema"), answer.get("schemaType") or DEFAULT_TYPE
    references = answer.get("references") or []
    if not isinstance(text, str) or not isinstance(kind, str) or not isinstance(references, list):
        raise RegistryError(f"{what}: the answer of {urls} has no schema")
    rules = answer.get("ruleSet")
    has_rules = any(rules.values()) if isinstance(rules, dict) else False
    return Schema(text, kind, tuple(_reference(each, what, urls) for each in references), has_rules)


def _reference(answer: Any, what: str, urls: str) -> SchemaReference:
    if isinstance(answer, dict):
        name, subject, version = answer.get("name"), answer.get("subject"), answer.get("version")
        if isinstance(subject, str) and subject and subject.isprintable() and _is_id(version):
            return SchemaReference(name if isinstance(name, str) else "", subject, version)
    raise RegistryError(f"{what}: the answer of {urls} has a reference without subject and version")


def registered(answer: Any, subject: str, schema: Schema, what: str, urls: str) -> RegisteredSchema:
    """What is said of `schema` in an answer, which need not repeat it."""
    id_, version, guid = answer.get("id"), answer.get("version"), answer.get("guid")
    if not _is_id(id_):
        raise RegistryError(f"{what}: the answer of {urls} has no id")
    said = answer.get("subject")
    return RegisteredSchema(
        id_,
        said if isinstance(said, str) and said else subject,
        version if _is_id(version) else None,
        schema,
        guid if isinstance(guid, str) else None,
    )


def _is_id(value: Any) -> TypeGuard[int]:
    return type(value) is int and 0 <= value <= MAX_ID


def body_of(schema: Schema) -> dict[str, Any]:
    """A schema as it is sent; Avro is what a registry takes it for where nothing is said, as old ones want it."""
    body: dict[str, Any] = {"schema": schema.text}
    if schema.schema_type != DEFAULT_TYPE:
        body["schemaType"] = schema.schema_type
    if schema.references:
        body["references"] = [
            {"name": each.name, "subject": each.subject, "version": each.version} for each in schema.references
        ]
    return body
