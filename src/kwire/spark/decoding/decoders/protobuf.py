"""`decoder=protobuf`: each value is a message, whose fields become the columns.

    decoder.schema         the file of a descriptor set (protoc --descriptor_set_out --include_imports), or its base64
    decoder.messageName    the message's full name, or its name if only one package has it
    decoder.framing        none, or confluent: a schema's id and the message's place in its file stand before each value
    decoder.emit.default.values, .enums.as.ints, .upcast.unsigned.ints, .unwrap.primitive.wrapper.types: as in Spark

The codec does the work (`decode_protobuf`), by a plan that is made in the task.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pyspark.sql.types import StructType

from kwire.columns.protobuf_plan import ProtobufOptions
from kwire.errors import ConfigError
from kwire.spark.decoding.contract import Decode, Fault
from kwire.spark.decoding.ddl import parse_schema
from kwire.spark.decoding.options import DecoderSettings

if TYPE_CHECKING:
    import pyarrow as pa

_OPTIONS: Final = {
    "emit_defaults": "emit.default.values",
    "enums_as_ints": "enums.as.ints",
    "upcast_unsigned": "upcast.unsigned.ints",
    "unwrap_wrappers": "unwrap.primitive.wrapper.types",
}


@dataclass(frozen=True)
class ProtobufFormat:
    """`descriptors` is a serialized FileDescriptorSet."""

    schema: StructType
    inputs: tuple[str, ...]
    descriptors: bytes
    message: str
    options: ProtobufOptions
    framed: bool = False
    name: str = "protobuf"

    def open(self, fields: Sequence[str]) -> Decode:
        import pyarrow as pa

        from kwire._values import decode_protobuf
        from kwire.columns.protobuf_plan import ProtobufReader
        from kwire.columns.protobuf_schema import parse_descriptor_set

        types = parse_descriptor_set(self.descriptors)
        reader = ProtobufReader(types, self.message, self.options, set(fields), self.framed)

        def decode(raw: pa.RecordBatch) -> tuple[list[pa.Array], Sequence[Fault]]:
            built = decode_protobuf(raw.column(0), reader.layout, reader.plan)
            return pa.record_batch(built).columns, [_fault(*fault) for fault in built.faults]

        return decode


def parse(settings: DecoderSettings) -> ProtobufFormat:
    """The decoder that the options ask for; ConfigError names the one at fault."""
    from kwire.columns.layout import RecursiveTypeError
    from kwire.columns.protobuf_plan import ProtobufReader
    from kwire.columns.protobuf_schema import parse_descriptor_set

    settings.check_suffixes(("schema", "messageName", "framing", *_OPTIONS.values()))
    descriptors = _descriptors(settings)
    message = settings.required("messageName", "the full name of the message, e.g. shop.Order")
    given = {name: settings.given.boolean(settings.option(suffix), False) for name, suffix in _OPTIONS.items()}
    options = ProtobufOptions(**given)
    framed = settings.given.choice(settings.option("framing"), ("none", "confluent"), "none") == "confluent"
    try:
        types = parse_descriptor_set(descriptors)
    except ConfigError as fault:
        raise ConfigError(f"{settings.option('schema')}: {fault}") from None
    try:
        fields = ProtobufReader(types, message, options).fields
        columns = ", ".join(f"`{name.replace('`', '``')}` {kind}" for name, kind in fields)
        schema = parse_schema(columns)
    except RecursiveTypeError as fault:
        raise ConfigError(
            f"{settings.option('messageName')}: {fault}. Leave the field out of the descriptor set (fields "
            f"it lacks are skipped); or decode with a function, {settings.role}=package.module:function"
        ) from None
    except ConfigError as fault:
        raise ConfigError(f"{settings.option('messageName')}: {fault}") from None
    return ProtobufFormat(schema, (settings.column,), descriptors, message, options, framed)


def _descriptors(settings: DecoderSettings) -> bytes:
    content = settings.content("schema", "the path of a descriptor set (protoc --descriptor_set_out)")
    if (settings.text("schema") or "").startswith(("/", "./", "../", "file:")):
        return content
    try:
        return base64.b64decode(content, validate=True)
    except binascii.Error:
        raise ConfigError(
            f"{settings.option('schema')}: expected the path of a descriptor set, or its bytes in base64"
        ) from None


def _fault(row: int, byte: int, place: str, reason: str) -> Fault:
    return Fault(row, f"{place}: {reason} (byte {byte})" if place else f"{reason} (byte {byte})")
