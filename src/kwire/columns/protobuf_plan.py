"""What to do with a Protobuf message: its fields as columns, and the tables by which the codec fills them.

Types and absent fields are those of Spark's from_protobuf. Enums are strings; google.protobuf.Timestamp is a timestamp,
Duration an interval; uint32 is int and uint64 bigint, as their bits are. A field that is not there is null, or its
default in a proto2 file that gives one; a repeated one is an empty list. So is a zero of a field that has no presence:
it cannot be told from none. Messages without fields have no column.
"""

from __future__ import annotations

import struct
from collections.abc import Container, Mapping
from dataclasses import dataclass
from typing import Final, TypeVar

from kwire._values import ColumnLayout, ProtobufPlan
from kwire.columns.layout import MAX_DEPTH, ROOT, Layout, RecursiveTypeError, Symbols, place_in
from kwire.columns.protobuf_schema import ProtoEnum, ProtoField, ProtoMessage, ProtoTypes
from kwire.errors import ConfigError

T = TypeVar("T")

_FieldRow = tuple[int, str, int, int, int, int, "bytes | int | None", list[tuple[int, str]], str, str]

MAX_DEFAULT_BYTES: Final = 1 << 20
REPEATED: Final = 1
REQUIRED: Final = 2
KEEPS_ZERO: Final = 4
HAS_DEFAULT: Final = 8
OPEN_ENUM: Final = 16
STRICT_TEXT: Final = 32

_SCALARS: Final = {
    "double": ("fixed64", "g"),
    "float": ("fixed32", "f"),
    "int64": ("int64", "l"),
    "uint64": ("int64", "l"),
    "int32": ("int32", "i"),
    "fixed64": ("fixed64", "l"),
    "fixed32": ("fixed32", "i"),
    "bool": ("bool", "b"),
    "string": ("text", "u"),
    "bytes": ("bytes", "z"),
    "uint32": ("int32", "i"),
    "enum": ("enum", "u"),
    "sfixed32": ("fixed32", "i"),
    "sfixed64": ("fixed64", "l"),
    "sint32": ("sint32", "i"),
    "sint64": ("sint64", "l"),
}
_SHOWN: Final = 100
_NESTED: Final = ("message", "group")
_UPCAST: Final = {"uint32": ("uint32", "l"), "uint64": ("int64", "d:20,0")}
_TIMES: Final = {"Timestamp": "tsu:UTC", "Duration": "tDu"}
_WRAPPERS: Final = frozenset(
    f"google.protobuf.{kind}Value"
    for kind in ("Bool", "Int32", "UInt32", "Int64", "UInt64", "String", "Bytes", "Float", "Double")
)
_ESCAPES: Final = {"n": 10, "r": 13, "t": 9, "a": 7, "b": 8, "f": 12, "v": 11}


@dataclass(frozen=True)
class ProtobufOptions:
    """The options of from_protobuf: emit.default.values, enums.as.ints, upcast.unsigned.ints,
    unwrap.primitive.wrapper.types."""

    emit_defaults: bool = False
    enums_as_ints: bool = False
    upcast_unsigned: bool = False
    unwrap_wrappers: bool = False


@dataclass(frozen=True)
class _Value:
    """How one value of a field is read, and its column."""

    op: str
    node: int
    message: int = 0
    flags: int = 0
    symbols: tuple[tuple[int, str], ...] = ()
    unknown: str = ""


class ProtobufReader:
    """The columns of a message, and the plan that fills them.

    `wanted` are the names of the columns that are built, all by default. With `framed`, a schema's id and the message's
    place in its file stand before each message. ConfigError for a message without a place in columns.
    """

    def __init__(
        self,
        types: ProtoTypes,
        name: str,
        options: ProtobufOptions = ProtobufOptions(),
        wanted: Container[str] | None = None,
        framed: bool = False,
    ) -> None:
        message = types.message(name)
        planner = _Planner(types, options)
        planner.add_message(message, ROOT, "", (), wanted)
        self.fields = planner.layout.fields()
        if wanted is None and not self.fields:
            raise ConfigError(f"message {name} has no fields that could be columns")
        self.layout: ColumnLayout = planner.layout.compiled()
        self.plan = ProtobufPlan(self.layout, planner.messages, message.path if framed else None)


