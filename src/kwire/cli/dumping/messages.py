"""Messages of Kafka's own topics as plain values for JSON: ids as Kafka's tools print them, secrets masked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from kwire.cli.rendering import as_text
from kwire.errors.listing import counted
from kwire.schema.describing.rendering import id_text
from kwire.schema.logs.lookup import decode_log_record
from kwire.schema.logs.parts import LogPart
from kwire.schema.messages import Struct

SECRET = "<secret>"


def parts_of(topic: str, record: Any, *, is_control: bool) -> tuple[LogPart | None, LogPart | None] | None:
    """Key and value of a record of one of Kafka's own topics, or of a control batch; None of any other."""
    found = decode_log_record(topic, record.key, record.value, is_control=is_control)
    return None if found is None else (found.key, found.value)


def hides_secrets(part: LogPart | None) -> bool:
    """Whether its bytes may show a secret: the message has one, or cannot be read."""
    if part is None:
        return False
    message = part.message
    return message is None or any(field.secret and getattr(message, field.name) for field in message.__fields__)


def as_object(part: LogPart | None, *, secrets: bool) -> Mapping[str, Any] | None:
    """The message by name and fields; where it cannot be read, why, and its bytes only with `secrets`."""
    if part is None:
        return None
    found: dict[str, Any] = {"message": part.name, "version": part.version}
    if part.message is not None:
        return found | {"fields": _plain(part.message, secrets)}
    found["problem"] = str(part.problem)
    return found | {"bytes": as_text(part.data) if secrets else counted(len(part.data), "byte")}


def as_line(part: LogPart | None, *, secrets: bool) -> str:
    """The same for reading by eye."""
    if part is None:
        return "null"
    if part.message is None:
        return f"{part.name or 'a message'} that cannot be read: {part.problem}"
    fields = ", ".join(f"{name}={value}" for name, value in _plain(part.message, secrets).items())
    return f"{part.name} v{part.version}({fields})"


def _plain(value: Any, secrets: bool) -> Any:
    if isinstance(value, Struct):
        return {
            field.name: SECRET
            if field.secret and not secrets and getattr(value, field.name)
            else _plain(getattr(value, field.name), secrets)
            for field in value.__fields__
        }
    if isinstance(value, UUID):
        return id_text(value)
    if value is None or isinstance(value, (int, float, str)):
        return value
    if isinstance(value, (list, tuple)):
        return [_plain(each, secrets) for each in value]
    return as_text(bytes(value))
