"""Messages as plain tuples: what the reference codec takes and returns."""

from __future__ import annotations

from typing import Any

from kwire.schema.messages import Struct


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
