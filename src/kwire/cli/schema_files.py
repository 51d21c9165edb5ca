"""Schemas in files, which the name of the file says the kind of."""

from __future__ import annotations

import os
from typing import Final

from kwire.cli.produce_input import opened_input
from kwire.errors import ConfigError

SCHEMA_TYPES: Final = {"avro": "AVRO", "protobuf": "PROTOBUF", "json": "JSON"}
_BY_SUFFIX: Final = {".avsc": "AVRO", ".proto": "PROTOBUF", ".json": "JSON"}


def schema_text(path: str, kind: str | None) -> tuple[str, str]:
    """The text of a schema and its type, which is Avro where neither `kind` nor the name of the file says another."""
    with opened_input(path) as (stream, source):
        try:
            text = stream.read().decode()
        except UnicodeDecodeError as fault:
            raise ConfigError(f"{source} is no schema: byte {fault.start} is no UTF-8") from None
    by_name = _BY_SUFFIX.get(os.path.splitext(path)[1].lower(), "AVRO")
    return text, by_name if kind is None else SCHEMA_TYPES[kind]
