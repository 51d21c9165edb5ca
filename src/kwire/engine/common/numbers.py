"""Numbers in texts that somebody else has written. Layer 3, no I/O."""

from __future__ import annotations

import re

_MOST_DIGITS = 19
_SIGNED = re.compile(rf"[+-]?[0-9]{{1,{_MOST_DIGITS}}}")


def whole_number(text: str) -> int | None:
    """The number from 0 whose digits the text is; None for anything else, and for more digits than 64 bits hold."""
    return int(text) if text.isdecimal() and len(text) <= _MOST_DIGITS else None


def signed_number(text: str) -> int | None:
    """As `whole_number`, with a sign where there is one: by Java's rules and not Python's, which reads `1_000`."""
    return int(text) if _SIGNED.fullmatch(text) else None
