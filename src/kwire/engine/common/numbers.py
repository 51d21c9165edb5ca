"""Numbers in texts that somebody else has written. Layer 3, no I/O."""

from __future__ import annotations

_MOST_DIGITS = 19


def whole_number(text: str) -> int | None:
    """The number from 0 whose digits the text is; None for anything else, and for more digits than 64 bits hold."""
    return int(text) if text.isdecimal() and len(text) <= _MOST_DIGITS else None
