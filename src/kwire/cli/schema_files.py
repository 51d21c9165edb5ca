"""Where the arguments say that a schema is: a file, whose name says its kind, or a subject and its version."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Final

from kwire.cli.produce_input import opened_input
from kwire.errors import ConfigError

if TYPE_CHECKING:
    from kwire.registry import RegisteredSchema, Registry

SCHEMA_TYPES: Final = {"avro": "AVRO", "protobuf": "PROTOBUF", "json": "JSON"}
_BY_SUFFIX: Final = {".avsc": "AVRO", ".proto": "PROTOBUF", ".json": "JSON"}
_VERSION = re.compile(r"(.+):(\d{1,9}|latest)", re.DOTALL)


def schema_text(path: str, kind: str | None) -> tuple[str, str]:
    """The text of a schema and its type, which is Avro where neither `kind` nor the name of the file says another."""
    with opened_input(path) as (stream, source):
        try:
            text = stream.read().decode()
        except UnicodeDecodeError as fault:
            raise ConfigError(f"{source} is no schema: byte {fault.start} is no UTF-8") from None
    by_name = _BY_SUFFIX.get(os.path.splitext(path)[1].lower(), "AVRO")
    return text, by_name if kind is None else SCHEMA_TYPES[kind]


def place_of(text: str) -> tuple[str, str | None]:
    """Subject and version of SUBJECT[:VERSION]; None where no version is named."""
    found = _VERSION.fullmatch(text)
    return (text, None) if found is None else (found[1], found[2])


def registered_at(registry: Registry, text: str) -> RegisteredSchema:
    """What stands at SUBJECT[:VERSION]; the latest without a version."""
    subject, version = place_of(text)
    return registry.latest(subject) if version in (None, "latest") else registry.version(subject, int(version or 0))