class _Planner:
    def __init__(self, types: ProtoTypes, options: ProtobufOptions) -> None:
        self.layout = Layout()
        self.messages: list[tuple[int, list[_FieldRow]]] = []
        self._types = types
        self._options = options
        self._shown: dict[str, bool] = {}
        self._symbols = Symbols()
        self._names: dict[str, tuple[tuple[int, str], ...]] = {}
        self._default_bytes = 0

    def add_message(
        self,
        message: ProtoMessage,
        node: int,
        place: str,
        open_: tuple[str, ...],
        wanted: Container[str] | None = None,
    ) -> int:
        """The place in the plan of a message whose fields are columns below `node`; `open_`: those that it lies in."""
        number = len(self.messages)
        self.messages.append((node, []))
        rows = self.messages[number][1]
        for each in message.fields:
            here = place_in(place, each.name)
            inside = (*open_, message.name)
            if wanted is not None and each.name not in wanted:
                continue
            if each.kind not in _NESTED or self._is_shown(self._message_of(each, here), here, inside):
                rows.append(self._add_field(each, node, here, inside, message.is_map_entry))
        rows.sort()
        return number

    def _is_shown(self, message: ProtoMessage, place: str, open_: tuple[str, ...]) -> bool:
        """Whether a message has columns: one without fields, or with such messages only, has none."""
        if message.name in open_:
            raise RecursiveTypeError(f"{place}: message {message.name} contains itself, which no column can")
        if len(open_) > MAX_DEPTH:
            raise ConfigError(f"{place[:200]}: messages are nested more than {MAX_DEPTH} deep")
        if message.name not in self._shown:
            shown = [
                each.kind not in _NESTED
                or self._is_shown(self._message_of(each, place), place_in(place, each.name), (*open_, message.name))
                for each in message.fields
            ]
            self._shown[message.name] = all(shown) if message.is_map_entry else any(shown)
        return self._shown[message.name]

    def _message_of(self, each: ProtoField, place: str) -> ProtoMessage:
        return _described("message", self._types.messages, each, place)

    def _enum_of(self, each: ProtoField, place: str) -> ProtoEnum:
        return _described("enum", self._types.enums, each, place)

    def _add_field(
        self, each: ProtoField, parent: int, place: str, open_: tuple[str, ...], is_entry: bool
    ) -> _FieldRow:
        node, name = parent, each.name
        if each.is_repeated:
            is_map = each.kind == "message" and self._message_of(each, place).is_map_entry
            node = self.layout.add(parent, each.name, "+m" if is_map else "+l")
            name = "entries" if is_map else "element"
        value = self._add_value(each, node, name, place, open_)
        flags = value.flags | (REPEATED if each.is_repeated else 0) | (REQUIRED if each.is_required else 0)
        emits = is_entry or (self._options.emit_defaults and not each.has_presence)
        if each.is_repeated or each.has_presence or emits:
            flags |= KEEPS_ZERO
        default: bytes | int | None = None
        if not each.is_repeated and (each.default is not None or emits):
            flags |= HAS_DEFAULT
            default = self._default(each, place)
        column = node if each.is_repeated else value.node
        return (
            each.number, value.op, flags, column, value.message, each.oneof, default, list(value.symbols),
            value.unknown, place,
        )  # fmt: skip

    def _add_value(self, each: ProtoField, parent: int, name: str, place: str, open_: tuple[str, ...]) -> _Value:
        if each.kind in _NESTED:
            return self._add_nested(each, parent, name, place, open_)
        op, form = _SCALARS[each.kind]
        if self._options.upcast_unsigned:
            op, form = _UPCAST.get(each.kind, (op, form))
        if each.kind == "enum" and self._options.enums_as_ints:
            op, form = _SCALARS["int32"]
        node = self.layout.add(parent, name, form)
        if op == "enum":
            enum = self._enum_of(each, place)
            self._symbols.take(len(enum.symbols), place)
            unknown = f"UNKNOWN_ENUM_VALUE_{enum.name.rpartition('.')[2]}_"
            flags = 0 if enum.is_closed else OPEN_ENUM
            return _Value(op, node, 0, flags, self._names_of(enum), unknown)
        return _Value(op, node, flags=STRICT_TEXT if op == "text" and each.is_checked else 0)

    def _add_nested(self, each: ProtoField, parent: int, name: str, place: str, open_: tuple[str, ...]) -> _Value:
        message = self._message_of(each, place)
        form = _time_format(message)
        if form:
            return _Value("time", self.layout.add(parent, name, form))
        if self._options.unwrap_wrappers and message.name in _WRAPPERS and len(message.fields) == 1:
            (inner,) = message.fields
            value = self._add_value(inner, parent, name, place, open_)
            flags = value.flags | KEEPS_ZERO | HAS_DEFAULT
            default = self._default(inner, place)
            number = len(self.messages)
            row = (inner.number, value.op, flags, value.node, 0, -1, default, list(value.symbols), "", place)
            self.messages.append((-1, [row]))
            return _Value(each.kind, value.node, number)
        node = self.layout.add(parent, name, "+s")
        return _Value(each.kind, node, self.add_message(message, node, place, open_))

    def _names_of(self, enum: ProtoEnum) -> tuple[tuple[int, str], ...]:
        """The first name of each number, in the order of the numbers."""
        found = self._names.get(enum.name)
        if found is None:
            names = {number: symbol for symbol, number in reversed(enum.symbols)}
            found = self._names[enum.name] = tuple(sorted(names.items()))
        return found

    def _default(self, each: ProtoField, place: str) -> bytes | int | None:
        """The declared default, or else zero; of a number its bits."""
        default = self._parsed_default(each, place)
        if isinstance(default, bytes):
            self._default_bytes += len(default)
            if self._default_bytes > MAX_DEFAULT_BYTES:
                raise ConfigError(f"{place}: the defaults of all columns take more than {MAX_DEFAULT_BYTES} bytes")
        return default

    def _parsed_default(self, each: ProtoField, place: str) -> bytes | int | None:
        text = each.default
        try:
            if each.kind == "enum":
                symbols = self._enum_of(each, place).symbols
                return dict(symbols)[text] if text is not None else symbols[0][1]
            if each.kind == "string":
                return (text or "").encode()
            if each.kind == "bytes":
                return _unescaped(text or "")
            if each.kind == "bool":
                return int(text == "true")
            if each.kind in ("float", "double"):
                return int.from_bytes(struct.pack("<f" if each.kind == "float" else "<d", float(text or 0)), "little")
            return None if each.kind in _NESTED else int(text or "0", 0)
        except (ValueError, KeyError, OverflowError, IndexError):
            raise ConfigError(f"{place}: {each.kind} cannot have the default {(text or '')[:_SHOWN]!a}") from None


