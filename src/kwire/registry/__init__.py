"""Schema registries, and the serializers that write and read values by their schemas.

    from kwire import registry

    r = registry.Registry("http://localhost:8081")
    serializer = registry.AvroSerializer(r, '{"type": "record", ...}')

Layer 5. Each name is loaded when it is first used; what needs fastavro, protobuf or jsonschema imports them when it is
made.
"""

from __future__ import annotations

from kwire._typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kwire.engine.common.serialization import SerializationContext as SerializationContext
    from kwire.errors import IncompatibleSchemaError as IncompatibleSchemaError
    from kwire.errors import RegistryError as RegistryError
    from kwire.errors import UnknownSchemaError as UnknownSchemaError
    from kwire.registry.avro import AvroDeserializer as AvroDeserializer
    from kwire.registry.avro import AvroSerializer as AvroSerializer
    from kwire.registry.client import Registry as Registry
    from kwire.registry.json_schema import JsonSchemaDeserializer as JsonSchemaDeserializer
    from kwire.registry.json_schema import JsonSchemaSerializer as JsonSchemaSerializer
    from kwire.registry.oauth import ClientCredentials as ClientCredentials
    from kwire.registry.protobuf import ProtobufDeserializer as ProtobufDeserializer
    from kwire.registry.protobuf import ProtobufSerializer as ProtobufSerializer
    from kwire.registry.schema import RegisteredSchema as RegisteredSchema
    from kwire.registry.schema import Schema as Schema
    from kwire.registry.schema import SchemaReference as SchemaReference

__all__ = [
    "AvroDeserializer",
    "AvroSerializer",
    "ClientCredentials",
    "IncompatibleSchemaError",
    "JsonSchemaDeserializer",
    "JsonSchemaSerializer",
    "ProtobufDeserializer",
    "ProtobufSerializer",
    "RegisteredSchema",
    "Registry",
    "RegistryError",
    "Schema",
    "SchemaReference",
    "SerializationContext",
    "UnknownSchemaError",
]

if not TYPE_CHECKING:
    _HOMES = {
        "SerializationContext": "kwire.engine.common.serialization",
        "ProtobufSerializer": "kwire.registry.protobuf",
        "ProtobufDeserializer": "kwire.registry.protobuf",
        "JsonSchemaSerializer": "kwire.registry.json_schema",
        "JsonSchemaDeserializer": "kwire.registry.json_schema",
        "AvroSerializer": "kwire.registry.avro",
        "AvroDeserializer": "kwire.registry.avro",
        "ClientCredentials": "kwire.registry.oauth",
        "IncompatibleSchemaError": "kwire.errors",
        "RegisteredSchema": "kwire.registry.schema",
        "Registry": "kwire.registry.client",
        "RegistryError": "kwire.errors",
        "Schema": "kwire.registry.schema",
        "SchemaReference": "kwire.registry.schema",
        "UnknownSchemaError": "kwire.errors",
    }

    def __getattr__(name: str) -> Any:
        from importlib import import_module

        if name in _HOMES:
            value = getattr(import_module(_HOMES[name]), name)
            globals()[name] = value
            return value
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
