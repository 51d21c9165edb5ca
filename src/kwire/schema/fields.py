"""The words in which a message is written down: one specifier per wire type.

    name: str | None = string("0+", default=None, nullable="3+", ignorable=True)

`versions` and `nullable` are ranges of message versions: "0+", "3-5", "7" or "none". `default` is what the field has in
a version that lacks it. `tag` makes it a tagged field (flexible versions only). `ignorable` lets encoding drop a value
that the version cannot carry, where it would otherwise raise. `secret` keeps the value out of every repr.

A specifier returns a `Field`, but is declared to return the type of the value, so that type checkers see what a reader
sees: `field: type = specifier(...)`. `older: type = renamed("field")` keeps a field's older name usable. No wire bytes
here: `_pxi/codec/plans.pxi` has them.
"""

from __future__ import annotations

from collections.abc import Sequence

from kwire._codec import no_uuid
from kwire._typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast, overload

if TYPE_CHECKING:
    from uuid import UUID

    NO_UUID: UUID

__all__ = [
    "NEWEST",
    "NO_UUID",
    "Field",
    "Renamed",
    "Versions",
    "array",
    "bool_",
    "bytes_",
    "f64",
    "i8",
    "i8s",
    "i16",
    "i16s",
    "i32",
    "i32s",
    "i64",
    "i64s",
    "nullable_struct",
    "record_data",
    "renamed",
    "rest",
    "short",
    "string",
    "strings",
    "struct",
    "u16",
    "u32",
    "uuid",
    "uuids",
]

NEWEST = 0x7FFF

T = TypeVar("T")
# What a records field takes: one bytes-like object, or several that are written one after the other.
BytesLike = Any


class Versions(NamedTuple):
    """An inclusive range of versions, with the text it came from; `first > last` when it is empty."""

    first: int
    last: int
    text: str

    @classmethod
    def parse(cls, text: str) -> Versions:
        """From "0+", "3-5", "7", or "none" (also "")."""
        known = _parsed.get(text)
        if known is None:
            known = _parsed[text] = cls(*_bounds(text), text or "none")
        return known

    def has(self, version: int) -> bool:
        return self.first <= version <= self.last


_parsed: dict[str, Versions] = {}


def _bounds(text: str) -> tuple[int, int]:
    if text in ("", "none"):
        return 0, -1
    if text.endswith("+"):
        return int(text[:-1]), NEWEST
    first, _, last = text.partition("-")
    return int(first), int(last or first)


class Field(NamedTuple):
    """One field of a message. `kind` and `element` are the names that the plan interpreter knows wire types by."""

    kind: str
    versions: Versions
    default: Any
    nullable: Versions = Versions(0, -1, "none")
    tag: int | None = None
    ignorable: bool = False
    secret: bool = False
    element: str | None = None
    struct: type[Any] | None = None
    compact: bool = True
    short: bool = False
    name: str = ""

    def named(self, name: str) -> Field:
        return tuple.__new__(Field, (*self[:-1], name))

    @property
    def lazy_default(self) -> type[Any] | None:
        """The struct class of which the default is a fresh instance."""
        return self.struct if self.kind == "struct" and self.default is not None else None


class Renamed(NamedTuple):
    """A name that a field had before."""

    now: str


def _field(
    kind: str,
    versions: str,
    default: Any,
    nullable: str,
    tag: int | None,
    ignorable: bool,
    secret: bool,
    element: str | None = None,
    struct: type[Any] | None = None,
    compact: bool = True,
    short: bool = False,
) -> Any:
    """A Field, without its constructor's checks: a message has up to fifty, and all are made when it is first used."""
    parse = Versions.parse
    return tuple.__new__(
        Field,
        (kind, parse(versions), default, parse(nullable), tag, ignorable, secret, element, struct, compact, short, ""),
    )


def bool_(
    versions: str,
    *,
    default: bool,
    nullable: str = "",
    tag: int | None = None,
    ignorable: bool = False,
    secret: bool = False,
) -> bool:
    return cast(bool, _field("bool", versions, default, nullable, tag, ignorable, secret))


def i8(
    versions: str,
    *,
    default: int,
    nullable: str = "",
    tag: int | None = None,
    ignorable: bool = False,
    secret: bool = False,
) -> int:
    return cast(int, _field("int8", versions, default, nullable, tag, ignorable, secret))


def i16(
    versions: str,
    *,
    default: int,
    nullable: str = "",
    tag: int | None = None,
    ignorable: bool = False,
    secret: bool = False,
) -> int:
    return cast(int, _field("int16", versions, default, nullable, tag, ignorable, secret))


