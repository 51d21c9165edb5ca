"""What the other side says (host names, error messages, topics) as it may stand in an error or a log. Imports nothing.

A line break or an escape sequence in it would forge lines of a log, or command a terminal.
"""

from __future__ import annotations

MAX_QUOTED = 300
"""So many characters of what the other side said go into an error."""


def printable(text: str) -> str:
    """The text with a replacement character for each that is not printable."""
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text)


def quoted(said: bytes | str | None, limit: int = MAX_QUOTED) -> str:
    """What the other side said: printable, and not longer than `limit` characters."""
    text = said.decode("utf-8", "replace") if isinstance(said, bytes) else said or ""
    return printable(text[:limit]) + ("..." if len(text) > limit else "")
