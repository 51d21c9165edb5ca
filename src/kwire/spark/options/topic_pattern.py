"""`subscribePattern`: a regular expression written for Java, read by Python.

The two agree on what topic names need, but for sets in brackets: Java knows intersections (`&&`) and sets within sets,
which Python takes for plain characters without a word. Those are refused, since they would choose other topics. Where
Python does not know a construct, it says so itself.
"""

from __future__ import annotations

import re
import warnings
from typing import Final

from kwire.engine.common.expressions import compiled
from kwire.errors import ConfigError

_ESCAPED: Final = re.compile(r"\\.", re.DOTALL)
# A set from its bracket to the first one that closes it; what is escaped outside of a set is passed over.
_SETS: Final = re.compile(r"(?:\\.)|(\[\^?\]?(?:\\.|[^\\\]])*)", re.DOTALL)


def check_pattern(option: str, pattern: str) -> str:
    """The pattern; raises ConfigError if Python cannot read it, or reads it otherwise than Java."""
    found = _set_operation(pattern)
    if found is not None:
        raise ConfigError(
            f"{option}: '{pattern}' has {found} between brackets, which Java and Python read differently; write it as "
            "alternatives, (a|b), or with a lookahead, (?!not)"
        )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            compiled(pattern)
    except ValueError as fault:
        raise ConfigError(f"{option}: '{pattern}' is not a regular expression in Python's syntax: {fault}") from None
    return pattern


def _set_operation(pattern: str) -> str | None:
    """What Java has within a set in brackets and Python has not, where there is such a thing."""
    for piece in _SETS.findall(pattern):
        if "&&" in piece:
            return "an intersection ('&&')"
        if "[" in _ESCAPED.sub("", piece[1:]):
            return "a set within a set ('[')"
    return None
