"""Protobuf types, read from a descriptor set: what `protoc --descriptor_set_out=FILE --include_imports` writes.

    FileDescriptorSet     1 file
    FileDescriptorProto   1 name  2 package  4 message_type  5 enum_type  8 options  12 syntax  14 edition
    DescriptorProto       1 name  2 field  3 nested_type  4 enum_type  7 options  8 oneof_decl
    FieldDescriptorProto  1 name  3 number  4 label  5 type  6 type_name  7 default_value  8 options  9 oneof_index
                          17 proto3_optional
    EnumDescriptorProto   1 name  2 value (1 name  2 number)  3 options
    options               7 map_entry (of a message)  12 or 7 or 21 or 50 features (message, enum, field, file)
    FeatureSet            1 field_presence  2 enum_type  4 utf8_validation  5 message_encoding

Source: descriptor.proto of Protocol Buffers. Knows no columns and no messages but these.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NoReturn

from kwire.errors import ConfigError
from kwire.errors.listing import first_of

MAX_DESCRIPTOR_BYTES: Final = 64 << 20
MAX_NESTING: Final = 64
MAX_TYPES: Final = 100_000
MAX_NAME_CHARACTERS: Final = 512
MAX_FIELD_NUMBER: Final = (1 << 29) - 1

_Fields = dict[int, list[int | bytes]]
_SHOWN: Final = 100
_REPEATED: Final = 3
_REQUIRED: Final = 2
_KINDS: Final = {
    1: "double", 2: "float", 3: "int64", 4: "uint64", 5: "int32", 6: "fixed64", 7: "fixed32", 8: "bool", 9: "string",
    10: "group", 11: "message", 12: "bytes", 13: "uint32", 14: "enum", 15: "sfixed32", 16: "sfixed64", 17: "sint32",
    18: "sint64",
}  # fmt: skip
_PRESENCE, _ENUM_TYPE, _UTF8, _ENCODING = 1, 2, 4, 5
_EXPLICIT, _IMPLICIT, _LEGACY_REQUIRED = 1, 2, 3
_CLOSED, _NOT_CHECKED, _DELIMITED = 2, 3, 2
_PROTO2: Final = {_PRESENCE: _EXPLICIT, _ENUM_TYPE: _CLOSED, _UTF8: _NOT_CHECKED}
_PROTO3: Final = {_PRESENCE: _IMPLICIT}
_EDITIONS: Final = {_PRESENCE: _EXPLICIT}
_EDITION_PROTO2, _EDITION_PROTO3 = 998, 999


@dataclass(frozen=True)
class ProtoEnum:
    """`symbols` in the order of the declaration; a closed one has no other numbers."""

    name: str
    symbols: tuple[tuple[str, int], ...]
    is_closed: bool


@dataclass(frozen=True)
class ProtoField:
    """`kind` is the type's name in a .proto file; `type_name` the full name of a message or enum."""

    name: str
    number: int
    kind: str
    type_name: str = ""
    is_repeated: bool = False
    is_required: bool = False
    has_presence: bool = False
    default: str | None = None
    oneof: int = -1
    is_checked: bool = True


@dataclass(frozen=True)
class ProtoMessage:
    """`path` is its place: the index among its file's messages, then among those of each message it lies in."""

    name: str
    fields: tuple[ProtoField, ...]
    is_map_entry: bool
    path: tuple[int, ...]


@dataclass
class ProtoTypes:
    """All messages and enums of a descriptor set, by full name."""

    messages: dict[str, ProtoMessage] = field(default_factory=dict)
    enums: dict[str, ProtoEnum] = field(default_factory=dict)

    def message(self, name: str) -> ProtoMessage:
        """The message of that full name, or the only one of that name without its package; ConfigError otherwise."""
        found = self.messages.get(name)
        if found is not None:
            return found
        same = [full for full, each in self.messages.items() if full.endswith(f".{name}") and not each.is_map_entry]
        if len(same) == 1:
            return self.messages[same[0]]
        if same:
            raise ConfigError(f"there are several messages {name}: {', '.join(sorted(same))}")
        known = sorted(full for full, each in self.messages.items() if not each.is_map_entry)
        raise ConfigError(f"there is no message {name}; there are {first_of(known, 10) or 'none'}")


def parse_descriptor_set(data: bytes) -> ProtoTypes:
    """The types of a serialized FileDescriptorSet; ConfigError when the bytes are not one."""
    if len(data) > MAX_DESCRIPTOR_BYTES:
        raise ConfigError(f"a descriptor set of {len(data)} bytes; the maximum is {MAX_DESCRIPTOR_BYTES}")
    types = ProtoTypes()
    try:
        for file in _messages(_fields(data), 1):
            _take_file(types, _fields(file))
    except (IndexError, TypeError, UnicodeDecodeError) as fault:
        raise ConfigError(f"these bytes are not a descriptor set (protoc --descriptor_set_out): {fault}") from None
    if not types.messages:
        raise ConfigError("these bytes are not a descriptor set (protoc --descriptor_set_out): no message is in them")
    return types


# --- the wire format, as far as descriptors need it ---


def _fields(data: bytes) -> _Fields:
    """The values of a message by field number, numbers as unsigned integers. IndexError where the bytes end early."""
    found: _Fields = {}
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        value: int | bytes
        if tag & 7 == 0:
            value, at = _varint(data, at)
        elif tag & 7 in (1, 5):
            size = 8 if tag & 7 == 1 else 4
            value, at = data[at : at + size], at + size
        elif tag & 7 == 2:
            size, at = _varint(data, at)
            value, at = data[at : at + size], at + size
        else:
            raise TypeError(f"a wire type of {tag & 7}")
        if at > len(data):
            raise IndexError("they end before a field does")
        found.setdefault(tag >> 3, []).append(value)
    return found


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(data):
            raise IndexError("they end within a number")
        value |= (data[at] & 0x7F) << shift
        at += 1
        if data[at - 1] < 0x80:
            return value, at
    raise TypeError("a number of more than ten bytes")