def i32(
    versions: str,
    *,
    default: int,
    nullable: str = "",
    tag: int | None = None,
    ignorable: bool = False,
    secret: bool = False,
) -> int:
    return cast(int, _field("int32", versions, default, nullable, tag, ignorable, secret))


def i64(
    versions: str,
    *,
    default: int,
    nullable: str = "",
    tag: int | None = None,
    ignorable: bool = False,
    secret: bool = False,
) -> int:
    return cast(int, _field("int64", versions, default, nullable, tag, ignorable, secret))


def u16(
    versions: str,
    *,
    default: int,
    nullable: str = "",
    tag: int | None = None,
    ignorable: bool = False,
    secret: bool = False,
) -> int:
    return cast(int, _field("uint16", versions, default, nullable, tag, ignorable, secret))


def u32(
    versions: str,
    *,
    default: int,
    nullable: str = "",
    tag: int | None = None,
    ignorable: bool = False,
    secret: bool = False,
) -> int:
    return cast(int, _field("uint32", versions, default, nullable, tag, ignorable, secret))


def f64(
    versions: str,
    *,
    default: float,
    nullable: str = "",
    tag: int | None = None,
    ignorable: bool = False,
    secret: bool = False,
) -> float:
    return cast(float, _field("float64", versions, default, nullable, tag, ignorable, secret))


def uuid(
    versions: str,
    *,
    default: UUID,
    nullable: str = "",
    tag: int | None = None,
    ignorable: bool = False,
    secret: bool = False,
) -> UUID:
    return cast("UUID", _field("uuid", versions, default, nullable, tag, ignorable, secret))


@overload
def string(
    versions: str,
    *,
    default: str,
    tag: int | None = None,
    ignorable: bool = False,
    secret: bool = False,
    compact: bool = True,
) -> str: ...
@overload
def string(
    versions: str,
    *,
    default: str | None,
    nullable: str,
    tag: int | None = None,
    ignorable: bool = False,
    secret: bool = False,
    compact: bool = True,
) -> str | None: ...
def string(
    versions: str,
    *,
    default: str | None,
    nullable: str = "",
    tag: int | None = None,
    ignorable: bool = False,
    secret: bool = False,
    compact: bool = True,
) -> str | None:
    """`compact=False`: keeps its int16 length in flexible versions, too (the client id of the request header)."""
    return cast(str, _field("string", versions, default, nullable, tag, ignorable, secret, compact=compact))


@overload
def bytes_(
    versions: str, *, default: bytes, tag: int | None = None, ignorable: bool = False, secret: bool = False
) -> bytes: ...
@overload
def bytes_(
    versions: str,
    *,
    default: bytes | None,
    nullable: str,
    tag: int | None = None,
    ignorable: bool = False,
    secret: bool = False,
) -> bytes | None: ...
def bytes_(
    versions: str,
    *,
    default: bytes | None,
    nullable: str = "",
    tag: int | None = None,
    ignorable: bool = False,
    secret: bool = False,
) -> bytes | None:
    return cast(bytes, _field("bytes", versions, default, nullable, tag, ignorable, secret))


def record_data(
    versions: str,
    *,
    default: BytesLike | None,
    nullable: str = "",
    tag: int | None = None,
    ignorable: bool = False,
    secret: bool = False,
) -> BytesLike | None:
    """Record batches or message sets, taken and handed out as they are: a `Buffer` over the bytes that were decoded."""
    return _field("records", versions, default, nullable, tag, ignorable, secret)


def rest(versions: str, *, default: BytesLike) -> BytesLike:
    """As `record_data`, but without a length: all bytes up to the end of the message. Its last field, if any."""
    return _field("rest", versions, default, "", None, False, False)


def i8s(
    versions: str, *, default: Sequence[int], tag: int | None = None, ignorable: bool = False, secret: bool = False
) -> Sequence[int]:
    return cast("Sequence[int]", _field("array", versions, default, "", tag, ignorable, secret, "int8"))


def i16s(
    versions: str, *, default: Sequence[int], tag: int | None = None, ignorable: bool = False, secret: bool = False
) -> Sequence[int]:
    return cast("Sequence[int]", _field("array", versions, default, "", tag, ignorable, secret, "int16"))


