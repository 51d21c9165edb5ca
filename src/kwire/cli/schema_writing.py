"""The forms avro and jsonschema of `kwire produce`: values of JSON, written by a schema of a registry.

The schema is a file, which the subject has to know already unless --register makes it known; an id; or SUBJECT or
SUBJECT:VERSION. Without any it is the latest of TOPIC-value or TOPIC-key.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, NoReturn

from kwire.cli.schema_files import registered_at, schema_text
from kwire.cli.usage import UsageError
from kwire.cli.value_forms import SCHEMA_FORMS, Form, parse_json
from kwire.errors import ConfigError, KafkaError, SerializationError, UnknownSchemaError

if TYPE_CHECKING:
    from kwire.registry import Registry, Schema

Encode = Callable[[Any], bytes]

_WRITTEN: Final = {"avro": "avro", "jsonschema": "json"}


def writes_by_schema(options: argparse.Namespace) -> bool:
    """Whether keys or values are written by a schema. UsageError for options that do not go with it."""
    forms = {"key": options.key_as, "value": options.value_as}
    for field, form in forms.items():
        if form in SCHEMA_FORMS and form not in _WRITTEN:
            raise UsageError(f"--{field}-as {form}: kwire produce writes {' and '.join(_WRITTEN)} by schemas")
        if getattr(options, f"{field}_schema") is not None and form not in _WRITTEN:
            raise UsageError(f"--{field}-schema goes with --{field}-as {' or '.join(_WRITTEN)}")
    has_any = any(form in _WRITTEN for form in forms.values())
    for name, value in (("--registry", options.registry), ("--register", options.register)):
        if value and not has_any:
            raise UsageError(f"{name} goes with --key-as and --value-as {' and '.join(_WRITTEN)}")
    if has_any and options.own_topics:
        raise UsageError("--own-topics cannot be combined with schemas, which are those of one topic's subjects")
    return has_any


def writing(kind: str, field: str, options: argparse.Namespace, registry: Registry) -> Form:
    """A form of produce, by the schema that the options name."""
    from kwire.registry.framing import id_frame

    id_, schema = _schema(kind, field, options, registry)
    frame, encode = id_frame(id_), _encoder(kind, schema, registry)

    def write(value: Any) -> bytes:
        try:
            return frame + encode(value)
        except SerializationError as error:
            raise ValueError(str(error)) from None
        except (TypeError, OverflowError, AttributeError, ArithmeticError, RecursionError) as error:
            raise ValueError(f"it cannot be written as {kind}: {type(error).__name__}: {error}") from None

    def no_showing(_: bytes) -> NoReturn:
        raise AssertionError("produce shows nothing")

    return Form(no_showing, lambda text: write(parse_json(text)), no_showing, write)


def _schema(kind: str, field: str, options: argparse.Namespace, registry: Registry) -> tuple[int, Schema]:
    """The schema with its id. An error says for which option it was."""
    named, own = getattr(options, f"{field}_schema"), f"{options.topic}-{field}"
    try:
        if named is None:
            found = registry.latest(own)
        elif os.path.isfile(named):
            return _of_file(kind, named, own, options, registry)
        elif named.isdecimal():
            return int(named), registry.by_id(int(named))
        else:
            found = registered_at(registry, named)
    except UnknownSchemaError as error:
        hint = "" if named else f"; --{field}-schema names another: a file, an id, or SUBJECT[:VERSION]"
        raise KafkaError(f"--{field}-as {kind}: {error}{hint}") from None
    return found.id, found.schema


def _of_file(kind: str, path: str, subject: str, options: argparse.Namespace, registry: Registry) -> tuple[int, Schema]:
    from kwire.registry import Schema

    text, schema_type = schema_text(path, _WRITTEN[kind])
    schema = Schema(text, schema_type)
    if options.register:
        return registry.register(subject, schema), schema
    try:
        return registry.lookup(subject, schema).id, schema
    except UnknownSchemaError as error:
        raise KafkaError(f"{path}: {error}; --register makes it a version of {subject}") from None


def _encoder(kind: str, schema: Schema, registry: Registry) -> Encode:
    from kwire.registry.serializer import check_rules

    check_rules(registry, schema, "the schema")
    references = registry.resolve(schema)
    if kind == "jsonschema":
        from kwire.registry import JsonSchemaSerializer

        return JsonSchemaSerializer(registry, schema).encoder(schema, references)
    from kwire.cli.avro_values import avro_values
    from kwire.registry.avro import AvroSerializer, parsed_avro

    try:
        convert = avro_values(parsed_avro(schema, references.values(), "the schema"))
        encode = AvroSerializer(registry, schema).encoder(schema, references)
    except KeyError as error:
        raise ConfigError(f"the schema is no Avro schema that can be written: {error}") from None
    return lambda value: encode(convert(value))
