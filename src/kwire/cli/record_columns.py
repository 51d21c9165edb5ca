"""Fields of records as columns, from which `kwire consume` makes its output.

A column is a list with an entry for each record of one partition. Working through one column after the other, mostly in
C, takes a third of the time of one record after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from json.encoder import encode_basestring
from os import fsencode
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from kwire.cli.value_forms import BYTES, Form, Headed, base64_object, json_text, shown

if TYPE_CHECKING:
    from kwire._codec import Record, Records

    Rows: TypeAlias = Sequence[Record] | Records
    Column: TypeAlias = Callable[[Rows], list[Any]]

Cell = TypeVar("Cell")


@dataclass(frozen=True)
class Look:
    """How keys and values are shown.

    `null` stands for a null key or value where the output has no other word for it; `keeps`: bytes that do not fit
    their form are shown as base64, and are no error.
    """

    key: Form = BYTES
    value: Form = BYTES
    null: str = ""
    keeps: bool = False

    def form(self, field: str) -> Form:
        """That of "key" or "value"."""
        return self.key if field == "key" else self.value


class UnfitError(Exception):
    """The key or value of a record does not fit its form."""

    def __init__(self, offset: int, field: str, why: str) -> None:
        super().__init__(why)
        self.offset, self.field, self.why = offset, field, why


def raw(rows: Rows, field: str) -> list[bytes | None]:
    """The keys or values as they are."""
    if not isinstance(rows, list):
        return rows.keys() if field == "key" else rows.values()  # type: ignore[union-attr]
    return [row.key for row in rows] if field == "key" else [row.value for row in rows]


def cells_of(rows: Rows, field: str, form: Form) -> list[bytes | None]:
    """The keys or values as they are, Headed where a header names their schema and their form wants to know."""
    cells = raw(rows, field)
    if not form.may_be_headed:
        return cells
    from kwire.registry.framing import HEADERS

    name = HEADERS[field].encode()
    return [
        _headed(cell, row.raw_headers, name) if cell is not None and row.raw_headers else cell
        for row, cell in zip(rows, cells, strict=True)
    ]


def _headed(cell: bytes, pairs: Iterable[tuple[bytes, bytes | None]], name: bytes) -> bytes:
    frame = next((value for each, value in pairs if each == name and value is not None), None)
    if frame is None:
        return cell
    headed = Headed(cell)
    headed.frame = frame
    return headed


def bytes_column(field: str, look: Look) -> Column:
    """Keys or values as bytes for output that consists of bytes."""
    form, null = look.form(field), fsencode(look.null)
    if form is not BYTES:
        texts = text_column(field, look)
        return lambda rows: [text.encode(errors="surrogateescape") for text in texts(rows)]

    def as_they_are(rows: Rows) -> list[Any]:
        cells = raw(rows, field)
        return [null if cell is None else cell for cell in cells] if None in cells else cells

    return as_they_are


def text_column(field: str, look: Look) -> Column:
    """Keys or values as text."""
    form = look.form(field)
    show = form.show_text

    def kept(cell: bytes) -> str:
        try:
            return show(cell)
        except ValueError:
            return base64_object(cell)["base64"]

    convert = kept if look.keeps else show
    null = look.null
    return lambda rows: fitting(
        rows, field, cells_of(rows, field, form), lambda cell: null if cell is None else convert(cell)
    )


def json_column(field: str, look: Look) -> Column:
    """Keys or values as texts of JSON."""
    form = look.form(field)
    if form is BYTES:
        return lambda rows: [json_cell(cell) for cell in raw(rows, field)]
    return _shown_column(field, look, json_text)


def values_column(field: str, look: Look) -> Column:
    """Keys or values as values of JSON."""
    return _shown_column(field, look, lambda value: value)


def _shown_column(field: str, look: Look, finish: Callable[[Any], Any]) -> Column:
    form = look.form(field)

    def strict(cell: bytes | None) -> Any:
        return finish(shown(form, cell))

    def kept(cell: bytes | None) -> Any:
        try:
            return strict(cell)
        except ValueError:
            return finish(base64_object(cell or b""))

    convert = kept if look.keeps else strict
    return lambda rows: fitting(rows, field, cells_of(rows, field, form), convert)


def fitting(
    rows: Rows, field: str, cells: Iterable[bytes | None], convert: Callable[[bytes | None], Cell]
) -> list[Cell]:
    """The cells converted. UnfitError for the first that cannot be."""
    made: list[Cell] = []
    try:
        for cell in cells:
            made.append(convert(cell))
    except ValueError as error:
        raise UnfitError(rows[len(made)].offset, field, str(error)) from None
    return made


def json_cell(cell: bytes | None) -> str:
    """A text of JSON, or {"base64": ...} where the bytes are not UTF-8."""
    if cell is None:
        return "null"
    try:
        return encode_basestring(cell.decode())
    except UnicodeDecodeError:
        return json_text(base64_object(cell))


def offsets(rows: Rows) -> list[int]:
    return [row.offset for row in rows]


def timestamps(rows: Rows) -> list[int]:
    """Milliseconds since 1970, -1 for none."""
    return [row.timestamp for row in rows]


def json_headers(rows: Rows) -> list[str]:
    """[[name, value], ...] as text of JSON."""
    return [_json_pairs(pairs) if (pairs := row.raw_headers) else "[]" for row in rows]


def _json_pairs(pairs: Iterable[tuple[bytes, bytes | None]]) -> str:
    return f"[{','.join(f'[{json_cell(name)},{json_cell(value)}]' for name, value in pairs)}]"
