"""Topics by name and by pattern, as `kwire consume` takes them.

^REGEX     a regular expression that names begin with, as librdkafka and kcat spell it
--pattern  all topics given are regular expressions for whole names, as Java's tools take them with --include

They become one expression for whole names, which a group takes as it is (`group_protocol=consumer`: the broker's RE2),
and so does what follows new topics; all else reads the topics that match when the command starts. Topics of Kafka
itself match nothing.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence

from kwire.cli.connecting import opened, waiting
from kwire.cli.usage import UsageError
from kwire.engine.common.expressions import compiled
from kwire.errors import UnknownTopicError


def pattern_of(topics: Sequence[str], *, whole: bool) -> str | None:
    """One expression for the names of all topics, `whole` if each is an expression itself; None if all are names."""
    if not whole and not any(text.startswith("^") for text in topics):
        return None
    parts = []
    for text in topics:
        if whole or text.startswith("^"):
            _check(text)
        parts.append(f"(?:{text})" if whole else f"(?:{text}).*" if text.startswith("^") else re.escape(text))
    return "|".join(parts)


def matching(options: argparse.Namespace, pattern: str) -> list[str]:
    """The topics whose names match. UnknownTopicError if there is none."""
    from kwire.admin import Admin

    matches = re.compile(pattern).fullmatch
    with opened(Admin, options, shared=True, **waiting(options)) as admin:
        found = [name for name in admin.list_topics() if matches(name)]
    if not found:
        raise UnknownTopicError(f"no topic matches {' or '.join(map(repr, options.topics))}; 'kwire topics' lists them")
    return found


def _check(text: str) -> None:
    try:
        compiled(text)
    except ValueError as error:
        raise UsageError(f"{text!r} is not a regular expression: {error}") from None
