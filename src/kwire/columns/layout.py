"""The tree of columns that a schema asks for, by Arrow's formats, and the same in Spark's words.

Knows no schema language, no Arrow library and no Spark.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kwire._values import ColumnLayout
from kwire.errors import ConfigError

MAX_DEPTH: Final = 64
MAX_COLUMNS: Final = 10_000
MAX_SYMBOLS: Final = 1_000_000
ROOT: Final = 0

_SHOWN_OF_PLACE: Final = 300

DDL: Final = {
    "n": "void",
    "b": "boolean",
    "c": "tinyint",
    "s": "smallint",
    "i": "int",
    "l": "bigint",
    "f": "float",
    "g": "double",
    "u": "string",
    "z": "binary",
    "tdD": "date",
    "tsu:UTC": "timestamp",
    "tsu:": "timestamp_ntz",
    "tDu": "interval day to second",
}
"""How Spark writes the type of a column of an Arrow format, where it has no parts or parameters."""


class RecursiveTypeError(ConfigError):
    """A type that contains itself has no columns."""


class Symbols:
    """How many names of enums one plan has: each column of an enum has all of them."""

    def __init__(self) -> None:
        self._count = 0

    def take(self, count: int, place: str) -> None:
        self._count += count
        if self._count > MAX_SYMBOLS:
            raise ConfigError(f"{place}: the enums of all columns have more than {MAX_SYMBOLS} names together")


def place_in(place: str, name: str) -> str:
    """The place of a part within another, as errors show it: of a long one the end."""
    found = f"{place}{name}" if name == "[]" else f"{place}.{name}" if place else name
    return found if len(found) <= _SHOWN_OF_PLACE else "..." + found[-_SHOWN_OF_PLACE:]


def name_given_twice(names: Sequence[str]) -> str | None:
    """The first name that stands before in the sequence, too."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None


class Layout:
    """Columns in the making: each is added below its parent; those below `ROOT` are the result's."""

    def __init__(self) -> None:
        self._nodes: list[tuple[str, str, list[int]]] = [("", "+s", [])]

    def add(self, parent: int, name: str, form: str) -> int:
        """The number of the new column, of that Arrow format."""
        number = len(self._nodes)
        if number >= MAX_COLUMNS:
            raise ConfigError(f"a schema of more than {MAX_COLUMNS} columns, nested ones included")
        self._nodes.append((name, form, []))
        self._nodes[parent][2].append(number)
        return number

    def add_map(self, parent: int, name: str, key: str) -> tuple[int, int]:
        """The numbers of a new map and of its entries, which have the key already and lack the value."""
        number = self.add(parent, name, "+m")
        entries = self.add(number, "entries", "+s")
        self.add(entries, "key", key)
        return number, entries

    def fields(self) -> tuple[tuple[str, str], ...]:
        """Name and Spark type of each column of the result."""
        return tuple((self._nodes[number][0], self.ddl(number)) for number in self._nodes[ROOT][2])

    def ddl(self, number: int) -> str:
        """The column's type as Spark writes it."""
        _, form, children = self._nodes[number]
        if form == "+l":
            return f"array<{self.ddl(children[0])}>"
        if form == "+m":
            key, value = self._nodes[children[0]][2]
            return f"map<{self.ddl(key)},{self.ddl(value)}>"
        if form == "+s":
            return f"struct<{','.join(f'{_quoted(self._nodes[child][0])}:{self.ddl(child)}' for child in children)}>"
        return f"decimal({form[2:]})" if form.startswith("d:") else DDL[form]

    def compiled(self) -> ColumnLayout:
        return ColumnLayout([(name, form, tuple(children)) for name, form, children in self._nodes])


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
