"""What every walk of a description needs: the caller's options, and how damage ends a container."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from uuid import UUID

from kwire import errors
from kwire.compression import DEFAULT_MAX_DECOMPRESSED_BYTES
from kwire.schema.describing.cursor import Cursor, Damage
from kwire.schema.describing.tree import Field

__all__ = ["Options", "close_after"]


@dataclass(frozen=True)
class Options:
    """What the caller of a description asked for; see `frames.describe`."""

    secrets: bool = False
    max_items: int | None = None
    check_crc: bool = True
    max_decompressed_bytes: int = DEFAULT_MAX_DECOMPRESSED_BYTES
    topic_names: Mapping[UUID, str] = field(default_factory=dict)
    only_at: int | None = None


def close_after(whole: Field, cursor: Cursor, damage: Damage) -> errors.CodecError:
    """Ends `whole`, whose bytes go to `cursor.end`, with a leaf that holds what could not be read."""
    error = damage.as_error()
    rest = Field("undecoded", "bytes", cursor.at, cursor.end, None, str(error))
    rest.error = error
    whole.children.append(rest)
    whole.end = cursor.at = cursor.end
    return error
