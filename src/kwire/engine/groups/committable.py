"""What a call may commit, as offsets by partition.

Layer 3, no I/O: checks and converts the argument of `commit` and of what else takes offsets.
"""

from __future__ import annotations

from collections.abc import Mapping

from kwire._codec import ConsumerRecord
from kwire._typing import Any
from kwire.engine.calls import arguments
from kwire.engine.calls.offsets import OffsetAndMetadata
from kwire.engine.common.addresses import TopicPartition
from kwire.engine.consumer.deserialization import as_received
from kwire.engine.consumer.records import ConsumerRecords
from kwire.errors import ConfigError

CommittableOffsets = dict[TopicPartition, OffsetAndMetadata]

_MAPPINGS = (dict, Mapping)  # what is a dict is found out at once
_MAX_EPOCH = 2**31 - 1
_WANTED = "the records of a poll, one record, or a mapping {(topic, partition): offset} of the next records to read"


def committable(what: object, name: str = "what") -> CommittableOffsets | None:
    """Offsets by partition: those after the records of a poll, after one record, or as a mapping has them; None stays
    None."""
    if what is None:
        return None
    if isinstance(what, _MAPPINGS):
        rows: CommittableOffsets = {}
        for entry, row in what.items():
            tp = arguments.partition(entry)
            rows[tp] = _row(tp, row)
        return rows
    if isinstance(what, ConsumerRecords):
        parts = what.by_partition().items()
        return {tp: OffsetAndMetadata(records[-1].offset + 1) for tp, records in parts if len(records)}
    what = as_received(what)
    if isinstance(what, ConsumerRecord):
        return {TopicPartition(what.topic, what.partition): OffsetAndMetadata(what.offset + 1)}
    raise ConfigError(f"{name}={what!r}: expected {_WANTED}")


def _row(tp: TopicPartition, row: Any) -> OffsetAndMetadata:
    if not isinstance(row, OffsetAndMetadata):
        return OffsetAndMetadata(arguments.offset(tp, row))
    arguments.offset(tp, row.offset)
    note: object = row.metadata
    if note is not None and not isinstance(note, str):
        raise ConfigError(f"the metadata {row.metadata!r} of {tp} is not a str")
    arguments.carried(note or "", f"the metadata of {tp}")
    epoch = row.leader_epoch
    if epoch is not None:
        arguments.whole(epoch, f"the leader epoch of {tp}", 0, _MAX_EPOCH)
    return OffsetAndMetadata(row.offset, note or "", epoch)
