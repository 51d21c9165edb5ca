"""Offsets of a stream as Spark keeps them in its checkpoint: `{"topic": {"0": 23, "1": 42}}`.

The form and the order (topics by name, partitions by number) are those of Spark's own Kafka source, so that a
checkpoint changes hands both ways. Spark compares offsets by their text: equal offsets must have equal text. Pure.

The end of a first batch may bear a mark, an unnamed topic without partitions, which Spark's source reads over: such a
batch reads nothing of the partitions whose start moves (`latest`), so that its end is their start. Without the mark the
checkpoint of a first batch does not tell where it started.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kwire.engine.common.addresses import TopicPartition
from kwire.engine.common.numbers import whole_number
from kwire.errors import ConfigError

Offsets = Mapping[TopicPartition, int]

_MARK: Final = ""


def offsets_to_json(offsets: Offsets, *, marked: bool = False) -> dict[str, dict[str, int]]:
    """The offsets as a dict whose JSON is the same whenever the offsets are."""
    by_topic: dict[str, dict[str, int]] = {_MARK: {}} if marked else {}
    for tp in sorted(offsets):
        by_topic.setdefault(tp.topic, {})[str(tp.partition)] = offsets[tp]
    return by_topic


def is_marked(value: object) -> bool:
    """Whether these offsets, as the checkpoint has them, bear the mark of a first batch."""
    return isinstance(value, dict) and _MARK in value


def offsets_from_json(value: object) -> dict[TopicPartition, int]:
    """Offsets from a checkpoint. Raises ConfigError where a source of another kind has written it."""
    if not isinstance(value, dict):
        raise _not_kafka(value)
    offsets: dict[TopicPartition, int] = {}
    for topic, partitions in value.items():
        if not isinstance(partitions, dict):
            raise _not_kafka(value)
        for number, offset in partitions.items():
            index = whole_number(number)
            if index is None or not isinstance(offset, int) or isinstance(offset, bool):
                raise _not_kafka(value)
            offsets[TopicPartition(topic, index)] = offset
    return offsets


def _not_kafka(value: object) -> ConfigError:
    return ConfigError(
        f"The checkpoint's offsets are not those of a Kafka source: {str(value)[:200]}. "
        'Expected e.g. {"topic": {"0": 23, "1": 42}}; a query needs the checkpoint location that it began with'
    )
