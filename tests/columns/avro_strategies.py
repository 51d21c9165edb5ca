"""Random Avro schemas, values that fit them, and readers' schemas that evolved from them."""

from __future__ import annotations

import datetime
from typing import Any

from hypothesis import strategies as st

LEAVES = ["boolean", "int", "long", "float", "double", "bytes", "string"]
LOGICAL = [
    {"type": "int", "logicalType": "date"},
    {"type": "int", "logicalType": "time-millis"},
    {"type": "long", "logicalType": "time-micros"},
    {"type": "long", "logicalType": "timestamp-millis"},
    {"type": "long", "logicalType": "timestamp-micros"},
    {"type": "long", "logicalType": "timestamp-nanos"},
    {"type": "long", "logicalType": "local-timestamp-millis"},
    {"type": "long", "logicalType": "local-timestamp-micros"},
    {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 3},
    {"type": "bytes", "logicalType": "decimal", "precision": 38, "scale": 0},
    {"type": "string", "logicalType": "uuid"},
]


class Names:
    """Names that no other part of the schema has."""

    def __init__(self) -> None:
        self.used = 0

    def next(self, kind: str) -> str:
        self.used += 1
        return f"{kind}{self.used}"


@st.composite
def schemas(draw: st.DrawFn, names: Names | None = None, depth: int = 3, *, in_union: bool = False) -> Any:
    names = names or Names()
    kinds = ["leaf", "leaf", "logical", "fixed", "enum"]
    if depth:
        kinds += ["record", "array", "map"] + ([] if in_union else ["nullable", "union", "null"])
    kind = draw(st.sampled_from(kinds))
    if kind == "leaf":
        return draw(st.sampled_from(LEAVES))
    if kind == "logical":
        return dict(draw(st.sampled_from(LOGICAL)))
    if kind == "null":
        return "null"
    if kind == "fixed":
        return {"type": "fixed", "name": names.next("F"), "size": draw(st.integers(0, 20))}
    if kind == "enum":
        symbols = [f"S{i}" for i in range(draw(st.integers(1, 4)))]
        return {"type": "enum", "name": names.next("E"), "symbols": symbols}
    if kind == "record":
        return draw(records(names, depth - 1))
    if kind == "array":
        return {"type": "array", "items": draw(schemas(names, depth - 1))}
    if kind == "map":
        return {"type": "map", "values": draw(schemas(names, depth - 1))}
    if kind == "nullable":
        branches = ["null", draw(schemas(names, depth - 1, in_union=True))]
        return branches if draw(st.booleans()) else branches[::-1]
    return draw(unions(names, depth - 1))


@st.composite
def unions(draw: st.DrawFn, names: Names, depth: int) -> Any:
    found: dict[Any, Any] = {}
    for _ in range(draw(st.integers(1, 4))):
        branch = draw(schemas(names, depth, in_union=True))
        kind = branch["type"] if isinstance(branch, dict) else branch
        found.setdefault((kind, branch.get("name") if isinstance(branch, dict) else None), branch)
    return [*found.values(), *(["null"] if draw(st.booleans()) else [])]


@st.composite
def records(draw: st.DrawFn, names: Names | None = None, depth: int = 3) -> Any:
    names = names or Names()
    name = names.next("R")
    fields = [
        {"name": names.next("f"), "type": draw(schemas(names, depth))}
        for _ in range(draw(st.integers(0 if depth < 3 else 1, 4)))
    ]
    return {"type": "record", "name": name, "fields": fields}


FLOATS = st.floats(allow_nan=False, width=32)
MOMENTS = st.datetimes(datetime.datetime(1583, 1, 1), datetime.datetime(9998, 1, 1))


@st.composite
def values(draw: st.DrawFn, schema: Any) -> Any:
    """A value as fastavro writes it; numbers for what is a time, so that nothing is converted twice."""
    if isinstance(schema, list):
        branch = draw(st.sampled_from(schema))
        value = draw(values(branch))
        return (branch if isinstance(branch, str) else branch.get("name", branch["type"]), value)
    kind = schema["type"] if isinstance(schema, dict) else schema
    if kind == "record":
        return {field["name"]: draw(values(field["type"])) for field in schema["fields"]}
    if kind == "array":
        return [draw(values(schema["items"])) for _ in range(draw(st.integers(0, 3)))]
    if kind == "map":
        return {f"k{i}": draw(values(schema["values"])) for i in range(draw(st.integers(0, 3)))}
    if kind == "enum":
        return draw(st.sampled_from(schema["symbols"]))
    if kind == "fixed":
        return draw(st.binary(min_size=schema["size"], max_size=schema["size"]))
    return draw(_leaf(kind, schema.get("logicalType") if isinstance(schema, dict) else None, schema))


