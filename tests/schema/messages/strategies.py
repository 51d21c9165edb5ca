"""Any message that a version can carry, as Hypothesis searches for it."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from hypothesis import strategies as st

from kwire.schema.fields import Field
from tests.schema.messages.limits import INTS

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
