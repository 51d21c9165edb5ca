"""A slow reading of Avro's binary encoding and of its schema resolution, from the specification alone.

A value comes out as Spark has it: a union with null is its other branch, int with long and float with double are one
number, any other union is a dict of all branches of which one is set.
"""

from __future__ import annotations

import datetime
import decimal
import struct
from typing import Any

from tests.reference.primitives import read_uvarint, unzigzag

PRIMITIVES = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")
PROMOTIONS = {
    "int": ("long", "float", "double"),
    "long": ("float", "double"),
    "float": ("double",),
    "string": ("bytes",),
    "bytes": ("string",),
}
MAX_EMPTY_ITEMS = 1 << 14
EPOCH = datetime.datetime(1970, 1, 1)


class UnreadableError(Exception):
    """Bytes that are no value, or one that the reader has no place for."""


def read(writer: Any, reader: Any, data: bytes) -> Any:
    """The value of the bytes, all of them, by schemas as Python has them after JSON."""
    source = _Source(data)
    value = _read(source, _Schema(writer), _Schema(reader))
    if source.at != len(data):
        raise UnreadableError("bytes left")
    return value


class _Source:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0
        self.empty_items = 0

    def count_item(self, begin: int) -> None:
        """Ends the reading of items without bytes, of which a number may claim any number."""
        self.empty_items += self.at == begin
        if self.empty_items > MAX_EMPTY_ITEMS:
            raise UnreadableError("very many items that take no bytes")

    def take(self, size: int) -> bytes:
        if size < 0 or size > len(self.data) - self.at:
            raise UnreadableError("too few bytes")
        self.at += size
        return self.data[self.at - size : self.at]

    def integer(self, max_bytes: int, bits: int) -> int:
        try:
            value, end = read_uvarint(self.data, self.at)
        except IndexError:
            raise UnreadableError("too few bytes") from None
        if end - self.at > max_bytes or value >= 1 << bits:
            raise UnreadableError("too many bytes or bits")
        self.at = end
        return unzigzag(value)

    def int(self) -> int:
        return self.integer(5, 32)

    def long(self) -> int:
        return self.integer(10, 64)


class _Schema:
    """A part of a schema, with the types that were named before it."""

    def __init__(self, declared: Any, named: dict[str, Any] | None = None) -> None:
        self.named = {} if named is None else named
        if isinstance(declared, str) and declared not in PRIMITIVES:
            declared = self.named[declared]
        self.declared = declared
        if isinstance(declared, dict) and "name" in declared:
            self.named[declared["name"]] = declared

    @property
    def kind(self) -> str:
        if isinstance(self.declared, list):
            return "union"
        return self.declared if isinstance(self.declared, str) else self.declared["type"]

    def get(self, key: str, default: Any = None) -> Any:
        return self.declared.get(key, default) if isinstance(self.declared, dict) else default

    def below(self, declared: Any) -> _Schema:
        return _Schema(declared, self.named)

    @property
    def branches(self) -> list[_Schema]:
        return [self.below(branch) for branch in self.declared]


def _read(source: _Source, writer: _Schema, reader: _Schema) -> Any:
    if writer.kind == "union":
        branch = source.long()
        if not 0 <= branch < len(writer.declared):
            raise UnreadableError("no such branch")
        return _read(source, writer.branches[branch], reader)
    if reader.kind == "union":
        branches = reader.branches
        same = [b for b in branches if b.kind == writer.kind and b.get("name") == writer.get("name")]
        promoted = [b for b in branches if b.kind in PROMOTIONS.get(writer.kind, ())]
        for branch in (*same, *promoted):
            of = _Schema(branch.kind) if _is_one_number(reader) else branch
            return _as_branch(reader, branch, _read(source, writer, of))
        raise UnreadableError("no branch for it")
    if writer.kind == reader.kind == "record":
        return _read_record(source, writer, reader)
    if writer.kind == reader.kind == "array":
        return [item for _, item in _items(source, writer, reader, "items")]
    if writer.kind == reader.kind == "map":
        return list(_items(source, writer, reader, "values"))
    if reader.kind != writer.kind and reader.kind not in PROMOTIONS.get(writer.kind, ()):
        raise UnreadableError("another type")
    return _convert(_leaf(source, writer), writer, reader)


def _is_one_number(union: _Schema) -> bool:
    """Whether its branches are of one type of number, which has no logical type then."""
    kinds = sorted(branch.kind for branch in union.branches if branch.kind != "null")
    return kinds in (["int", "long"], ["double", "float"])


def _as_branch(union: _Schema, branch: _Schema, value: Any) -> Any:
    others = [b for b in union.branches if b.kind != "null"]
    if branch.kind == "null":
        return None
    if len(others) == 1 or _is_one_number(union):
        return value
    place = [b.declared for b in others].index(branch.declared)
    return {f"member{i}": value if i == place else None for i in range(len(others))}