@overload
def i32s(
    versions: str, *, default: Sequence[int], tag: int | None = None, ignorable: bool = False, secret: bool = False
) -> Sequence[int]: ...
@overload
def i32s(
    versions: str,
    *,
    default: Sequence[int] | None,
    nullable: str,
    tag: int | None = None,
    ignorable: bool = False,
    secret: bool = False,
) -> Sequence[int] | None: ...
def i32s(
    versions: str,
    *,
    default: Sequence[int] | None,
    nullable: str = "",
    tag: int | None = None,
    ignorable: bool = False,
    secret: bool = False,
) -> Sequence[int] | None:
    return cast("Sequence[int]", _field("array", versions, default, nullable, tag, ignorable, secret, "int32"))


def i64s(
    versions: str, *, default: Sequence[int], tag: int | None = None, ignorable: bool = False, secret: bool = False
) -> Sequence[int]:
    return cast("Sequence[int]", _field("array", versions, default, "", tag, ignorable, secret, "int64"))


@overload
def strings(
    versions: str, *, default: Sequence[str], tag: int | None = None, ignorable: bool = False, secret: bool = False
) -> Sequence[str]: ...
@overload
def strings(
    versions: str,
    *,
    default: Sequence[str] | None,
    nullable: str,
    tag: int | None = None,
    ignorable: bool = False,
    secret: bool = False,
) -> Sequence[str] | None: ...
def strings(
    versions: str,
    *,
    default: Sequence[str] | None,
    nullable: str = "",
    tag: int | None = None,
    ignorable: bool = False,
    secret: bool = False,
) -> Sequence[str] | None:
    return cast("Sequence[str]", _field("array", versions, default, nullable, tag, ignorable, secret, "string"))


@overload
def uuids(
    versions: str, *, default: Sequence[UUID], tag: int | None = None, ignorable: bool = False, secret: bool = False
) -> Sequence[UUID]: ...
@overload
def uuids(
    versions: str,
    *,
    default: Sequence[UUID] | None,
    nullable: str,
    tag: int | None = None,
    ignorable: bool = False,
    secret: bool = False,
) -> Sequence[UUID] | None: ...
def uuids(
    versions: str,
    *,
    default: Sequence[UUID] | None,
    nullable: str = "",
    tag: int | None = None,
    ignorable: bool = False,
    secret: bool = False,
) -> Sequence[UUID] | None:
    return cast("Sequence[UUID]", _field("array", versions, default, nullable, tag, ignorable, secret, "uuid"))


@overload
def array(
    of: type[T],
    versions: str,
    *,
    default: Sequence[T],
    tag: int | None = None,
    ignorable: bool = False,
    secret: bool = False,
) -> Sequence[T]: ...
@overload
def array(
    of: type[T],
    versions: str,
    *,
    default: Sequence[T] | None,
    nullable: str,
    tag: int | None = None,
    ignorable: bool = False,
    secret: bool = False,
) -> Sequence[T] | None: ...
def array(
    of: type[T],
    versions: str,
    *,
    default: Sequence[T] | None,
    nullable: str = "",
    tag: int | None = None,
    ignorable: bool = False,
    secret: bool = False,
) -> Sequence[T] | None:
    """An array of nested structs."""
    return cast(
        "Sequence[T]", _field("array", versions, default, nullable, tag, ignorable, secret, "struct", struct=of)
    )


@overload
def struct(
    versions: str, *, default_factory: type[T], tag: int | None = None, ignorable: bool = False, secret: bool = False
) -> T: ...
@overload
def struct(
    versions: str,
    *,
    default_factory: type[T],
    nullable: str,
    tag: int | None = None,
    ignorable: bool = False,
    secret: bool = False,
) -> T | None: ...
def struct(
    versions: str,
    *,
    default_factory: type[T],
    nullable: str = "",
    tag: int | None = None,
    ignorable: bool = False,
    secret: bool = False,
) -> T | None:
    """A nested struct; its default is a fresh instance, with every field at its own default."""
    return cast(T, _field("struct", versions, ..., nullable, tag, ignorable, secret, struct=default_factory))


def nullable_struct(
    of: type[T],
    versions: str,
    *,
    default: None,
    nullable: str,
    tag: int | None = None,
    ignorable: bool = False,
    secret: bool = False,
) -> T | None:
    """A nested struct that may be absent."""
    return cast(T, _field("struct", versions, default, nullable, tag, ignorable, secret, struct=of))


def short(sequence: T) -> T:
    """The same array with an int16 count, as the formats before Kafka 0.8 have it."""
    return cast(T, cast(Field, sequence)._replace(short=True))


def renamed(now: str) -> Any:
    """An older name of the field `now` of the same class, as keyword of the constructor and as attribute only."""
    return Renamed(now)


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """NO_UUID is made when it is first asked for: the module `uuid` takes long to import."""
        if name == "NO_UUID":
            globals()[name] = no_uuid()
            return globals()[name]
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
