"""What serializers and deserializers are given besides the value. Layer 3, no I/O."""

from __future__ import annotations

from kwire._typing import Any

Headers = list[tuple[str, bytes | None]]


class SerializationContext:
    """Where a value belongs: `topic`; `field`, "key" or "value"; `headers` of the record, which a serializer may add
    to. The serializers of confluent-kafka take it for theirs."""

    __slots__ = ("field", "headers", "topic")

    def __init__(self, topic: str, field: str = "value", headers: Headers | None = None) -> None:
        self.topic = topic
        self.field = field
        self.headers: Any = headers

    def __repr__(self) -> str:
        return f"SerializationContext({self.topic!r}, {self.field!r})"
