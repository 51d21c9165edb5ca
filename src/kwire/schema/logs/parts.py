"""A piece of bytes that holds one message, preceded by a few numbers that say which: as far as it is known.

Knows no message, no topic and no protocol; those who do choose the class.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kwire import errors
from kwire._typing import NamedTuple
from kwire.schema.logs.envelopes import Word, read_words
from kwire.schema.messages import Message

__all__ = ["LogPart", "read_part"]


class LogPart(NamedTuple):
    """The key or the value of a record: the numbers before the message, and the message.

    `name` is Kafka's name of the message, "" when it is not known. `start` and `end` say where in `data` the message
    stands; what follows `end` belongs to nothing that kwire knows. `message` is None exactly when there is a `problem`:
    an UnknownVersionError for a type or version that is not known, another CodecError for damage (its offset counts in
    `data`).
    """

    data: bytes
    words: tuple[Word, ...]
    name: str
    version: int | None
    start: int
    end: int
    message: Message | None
    problem: errors.CodecError | None


def read_part(
    data: bytes,
    expected: tuple[tuple[str, str], ...],
    choose: Callable[[Mapping[str, int]], tuple[type[Message], int]],
) -> LogPart:
    """What `data` holds: first the words (name, kind) `expected`, then the message that `choose` names by them.

    `choose` returns class and version, or raises a CodecError.
    """
    words: list[Word] = []
    name, version, message, problem, end = "", None, None, None, None
    try:
        read_words(data, expected, words)
        cls, version = choose({word.name: word.value for word in words})
        name = cls.__qualname__
        message, end = cls.plan(version).decode_prefix(data, words[-1].end if words else 0)
    except errors.CodecError as error:
        problem = error
    start = words[-1].end if words else 0
    return LogPart(data, tuple(words), name, version, start, start if end is None else end, message, problem)
