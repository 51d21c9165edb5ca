"""What turns fields into a class: slots, constructor, comparison, and one wire plan per version.

`StructMeta` replaces the field specifiers of a class body by slots and keeps the fields in `__fields__`. A plan is
compiled when a version is first used. No message is defined here, and nothing here knows the wire: `_codec` does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from operator import attrgetter

from kwire import errors
from kwire._codec import Layout, Plan, StructBase
from kwire._typing import TYPE_CHECKING, Any, Self, cast, dataclass_transform
from kwire.errors.listing import counted
from kwire.schema import fields as f
from kwire.schema.fields import Field, Renamed, Versions

if TYPE_CHECKING:
    from typing import ClassVar
else:
    from kwire._typing import ClassVar

__all__ = ["Header", "Message", "Request", "Response", "Struct", "StructMeta"]

_UNKNOWN = "unknown_tagged_fields"


@dataclass_transform(
    kw_only_default=True,
    field_specifiers=(
        f.bool_,
        f.i8,
        f.i16,
        f.i32,
        f.i64,
        f.u16,
        f.u32,
        f.f64,
        f.uuid,
        f.string,
        f.bytes_,
        f.record_data,
        f.i8s,
        f.i16s,
        f.i32s,
        f.i64s,
        f.strings,
        f.uuids,
        f.array,
        f.struct,
        f.nullable_struct,
    ),
)
class StructMeta(type):
    """Makes a slotted class of the fields in a class body.

    `key`, `versions` and `flexible` are for messages; a class that only others stand on is `abstract`.
    """

    def __new__(
        mcs,
        name: str,
        bases: tuple[type, ...],
        namespace: dict[str, Any],
        *,
        key: int = -1,
        versions: str = "none",
        flexible: str = "none",
        abstract: bool = False,
    ) -> StructMeta:
        if abstract:
            return super().__new__(mcs, name, bases, {"__slots__": (), **namespace})
        found = tuple([value.named(attribute) for attribute, value in namespace.items() if type(value) is Field])
        for field in found:
            if hasattr(bases[0], field.name):
                raise TypeError(f"{name}.{field.name} would hide what every message has under that name")
            del namespace[field.name]
        older = {attribute: value.now for attribute, value in namespace.items() if isinstance(value, Renamed)}
        _keep_older_names(namespace, older, {field.name for field in found})
        rows = [(field.name, field.kind, field.default, field.lazy_default) for field in found]
        slots = [name if lazy is None else f"_{name}" for name, _, _, lazy in rows]
        namespace["__slots__"] = (*slots, "_unknown_tags")
        namespace["__fields__"] = found
        namespace["__renamed__"] = older
        if versions != "none":
            valid = Versions.parse(versions)
            namespace["__versions__"] = range(valid.first, valid.last + 1)
            namespace["__flexible__"] = Versions.parse(flexible)
            namespace["__api_key__"] = key
        cls = super().__new__(mcs, name, bases, namespace)
        cls.__layout__ = Layout(cast("type[StructBase]", cls), rows)
        cls.__plans__ = {}
        return cls

    def __set_name__(cls, owner: type, name: str) -> None:
        """Names a struct that several structs of a message nest as if it stood in the message (`Inner = _Inner`)."""
        if isinstance(owner, StructMeta) and cls.__qualname__ == f"_{name}" and cls.__module__ == owner.__module__:
            named = {"__name__": name, "__qualname__": f"{owner.__qualname__}.{name}"}
            for attribute, value in named.items():  # by setattr: an assignment here is a declaration to pyright
                setattr(cls, attribute, value)

    __layout__: Layout
    __plans__: dict[tuple[int, bool] | int, Plan]
    __fields__: tuple[Field, ...]
    __renamed__: dict[str, str]


def _keep_older_names(namespace: dict[str, Any], older: dict[str, str], names: set[str]) -> None:
    """Puts a property for each older name into a class body, and a constructor that takes them, too."""
    for name, now in older.items():
        if now not in names or name in names:
            raise TypeError(f"{name} cannot be an older name of {now}")
        namespace[name] = property(attrgetter(now), _setter(now), doc=f"The older name of `{now}`.")
    if older:
        namespace["__init__"] = _constructor(older)


def _setter(name: str) -> Callable[[Any, Any], None]:
    return lambda instance, value: setattr(instance, name, value)


def _constructor(older: dict[str, str]) -> Callable[..., None]:
    def __init__(self: StructBase, **fields: Any) -> None:  # noqa: N807
        twice = [name for name in older if name in fields and older[name] in fields]
        if twice:
            raise TypeError(f"{type(self).__qualname__}: {twice[0]} is the older name of {older[twice[0]]}; give one")
        StructBase.__init__(self, **{older.get(name, name): value for name, value in fields.items()})

    return __init__


def _plan(cls: StructMeta, name: str, version: int, flexible: bool) -> Plan:
    """The plan of a struct; those of nested structs are shared by all that nest them."""
    known = cls.__plans__.get((version, flexible))
    if known is not None:
        return known
    rows = []
    for field in cls.__fields__:
        present = field.versions.has(version)
        child = _plan(field.struct, name, version, flexible) if present and field.struct is not None else None  # type: ignore[arg-type]
        if present and field.tag is not None and not flexible:
            raise TypeError(f"{name}.{field.name} is tagged in version {version}, which is not flexible")
        rows.append((
            field.name, field.kind, field.element, present, field.nullable.has(version), flexible and field.compact,
            field.ignorable, field.tag, field.default, child, field.versions.text, field.short,
        ))  # fmt: skip
    plan = cls.__plans__[(version, flexible)] = Plan(cls, name, version, flexible, rows)
    return plan


class Struct(StructBase, metaclass=StructMeta, abstract=True):
    """A nested struct: constructed by keywords, compared by value, shown without its secrets."""

    __fields__: ClassVar[tuple[Field, ...]]

    def __repr__(self) -> str:
        given = [field for field in self.__fields__ if hasattr(self, field.name)]  # not all where a constructor failed
        shown = [f"{field.name}={_shown(field, getattr(self, field.name))}" for field in given]
        if getattr(self, _UNKNOWN, None):
            shown.append(f"{_UNKNOWN}={self.unknown_tagged_fields!r}")
        return f"{type(self).__qualname__}({', '.join(shown)})"

    def to_dict(self) -> dict[str, Any]:
        """Plain values by field name: dicts, lists, bytes, `uuid.UUID`. Secrets are included."""
        plain = {field.name: _plain(getattr(self, field.name)) for field in self.__fields__}
        if self.unknown_tagged_fields:
            plain[_UNKNOWN] = dict(self.unknown_tagged_fields)
        return plain

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """What `to_dict` was made of. Fields left out get their defaults; an unknown name raises CodecError."""
        known = {field.name: field for field in cls.__fields__}
        known.update({name: known[now] for name, now in cls.__renamed__.items()})
        odd = [name for name in values if name not in known and name != _UNKNOWN]
        if odd:
            raise errors.CodecError(
                f"{cls.__qualname__} has no such field; it has {', '.join(known) or 'none'}", odd[0]
            )
        made = cls(**{name: _from_plain(known[name], value) for name, value in values.items() if name in known})
        if values.get(_UNKNOWN):
            made.unknown_tagged_fields = values[_UNKNOWN]
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).from_dict, (self.to_dict(),)


def _shown(field: Field, value: object) -> str:
    if value is None:
        return "None"
    if field.secret:
        return "<secret>"
    if field.kind == "records":
        return f"<{counted(_size(value), 'byte')}>"
    return repr(value)


def _size(value: object) -> int:
    return sum(map(_size, value)) if isinstance(value, (list, tuple)) else memoryview(value).nbytes  # type: ignore[arg-type]


def _plain(value: Any) -> Any:
    if isinstance(value, Struct):
        return value.to_dict()
    if value is None or isinstance(value, (int, str, float, bytes)):
        return value
    if isinstance(value, Iterable) and not isinstance(value, (bytearray, memoryview)):
        return [_plain(item) for item in value]
    try:
        return bytes(memoryview(value))
    except TypeError:
        return value


def _from_plain(field: Field, value: Any) -> Any:
    if field.struct is None or value is None:
        return value
    if field.kind == "struct":
        return field.struct.from_dict(value) if isinstance(value, Mapping) else value
    if isinstance(value, (list, tuple)):
        return [field.struct.from_dict(item) if isinstance(item, Mapping) else item for item in value]
    return value


class Message(Struct, abstract=True):
    """A message or header: what has versions of its own."""

    __versions__: ClassVar[range]
    __flexible__: ClassVar[Versions]

    @classmethod
    def plan(cls, version: int) -> Plan:
        """The wire plan of `version`, compiled on first use. UnknownVersionError for one that is not known."""
        known = cls.__plans__.get(version)
        if known is not None:
            return known
        if version not in cls.__versions__:
            known_range = f"{cls.__versions__[0]} to {cls.__versions__[-1]}"
            raise errors.UnknownVersionError(f"{cls.__qualname__} has no version {version}; kwire knows {known_range}")
        plan = cls.__plans__[version] = _plan(cls, cls.__qualname__, version, cls.__flexible__.has(version))
        return plan

    def encode(self, version: int) -> bytes:
        """The body alone, without size and header. CodecError names the field whose value does not fit."""
        return self.plan(version).encode(self)

    @classmethod
    def decode(cls, data: Any, version: int, *, strict: bool = True) -> Self:
        """The message whose body is `data` (bytes-like). `strict` refuses bytes left over.

        Raises one of the CodecErrors, with field and byte offset. `records` fields share the bytes of `data`.
        """
        return cls.plan(version).decode(data, strict)  # type: ignore[no-any-return]


class Header(Message, abstract=True):
    """The header of a request or response."""


class Request(Message, abstract=True):
    """What a client sends."""

    __api_key__: ClassVar[int]


class Response(Message, abstract=True):
    """What a broker answers."""

    __api_key__: ClassVar[int]
