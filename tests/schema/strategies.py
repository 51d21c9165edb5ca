"""Random messages: any class of the schema, with the values that a version can carry."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from hypothesis import strategies as st

from kwire import protocol
from kwire.schema.fields import Field
from kwire.schema.messages import Message, Struct
from tests.thorough import THOROUGH as THOROUGH  # for those that draw from here, too

EXAMPLES = 6 if THOROUGH else 3
DAMAGED_PER_EXAMPLE = 240 if THOROUGH else 60


def _tested_versions(message: type[Message]) -> list[int]:
    every = list(message.__versions__)
    return every if THOROUGH else sorted({*every[:1], *every[-1:]})


MESSAGES: list[tuple[type[Message], int]] = [
    (message, version)
    for key in protocol.APIS
    for message in (protocol.APIS[key].request, protocol.APIS[key].response)
    for version in _tested_versions(message)
]
IDS = [f"{message.__name__}-{version}" for message, version in MESSAGES]

INTS = {
    "int8": (-(2**7), 2**7 - 1),
    "int16": (-(2**15), 2**15 - 1),
    "int32": (-(2**31), 2**31 - 1),
    "int64": (-(2**63), 2**63 - 1),
    "uint16": (0, 2**16 - 1),
    "uint32": (0, 2**32 - 1),
}
TEXT = st.text(st.characters(codec="utf-8"), max_size=8)


def scalars(kind: str) -> st.SearchStrategy[Any]:
    if kind in INTS:
        return st.integers(*INTS[kind])
    if kind in ("bytes", "records"):
        return st.binary(max_size=20)
    return {
        "bool": st.booleans(),
        "float64": st.floats(allow_nan=False),
        "uuid": st.builds(UUID, int=st.integers(0, 2**128 - 1)),
        "string": TEXT,
    }[kind]


def values(field: Field, version: int) -> st.SearchStrategy[Any]:
    if field.kind == "struct":
        found: st.SearchStrategy[Any] = structs(field.struct, version)
    elif field.kind == "array":
        item = structs(field.struct, version) if field.struct is not None else scalars(field.element or "")
        found = st.lists(item, max_size=3)
    else:
        found = scalars(field.kind)
    return st.one_of(st.none(), found) if field.nullable.has(version) else found


def structs(cls: Any, version: int) -> st.SearchStrategy[Any]:
    """An instance with any value in each field that `version` has, and the default elsewhere."""
    present = {field.name: values(field, version) for field in cls.__fields__ if field.versions.has(version)}
    return st.builds(cls, **present)


def plain_values(struct: Struct, version: int) -> tuple[Any, ...]:
    """The values of a version without tagged fields, in wire order, structs as tuples: what the reference codec takes.

    The guides print an array of topics by name as an array of strings, so a struct of one field is its field there.
    """
    return tuple(
        _plain(getattr(struct, field.name), version) for field in struct.__fields__ if field.versions.has(version)
    )


def _plain(value: Any, version: int) -> Any:
    if isinstance(value, (list, tuple)):
        return [_plain(item, version) for item in value]
    if isinstance(value, Struct):
        inner = plain_values(value, version)
        return inner[0] if len(inner) == 1 else inner
    return value
