"""Protobuf messages by the schemas of a registry, with the classes that protoc makes.

A schema is the descriptor of the .proto file, in base64; what the file imports are references, by the names of the
files, each registered under its name. Well-known types (google/protobuf, google/type, confluent) are none.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any

from kwire._typing import override
from kwire.errors import ConfigError, SerializationError, UnknownSchemaError
from kwire.registry.flows import Flow
from kwire.registry.framing import Framed, Framing, index_frame, read_indexes
from kwire.registry.front import RegistryFront
from kwire.registry.schema import Schema, SchemaReference
from kwire.registry.serializer import Decode, Encode, References, SchemaDeserializer, SchemaSerializer, missing
from kwire.registry.subjects import Strategy, SubjectName

if TYPE_CHECKING:
    from kwire.registry.columns import Decode as DecodeColumns

try:
    from google.protobuf import descriptor_pb2, descriptor_pool, message, message_factory
except ImportError as error:
    raise missing("protobuf", "protobuf", error) from None

_WELL_KNOWN = ("google/protobuf/", "google/type/", "confluent/")


class ProtobufSerializer(SchemaSerializer):
    """Writes messages of one class that protoc has made.

    `reference_subject(context, file name)` is the subject of what the .proto file imports; None: the file's name.

    The other keywords are those of all serializers: see `SchemaSerializer`.
    """

    kind = "Protobuf"

    def __init__(
        self,
        registry: RegistryFront,
        message_class: Any,
        *,
        subject: SubjectName | Strategy = "topic",
        auto_register: bool = True,
        use_latest: bool = False,
        normalize: bool = False,
        framing: Framing = "prefix",
        reference_subject: Callable[[Any, str], str] | None = None,
    ) -> None:
        super().__init__(
            registry,
            subject,
            framing,
            auto_register=auto_register,
            use_latest=use_latest,
            normalize=normalize,
        )
        self._class = _checked(message_class)
        self._reference_subject = reference_subject

    @override
    def schema_for(self, context: Any) -> Flow[Schema]:
        file = self._class.DESCRIPTOR.file
        references = yield from self._references(context, file, {})
        return _schema(file, references)

    def _references(self, context: Any, file: Any, known: dict[str, SchemaReference]) -> Flow[list[SchemaReference]]:
        """Those of one file; each is registered, or looked up, after those that it has itself."""
        found = []
        for imported in file.dependencies:
            name = imported.name
            if name.startswith(_WELL_KNOWN):
                continue
            if name not in known:
                schema = _schema(imported, (yield from self._references(context, imported, known)))
                subject = name if self._reference_subject is None else self._reference_subject(context, name)
                if self._auto_register:
                    yield from self._registry._registering(subject, schema, normalize=self._normalize)
                registered = yield from self._registry._lookup(subject, schema, normalize=self._normalize)
                if registered.version is None:
                    raise SerializationError(f"the registry does not say which version of {subject} {name} is")
                known[name] = SchemaReference(name, subject, registered.version)
            found.append(known[name])
        return found

    @override
    def record_name(self, value: Any) -> str | None:
        name: str = self._class.DESCRIPTOR.full_name
        return name

    @override
    def encoder(self, schema: Schema, references: References) -> Encode:
        wanted = self._class

        def encode(value: Any) -> bytes:
            if not isinstance(value, wanted):
                raise TypeError(f"expected a {wanted.DESCRIPTOR.full_name}, got {type(value).__name__}")
            written: bytes = value.SerializeToString()
            return written

        return encode

    @override
    def frame_end(self) -> bytes:
        return index_frame(_indexes(self._class.DESCRIPTOR))


class ProtobufDeserializer(SchemaDeserializer):
    """Reads messages of one class that protoc has made, for which no schema is asked for; without a class, of classes
    that are made of the registry's schemas."""

    kind = "Protobuf message"
    as_serialized = True

    def __init__(self, registry: RegistryFront, message_class: Any = None) -> None:
        super().__init__(registry)
        self._class: Any = None if message_class is None else _checked(message_class)

    @override
    def columns(self, field: str, wanted: Collection[str] | None) -> DecodeColumns:
        if self._class is None:
            raise ConfigError("a ProtobufDeserializer makes columns of the messages of one class: give message_class")
        from kwire.registry.protobuf_columns import protobuf_columns

        return protobuf_columns(self._class.DESCRIPTOR, wanted)

    @override
    def known(self, id_: int | str) -> Decode | None:
        return super().known(id_) if self._class is None else self._decode_as_class

    def _decode_as_class(self, framed: Framed) -> Any:
        _, payload = _message_of(framed)
        return self._class.FromString(payload)

    @override
    def decoder(self, schema: Schema, references: References, what: str) -> Flow[Decode]:
        yield from ()
        classes = _Classes(schema, references, what)

        def decode(framed: Framed) -> Any:
            indexes, payload = _message_of(framed)
            return classes.of(tuple(indexes)).FromString(payload)

        return decode


