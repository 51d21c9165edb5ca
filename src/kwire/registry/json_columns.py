"""JSON objects to columns, by the compiled decoder, as a JSON schema says what they have. No more of it is checked.

    integer   int64             object with properties                struct
    number    float64           object with additionalProperties      map of strings to these
    boolean   bool              array with items                      list
    string    string            one of these, or null                 the same

All else is the JSON text: several types, none, a schema that is referred to in another subject or lies within itself.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, Final

from kwire._values import BuiltColumns, TextPlan, decode_json
from kwire.columns.layout import MAX_DEPTH, ROOT, Layout
from kwire.errors import ConfigError

if TYPE_CHECKING:
    import pyarrow as pa

_LEAVES: Final = {"integer": "l", "number": "g", "boolean": "b", "string": "u"}
_TEXT: Final = "u"


class JsonColumns:
    """Of one schema. `wanted` are the names of the columns that are to be made; None: all."""

    takes_bare_values = True

    def __init__(self, schema: Any, wanted: Collection[str] | None) -> None:
        layout = Layout()
        planner = _Planner(layout, schema)
        found = planner.resolved(schema)
        properties = found.get("properties")
        if not isinstance(properties, dict) or not properties:
            raise ConfigError("a JSON schema without properties makes no columns")
        for name, below in properties.items():
            if wanted is None or name in wanted:
                planner.add(ROOT, name, below, 1)
        self._plan = TextPlan(layout.compiled())

    def __call__(self, values: pa.Array, guid: str | None) -> BuiltColumns:
        return decode_json(values, self._plan)


class _Planner:
    """Adds the columns of schemas to a layout."""

    def __init__(self, layout: Layout, root: Any) -> None:
        self._layout = layout
        self._root = root

    def add(self, parent: int, name: str, schema: Any, depth: int) -> int:
        found = self.resolved(schema)
        kind = _kind_of(found)
        properties, items, more = (found.get(key) for key in ("properties", "items", "additionalProperties"))
        if depth >= MAX_DEPTH // 2:
            return self._layout.add(parent, name, _TEXT)
        if kind == "object" and isinstance(properties, dict) and properties:
            node = self._layout.add(parent, name, "+s")
            for each, below in properties.items():
                self.add(node, each, below, depth + 1)
            return node
        if kind == "object" and isinstance(more, dict) and more:
            node, entries = self._layout.add_map(parent, name, "u")
            self.add(entries, "value", more, depth + 1)
            return node
        if kind == "array" and isinstance(items, dict):
            node = self._layout.add(parent, name, "+l")
            self.add(node, "element", items, depth + 1)
            return node
        return self._layout.add(parent, name, _LEAVES.get(kind, _TEXT))

    def resolved(self, schema: Any) -> Mapping[str, Any]:
        """A schema without a reference within its document, and without the null that it may be."""
        for _ in range(MAX_DEPTH):
            if not isinstance(schema, dict):
                return {}
            if isinstance(schema.get("$ref"), str):
                schema = self._at(schema["$ref"])
            elif (others := _not_null(schema)) is not None and len(others) == 1:
                (schema,) = others
            else:
                return schema
        return {}

    def _at(self, reference: str) -> Any:
        """What a reference such as #/definitions/x leads to; {} for one that leads elsewhere."""
        found = self._root if reference.startswith("#") else {}
        for part in filter(None, reference.removeprefix("#").split("/")):
            found = found.get(part.replace("~1", "/").replace("~0", "~"), {}) if isinstance(found, dict) else {}
        return found


def _not_null(schema: Mapping[str, Any]) -> list[Any] | None:
    """What a value may be besides null, where the schema offers a choice."""
    choices = schema.get("oneOf") or schema.get("anyOf")
    if not isinstance(choices, list):
        return None
    return [each for each in choices if not isinstance(each, dict) or each.get("type") != "null"]


def _kind_of(schema: Mapping[str, Any]) -> str:
    """The type; "" for several, or none that is said."""
    kind = schema.get("type")
    kinds = [each for each in kind if each != "null"] if isinstance(kind, list) else [kind]
    if len(kinds) != 1 or not isinstance(kinds[0], str):
        return "object" if kind is None and isinstance(schema.get("properties"), dict) else ""
    return kinds[0]