def _read_record(source: _Source, writer: _Schema, reader: _Schema) -> dict[str, Any]:
    theirs = {field["name"] for field in writer.get("fields")}
    ours: dict[str, Any] = {}
    for field in reader.get("fields"):
        names = [field["name"], *field.get("aliases", [])]
        ours.setdefault(next((name for name in names if name in theirs), field["name"]), field)
    found = {}
    for field in writer.get("fields"):
        written = writer.below(field["type"])
        if field["name"] in ours:
            target = ours[field["name"]]
            found[target["name"]] = _read(source, written, reader.below(target["type"]))
        else:
            _read(source, written, written)
    result = {}
    for field in reader.get("fields"):
        name = field["name"]
        result[name] = found[name] if name in found else _default(reader.below(field["type"]), field["default"])
    return result


def _items(source: _Source, writer: _Schema, reader: _Schema, key: str) -> Any:
    written, wanted = writer.below(writer.get(key)), reader.below(reader.get(key))
    while count := source.long():
        end = None
        if count < 0:
            count = -count
            size = source.long()
            end = source.at + size
            if size < 0 or end > len(source.data):
                raise UnreadableError("too few bytes")
        for _ in range(count):
            begin = source.at
            name = _text(source.take(source.long())) if key == "values" else None
            yield name, _read(source, written, wanted)
            source.count_item(begin)
        if end not in (None, source.at):
            raise UnreadableError("a block of another size")


def _leaf(source: _Source, writer: _Schema) -> Any:
    kind = writer.kind
    if kind == "null":
        return None
    if kind == "boolean":
        byte = source.take(1)[0]
        if byte > 1:
            raise UnreadableError("not a boolean")
        return byte == 1
    if kind in ("int", "long"):
        return source.int() if kind == "int" else source.long()
    if kind in ("float", "double"):
        return struct.unpack("<f" if kind == "float" else "<d", source.take(4 if kind == "float" else 8))[0]
    if kind == "fixed":
        return source.take(writer.get("size"))
    if kind == "enum":
        symbol = source.int()
        if not 0 <= symbol < len(writer.get("symbols")):
            raise UnreadableError("no such symbol")
        return writer.get("symbols")[symbol]
    return source.take(source.long())


def _convert(value: Any, writer: _Schema, reader: _Schema) -> Any:
    kind, logical = reader.kind, reader.get("logicalType")
    if kind == "enum":
        value = value if value in reader.get("symbols") else reader.get("default")
        if value is None:
            raise UnreadableError("the reader has no such symbol")
        return value
    if kind == "float":
        return struct.unpack("<f", struct.pack("<f", value))[0]
    if kind == "double":
        return float(value)
    if kind == "string":
        return _text(value)
    if logical == "date":
        return EPOCH.date() + datetime.timedelta(days=value)
    if logical == "decimal":
        return _decimal(value, reader.get("precision"), reader.get("scale", 0))
    if logical and "timestamp" in logical and "nanos" not in logical:
        micros = value * 1000 if "millis" in logical else value
        moment = EPOCH + datetime.timedelta(microseconds=micros)
        return moment if logical.startswith("local") else moment.replace(tzinfo=datetime.UTC)
    return value


def _decimal(raw: bytes, precision: int, scale: int) -> decimal.Decimal:
    unscaled = int.from_bytes(raw, "big", signed=True)
    if not raw or len(str(abs(unscaled))) > precision:
        raise UnreadableError("too many digits")
    digits = tuple(map(int, str(abs(unscaled))))
    return decimal.Decimal((int(unscaled < 0), digits, -scale))


def _text(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        raise UnreadableError("not UTF-8") from None


def _default(reader: _Schema, value: Any) -> Any:
    """The JSON of a default as a value of the reader's type; that of a union is one of its first fitting branch."""
    kind = reader.kind
    if kind == "union":
        for branch in reader.branches:
            if _can_be(branch.kind, value):
                return _as_branch(reader, branch, _default(branch, value))
    if kind == "record":
        fields = reader.get("fields")
        return {f["name"]: _default(reader.below(f["type"]), value.get(f["name"], f.get("default"))) for f in fields}
    if kind == "array":
        return [_default(reader.below(reader.get("items")), item) for item in value]
    if kind == "map":
        return [(key, _default(reader.below(reader.get("values")), item)) for key, item in value.items()]
    if kind in ("bytes", "fixed"):
        value = value.encode("latin-1")
    elif kind == "string":
        value = value.encode()
    return _convert(value, reader, reader)


def _can_be(kind: str, value: Any) -> bool:
    kinds = {
        "null": type(None), "boolean": bool, "int": int, "long": int, "float": (int, float), "double": (int, float),
        "array": list, "map": dict, "record": dict,
    }  # fmt: skip
    return isinstance(value, kinds.get(kind, str)) and not (isinstance(value, bool) and kind != "boolean")
