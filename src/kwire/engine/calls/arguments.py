"""Arguments of the clients' calls: checked, converted, or refused by a ConfigError that names the argument.

Layer 3, no I/O. Only what a user passes comes here; what a record is made of is checked by the compiled half.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache

from kwire._typing import TYPE_CHECKING, Any
from kwire.engine.calls.words import word_in
from kwire.engine.common.absent import LISTENER_METHODS
from kwire.engine.common.addresses import TopicPartition
from kwire.engine.common.warning import warn_caller
from kwire.errors import ConfigError

if TYPE_CHECKING:
    from uuid import UUID

_TOPIC_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")
_MAX_OFFSET = 2**63 - 1
_MAX_NUMBER = 2**31 - 1
"""Of partitions and brokers."""

_MAX_TOPIC_LENGTH = 255
"""Brokers before Kafka 0.10 took 255 characters, later ones 249."""

_MAX_TEXT = 2**15 - 1
"""Bytes of a text in most requests."""

_MAX_SHOWN = 60

_LONG_POLL = 300.0
"""Seconds above which a plain number was probably meant as milliseconds."""


def seconds(timeout: object, name: str = "timeout") -> float | None:
    """A timeout in seconds: of a number or a timedelta; None stays None."""
    if timeout is None:
        return None
    total = getattr(timeout, "total_seconds", None)
    value: Any = total() if total is not None else timeout
    try:
        if isinstance(value, str | bytes | bytearray | bool):
            raise TypeError
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise ConfigError(f"{name}={timeout!r}: expected seconds (a number or a timedelta) or None") from None
    if not number >= 0:
        raise ConfigError(f"{name}={timeout!r}: expected seconds from 0, or None")
    return number


def poll_seconds(timeout: object) -> float | None:
    """As `seconds`, with a warning about numbers that look like milliseconds."""
    if type(timeout) is float and 0.0 <= timeout <= _LONG_POLL:
        return timeout
    number = seconds(timeout)
    if number is not None and number > _LONG_POLL and isinstance(timeout, int | float) and number != float("inf"):
        warn_caller(
            f"poll(timeout={timeout!r}) waits up to {number:g} seconds; if milliseconds were meant, divide by 1000, "
            "else give a timedelta or None"
        )
    return number


def record_count(count: object, name: str) -> int | None:
    """A number of records from 1, or None."""
    if count is None or (type(count) is int and count > 0):
        return count
    if isinstance(count, bool) or not hasattr(count, "__index__") or (number := count.__index__()) < 1:
        raise ConfigError(f"{name}={count!r}: expected a whole number from 1, or None")
    return int(number)


def topic_name(name: object) -> str:
    """A topic's name that a broker could know."""
    if not isinstance(name, str) or not name:
        raise ConfigError(f"{name!r} is not a topic name: expected a str of the characters a-z A-Z 0-9 . _ -")
    _check_topic_name(name)
    return name


@lru_cache(maxsize=1024)
def _check_topic_name(name: str) -> None:
    """Remembers those that it has found to be right."""
    if name.startswith("^"):
        raise ConfigError(f"{name!r} is not a topic name: subscribe(pattern=) takes a regular expression")
    if not _TOPIC_CHARACTERS.issuperset(name) or len(name) > _MAX_TOPIC_LENGTH or name in (".", ".."):
        allowed = f"only 1 to {_MAX_TOPIC_LENGTH} of the characters a-z A-Z 0-9 . _ - are allowed"
        raise ConfigError(f"{name!r} is not a topic name: {allowed}, and not '.' or '..' alone")


def topic_names(topics: object) -> list[str]:
    """Topic names, each once, of one name or an iterable of names."""
    if isinstance(topics, str):
        topics = [topics]
    if not isinstance(topics, Iterable) or isinstance(topics, bytes):
        raise ConfigError(f"topics={topics!r}: expected a topic name, or an iterable of names")
    return list(dict.fromkeys(topic_name(name) for name in topics))


def topics_or_ids(topics: object) -> list[str] | list[UUID]:
    """Topics, each once, of one name or an iterable of names or of ids."""
    if isinstance(topics, str | bytes) or not isinstance(topics, Iterable):
        return topic_names(topics)
    given = list(topics)
    if all(isinstance(topic, str) for topic in given):
        return topic_names(given)
    return topic_ids(given)


def topic_ids(given: Iterable[object]) -> list[UUID]:
    """Ids of topics, each once."""
    from uuid import UUID

    found: dict[UUID, None] = {}
    for topic in given:
        if not isinstance(topic, UUID):
            raise ConfigError(f"{topic!r} is not a topic's id: expected a uuid.UUID, or names alone")
        if not topic.int:
            raise ConfigError(f"{topic} is no topic's id: it stands for a topic without one")
        found[topic] = None
    return list(found)


def topics_or_pattern(topics: object, pattern: object) -> tuple[list[str], str | None]:
    """What to subscribe to: topic names, or a pattern as text."""
    if (topics is None) is (pattern is None):
        raise ConfigError("subscribe() takes either topics or pattern=")
    if pattern is None:
        return topic_names(topics), None
    text = getattr(pattern, "pattern", pattern)
    if not isinstance(text, str) or not text:
        raise ConfigError(f"pattern={pattern!r}: expected a regular expression for topic names")
    return [], text


