"""Under which subject a serializer's schema stands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Literal

from kwire.errors import ConfigError, SerializationError

Strategy = Callable[[Any, str | None], str]
"""Of the context and the record's name; those of confluent-kafka are such."""

SubjectName = Literal["topic", "record", "topic-record"]


def strategy_of(subject: SubjectName | Strategy | str) -> Strategy:
    """The strategy of that name, or the callable that it is."""
    if callable(subject):
        return subject
    if subject not in _STRATEGIES:
        names = ", ".join(map(repr, _STRATEGIES))
        raise ConfigError(f"subject={subject!r}: expected one of {names}, or a callable(context, record_name)")
    return _STRATEGIES[subject]


def _topic(context: Any, name: str | None) -> str:
    return f"{context.topic}-{context.field}"


def _record(context: Any, name: str | None) -> str:
    if name is None:
        raise SerializationError("its schema has no name, which subject='record' and 'topic-record' need")
    return name


def _topic_record(context: Any, name: str | None) -> str:
    return f"{context.topic}-{_record(context, name)}"


_STRATEGIES: Final[dict[str, Strategy]] = {"topic": _topic, "record": _record, "topic-record": _topic_record}
