"""Tables in HTML, for notebooks: what `_repr_html_` of records, results and snapshots returns.

Stands above errors alone, and is imported when something is first shown. What a table says may come from anybody: each
text is escaped, and characters that a browser acts upon instead of showing them (controls, marks of the direction of
writing) stand there as escapes. A table has some rows of the beginning and of the end, so its size has a limit. It has
no colours of its own, and is read on dark as on light.
"""

from __future__ import annotations

import re
from codecs import getincrementaldecoder
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from datetime import UTC, datetime, timedelta
from html import escape
from itertools import islice
from typing import Any, Final

from kwire.errors.listing import counted, first_of

MAX_RECORDS: Final = 10
"""Rows of a table of records."""
MAX_ROWS: Final = 60
"""Rows of any other table."""
MAX_COLUMNS: Final = 16
MAX_TEXT: Final = 100
"""Characters of one value."""
_MAX_ITEMS: Final = 5
"""Items of a value that has several."""
_MAX_DEPTH: Final = 3
_MAX_NAMED: Final = 3
_MAX_TABLES: Final = 4
"""Tables of what is inside a value, below its own."""

_WHITE: Final = frozenset("\t\n\r")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_UNITS: Final = ("bytes", "kB", "MB", "GB", "TB")
_KILO: Final = 1000
_UTF8_BYTES: Final = 4

_KIND: Final = re.compile("(Listing|Description|Info|Entry|AndMetadata|AndTimestamp)$")
_CAPITAL: Final = re.compile("(?<=[a-z])(?=[A-Z])")

_TABLE: Final = '<table style="border-collapse:collapse">'
_HEADING: Final = '<div style="font-weight:bold">'
_TH: Final = '<th style="text-align:left;border-bottom:1px solid currentColor">'
_TD: Final = '<td style="text-align:left;vertical-align:top">'
_TD_NUMBER: Final = '<td style="text-align:right;vertical-align:top">'
_TEXT: Final = '<bdi dir="ltr">'
_FAINT: Final = '<span style="opacity:0.6">'

_RECORD: Final = ("partition", "offset", "timestamp", "key", "value", "headers")


# --- records ---


def of_record(record: Any) -> str:
    """One record; a consumed one with its topic."""
    place = ("topic",) if hasattr(record, "topic") else ()
    names = _RECORD if place else _RECORD[1:]
    kind = type(record).__name__
    return of_fields(kind, [(name, getattr(record, name)) for name in (*place, *names)])


def of_records(kind: str, parts: Sequence[tuple[Any, Any]], record_at: Callable[[int], Any]) -> str:
    """Records by partition, of one poll or of one set of bytes: (TopicPartition or None, Records). `record_at` returns
    the record of an index, counted through all parts."""
    filled = [(tp, records) for tp, records in parts if len(records)]
    topics = dict.fromkeys(tp.topic for tp, _ in filled if tp is not None)
    names = _RECORD if topics else _RECORD[1:]
    if len(topics) > 1:
        names = ("topic", *names)
    count = sum(len(records) for _, records in filled)
    heading = ", ".join([f"{count:,} {kind}", *_about(filled, list(topics))])

    def row(index: int) -> list[object]:
        record = record_at(index)
        return [getattr(record, name) for name in names]

    return table(heading, names, count, row, MAX_RECORDS)


def _about(parts: Sequence[tuple[Any, Any]], topics: Sequence[str]) -> Iterable[str]:
    """Topics, partitions, bytes, and the times of the first and the last records."""
    if topics:
        yield f"{first_of(map(shown, topics), _MAX_NAMED)}"
        yield f"{len(parts):,} partition{'s' if len(parts) > 1 else ''}"
    if parts:
        yield _size(sum(records.measure(0, len(records), 2**62)[1] for _, records in parts))
        times = [each.timestamp for _, records in parts for each in (records[0], records[-1]) if each.timestamp >= 0]
        if times:
            yield f"{_time(min(times))} to {_time(max(times))}"


def _size(count: int) -> str:
    size, unit = float(count), 0
    while size >= _KILO and unit < len(_UNITS) - 1:
        size, unit = size / _KILO, unit + 1
    return f"{size:,.1f} {_UNITS[unit]}" if unit else counted(count, "byte")