def check_listener(listener: object) -> None:
    """Refuses a listener of a rebalance that has nothing to be called by."""
    if listener is None or any(hasattr(listener, f"on_{event}") for event in ("assigned", "revoked", "lost")):
        return
    foreign = [f"{ours} in place of {name}" for name, ours in LISTENER_METHODS.items() if hasattr(listener, name)]
    wanted = ", ".join(foreign) or "an object with on_assigned(partitions), on_revoked and on_lost, or some of them"
    raise ConfigError(f"listener={listener!r}: expected {wanted}")


def partition(entry: object) -> TopicPartition:
    """One partition: a TopicPartition or (topic, number)."""
    if not isinstance(entry, tuple) or len(entry) != 2:
        raise ConfigError(f"{entry!r} is not a partition: expected a TopicPartition or (topic, number)")
    topic, number = entry
    try:
        return _partition(topic, number)
    except TypeError:  # what cannot be hashed
        return _partition.__wrapped__(topic, number)


@lru_cache(maxsize=1024, typed=True)
def _partition(topic: object, number: object) -> TopicPartition:
    """Remembers those that it has found to be right."""
    if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number <= _MAX_NUMBER:
        raise ConfigError(f"{(topic, number)!r} is not a partition: {number!r} is not a number from 0 to 2**31 - 1")
    return TopicPartition(topic_name(topic), number)


def broker_id(value: object, name: str = "broker") -> int:
    """The id of a broker: a whole number from 0."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _MAX_NUMBER:
        raise ConfigError(f"{name}={value!r}: expected the id of a broker, a whole number from 0 to 2**31 - 1")
    return value


def to_delete(given: Any, name: str) -> Any:
    """What a call that destroys is given, unless it is a mapping: whoever gives values means to set them."""
    if isinstance(given, Mapping):
        raise ConfigError(f"{name}: expected a list, not a mapping: what is named here is deleted, nothing is set")
    return given


def flag(value: object, name: str) -> bool:
    """True or False."""
    if not isinstance(value, bool):
        raise ConfigError(f"{name}={value!r}: expected True or False")
    return value


def whole(value: object, what: str, least: int, most: int) -> int:
    """A whole number from `least` to `most`."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise ConfigError(f"{what}={value!r}: expected a whole number from {least} to {most}")
    return value


def checked_name(value: object, what: str) -> str:
    """A name that is not empty; `what` says of what kind, as in "a group id"."""
    if not isinstance(value, str) or not value:
        raise ConfigError(f"{value!r} is not {what}: expected a str")
    return carried(value, f"{shortened(value)} is not {what}")


def carried(value: str, what: str) -> str:
    """A text that a request can carry. It may be secret: the error has no more of it than `what`."""
    try:
        size = len(value) if value.isascii() else len(value.encode())
    except UnicodeEncodeError:
        size = -1
    if size < 0:
        raise ConfigError(f"{what}: a text with a character that UTF-8 has not (a lone surrogate)")
    if size > _MAX_TEXT:
        raise ConfigError(f"{what}: a text of {size} bytes, where {_MAX_TEXT} are the most")
    return value


def shortened(value: str) -> str:
    """A text as errors have it."""
    return repr(value if len(value) <= _MAX_SHOWN else f"{value[:_MAX_SHOWN]}...")


def partitions(entries: object) -> list[TopicPartition]:
    """Partitions, of an iterable of them."""
    if isinstance(entries, TopicPartition | str | bytes) or not isinstance(entries, Iterable):
        raise ConfigError(f"partitions={entries!r}: expected a list of TopicPartition or (topic, number)")
    return [partition(entry) for entry in entries]


def by_partition(given: object, name: str) -> dict[TopicPartition, Any]:
    """A mapping by partition; None is an empty one."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise ConfigError(f"{name}={given!r}: expected a mapping {{(topic, partition): ...}}")
    return {partition(entry): value for entry, value in given.items()}


def offset(tp: TopicPartition, value: object, name: str = "offset") -> int:
    """An offset from 0."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise ConfigError(f"{name} {value!r} of {tp} is not an offset: expected a whole number from 0")
    if not 0 <= value <= _MAX_OFFSET:
        raise ConfigError(f"{name} {value} of {tp} is not an offset: they are from 0 to 2**63 - 1")
    return value


def position(tp: TopicPartition, where: object) -> tuple[int | None, int | None]:
    """Where to read from, as (offset, None) or (None, time): an int is an offset, a datetime a time."""
    if isinstance(where, int) and not isinstance(where, bool):
        return offset(tp, where), None
    from datetime import datetime

    from kwire.engine.calls.offsets import time_of  # late: a producer has no positions

    if isinstance(where, datetime):
        return None, time_of(where)
    if (name := word_in(where, ("earliest", "latest"))) is not None:
        return None, time_of(name)
    raise ConfigError(
        f"{where!r} is not a position in {tp}: expected an offset (int), a datetime, 'earliest' or 'latest'"
    )
