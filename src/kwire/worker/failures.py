"""What becomes of a record whose handler failed: again here, on to a retry topic, to the dead letters, or the end.

Layer 6, no I/O. What moves keeps its key, value and headers, and has these headers, as UTF-8 text, beside. Its
timestamp is that of the move: by the old one, the retention of a topic could delete it at once.

    kwire.original.topic, .partition, .offset, .timestamp   what the record was first
    kwire.group                             whose handler failed
    kwire.attempt                           how often the handler was called with it so far, in all topics
    kwire.reason                            "handler", or "deserialization"
    kwire.error.type, kwire.error.message   of the last exception
    kwire.due                               retry topics only: not before then, in ms since the epoch
"""

from __future__ import annotations

from dataclasses import dataclass

from kwire._typing import Any
from kwire.errors import SerializationError
from kwire.worker.progress import Item, received

PREFIX = "kwire."
LONGEST_MESSAGE = 4096
MOST_DIGITS = 18
MOST_DOUBLINGS = 60


def header(record: Any, name: str) -> str | None:
    """The text of the last header kwire.`name`, which anybody may have written."""
    found = [value for key, value in record.headers if key == PREFIX + name and value is not None]
    return found[-1].decode(errors="replace") if found else None


def _number(record: Any, name: str) -> int:
    text = header(record, name) or ""
    return int(text) if text.isdecimal() and len(text) <= MOST_DIGITS else 0


def _text_of(error: Exception) -> str:
    """What it says; "" where that raises, too: the record goes on all the same."""
    try:
        return str(error)
    except Exception:
        return ""


@dataclass(frozen=True)
class Failures:
    """The rules of one worker; `delays` are its retry topics, in order, and how many seconds a record waits there."""

    group_id: str
    retries: float
    backoff: float
    backoff_max: float
    retry_on: type[Exception] | tuple[type[Exception], ...]
    delays: dict[str, float]
    dead_letter_topic: str | None

    def state_of(self, record: Any, epoch_ms: float) -> tuple[float, int]:
        """In how many seconds a record that came is due, and how often it was handled before. Whatever its header and
        the clocks say, it does not wait longer than its topic has it wait."""
        if record.topic not in self.delays:
            return 0.0, 0
        wait = (_number(record, "due") - epoch_ms) / 1000
        return min(max(0.0, wait), self.delays[record.topic]), _number(record, "attempt")

    def wait_before_next(self, item: Item, error: Exception) -> float | None:
        """Seconds until the handler is called again, None where it is not."""
        if item.attempts > self.retries or not self._may_help(error):
            return None
        return min(self.backoff_max, self.backoff * 2.0 ** min(item.attempts - 1, MOST_DOUBLINGS))

    def next_topic(self, topic: str, error: Exception) -> str | None:
        """Where a record of that topic goes, None where there is no such place."""
        later = list(self.delays)
        later = later[later.index(topic) + 1 :] if topic in self.delays else later
        return later[0] if later and self._may_help(error) else self.dead_letter_topic

    def _may_help(self, error: Exception) -> bool:
        return isinstance(error, self.retry_on) and not isinstance(error, SerializationError)

    def headers(self, item: Item, topic: str, error: Exception, epoch_ms: float) -> list[tuple[Any, bytes | None]]:
        """The headers of the record in its next topic."""
        record = received(item.record)
        ours: dict[str, Any] = {
            "original.topic": record.topic,
            "original.partition": record.partition,
            "original.offset": record.offset,
            "original.timestamp": record.timestamp,
        }
        if record.topic in self.delays:
            ours = {name: header(record, name) or value for name, value in ours.items()}
        ours |= {
            "group": self.group_id,
            "attempt": item.attempts_before + item.attempts,
            "reason": "deserialization" if isinstance(error, SerializationError) else "handler",
            "error.type": f"{type(error).__module__}.{type(error).__qualname__}",
            "error.message": _text_of(error)[:LONGEST_MESSAGE],
        }
        if topic in self.delays:
            ours["due"] = round(epoch_ms + self.delays[topic] * 1000)
        replaced = {(PREFIX + name).encode() for name in (*ours, "due")}
        theirs = [(key, value) for key, value in record.raw_headers if key not in replaced]
        return theirs + [(PREFIX + name, str(value).encode(errors="replace")) for name, value in ours.items()]
