"""Random Protobuf types, by google.protobuf's own descriptors, and messages of them."""

from __future__ import annotations

from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from hypothesis import strategies as st

SCALARS = [1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 15, 16, 17, 18]
ENUM, MESSAGE, GROUP = 14, 11, 10
KEYS = [3, 4, 5, 6, 7, 8, 9, 13, 15, 16, 17, 18]
PACKABLE = {1, 2, 3, 4, 5, 6, 7, 8, 13, 14, 15, 16, 17, 18}
FILES = iter(range(1 << 40))


class Types:
    """One file of types in the making."""

    def __init__(self, syntax: str) -> None:
        self.file = descriptor_pb2.FileDescriptorProto(name=f"{syntax}_{next(FILES)}.proto", package="p", syntax=syntax)
        enum = self.file.enum_type.add(name="E")
        for number, name in enumerate(["ZERO", "ONE", "TWO"]):
            enum.value.add(name=name, number=number)
        enum.value.add(name="BELOW", number=-5)
        self.is_new = syntax == "proto3"

    def descriptor(self, name: str = "M0") -> Any:
        pool = descriptor_pool.DescriptorPool()
        pool.Add(self.file)
        return pool.FindMessageTypeByName(f"p.{name}")

    def set_bytes(self) -> bytes:
        return descriptor_pb2.FileDescriptorSet(file=[self.file]).SerializeToString()


@st.composite
def types(draw: st.DrawFn) -> Types:
    made = Types(draw(st.sampled_from(["proto2", "proto3"])))
    draw(messages(made, 2))
    return made


@st.composite
def messages(draw: st.DrawFn, made: Types, depth: int) -> str:
    name = f"M{len(made.file.message_type)}"
    message = made.file.message_type.add(name=name)
    numbers = draw(st.lists(st.integers(1, 20) | st.just((1 << 29) - 1), min_size=1, max_size=6, unique=True))
    if draw(st.booleans()):
        message.oneof_decl.add(name="choice")
    optional = []
    for i, number in enumerate(numbers):
        field = message.field.add(name=f"f{i}", number=number, label=1)
        kind = draw(st.sampled_from([*SCALARS, ENUM, *([MESSAGE, MESSAGE, MESSAGE] if depth else [])]))
        field.type = kind
        if kind == ENUM:
            field.type_name = ".p.E"
        elif kind == MESSAGE:
            field.type_name = ".p." + draw(messages(made, depth - 1))
        how = draw(st.sampled_from(["plain", "repeated", "oneof", "optional", "map", "required"]))
        if how == "repeated":
            field.label = 3
            if kind in PACKABLE:
                field.options.packed = draw(st.booleans())
        elif how == "map":
            _make_map(draw, message, field)
        elif how == "oneof" and message.oneof_decl:
            field.oneof_index = 0
        elif how == "optional" and made.is_new and kind != MESSAGE:
            optional.append(field)
        elif how == "required" and not made.is_new and kind != MESSAGE:
            field.label = 2
        elif how == "optional" and not made.is_new and kind in (3, 5, 13):
            field.default_value = "7"
    if message.oneof_decl and not any(field.HasField("oneof_index") for field in message.field):
        del message.oneof_decl[:]
    for field in optional:
        field.proto3_optional = True
        field.oneof_index = len(message.oneof_decl)
        message.oneof_decl.add(name=f"_{field.name}")
    return name


def _make_map(draw: st.DrawFn, message: Any, field: Any) -> None:
    entry = message.nested_type.add(name=f"{field.name.upper()}Entry")
    entry.options.map_entry = True
    entry.field.add(name="key", number=1, label=1, type=draw(st.sampled_from(KEYS)))
    entry.field.add(name="value", number=2, label=1, type=field.type, type_name=field.type_name or None)
    field.type, field.type_name, field.label = MESSAGE, f".p.{message.name}.{entry.name}", 3


def message_class(descriptor: Any) -> Any:
    return message_factory.GetMessageClass(descriptor)


@st.composite
def filled(draw: st.DrawFn, descriptor: Any) -> Any:
    """A message of some of its fields; all that are required."""
    message = message_class(descriptor)()
    for field in descriptor.fields:
        if field.is_required or draw(st.integers(0, 3)):
            draw(_set(message, field))
    return message


@st.composite
def _set(draw: st.DrawFn, message: Any, field: Any) -> None:
    if field.message_type is not None and field.message_type.GetOptions().map_entry:
        key, value = field.message_type.fields_by_name["key"], field.message_type.fields_by_name["value"]
        target = getattr(message, field.name)
        for _ in range(draw(st.integers(0, 1))):
            of = draw(scalars(key))
            if value.message_type is not None:
                target[of].CopyFrom(draw(filled(value.message_type)))
            else:
                target[of] = draw(scalars(value))
    elif field.is_repeated:
        count = draw(st.integers(0, 3))
        if field.message_type is not None:
            getattr(message, field.name).extend([draw(filled(field.message_type)) for _ in range(count)])
        else:
            getattr(message, field.name).extend([draw(scalars(field)) for _ in range(count)])
    elif field.message_type is not None:
        getattr(message, field.name).CopyFrom(draw(filled(field.message_type)))
    else:
        setattr(message, field.name, draw(scalars(field)))


def scalars(field: Any) -> st.SearchStrategy[Any]:
    signed, unsigned = {3: 63, 5: 31, 15: 31, 16: 63, 17: 31, 18: 63}, {4: 64, 6: 64, 7: 32, 13: 32}
    if field.type in signed:
        return st.integers(-(1 << signed[field.type]), (1 << signed[field.type]) - 1) | st.integers(-1, 1)
    if field.type in unsigned:
        return st.integers(0, (1 << unsigned[field.type]) - 1) | st.just(0)
    if field.type == ENUM:
        known = st.sampled_from([0, 1, 2, -5])
        return known if field.enum_type.is_closed else known | st.integers(-(1 << 31), (1 << 31) - 1)
    return {
        1: st.floats(allow_nan=False),
        2: st.floats(allow_nan=False, width=32),
        8: st.booleans(),
        9: st.text(max_size=10),
        12: st.binary(max_size=10),
    }[field.type]
