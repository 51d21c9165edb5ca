"""Regular expressions of consumer groups (KIP-848), in RE2's syntax as far as Python's has the same.

What RE2 does not have is refused as Kafka refuses it: references to groups, and looking ahead or behind. A pattern has
to match the whole name.
"""

from __future__ import annotations

import re

from kwire.engine.common import expressions
from kwire.errors import broker as codes

_NOT_IN_RE2 = re.compile(r"\(\?(?:=|!|<=|<!|>|\()|\(\?P=|(?<!\\)(?:\\\\)*\\[1-9]|(?<!\\)(?:\\\\)*[*+?}]\+")
_NAMED_GROUP = re.compile(r"\(\?<(?=[A-Za-z_])")


def compiled(pattern: str) -> re.Pattern[str]:
    """Raises BrokerError (INVALID_REGULAR_EXPRESSION)."""
    if _NOT_IN_RE2.search(pattern):
        raise codes.INVALID_REGULAR_EXPRESSION(f"{pattern!r} is not a regular expression of RE2")
    try:
        return expressions.compiled(_NAMED_GROUP.sub("(?P<", pattern).replace(r"\z", r"\Z").replace(r"\pN", r"\d"))
    except ValueError as error:
        raise codes.INVALID_REGULAR_EXPRESSION(f"{pattern!r}: {error}") from error
