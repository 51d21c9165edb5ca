"""How results show themselves in notebooks: as tables, which `kwire._html` makes when one is first shown.

Layer 3, no I/O.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kwire._typing import Any, TypeVar, cast

Kind = TypeVar("Kind", bound=type)
Key = TypeVar("Key")
Value = TypeVar("Value")
Result = TypeVar("Result")


def in_notebooks(kind: Kind) -> Kind:
    """A decorator for named tuples."""

    def _repr_html_(self: Any) -> str:
        from kwire._html import of_named

        return of_named(self)

    setattr(kind, "_repr_html_", _repr_html_)  # noqa: B010 - a checker forbids the plain form
    return kind


class Rows(list[Value]):
    """A list of results, each a row; `label` is what they are, of those without fields."""

    __slots__ = ("_label",)

    def __init__(self, found: Iterable[Value] = (), label: str = "value") -> None:
        super().__init__(found)
        self._label = label

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (list(self), self._label)

    def _repr_html_(self) -> str:
        return _table(self, self._label)


class RowsByKey(dict[Key, Value]):
    """Results by what they are of, each a row; `label` is what they are, of those without fields."""

    __slots__ = ("_label",)

    def __init__(self, found: Mapping[Key, Value] | Iterable[tuple[Key, Value]] = (), label: str = "value") -> None:
        super().__init__(found)
        self._label = label

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (dict(self), self._label)

    def _repr_html_(self) -> str:
        return _table(self, self._label)


def as_rows(result: Result) -> Result:
    """A list or a dict as an equal one with a table; anything else as it is."""
    found: Any = result
    if type(found) is list:
        found = Rows(found)
    elif type(found) is dict:
        found = RowsByKey(found)
    return cast("Result", found)


def _table(found: object, label: str) -> str:
    from kwire._html import of_rows

    return of_rows(found, label)
