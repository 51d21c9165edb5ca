"""A description as text, plain or in ANSI colours, and as JSON. Looks at the tree only, never at bytes.

    start     end  field                type    value  meaning
        0       4  size                 int32   24     24 bytes follow
Positions in decompressed bytes are their own: such lines have `~` in front.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from uuid import UUID

from kwire.errors.listing import counted

if TYPE_CHECKING:
    from kwire.schema.describing.tree import Description, Field

__all__ = ["as_dict", "as_json", "as_text", "id_text", "lines_of", "value_text"]

_DIM, _BOLD, _CYAN, _GREEN, _RED, _END = "\x1b[2m", "\x1b[1m", "\x1b[36m", "\x1b[32m", "\x1b[1;31m", "\x1b[0m"
_WIDEST_NAME = 60
_WIDEST_TYPE = 32
_WIDEST_VALUE = 72


def id_text(value: UUID) -> str:
    """A topic or directory id as Kafka's own tools print it: base64 of its 16 bytes, URL-safe, without padding."""
    return base64.urlsafe_b64encode(value.bytes).rstrip(b"=").decode()


def as_dict(description: Description) -> dict[str, Any]:
    """The description as plain values."""
    made: dict[str, Any] = {"direction": description.direction}
    for name in ("api_key", "api_name", "version", "correlation_id", "client_id"):
        value = getattr(description, name)
        if value is not None:
            made[name] = value
    made["size"] = description.root.size
    if description.notes:
        made["notes"] = list(description.notes)
    made["fields"] = [_field_dict(field) for field in description.fields]
    if description.errors:
        made["errors"] = [
            {"error": type(error).__name__, "message": error.message, "field": error.field, "offset": error.offset}
            for error in description.errors
        ]
    return made


def as_json(description: Description, indent: int | None) -> str:
    return json.dumps(as_dict(description), ensure_ascii=False, indent=indent)


def _field_dict(field: Field) -> dict[str, Any]:
    made: dict[str, Any] = {"name": field.name, "type": field.type, "start": field.start, "end": field.end}
    if field.secret:
        made["secret"] = True
    elif not field.children or field.value is not None:
        made["value"] = _plain(field.value)
    if field.meaning:
        made["meaning"] = field.meaning
    if field.error is not None:
        made["error"] = type(field.error).__name__
    if field.children:
        made["fields"] = [_field_dict(part) for part in field.children]
    if field.decompressed is not None:
        made["decompressed"] = [_field_dict(part) for part in field.decompressed.children]
    return made


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return {"base64": base64.b64encode(value).decode()}
    if isinstance(value, UUID):
        return id_text(value)
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return str(value)
    return list(value) if isinstance(value, tuple) else value


def as_text(description: Description, *, color: bool, at: int | None) -> str:
    """The title, the lines, and the errors at the end."""
    wanted = None if at is None else {id(field) for field in description.at(at)}
    lines = [
        (mark, "  " * depth + field.name, field)
        for mark, depth, field in lines_of(description.root)
        if wanted is None or id(field) in wanted
    ]
    name_width = min(max((len(name) for _, name, _ in lines), default=0), _WIDEST_NAME)
    type_width = min(max((len(field.type) for _, _, field in lines), default=0), _WIDEST_TYPE)
    digits = max(5, len(str(description.root.end)))
    paint = _paint if color else _plainly
    text = [paint(_BOLD, description.title)]
    text += [f"note: {note}" for note in description.notes]
    for mark, name, field in lines:
        text.append(_line(mark, name, field, (digits, name_width, type_width), paint))
    text += [paint(_RED, f"{type(error).__name__}: {error}") for error in description.errors]
    return "\n".join(text)


def lines_of(root: Field) -> Iterator[tuple[str, int, Field]]:
    """(mark of decompressed positions, depth, field), the root left out."""
    waiting: list[tuple[str, int, Field]] = [(" ", 0, field) for field in reversed(root.children)]
    while waiting:
        mark, depth, field = waiting.pop()
        yield mark, depth, field
        parts = [(mark, depth + 1, part) for part in field.children]
        if field.decompressed is not None:
            parts += [("~", depth + 1, part) for part in field.decompressed.children]
        waiting.extend(reversed(parts))


def _paint(code: str, text: str) -> str:
    return f"{code}{text}{_END}" if text else text


def _plainly(_code: str, text: str) -> str:
    return text


def _line(mark: str, name: str, field: Field, widths: tuple[int, int, int], paint: Any) -> str:
    digits, name_width, type_width = widths
    place = paint(_DIM, f"{mark}{field.start:>{digits}} {field.end:>{digits}}")
    value = value_text(field)
    kind = field.type if len(field.type) <= type_width else field.type[: type_width - 1] + "…"
    parts = [f"{place}  {name:<{name_width}}", paint(_DIM, kind) + " " * (type_width - len(kind))]
    shown = paint(_CYAN, value)
    meaning = paint(_RED if field.error is not None else _GREEN, field.meaning)
    if shown or meaning:
        parts.append(shown if shown else "")
    if meaning:
        parts[-1] = f"{shown}  {meaning}" if shown else meaning
    return "  ".join(parts).rstrip()


def value_text(field: Field) -> str:
    """The value on one line, cut to its width; a secret only by its size."""
    if field.secret:
        return f"<secret, {counted(field.size, 'byte')}>"
    value = field.value
    if value is None:
        return ""
    if isinstance(value, str):
        return _cut(json.dumps(value, ensure_ascii=False))
    if isinstance(value, bytes):
        return counted(len(value), "byte") if field.children else _bytes_text(value)
    if isinstance(value, UUID):
        return id_text(value)
    if isinstance(value, tuple):
        return _cut(f"[{', '.join(map(str, value[:_WIDEST_VALUE]))}{', …' if len(value) > _WIDEST_VALUE else ''}]")
    if field.children and field.type.startswith(("array", "compact array")):
        return counted(value, "element")
    if (field.children and field.type in ("records", "compact records")) or field.decompressed is not None:
        return counted(value, "byte")
    return str(value)


def _bytes_text(value: bytes) -> str:
    """As text when all of it is printable, else in hex; both cut to the width of a line."""
    head = value[:_WIDEST_VALUE]
    try:
        text = head.decode()
    except UnicodeDecodeError:
        text = ""
    if text.isprintable() and (text or not value):
        shown = _cut(json.dumps(text, ensure_ascii=False))
    else:
        shown = "0x" + head[: _WIDEST_VALUE // 2].hex() + ("…" if len(value) > _WIDEST_VALUE // 2 else "")
        return f"{shown} ({len(value)} bytes)" if len(value) > _WIDEST_VALUE // 2 else shown
    return f"{shown}… ({len(value)} bytes)" if len(value) > len(head) else shown


def _cut(text: str) -> str:
    return text if len(text) <= _WIDEST_VALUE else text[: _WIDEST_VALUE - 1] + "…"
