r"""Format strings of `kwire consume --format-string`: kcat's, with its tokens and escapes.

%s  value                      %S  its size in bytes, -1 for a null value
%k  key                        %K  its size in bytes, -1 for a null key
%h  headers, name=value,...    %R  the size of the value as 4 bytes, big-endian, -1 for a null value
%t  topic                      %p  partition
%o  offset                     %T  timestamp in milliseconds since 1970, -1 for none
%%  a percent sign             %U  timestamp as 2024-05-01T12:00:00.000Z, "-" for none (not in kcat)

\n \r \t   line feed, carriage return, tab
\xHH       a byte by two hexadecimal digits; \0 and \0OO by octal, \DDD by decimal ones
\other     that character

A header without a value is NAME=NULL. Nothing is added after a record: a line ends by \n. Where kcat takes as many
digits as there are, and ends the text at \0, this takes two (\x) or three, and \0 is a byte like another.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from os import fsencode
from typing import TYPE_CHECKING, Final

from kwire.cli.record_columns import Look, bytes_column, offsets, raw, timestamps
from kwire.cli.rendering import utc
from kwire.cli.usage import UsageError

if TYPE_CHECKING:
    from kwire.cli.record_columns import Column, Rows

PLACES: Final = "tp"
TOKENS: Final = "sSkKhRtpoTU%"
_PIECE = re.compile(r"%(.?)|\\(?:x([0-9a-fA-F]{1,2})|(0[0-7]{0,2}|[1-9][0-9]{0,2})|([^%]))|([^%\\]+|\\)", re.DOTALL)
_CONTROL = {"n": "\n", "r": "\r", "t": "\t"}
_SIZE = struct.Struct(">i")


def pieces(text: str) -> list[bytes | str]:
    """The text as literal bytes and the letters of its tokens. UsageError for a token that does not exist."""
    found: list[bytes | str] = []
    for token, hexadecimal, number, other, plain in _PIECE.findall(text):
        if plain:
            found.append(fsencode(plain))
        elif hexadecimal:
            found.append(bytes([int(hexadecimal, 16)]))
        elif number:
            found.append(bytes([int(number, 8 if number[0] == "0" else 10) & 0xFF]))
        elif other:
            found.append(fsencode(_CONTROL.get(other, other)))
        elif token == "%":
            found.append(b"%")
        elif token and token in TOKENS:
            found.append(token)
        else:
            known = " ".join(f"%{letter}" for letter in TOKENS)
            raise UsageError(f"--format-string: '%{token}' is none of {known}")
    return found


def compiled(text: str, look: Look) -> Callable[[str, int, Rows], bytes]:
    """A function of topic, partition and records that gives the bytes which the format string makes of them."""
    parts = pieces(text)
    columns = [_column(part, look) for part in parts if isinstance(part, str) and part not in PLACES]
    templates: dict[tuple[str, int], bytes] = {}

    def render(topic: str, partition: int, rows: Rows) -> bytes:
        template = templates.get((topic, partition))
        if template is None:
            template = templates[topic, partition] = _template(parts, topic, partition)
        if not columns:
            return (template % ()) * len(rows)
        return b"".join(map(template.__mod__, zip(*[column(rows) for column in columns], strict=True)))

    return render


def _template(parts: list[bytes | str], topic: str, partition: int) -> bytes:
    """What `%` of bytes makes the records of a partition of, from the columns."""
    places = {"t": topic.encode().replace(b"%", b"%%"), "p": b"%d" % partition}
    numbers = "SKoT"
    return b"".join(
        part.replace(b"%", b"%%")
        if isinstance(part, bytes)
        else places.get(part) or (b"%d" if part in numbers else b"%b")
        for part in parts
    )


def _column(token: str, look: Look) -> Column:
    columns: dict[str, Column] = {
        "s": bytes_column("value", look),
        "k": bytes_column("key", look),
        "S": lambda rows: _sizes(rows, "value"),
        "K": lambda rows: _sizes(rows, "key"),
        "R": lambda rows: [_SIZE.pack(size) for size in _sizes(rows, "value")],
        "h": lambda rows: [_headers(row.raw_headers) for row in rows],
        "o": offsets,
        "T": timestamps,
        "U": lambda rows: [b"-" if stamp < 0 else utc(stamp).encode() for stamp in timestamps(rows)],
    }
    return columns[token]


def _sizes(rows: Rows, field: str) -> list[int]:
    return [-1 if cell is None else len(cell) for cell in raw(rows, field)]


def _headers(pairs: tuple[tuple[bytes, bytes | None], ...]) -> bytes:
    return b",".join([name + (b"=NULL" if value is None else b"=" + value) for name, value in pairs])
