"""The partitions that a frame is about and the error codes it carries, for its line in a summary.

Reads the decoded message, by the names that Kafka's definitions give to structs and fields: a description would take
longer to make.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from kwire import errors, protocol
from kwire.cli.capture.conversations import Message
from kwire.errors.listing import counted

__all__ = ["Gist", "gist_of"]

_TOPIC_NAMES = ("topic", "name", "topic_name")
_PARTITION_NUMBERS = ("partition", "partition_index", "partition_id", "index")
_SHOWN = 3


@dataclass
class Gist:
    """Topics with their partitions, and names of error codes, each once."""

    topics: dict[str, list[int]] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        parts = [f"{topic}{_numbers(partitions)}" for topic, partitions in list(self.topics.items())[:_SHOWN]]
        if len(self.topics) > _SHOWN:
            parts.append(f"+{counted(len(self.topics) - _SHOWN, 'topic')}")
        return " ".join((*parts, *self.errors))


def gist_of(message: Message, topic_names: Mapping[UUID, str]) -> Gist:
    """Empty where the frame is cut, damaged, or of an older generation."""
    decoded = _decoded(message)
    gist = Gist()
    if decoded is not None:
        _collect(decoded, gist, topic_names, None)
    return gist


def _decoded(message: Message) -> Any:
    if message.generation is not None or message.frame.missing or message.kind not in ("request", "response"):
        return None
    try:
        if message.kind == "request":
            return protocol.decode_request(message.frame.data, strict=False)[1]
        assert message.api_key is not None
        assert message.version is not None
        return protocol.decode_response(message.frame.data, message.api_key, message.version, strict=False)[1]
    except errors.KafkaError:
        return None


def _collect(struct: Any, gist: Gist, topic_names: Mapping[UUID, str], topic: str | None) -> None:
    own = _topic_of(struct, topic_names)
    if own is not None:
        gist.topics.setdefault(own, [])
    topic = own or topic
    for name, value in _fields(struct):
        if name.endswith("error_code"):
            if value and (text := errors.broker.by_code(value).name) not in gist.errors:
                gist.errors.append(text)
        elif topic is not None and name in _PARTITION_NUMBERS and isinstance(value, int):
            _add(gist.topics[topic], value)
        elif isinstance(value, (list, tuple)):
            for item in value:
                if topic is not None and name.startswith("partition") and isinstance(item, int):
                    _add(gist.topics[topic], item)
                elif hasattr(item, "__fields__"):
                    _collect(item, gist, topic_names, topic)
        elif hasattr(value, "__fields__"):
            _collect(value, gist, topic_names, topic)


def _topic_of(struct: Any, topic_names: Mapping[UUID, str]) -> str | None:
    kind = type(struct).__name__
    if "Topic" not in kind or "Config" in kind:
        return None
    for name, value in _fields(struct):
        if name in _TOPIC_NAMES and isinstance(value, str) and value:
            return value
        if name == "topic_id" and isinstance(value, UUID) and value.int:
            return topic_names.get(value, str(value))
    return None


def _fields(struct: Any) -> Iterator[tuple[str, Any]]:
    return ((each.name, getattr(struct, each.name)) for each in struct.__fields__)


def _add(partitions: list[int], number: int) -> None:
    if number not in partitions:
        partitions.append(number)


def _numbers(partitions: list[int]) -> str:
    if not partitions:
        return ""
    more = f",+{len(partitions) - _SHOWN}" if len(partitions) > _SHOWN else ""
    return f"-{','.join(map(str, partitions[:_SHOWN]))}{more}"
