"""`describe` and `describe_records`: what a caller asks for, handed to the walk of its generation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from kwire import errors
from kwire.compression import DEFAULT_MAX_DECOMPRESSED_BYTES
from kwire.schema.describing.cursor import Cursor
from kwire.schema.describing.frame_0_7 import FrameWalk07
from kwire.schema.describing.frame_walk import FrameWalk
from kwire.schema.describing.messages_0_7 import Messages07
from kwire.schema.describing.record_sets import RecordSets
from kwire.schema.describing.shared import Options
from kwire.schema.describing.tree import Description, Field
from kwire.schema.describing.walk import log_expander
from kwire.schema.registry import APIS

__all__ = ["describe", "describe_records"]

_KAFKA_0_7 = "0.7"


def describe(
    frame: Any,
    api_key: int | str | None = None,
    version: int | None = None,
    *,
    generation: str | None = None,
    secrets: bool = False,
    max_items: int | None = None,
    max_decompressed_bytes: int = DEFAULT_MAX_DECOMPRESSED_BYTES,
    topic_names: Mapping[UUID, str] | None = None,
) -> Description:
    """Explains a frame (bytes-like, its size field included) field by field, with the bytes that each field takes.

    Without `api_key` it is a request, whose header says what it is; with `api_key` (a number or name) and `version` the
    response to such a request. Bytes that make no sense raise nothing: the description has everything before them, then
    an `undecoded` leaf, and the error, with field and offset, in `errors`.

    `secrets` shows what is masked otherwise (SASL tokens, SCRAM, passwords in configurations). `max_items` bounds how
    many elements of each array and records of each batch become fields; one leaf stands for the rest.
    `max_decompressed_bytes` bounds what each compressed batch may become. `topic_names` names the topics that newer
    versions know by their id only: the records of Kafka's own topics are explained, too.

    `generation="0.7"`: a frame of Kafka 0.7, whose bytes do not say so; `api_key` is then the request type that it
    answers, and there are no versions.

    Raises ConfigError when only one of `api_key` and `version` is given, or `api_key` is a name that no API has, or for
    another generation.
    """
    options = Options(secrets, max_items, True, max_decompressed_bytes, topic_names or {})
    view = memoryview(frame).cast("B")
    if _is_0_7(generation):
        old = FrameWalk07(view, "request" if api_key is None else "response", options)
        return old.request() if api_key is None else old.response(_key_of(api_key), 0)
    if (api_key is None) != (version is None):
        raise errors.ConfigError("a response needs both the api_key and the version of its request")
    if api_key is None or version is None:
        return FrameWalk(view, "request", options).request()
    return FrameWalk(view, "response", options).response(_key_of(api_key), version)


def describe_records(
    data: Any,
    *,
    topic: str = "",
    generation: str | None = None,
    secrets: bool = False,
    check_crc: bool = True,
    max_items: int | None = None,
    only_at: int | None = None,
    max_decompressed_bytes: int = DEFAULT_MAX_DECOMPRESSED_BYTES,
) -> Description:
    """Explains record batches and message sets (bytes-like) as `describe` explains frames: a log segment, or a part.

    `topic` lets the records of Kafka's own topics (`__consumer_offsets` ...) be explained, too.
    `generation="0.7"`: messages of Kafka 0.7. `only_at` looks into the batch with the byte at that offset only:
    the way to a byte of a large segment.
    """
    view = memoryview(data).cast("B")
    root = Field("records", "records", 0, len(view))
    description = Description(root, "records")
    options = Options(secrets, max_items, check_crc, max_decompressed_bytes, only_at=only_at)
    kind = Messages07 if _is_0_7(generation) else RecordSets
    sets = kind(Cursor(view), options, description.errors, "records", True)
    sets.expand = log_expander(topic, options)
    sets.walk(root)
    return description


def _is_0_7(generation: str | None) -> bool:
    if generation not in (None, _KAFKA_0_7):
        raise errors.ConfigError(
            f"generation {generation!r}: {_KAFKA_0_7!r} is one, None stands for Kafka 0.8 and newer"
        )
    return generation is not None


def _key_of(api_key: int | str) -> int:
    if isinstance(api_key, int):
        return api_key
    if api_key not in APIS:
        raise errors.ConfigError(f"no API is called {api_key!r}; one is called 'Metadata'")
    return APIS[api_key].key