class _Classes:
    """The classes of one schema's messages."""

    def __init__(self, schema: Schema, references: References, what: str) -> None:
        pool = descriptor_pool.DescriptorPool()
        known: set[str] = set()
        for reference, each in references.items():
            _add(pool, reference.name, each, what, known)
        self._file = _add(pool, "the schema", schema, what, known)
        self._classes: dict[tuple[int, ...], Any] = {}

    def of(self, indexes: tuple[int, ...]) -> Any:
        """The class of the message at these indexes."""
        found = self._classes.get(indexes)
        if found is None:
            messages: Sequence[Any] = list(self._file.message_types_by_name.values())
            for index in indexes:
                if not 0 <= index < len(messages):
                    raise SerializationError(f"its schema has no message {list(indexes)}")
                described = messages[index]
                messages = described.nested_types
            found = self._classes[indexes] = message_factory.GetMessageClass(described)
        return found


def _add(pool: Any, name: str, schema: Schema, what: str, known: set[str]) -> Any:
    """The file of a schema, in the pool with what it imports."""
    if schema.schema_type != "PROTOBUF":
        raise UnknownSchemaError(f"{what} is {schema.schema_type}, not Protobuf")
    file = descriptor_pb2.FileDescriptorProto()
    try:
        file.ParseFromString(b64decode(schema.text, validate=True))
    except (ValueError, message.DecodeError) as error:
        raise ConfigError(f"{what}: the registry does not give it as a descriptor: {error}") from None
    file.name = name
    for imported in file.dependency:
        if imported.startswith(_WELL_KNOWN) and imported not in known:
            _add_well_known(pool, imported, known)
    try:
        return pool.AddSerializedFile(file.SerializeToString()) and pool.FindFileByName(name)
    except TypeError as error:
        raise ConfigError(f"{what}: its descriptor cannot be used: {error}") from None


def _add_well_known(pool: Any, name: str, known: set[str]) -> None:
    known.add(name)
    file = _well_known(name)
    for imported in file.dependencies:
        if imported.name not in known:
            _add_well_known(pool, imported.name, known)
    pool.AddSerializedFile(file.serialized_pb)


def _well_known(name: str) -> Any:
    """A file that protobuf or googleapis-common-protos brings along."""
    from importlib import import_module

    try:
        return import_module(name.removesuffix(".proto").replace("/", ".") + "_pb2").DESCRIPTOR
    except ImportError:
        raise ConfigError(f"{name} is imported by a schema, and no package here has it") from None


def _message_of(framed: Framed) -> tuple[list[int], bytes]:
    """Which message a value is, and its bytes."""
    if framed.frame is not None:
        return read_indexes(framed.frame)[0], framed.payload
    indexes, end = read_indexes(framed.payload)
    return indexes, framed.payload[end:]


def _schema(file: Any, references: Sequence[SchemaReference]) -> Schema:
    return Schema(b64encode(file.serialized_pb).decode("ascii"), "PROTOBUF", tuple(references))


def _indexes(described: Any) -> list[int]:
    """Where a message stands: in the message around it, and at last in its file."""
    if described.containing_type is not None:
        around = described.containing_type
        return [*_indexes(around), [each.full_name for each in around.nested_types].index(described.full_name)]
    return [list(described.file.message_types_by_name).index(described.name)]


def _checked(message_class: Any) -> Any:
    if not isinstance(message_class, type) or not issubclass(message_class, message.Message):
        raise ConfigError(f"expected a class that protoc has made, got {message_class!r}")
    return message_class
