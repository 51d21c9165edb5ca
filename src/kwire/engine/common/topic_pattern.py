"""A pattern of topic names that the client matches itself: a regular expression of Python, for the whole name.

Layer 3, no I/O. Loaded where a subscription has a pattern.
"""

from __future__ import annotations

from kwire.engine.common.expressions import compiled
from kwire.errors import ConfigError


class TopicPattern:
    """Called with a topic's name, and whether it is one of the cluster's own: whether it is of interest."""

    __slots__ = ("_excludes_internal", "_expression")

    def __init__(self, pattern: str, *, exclude_internal: bool) -> None:
        try:
            self._expression = compiled(pattern)
        except ValueError as error:
            raise ConfigError(f"pattern={pattern!r} is not a regular expression: {error}") from None
        self._excludes_internal = exclude_internal

    def __call__(self, name: str, is_internal: bool) -> bool:
        return not (is_internal and self._excludes_internal) and self._expression.fullmatch(name) is not None
