"""Which records `kwire consume --filter` lets through.

key=TEXT, value=TEXT    the key or value is that text, read by its form (`value_forms.py`)
header.NAME=TEXT        one of the headers of that name has that text
key~REGEX, value~REGEX, header.NAME~REGEX
                        the regular expression is found in it, as it is printed
anything else           an expression of JMESPath (https://jmespath.org) that is true of the record as --format json
                        prints it, with a value that is JSON in its place. What it cannot be computed of (a length of a
                        number) is not let through. It needs the package jmespath: pip install 'kwire[shell]'

Of several filters a record has to pass all.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from os import fsencode
from typing import TYPE_CHECKING, Any

from kwire.cli.record_columns import Look, bytes_column, raw, values_column
from kwire.cli.usage import UsageError
from kwire.cli.value_forms import BYTES, parse_json, shown
from kwire.engine.common.expressions import compiled

if TYPE_CHECKING:
    from kwire._codec import Record
    from kwire.cli.record_columns import Rows

    Filter = Callable[[str, int, Rows], Rows]

_SIMPLE = re.compile(r"(key|value|header\.([^=~]+))(?:=(?!=)(.*)|~(.*))", re.DOTALL)
_FALSE: tuple[Any, ...] = ("", [], {})


def parse_filter(text: str, look: Look) -> Filter:
    """The filter that an argument stands for. UsageError where it cannot be understood."""
    simple = _SIMPLE.fullmatch(text)
    if simple is None:
        return _by_expression(text, look)
    field, name, wanted, regex = simple.groups()
    if regex is not None:
        search = _searching(text, regex)
        return _by_found_in(field, search, look) if name is None else _by_found_in_header(fsencode(name), search)
    if name is not None:
        return _by_header(fsencode(name), fsencode(wanted))
    try:
        form = look.form(field)
        data = fsencode(wanted) if form is BYTES else form.read(wanted)
    except ValueError as error:
        raise UsageError(f"--filter {text!r}: {error}") from None
    return _by_key(data) if field == "key" else _by_value(data)


def passing(filters: Sequence[Filter]) -> Filter:
    """One filter that lets through what all of them do."""

    def choose(topic: str, partition: int, rows: Rows) -> Rows:
        for each in filters:
            rows = each(topic, partition, rows)
        return rows

    return choose


def _by_key(data: bytes) -> Filter:
    return lambda topic, partition, rows: [row for row in rows if row.key == data]


def _by_value(data: bytes) -> Filter:
    return lambda topic, partition, rows: [row for row in rows if row.value == data]


def _by_header(name: bytes, data: bytes) -> Filter:
    pair = (name, data)
    return lambda topic, partition, rows: [row for row in rows if pair in row.raw_headers]


def _searching(text: str, regex: str) -> Callable[[bytes], object]:
    try:
        return compiled(fsencode(regex)).search
    except ValueError as error:
        raise UsageError(f"--filter {text!r}: {error}") from None


def _by_found_in(field: str, search: Callable[[bytes], object], look: Look) -> Filter:
    printed = bytes_column(field, look)

    def choose(topic: str, partition: int, rows: Rows) -> Rows:
        cells = zip(rows, raw(rows, field), printed(rows), strict=True)
        return [row for row, data, text in cells if data is not None and search(text)]

    return choose


def _by_found_in_header(name: bytes, search: Callable[[bytes], object]) -> Filter:
    def has_it(pairs: Iterable[tuple[bytes, bytes | None]]) -> bool:
        return any(each == name and data is not None and search(data) for each, data in pairs)

    return lambda topic, partition, rows: [row for row in rows if has_it(row.raw_headers)]


def _by_expression(text: str, look: Look) -> Filter:
    search = _compiled(text)
    key, value = values_column("key", look), _value_column(look)

    def choose(topic: str, partition: int, rows: Rows) -> Rows:
        shown_rows = zip(rows, key(rows), value(rows), strict=True)
        return [row for row, *cells in shown_rows if search(_as_object(topic, partition, row, *cells))]

    return choose


def _value_column(look: Look) -> Callable[[Rows], list[Any]]:
    """The values as values of JSON: what their form shows; without a form what they are as JSON, else as text."""
    if look.value is not BYTES:
        return values_column("value", look)
    return lambda rows: [_json_if_it_is(row.value) for row in rows]


def _json_if_it_is(data: bytes | None) -> Any:
    if data is None:
        return None
    try:
        return parse_json(data.decode())
    except ValueError:
        return shown(BYTES, data)


def _as_object(topic: str, partition: int, row: Record, key: Any, value: Any) -> dict[str, Any]:
    return {
        "topic": topic,
        "partition": partition,
        "offset": row.offset,
        "timestamp": None if row.timestamp < 0 else row.timestamp,
        "key": key,
        "value": value,
        "headers": [[shown(BYTES, name), shown(BYTES, data)] for name, data in row.raw_headers],
    }


def _compiled(text: str) -> Callable[[dict[str, Any]], bool]:
    """Whether the expression is true of a record."""
    try:
        import jmespath
        from jmespath.exceptions import JMESPathTypeError
        from jmespath.functions import Functions
    except ImportError:
        raise UsageError(
            f"--filter {text!r}: an expression needs the package jmespath: pip install 'kwire[shell]'; without it "
            "there are key=TEXT, key~REGEX, and the same of value and header.NAME"
        ) from None
    try:
        expression = jmespath.compile(text)
        check_functions(expression.parsed, Functions.FUNCTION_TABLE)
    except ValueError as error:
        hint = "; numbers stand between backquotes: `100`" if "(NUMBER)" in str(error) else ""
        raise UsageError(f"--filter {text!r} is no expression of JMESPath: {_on_one_line(error)}{hint}") from None

    def is_true(record: dict[str, Any]) -> bool:
        try:
            found = expression.search(record)
        except JMESPathTypeError:
            return False
        return found not in _FALSE if isinstance(found, (str, list, dict)) else found is not None and found is not False

    return is_true


def check_functions(tree: Mapping[str, Any], known: Mapping[str, Any]) -> None:
    """ValueError for a function that does not exist, or takes another number of arguments, in a parsed expression:
    jmespath itself sees that with the first record, if that gets so far."""
    if tree["type"] == "function_expression":
        name, given = tree["value"], len(tree["children"])
        if name not in known:
            raise ValueError(f"there is no function {name}()")
        signature = known[name]["signature"]
        may_have_more = bool(signature) and signature[-1].get("variadic", False)
        if given < len(signature) or (given > len(signature) and not may_have_more):
            raise ValueError(f"{name}() takes {len(signature)}{' or more' if may_have_more else ''}, not {given}")
    for child in tree["children"]:
        if isinstance(child, Mapping):
            check_functions(child, known)


def _on_one_line(error: ValueError) -> str:
    """What jmespath says, without the picture of the place below it."""
    return str(error).partition("\n")[0].removesuffix(":").removesuffix(", for expression")