def _leaf(kind: str, logical: str | None, schema: Any) -> st.SearchStrategy[Any]:
    if logical == "date":
        return MOMENTS.map(lambda moment: (moment.date() - datetime.date(1970, 1, 1)).days)
    if logical == "decimal":
        limit = 10 ** schema["precision"] - 1
        return st.integers(-limit, limit).map(decimal_bytes)
    if logical and "timestamp" in logical and "nanos" not in logical:
        unit = datetime.timedelta(milliseconds=1) if "millis" in logical else datetime.timedelta(microseconds=1)
        return MOMENTS.map(lambda moment: (moment - datetime.datetime(1970, 1, 1)) // unit)
    return {
        "null": st.none(),
        "boolean": st.booleans(),
        "int": st.integers(-(1 << 31), (1 << 31) - 1),
        "long": st.integers(-(1 << 63), (1 << 63) - 1),
        "float": FLOATS,
        "double": st.floats(allow_nan=False),
        "bytes": st.binary(max_size=40),
        "string": st.text(max_size=20),
    }[kind]


def decimal_bytes(unscaled: int) -> bytes:
    return unscaled.to_bytes(unscaled.bit_length() // 8 + 1, "big", signed=True)


def plain(schema: Any) -> Any:
    """The schema without logical types, for a writer that takes numbers and bytes as they are."""
    if isinstance(schema, list):
        return [plain(branch) for branch in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {key: value for key, value in schema.items() if key not in ("logicalType", "precision", "scale")}
    for key in ("items", "values"):
        if key in kept:
            kept[key] = plain(kept[key])
    if "fields" in kept:
        kept["fields"] = [{**field, "type": plain(field["type"])} for field in kept["fields"]]
    return kept


PROMOTED = {"int": ["long", "float", "double"], "long": ["float", "double"], "float": ["double"]}


@st.composite
def evolved(draw: st.DrawFn, schema: Any, names: Names | None = None) -> Any:
    """A reader's schema that values of `schema` resolve with: fields dropped, added, moved, renamed; types widened."""
    names = names or Names()
    names.used = max(names.used, 1000)
    if isinstance(schema, list):
        return [draw(evolved(branch, names)) if isinstance(branch, dict) else branch for branch in schema]
    if isinstance(schema, str):
        return draw(
            st.sampled_from([schema, *PROMOTED.get(schema, []), *([["null", schema]] if schema != "null" else [])])
        )
    if schema["type"] == "array":
        return {**schema, "items": draw(evolved(schema["items"], names))}
    if schema["type"] == "map":
        return {**schema, "values": draw(evolved(schema["values"], names))}
    if schema["type"] == "enum" and draw(st.booleans()):
        return {**schema, "symbols": [*schema["symbols"][1:], "OTHER"], "default": "OTHER"}
    if schema["type"] != "record":
        return schema
    fields = []
    for field in schema["fields"]:
        if draw(st.integers(0, 4)):
            made = {"name": field["name"], "type": draw(evolved(field["type"], names))}
            if not draw(st.integers(0, 4)):
                made = {**made, "name": names.next("renamed"), "aliases": ["nothing", field["name"]]}
            fields.append(made)
    for _ in range(draw(st.integers(0, 2))):
        added = {"name": names.next("added"), **draw(st.sampled_from(ADDED))}
        fields.append(added)
    return {**schema, "fields": draw(st.permutations(fields))}


ADDED: list[dict[str, Any]] = [
    {"type": "int", "default": -7},
    {"type": ["null", "string"], "default": None},
    {"type": "string", "default": "ü"},
    {"type": "bytes", "default": "\u00ff\u0001"},
    {"type": {"type": "array", "items": "int"}, "default": [1, 2]},
    {"type": {"type": "map", "values": ["null", "double"]}, "default": {"a": None}},
    {"type": {"type": "long", "logicalType": "timestamp-millis"}, "default": 1_700_000_000_000},
    {"type": ["long", "string"], "default": 5},
]
