"""Reads a log of Kafka's own whole: every record with its messages, no byte left over, the same when written again."""

from __future__ import annotations

from typing import Any, NamedTuple

from kwire import protocol, records
from kwire.schema.logs.parts import LogPart


class Shown(NamedTuple):
    """A record of a log as it was read."""

    topic: str
    offset: int
    parts: protocol.LogRecord

    def names(self) -> set[str]:
        return {part.name for part in self.parts if part is not None}


def read_log(topic: str, data: bytes) -> list[Shown]:
    """Every record of a segment or snapshot, each of its messages whole and the same when written again."""
    read = records.decode(data)
    control = {offset for b in read.batches if b.is_control for offset in range(b.base_offset, b.last_offset + 1)}
    found = []
    for record in read:
        parts = protocol.decode_log_record(topic, record.key, record.value, is_control=record.offset in control)
        assert parts is not None
        for part in parts:
            if part is not None:
                assert_whole(part, f"{topic} offset {record.offset}")
        found.append(Shown(topic, record.offset, parts))
    return found


def assert_whole(part: LogPart, where: str) -> None:
    assert part.problem is None, f"{where}: {part}"
    assert part.message is not None
    assert part.version is not None
    assert part.end == len(part.data), f"{where}: {part}"
    assert part.message.encode(part.version) == part.data[part.start :], f"{where}: {part}"


def message_of(part: LogPart | None) -> Any:
    """The message, or None where there is no part."""
    return None if part is None else part.message