def _messages(fields: _Fields, number: int) -> Iterator[bytes]:
    for value in fields.get(number, ()):
        if not isinstance(value, bytes):
            raise TypeError(f"field {number} is a number")
        yield value


def _text(fields: _Fields, number: int, default: str = "") -> str:
    (*_, last) = (value.decode() for value in [default.encode(), *_messages(fields, number)])
    return last


def _number(fields: _Fields, number: int, default: int = 0) -> int:
    values = fields.get(number, [default])
    if not isinstance(values[-1], int):
        raise TypeError(f"field {number} is not a number")
    return values[-1]


# --- descriptors ---


def _take_file(types: ProtoTypes, file: _Fields) -> None:
    syntax, edition = _text(file, 12, "proto2"), _number(file, 14)
    if syntax == "proto3" or edition == _EDITION_PROTO3:
        features = _PROTO3
    elif syntax == "editions" and edition > _EDITION_PROTO3:
        features = _EDITIONS
    else:
        features = _PROTO2
    features = _with_features(features, file, 8, 50)
    package = _text(file, 2)
    for i, each in enumerate(_messages(file, 4)):
        _take_message(types, _fields(each), package, (i,), features)
    for each in _messages(file, 5):
        _take_enum(types, _fields(each), package, features)


def _with_features(inherited: Mapping[int, int], of: _Fields, options: int, features: int) -> dict[int, int]:
    made = dict(inherited)
    for each in _messages(of, options):
        for given in _messages(_fields(each), features):
            made |= {number: values[-1] for number, values in _fields(given).items() if isinstance(values[-1], int)}
    return made


def _take_message(
    types: ProtoTypes, message: _Fields, scope: str, path: tuple[int, ...], inherited: Mapping[int, int]
) -> None:
    if len(path) > MAX_NESTING:
        raise ConfigError(f"messages are declared within each other more than {MAX_NESTING} deep")
    name = _full_name(types, scope, _text(message, 1))
    features = _with_features(inherited, message, 7, 12)
    is_map_entry = any(_number(_fields(each), 7) for each in _messages(message, 7))
    fields = tuple(_field_of(_fields(each), name, features) for each in _messages(message, 2))
    numbers = [each.number for each in fields]
    if len(set(numbers)) < len(numbers):
        _refuse(name, "a field number appears twice")
    types.messages[name] = ProtoMessage(name, fields, is_map_entry, path)
    for i, each in enumerate(_messages(message, 3)):
        _take_message(types, _fields(each), name, (*path, i), features)
    for each in _messages(message, 4):
        _take_enum(types, _fields(each), name, features)


def _field_of(declared: _Fields, scope: str, inherited: Mapping[int, int]) -> ProtoField:
    name, number = _checked_name(_text(declared, 1)), _number(declared, 3)
    label, kind = _number(declared, 4, 1), _KINDS.get(_number(declared, 5), "")
    features = _with_features(inherited, declared, 8, 21)
    if not name or "\0" in name or not 0 < number <= MAX_FIELD_NUMBER or not kind:
        _refuse(scope, f"a field without a name, a number or a type: {name!a} = {number}")
    in_oneof = 9 in declared
    is_optional = _number(declared, 17) == 1
    if kind == "message" and features.get(_ENCODING) == _DELIMITED:
        kind = "group"
    presence = features.get(_PRESENCE)
    return ProtoField(
        name,
        number,
        kind,
        _text(declared, 6).removeprefix("."),
        is_repeated=label == _REPEATED,
        is_required=label == _REQUIRED or (presence == _LEGACY_REQUIRED and label != _REPEATED),
        has_presence=in_oneof or is_optional or presence != _IMPLICIT or kind in ("message", "group"),
        default=_text(declared, 7) if 7 in declared else None,
        oneof=_number(declared, 9) if in_oneof and not is_optional else -1,
        is_checked=features.get(_UTF8) != _NOT_CHECKED,
    )


def _take_enum(types: ProtoTypes, declared: _Fields, scope: str, inherited: Mapping[int, int]) -> None:
    name = _full_name(types, scope, _text(declared, 1))
    features = _with_features(inherited, declared, 3, 7)
    symbols = [_fields(each) for each in _messages(declared, 2)]
    pairs = tuple((_text(symbol, 1), _signed(_number(symbol, 2))) for symbol in symbols)
    if not pairs:
        _refuse(name, "an enum without values")
    types.enums[name] = ProtoEnum(name, pairs, features.get(_ENUM_TYPE) == _CLOSED)


def _signed(value: int) -> int:
    """An int32, which is written in ten bytes when it is negative."""
    low = value & 0xFFFFFFFF
    return low - (1 << 32) if low >= 1 << 31 else low


def _full_name(types: ProtoTypes, scope: str, name: str) -> str:
    if not name:
        raise TypeError("a type without a name")
    if len(types.messages) + len(types.enums) >= MAX_TYPES:
        raise ConfigError(f"a descriptor set of more than {MAX_TYPES} messages and enums")
    return _checked_name(f"{scope}.{name}" if scope else name)


def _checked_name(name: str) -> str:
    if len(name) > MAX_NAME_CHARACTERS:
        _refuse(f"{name[:_SHOWN]}...", f"a name of {len(name)} characters; the maximum is {MAX_NAME_CHARACTERS}")
    return name


def _refuse(name: str, text: str) -> NoReturn:
    raise ConfigError(f"descriptor set: {name}: {text}")
