"""Arrow arrays made by hand, field by field of the C structures, right or wrong: what any producer may hand over."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype = ctypes.py_object
_new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


class CSchema(ctypes.Structure):
    """struct ArrowSchema."""


class CArray(ctypes.Structure):
    """struct ArrowArray."""


ReleaseSchema = ctypes.CFUNCTYPE(None, ctypes.POINTER(CSchema))
ReleaseArray = ctypes.CFUNCTYPE(None, ctypes.POINTER(CArray))

CSchema._fields_ = [
    ("format", ctypes.c_char_p), ("name", ctypes.c_char_p), ("metadata", ctypes.c_char_p), ("flags", ctypes.c_int64),
    ("n_children", ctypes.c_int64), ("children", ctypes.POINTER(ctypes.POINTER(CSchema))),
    ("dictionary", ctypes.POINTER(CSchema)), ("release", ReleaseSchema), ("private_data", ctypes.c_void_p),
]  # fmt: skip
CArray._fields_ = [
    ("length", ctypes.c_int64), ("null_count", ctypes.c_int64), ("offset", ctypes.c_int64),
    ("n_buffers", ctypes.c_int64), ("n_children", ctypes.c_int64), ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.POINTER(ctypes.POINTER(CArray))), ("dictionary", ctypes.POINTER(CArray)),
    ("release", ReleaseArray), ("private_data", ctypes.c_void_p),
]  # fmt: skip


@dataclass
class Column:
    """One array with its schema. What is given in `schema` and `array` replaces what the structures would say."""

    format: bytes | None
    name: bytes | None
    length: int
    buffers: Sequence[bytes | None] = ()
    children: Sequence[Column | None] = ()
    offset: int = 0
    schema: dict[str, Any] = field(default_factory=dict)
    array: dict[str, Any] = field(default_factory=dict)


class Producer:
    """Hands out `column` through `__arrow_c_array__`, always the same two capsules; counts its releases."""

    def __init__(self, column: Column) -> None:
        self.releases = 0
        self._held: list[Any] = []
        self._release_schema = ReleaseSchema(self._on_release)
        self._release_array = ReleaseArray(self._on_release_array)
        self.schema = self._schema(column)
        self.array = self._array(column)
        self.capsules = (
            _new_capsule(ctypes.addressof(self.schema), b"arrow_schema", None),
            _new_capsule(ctypes.addressof(self.array), b"arrow_array", None),
        )

    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]:
        return self.capsules

    def _on_release(self, schema: Any) -> None:
        schema.contents.release = ReleaseSchema()

    def _on_release_array(self, array: Any) -> None:
        self.releases += 1
        array.contents.release = ReleaseArray()

    def _schema(self, column: Column) -> CSchema:
        children = [None if child is None else ctypes.pointer(self._schema(child)) for child in column.children]
        made = CSchema(
            format=column.format, name=column.name, n_children=len(children), children=self._pointers(CSchema, children)
        )
        made.release = self._release_schema
        for name, value in column.schema.items():
            setattr(made, name, value)
        self._held.append(made)
        return made

    def _array(self, column: Column) -> CArray:
        children = [None if child is None else ctypes.pointer(self._array(child)) for child in column.children]
        spans = [None if raw is None else ctypes.create_string_buffer(raw, len(raw)) for raw in column.buffers]
        buffers = (ctypes.c_void_p * max(len(spans), 1))(
            *[None if span is None else ctypes.addressof(span) for span in spans]
        )
        made = CArray(
            length=column.length, null_count=-1, offset=column.offset, n_buffers=len(spans), buffers=buffers,
            n_children=len(children), children=self._pointers(CArray, children),
        )  # fmt: skip
        made.release = self._release_array
        for name, value in column.array.items():
            setattr(made, name, value)
        self._held += [spans, buffers, made]
        return made

    def _pointers(self, kind: Any, children: list[Any]) -> Any:
        row = (ctypes.POINTER(kind) * max(len(children), 1))(*[child or ctypes.POINTER(kind)() for child in children])
        self._held += [children, row]
        return row