# --- results and snapshots ---


def of_fields(heading: str, fields: Iterable[tuple[str, object]]) -> str:
    """One thing by its fields; those that have several things inside get tables of their own, below."""
    plain: list[tuple[str, object]] = []
    below: list[tuple[str, Any]] = []
    for name, value in fields:
        (below if _has_rows(value) else plain).append((name, value))
    cells = [(name, _summed_up(name, value)) for name, value in plain]
    made = table(heading, ("", "") if cells else (), len(cells), cells.__getitem__, MAX_ROWS)
    return made + "".join(of_rows(rows, name, name) for name, rows in below[:_MAX_TABLES])


def of_named(value: Any) -> str:
    """A named tuple by its fields."""
    return of_fields(type(value).__name__, zip(value._fields, value, strict=True))


def of_rows(found: Any, label: str = "value", name: str = "") -> str:
    """A row for each item of a mapping or a sequence, with the fields of its key and of itself. Mappings in a mapping
    are rows, too. `label` is the heading of values that have no fields, `name` that of the table, where there is one.
    """
    pairs = _pairs(found)
    model: Any = next((value for _, value in pairs if value is not None), None)
    heading = f"{name}: {len(pairs):,}" if name else f"{len(pairs):,} {_noun(pairs, model, label)}"
    if pairs and _is_named(model) and pairs[0][0] and pairs[0][0][-1] == model[0]:
        pairs = [(keys[:-1], value) for keys, value in pairs]  # the value says it as well
    names = [name for key in (pairs[0][0] if pairs else ()) for name, _ in _parts(key, "name")]
    names += [name for name, _ in _parts(model, label)]

    def row(index: int) -> list[object]:
        keys, value = pairs[index]
        cells = [each for key in keys for _, each in _parts(key, "")] + [each for _, each in _parts(value, "")]
        return [*cells, *[_Nothing] * len(names)][: len(names)]

    return table(heading, names, len(pairs), row, MAX_ROWS)


def _pairs(found: Any) -> list[tuple[tuple[Any, ...], Any]]:
    """Each value with its keys."""
    if not isinstance(found, Mapping):
        return [((), each) for each in found]
    pairs: list[tuple[tuple[Any, ...], Any]] = []
    for key, value in found.items():
        if isinstance(value, Mapping):
            pairs += [((key, inner), each) for inner, each in value.items()]
        else:
            pairs.append(((key,), value))
    return pairs


def _noun(pairs: Sequence[tuple[tuple[Any, ...], Any]], model: object, label: str) -> str:
    """What they are, by the name of the class (`GroupListing`: groups), by the keys, or by the label."""
    if _is_named(model):
        kind = _KIND.sub("", type(model).__name__)
        words = _CAPITAL.sub(" ", kind).lower()
    elif pairs and pairs[0][0] and type(pairs[0][0][-1]).__name__ == "TopicPartition":
        words = "partition"
    else:
        words = "result" if label == "value" else label
    return words if len(pairs) == 1 else f"{words}s"


def _parts(value: Any, label: str) -> list[tuple[str, object]]:
    return list(zip(value._fields, value, strict=True)) if _is_named(value) else [(label, value)]


class _Nothing:
    """An empty cell."""


def _is_named(value: object) -> bool:
    return isinstance(value, tuple) and hasattr(value, "_fields")


def _has_rows(value: Any) -> bool:
    if isinstance(value, Mapping):
        return any(_is_named(each) for pair in islice(value.items(), 1) for each in pair)
    return isinstance(value, tuple | list) and not _is_named(value) and bool(value) and _is_named(value[0])


# --- tables of anything ---


