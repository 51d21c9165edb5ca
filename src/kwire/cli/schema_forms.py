"""The forms avro, protobuf and jsonschema of `kwire consume`: values by the schemas of a registry, as values of JSON.

Each value names its schema, in front of it or in a header of its record. What JSON has no word for is a text:

    bytes and fixed of Avro        as the form `bytes` shows them: text, or {"base64": ...} where they are not UTF-8
    logical types of Avro          ISO 8601 for dates and times, digits for decimals, a UUID
    NaN and infinities             "NaN", "Infinity", "-Infinity"
    Protobuf                       as its own mapping to JSON has it, under the names of the .proto file
"""

from __future__ import annotations

import datetime
from collections.abc import Callable
from decimal import Decimal
from types import NoneType
from typing import TYPE_CHECKING, Any, Final, NoReturn
from uuid import UUID

from kwire.cli.value_forms import BYTES, Form, Headed, json_text
from kwire.errors import SerializationError, UnknownSchemaError

if TYPE_CHECKING:
    from kwire.registry import Registry

Read = Callable[[bytes], Any]

_PLAIN: Final = frozenset((str, int, bool, NoneType))


def showing(kind: str, registry: Registry) -> Form:
    """A form of consume."""
    read = {"avro": _avro, "protobuf": _protobuf, "jsonschema": _json_schema}[kind](registry)

    def show(data: bytes) -> Any:
        try:
            return read(data.frame + data if isinstance(data, Headed) else data)
        except (SerializationError, UnknownSchemaError) as error:
            raise ValueError(str(error)) from None
        except RecursionError:
            raise ValueError("it is nested too deeply") from None

    def no_reading(_: Any) -> NoReturn:
        raise ValueError(f"what is {kind} is compared by an expression, as in 'value.id == `7`'")

    return Form(show, no_reading, lambda data: json_text(show(data)), no_reading, may_be_headed=True)


def _avro(registry: Registry) -> Read:
    from kwire.registry import AvroDeserializer

    read = AvroDeserializer(registry)
    return lambda data: as_json(read(data))


def _json_schema(registry: Registry) -> Read:
    from kwire.registry import JsonSchemaDeserializer

    read = JsonSchemaDeserializer(registry)
    return lambda data: as_json(read(data))


def _protobuf(registry: Registry) -> Read:
    from kwire.registry import ProtobufDeserializer

    made = ProtobufDeserializer(registry)
    from google.protobuf import json_format

    def read(data: bytes) -> Any:
        message = made(data)
        try:
            return json_format.MessageToDict(message, preserving_proto_field_name=True)
        except (TypeError, ValueError, json_format.Error) as error:
            raise SerializationError(f"it has no form in JSON: {error}") from None

    return read


def as_json(value: Any) -> Any:
    """A value of Python as one of JSON."""
    kind = type(value)
    if kind in _PLAIN:
        return value
    if kind is dict:
        if _PLAIN.issuperset(map(type, value.values())):
            return value
        return {name: as_json(each) for name, each in value.items()}
    if kind is list:
        return value if _PLAIN.issuperset(map(type, value)) else [as_json(each) for each in value]
    return _AS_JSON[kind](value)


def _float(value: float) -> float | str:
    if value - value == 0:
        return value
    return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"


_AS_JSON: Final[dict[type, Callable[[Any], Any]]] = {
    float: _float,
    bytes: BYTES.show,
    Decimal: str,
    UUID: str,
    datetime.datetime: datetime.datetime.isoformat,
    datetime.date: datetime.date.isoformat,
    datetime.time: datetime.time.isoformat,
}
