"""Writes docs/limits.md from scripts/limits.toml: numbers come from the code, words about them from that file.

A row there says what is limited and what happens then. `limit` names numbers: a setting by its keyword, or a file with
a constant, or with a class and an attribute or an argument of its constructor; `words` stand in their place. `test`
names the tests that reach the limit; `code` the files, where they are others than those of the numbers; `unit` what a
number counts, or each of them, where its name does not say it.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from scripts.sources import DOCS, PACKAGE

from kwire.engine.settings.clients import (
    ClientSettings,
    ConsumerSettings,
    ProducerSettings,
    ShareConsumerSettings,
)

PAGE = DOCS / "limits.md"
DATA = Path(__file__).with_name("limits.toml")

HEAD = """# Limits

Generated from `scripts/limits.toml` and from the code by `make docs`.

What bounds each buffer, queue, cache, retry, wait and time-out, what happens at the bound, which setting moves it, and
the test that has been there. Numbers are printed from the modules that use them; those that no setting moves are fixed.
Where nothing else is said, a cache at its bound forgets what was used the longest time ago, and asks again.
"""

SETTINGS = {
    keyword: row
    for table in (ClientSettings, ConsumerSettings, ProducerSettings)
    for keyword, row in table.table.items()
}
"""By keyword. A setting of a ShareConsumer that has another default is named with that class."""

_OF_SHARE_CONSUMERS = "ShareConsumer."

_COMPILED = re.compile(
    r"^(?:#define\s+|cdef (?:double|Py_ssize_t)\s+|\s*)(?P<name>[A-Z_0-9]+)(?:\s*=\s*|\s+)(?P<value>.+)"
)
_KIB = 1024
_BYTES = ("_BYTES", "_SIZE", "_MEMORY", "_ANSWER", "_MOST")


class Number(NamedTuple):
    """One number: where it stands, and the setting or argument that moves it, if any."""

    name: str
    value: Any
    path: str
    moved_by: str


# -- numbers -----------------------------------------------------------------------------------------------------------


def number(reference: str) -> Number:
    """What a reference of a row stands for; KeyError where it stands for nothing."""
    if reference in SETTINGS:
        row = SETTINGS[reference]
        return Number(reference, row.default, "", f"`{reference}`")
    if reference.startswith(_OF_SHARE_CONSUMERS):
        keyword = reference.removeprefix(_OF_SHARE_CONSUMERS)
        return Number(keyword, ShareConsumerSettings.table[keyword].default, "", f"`{keyword}`")
    path, _, name = reference.partition(" ")
    owner, _, attribute = name.rpartition(".")
    if not path.endswith(".py"):
        return Number(name, _in_compiled(path)[name], path, "")
    if owner:
        return Number(attribute, _in_class(path, owner)[attribute], path, f"`{attribute}`")
    return Number(name, constants(path)[name], path, "")


@cache
def constants(path: str) -> dict[str, int | float]:
    """The constants of a module that are numbers."""
    found: dict[str, int | float] = {}
    for node in ast.parse((PACKAGE / path).read_text(encoding="utf-8")).body:
        match node:
            case (
                ast.Assign(targets=[ast.Name(name)], value=value)
                | ast.AnnAssign(target=ast.Name(name), value=ast.expr() as value)
            ):
                if name.isupper() and (known := _value(value)) is not None:
                    found[name] = known
    return found


def _value(expression: ast.expr | None) -> int | float | None:
    """The number that an expression of numbers is."""
    if expression is None or any(isinstance(each, ast.Name | ast.Call) for each in ast.walk(expression)):
        return None
    try:
        found = eval(compile(ast.Expression(expression), "", "eval"), {})
    except (TypeError, ValueError):
        return None
    return found if isinstance(found, int | float) and not isinstance(found, bool) else None


@cache
def _in_class(path: str, owner: str) -> dict[str, Any]:
    """Defaults of a class's attributes, and of its constructor's arguments."""
    tree = ast.parse((PACKAGE / path).read_text(encoding="utf-8"))
    (defined,) = (each for each in tree.body if isinstance(each, ast.ClassDef) and each.name == owner)
    found: dict[str, Any] = {}
    for node in defined.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found[node.target.id] = _value(node.value)
        elif isinstance(node, ast.FunctionDef) and node.name == "__init__":
            given = zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
            found |= {argument.arg: _value(default) for argument, default in given}
    return {name: value for name, value in found.items() if value is not None}


@cache
def _in_compiled(path: str) -> dict[str, int | float]:
    found: dict[str, int | float] = {}
    for line in (PACKAGE / path).read_text(encoding="utf-8").splitlines():
        if match := _COMPILED.match(line):
            text = re.sub(r"\(size_t\)|\s*(#|/\*).*", "", match["value"]).rstrip()
            try:
                value = _value(ast.parse(text, mode="eval").body)
            except SyntaxError:
                continue
            if value is not None:
                found[match["name"]] = value
    return found


def shown(known: Number, unit: str = "") -> str:
    """The number with its unit, which its name says if the row does not."""
    name, value = known.name.upper(), known.value
    if not isinstance(value, int | float) or isinstance(value, bool):
        return str(value)
    if unit == "ms" or (not unit and name.endswith("_MS")):
        return _seconds(value / 1000)
    if unit == "s" or (not unit and name.endswith(("_S", "_SECONDS"))):
        return _seconds(value)
    if unit == "bytes" or (not unit and (name.endswith(_BYTES) or "BYTES" in name)):
        return _bytes(value)
    text = f"{value:,}" if isinstance(value, int) else f"{value:g}"
    return f"{text} {unit}" if unit else text


def _seconds(value: float) -> str:
    if value < 0.1:
        return f"{value * 1000:g} ms"
    for size, name in ((86_400, "days"), (3600, "h"), (60, "min")):
        if value >= 2 * size and value % size == 0:
            return f"{value / size:g} {name}"
    return f"{value:g} s"


def _bytes(value: float) -> str:
    for size, name in ((_KIB**3, "GiB"), (_KIB**2, "MiB"), (_KIB, "KiB")):
        if value >= size and value * 10 % size == 0:
            return f"{value / size:g} {name}"
    return "1 byte" if value == 1 else f"{value:,} bytes"


# -- the page ----------------------------------------------------------------------------------------------------------


@cache
def words() -> dict[str, list[dict[str, Any]]]:
    """The file with the words."""
    return tomllib.loads(DATA.read_text(encoding="utf-8"))


def rows() -> Iterator[dict[str, Any]]:
    """All rows."""
    return (row for section in words()["section"] for row in section["row"])


def listed(row: dict[str, Any], key: str) -> list[str]:
    """What a row has under a key: nothing, one text, or several."""
    found = row.get(key, [])
    return [found] if isinstance(found, str) else found


def numbers(row: dict[str, Any]) -> list[Number]:
    """The numbers that a row names."""
    return [number(each) for each in listed(row, "limit")]


def wanted() -> dict[Path, str]:
    """The one page."""
    return {PAGE: "\n".join([HEAD, *map(_section, words()["section"])])}


def _section(section: dict[str, Any]) -> str:
    lines = [f"## {section['title']}", ""]
    if text := section.get("text"):
        lines += [text.strip(), ""]
    lines += ["| what | limit | at the limit | moved by | code | test |", "|---|---|---|---|---|---|"]
    return "\n".join([*lines, *map(_line, section["row"])]) + "\n"


def _line(row: dict[str, Any]) -> str:
    known = numbers(row)
    units = row["unit"] if isinstance(row.get("unit"), list) else [row.get("unit", "")] * len(known)
    limit = row.get("words") or ", ".join(map(shown, known, units))
    moved_by = row.get("moved") or ", ".join(dict.fromkeys(filter(None, (each.moved_by for each in known)))) or "fixed"
    code = listed(row, "code") or dict.fromkeys(each.path for each in known if each.path)
    files = ", ".join(f"[`{path}`](../src/kwire/{path})" for path in code)
    tests = ", ".join(_test(each) for each in listed(row, "test"))
    return f"| {row['what']} | {limit} | {row['then']} | {moved_by} | {files} | {tests} |"


def _test(reference: str) -> str:
    path, _, name = reference.partition("::")
    return f"[`{name}`](../tests/{path})"