def _time_format(message: ProtoMessage) -> str:
    """The column's format if the message is Google's Timestamp or Duration."""
    fields = [(each.name, each.number, each.kind, each.is_repeated) for each in message.fields]
    if fields != [("seconds", 1, "int64", False), ("nanos", 2, "int32", False)]:
        return ""
    return _TIMES.get(message.name.rpartition(".")[2], "")


def _unescaped(text: str) -> bytes:
    """The bytes of a default, which descriptors write with C's escapes."""
    out = bytearray()
    at = 0
    while at < len(text):
        if text[at] != "\\":
            out += text[at].encode()
            at += 1
        elif text[at + 1] in "01234567":
            digits = next(n for n in (4, 3, 2) if all(digit in "01234567" for digit in text[at + 1 : at + n]))
            out.append(int(text[at + 1 : at + digits], 8) & 0xFF)
            at += min(digits, len(text) - at)
        elif text[at + 1] in "xX":
            out.append(int(text[at + 2 : at + 4], 16))
            at += 4
        else:
            out.append(_ESCAPES.get(text[at + 1], ord(text[at + 1])))
            at += 2
    return bytes(out)


def _described(kind: str, types: Mapping[str, T], each: ProtoField, place: str) -> T:
    found = types.get(each.type_name)
    if found is None:
        raise ConfigError(
            f"{place}: the descriptor set has no {kind} {each.type_name} (protoc --include_imports adds what files "
            "import)"
        )
    return found
