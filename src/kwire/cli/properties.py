"""Java's properties files, as `--config` takes them: `name=value` lines, with Java's rules for blanks and escapes.

    # or !        a comment, where it is the first character of a line that is not blank
    = : or blank  ends the name; blanks around it belong to neither side, those at the end of the value to the value
    \\             at the end of a line: the value goes on in the next one, without the blanks that begin it
    \\t \\n \\r \\f   as in Java; \\uXXXX is a UTF-16 unit; before anything else the backslash is dropped

A name given twice has its last value. Java reads Latin-1; here a file is UTF-8 if it can be. Errors name the file and
the line and never show a value, since any of them may be a password. Knows no setting.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from kwire.errors import ConfigError

__all__ = ["Property", "parse_properties", "read_properties"]

_BLANKS = " \t\f"
_LINE_END = re.compile(r"\r\n|\r|\n")
_CONTINUED = re.compile(r"(?<!\\)(?:\\\\)*\\$")
_NAME = re.compile(r"(?:[^\\=: \t\f]|\\.)*")
_SEPARATOR = re.compile(r"[ \t\f]*[=:]?[ \t\f]*")
_ESCAPE = re.compile(r"\\(u[0-9A-Fa-f]{4}|.)", re.DOTALL)
_CONTROLS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


class Property(NamedTuple):
    """A value and the line of the file that its name begins in."""

    value: str
    line: int


def read_properties(path: str) -> dict[str, Property]:
    """The properties of a file. ConfigError that names the file when it cannot be read, and the line at fault."""
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from error
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("latin-1")
    return parse_properties(text, path)


def parse_properties(text: str, name: str) -> dict[str, Property]:
    """The properties in `text`; `name` stands for the file in errors."""
    found: dict[str, Property] = {}
    for number, line in _logical_lines(text):
        match = _NAME.match(line)
        assert match is not None
        separator = _SEPARATOR.match(line, match.end())
        assert separator is not None
        try:
            key, value = _unescaped(match[0]), _unescaped(line[separator.end() :])
        except ValueError as error:
            raise ConfigError(f"{name}, line {number}: {error}") from None
        if not key:
            raise ConfigError(f"{name}, line {number}: there is no name before the value")
        found[key] = Property(value, number)
    return found


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """(number of its first line, the line with those that continue it): no comments, no blank lines."""
    begun, parts = 0, ""
    for number, natural in enumerate(_LINE_END.split(text), 1):
        line = natural.lstrip(_BLANKS)
        if not parts and (not line or line[0] in "#!"):
            continue
        begun = begun if parts else number
        if _CONTINUED.search(line):
            parts += line[:-1]
            continue
        yield begun, parts + line
        parts = ""
    if parts:
        yield begun, parts


def _unescaped(text: str) -> str:
    """`text` with its escapes replaced. ValueError for \\u without four digits, and for half a surrogate pair."""
    if "\\" not in text:
        return text
    made = _ESCAPE.sub(_character, text)
    try:
        return made.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
    except UnicodeDecodeError:
        raise ValueError("\\uXXXX of a surrogate pair without its other half") from None


def _character(match: re.Match[str]) -> str:
    code = match[1]
    if len(code) > 1:
        return chr(int(code[1:], 16))
    if code == "u":
        raise ValueError("\\u needs four hexadecimal digits")
    return _CONTROLS.get(code, code)