def table(heading: str, names: Sequence[str], count: int, row: Callable[[int], Sequence[object]], limit: int) -> str:
    """A table of `count` rows with these names of columns, from the beginning and the end those within `limit`."""
    columns = names[:MAX_COLUMNS]
    head = "".join(f"{_TH}{escape(shown(name))}</th>" for name in columns)
    if count > limit:
        gap = f"<tr>{f'{_TD}{_FAINT}…</span></td>' * len(columns)}</tr>"
        rows = [*_rows(columns, range(limit // 2), row), gap, *_rows(columns, range(count - limit // 2, count), row)]
    else:
        rows = _rows(columns, range(count), row)
    titles = f"<thead><tr>{head}</tr></thead>" if any(columns) else ""
    body = f"{_TABLE}{titles}<tbody>{''.join(rows)}</tbody></table>" if rows else ""
    return f"<div>{_HEADING}{escape(readable(heading[: 10 * MAX_TEXT]))}</div>{body}</div>"


def _rows(columns: Sequence[str], places: range, row: Callable[[int], Sequence[object]]) -> list[str]:
    return [f"<tr>{''.join(map(_cell, map(_summed_up, columns, row(place))))}</tr>" for place in places]


def _cell(value: object) -> str:
    if value is _Nothing:
        return f"{_TD}</td>"
    if value is None:
        return f"{_TD}{_FAINT}null</span></td>"
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"{_TD_NUMBER}{escape(shown(value))}</td>"
    return f"{_TD}{_TEXT}{escape(shown(value))}</bdi></td>"


def _summed_up(name: str, value: Any) -> object:
    """As it stands in a cell: times as texts, and of what has rows of its own how many."""
    if _has_rows(value):
        return len(value)
    return _time(value) if name.endswith("timestamp") and isinstance(value, int) else value


def _time(milliseconds: int) -> str:
    """A time of UTC; a number that is none as it is."""
    try:
        moment = _EPOCH + timedelta(milliseconds=milliseconds)
    except OverflowError:
        return str(milliseconds)
    return moment.isoformat(" ", "milliseconds").replace("+00:00", "Z") if milliseconds >= 0 else str(milliseconds)


def shown(value: object) -> str:
    """A value as text that is not long, whatever it is."""
    try:
        return _cut(_text(value, _MAX_DEPTH))
    except Exception:
        return f"<{type(value).__name__}>"


def _text(value: Any, depth: int) -> str:
    if isinstance(value, bytes | bytearray | memoryview):
        return _text_of_bytes(value)
    if isinstance(value, str):
        return readable(value[: MAX_TEXT + 1])
    if isinstance(value, float):
        return f"{value:,.6g}"
    if _is_named(value) and "__str__" not in vars(type(value)):
        fields = islice(zip(value._fields, value, strict=True), _MAX_ITEMS)
        return ", ".join(f"{name}={_inner(each, depth)}" for name, each in fields)
    if isinstance(value, Mapping):
        items = [f"{_inner(key, depth)}: {_inner(each, depth)}" for key, each in islice(value.items(), _MAX_ITEMS)]
        return "{" + _listed(items, len(value)) + "}"
    if isinstance(value, Sequence | Set) and not _is_named(value):
        return "[" + _listed([_inner(each, depth) for each in islice(value, _MAX_ITEMS)], len(value)) + "]"
    return readable(str(value)[: MAX_TEXT + 1])


def _inner(value: object, depth: int) -> str:
    return _cut(_text(value, depth - 1)) if depth else "…"


def _listed(items: Sequence[str], count: int) -> str:
    return ", ".join(items) + (f", … {count - len(items):,} more" if count > len(items) else "")


def _text_of_bytes(data: bytes | bytearray | memoryview) -> str:
    """As text where it is UTF-8 without control characters, else in hexadecimal."""
    head = bytes(data[: _UTF8_BYTES * MAX_TEXT])
    size = f"… ({len(data):,} bytes)"
    try:
        text = getincrementaldecoder("utf-8")().decode(head, final=len(head) == len(data))
    except UnicodeDecodeError:
        text = None
    if text is None or any(letter < " " and letter not in _WHITE for letter in text):
        return f"0x{head[: MAX_TEXT // 3].hex()}" + (size if len(data) > MAX_TEXT // 3 else "")
    if len(head) == len(data) and len(text) <= MAX_TEXT:
        return readable(text)
    return _cut(readable(text), MAX_TEXT - len(size)).removesuffix("…") + size


def readable(text: str) -> str:
    """With an escape in the place of each character that is not to be seen, or does something to those around it."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)


def _cut(text: str, limit: int = MAX_TEXT) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
