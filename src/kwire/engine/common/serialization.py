"""Serializers and deserializers: the callables by which keys and values become bytes and back, those that have names,
and what they are given. Layer 3, no I/O.

A serializer is called with (value, context) and returns bytes or None, a deserializer with (bytes or None, context).
One that takes a single argument is called with that alone, as other clients do. None is None in all that have names.

    string   UTF-8                       int32, int64   big-endian, 4 and 8 bytes      uuid   its text
    json     without white space         float64        big-endian, 8 bytes            bytes  as they are

Java's classes for these write the same.
"""

from __future__ import annotations

from collections.abc import Callable

from kwire._typing import Any, override

Headers = list[tuple[str, bytes | None]]
Serializer = Callable[..., Any]
"""Called with (value, context)."""


class SerializationContext:
    """Where a value belongs: `topic`; `field`, "key" or "value"; `headers` of the record, which a serializer may add
    to. The serializers of confluent-kafka take it for theirs."""

    __slots__ = ("field", "headers", "topic")

    def __init__(self, topic: str, field: str = "value", headers: Headers | None = None) -> None:
        self.topic = topic
        self.field = field
        self.headers: Any = headers

    @override
    def __repr__(self) -> str:
        return f"SerializationContext({self.topic!r}, {self.field!r})"


def serializer_of(name: str) -> Serializer | None:
    """The serializer of that name, or of Java's class of that name; None for one of bytes. KeyError for another."""
    return _SERIALIZERS[_JAVAS.get(name.rpartition(".")[2].removesuffix("Serializer"), name)]


def deserializer_of(name: str) -> Serializer | None:
    """The same for what reads."""
    return _DESERIALIZERS[_JAVAS.get(name.rpartition(".")[2].removesuffix("Deserializer"), name)]


def with_context(function: Callable[..., Any]) -> Serializer:
    """The callable, to be called with a context though it may take none."""
    if _takes_context(function):
        return function
    return OfOneArgument(function)


class OfOneArgument:
    """A serializer of the program's that takes the value alone."""

    __slots__ = ("_function",)

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self._function = function

    def __call__(self, value: Any, context: object) -> Any:
        return self._function(value)

    @override
    def __eq__(self, other: object) -> bool:
        return isinstance(other, OfOneArgument) and self._function == other._function

    @override
    def __hash__(self) -> int:
        return hash(self._function)

    @override
    def __repr__(self) -> str:
        return repr(self._function)


def _takes_context(function: Callable[..., Any]) -> bool:
    """Whether it is one of two arguments: the second must be given, or its name says what it is."""
    from inspect import Parameter, signature

    try:
        parameters = list(signature(function).parameters.values())
    except (TypeError, ValueError):
        return False
    if any(each.kind is Parameter.VAR_POSITIONAL for each in parameters):
        return True
    places = [each for each in parameters if each.kind in (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)]
    return len(places) > 1 and (places[1].default is Parameter.empty or places[1].name in ("ctx", "context"))


# --- those that have names ---


def write_string(value: Any, context: object = None) -> bytes | None:
    return None if value is None else value if isinstance(value, bytes) else _as(str, value).encode()


def read_string(raw: bytes | None, context: object = None) -> str | None:
    return None if raw is None else raw.decode()


def write_json(value: Any, context: object = None) -> bytes | None:
    if value is None:
        return None
    from json import dumps

    return dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def read_json(raw: bytes | None, context: object = None) -> Any:
    if raw is None:
        return None
    from json import loads

    return loads(raw)


def write_int32(value: Any, context: object = None) -> bytes | None:
    return None if value is None else _as(int, value).to_bytes(4, "big", signed=True)


def read_int32(raw: bytes | None, context: object = None) -> int | None:
    return None if raw is None else int.from_bytes(_of_size(4, raw), "big", signed=True)


def write_int64(value: Any, context: object = None) -> bytes | None:
    return None if value is None else _as(int, value).to_bytes(8, "big", signed=True)


def read_int64(raw: bytes | None, context: object = None) -> int | None:
    return None if raw is None else int.from_bytes(_of_size(8, raw), "big", signed=True)


def write_float64(value: Any, context: object = None) -> bytes | None:
    if value is None:
        return None
    from struct import pack

    return pack(">d", value)


def read_float64(raw: bytes | None, context: object = None) -> float | None:
    if raw is None:
        return None
    from struct import unpack

    found: float = unpack(">d", _of_size(8, raw))[0]
    return found


def write_uuid(value: Any, context: object = None) -> bytes | None:
    if value is None:
        return None
    from uuid import UUID

    return str(_as(UUID, value)).encode()


def read_uuid(raw: bytes | None, context: object = None) -> Any:
    if raw is None:
        return None
    from uuid import UUID

    return UUID(raw.decode())


def _as(kind: type, value: Any) -> Any:
    if not isinstance(value, kind):
        raise TypeError(f"expected {kind.__name__}, got {type(value).__name__}")
    return value


def _of_size(size: int, raw: bytes) -> bytes:
    if len(raw) != size:
        raise ValueError(f"expected {size} bytes, got {len(raw)}")
    return raw


_SERIALIZERS: dict[str, Serializer | None] = {
    "string": write_string,
    "json": write_json,
    "int32": write_int32,
    "int64": write_int64,
    "float64": write_float64,
    "uuid": write_uuid,
    "bytes": None,
}
_DESERIALIZERS: dict[str, Serializer | None] = {
    "string": read_string,
    "json": read_json,
    "int32": read_int32,
    "int64": read_int64,
    "float64": read_float64,
    "uuid": read_uuid,
    "bytes": None,
}
_JAVAS = {
    "String": "string",
    "Integer": "int32",
    "Long": "int64",
    "Double": "float64",
    "UUID": "uuid",
    "ByteArray": "bytes",
    "ByteBuffer": "bytes",
    "Bytes": "bytes",
}

NAMES = tuple(_SERIALIZERS)
