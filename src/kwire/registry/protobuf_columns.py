"""Protobuf messages of one class to columns, by the compiled decoder.

What a message does not set has its default, as its attribute has; a message within it that is not set is null.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from google.protobuf import descriptor_pb2

from kwire._values import BuiltColumns, decode_protobuf
from kwire.columns.protobuf_plan import ProtobufOptions, ProtobufReader
from kwire.columns.protobuf_schema import parse_descriptor_set

if TYPE_CHECKING:
    import pyarrow as pa

    from kwire.registry.columns import Decode


def protobuf_columns(described: Any, wanted: Collection[str] | None) -> Decode:
    """What makes columns of messages, with frames or, where a header names the schema, without."""
    types = parse_descriptor_set(_descriptor_set(described.file))
    options = ProtobufOptions(emit_defaults=True)
    framed, bare = (ProtobufReader(types, described.full_name, options, wanted, framing) for framing in (True, False))

    def decode(values: pa.Array, guid: str | None) -> BuiltColumns:
        reader = framed if guid is None else bare
        return decode_protobuf(values, reader.layout, reader.plan)

    return decode


def _descriptor_set(file: Any) -> bytes:
    """A file with all that it imports."""
    found: dict[str, Any] = {}

    def take(each: Any) -> None:
        if each.name not in found:
            found[each.name] = each
            for imported in each.dependencies:
                take(imported)

    take(file)
    files = descriptor_pb2.FileDescriptorSet()
    for each in found.values():
        files.file.add().ParseFromString(each.serialized_pb)
    serialized: bytes = files.SerializeToString()
    return serialized
