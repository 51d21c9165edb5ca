"""Ordinary messages: every field that a version has holds a value of its own that any client would take for real."""

from __future__ import annotations

from itertools import count
from typing import Any
from uuid import UUID

from kwire.schema.fields import Field


def typical(cls: Any, version: int, *, with_nulls: bool = False, numbers: Any = None) -> Any:
    """An instance of `cls`; `with_nulls` puts None wherever the version allows it. Arrays have two elements."""
    numbers = numbers if numbers is not None else count(1)
    present = [field for field in cls.__fields__ if field.versions.has(version)]
    return cls(**{field.name: _value(field, version, with_nulls, numbers) for field in present})


def _value(field: Field, version: int, with_nulls: bool, numbers: Any) -> Any:
    if with_nulls and field.nullable.has(version):
        return None
    if field.kind == "struct":
        return typical(field.struct, version, with_nulls=with_nulls, numbers=numbers)
    if field.kind == "array" and field.struct is not None:
        return [typical(field.struct, version, with_nulls=with_nulls, numbers=numbers) for _ in range(2)]
    if field.kind == "array":
        return [_scalar(field.element or "", field.name, numbers) for _ in range(2)]
    return _scalar(field.kind, field.name, numbers)


def _scalar(kind: str, name: str, numbers: Any) -> Any:
    number = next(numbers)
    if kind == "int8":
        return 1
    if kind == "int16":
        return number % 90 if name.endswith("error_code") else number
    if kind in ("int32", "int64", "uint16", "uint32"):
        return number
    if kind == "float64":
        return number + 0.5
    if kind == "bool":
        return True
    if kind == "uuid":
        return UUID(int=number << 64 | number)
    if kind in ("bytes", "records"):
        return b"record-%d" % number
    return f"text-{number}"
