"""Errors about fetched data that cannot be handed out, with their place in the log.

Layer 3, no I/O.
"""

from __future__ import annotations

from kwire.engine.common.addresses import TopicPartition
from kwire.engine.consumer.partition_state import PartitionState
from kwire.errors import CodecError, LimitError
from kwire.errors.wording import Wording


def batch_too_large(state: PartitionState, needed: int, limit: int) -> LimitError:
    """The next batch takes `needed` bytes, more than a response may have."""
    return LimitError(
        Wording(
            "{place} at offset {offset}: a batch of {needed} bytes is above {receive_message_max_bytes}={limit}",
            place=str(state),
            offset=state.fetch_at,
            needed=needed,
            limit=limit,
        )
    )


def in_data(error: CodecError, tp: TopicPartition, offset: int, seek_to: int) -> CodecError:
    """The codec's error with the place in the log, and the offset to seek to after it."""
    error.message = Wording(
        "{place} at offset {offset}: {why}; seek to {seek_to} to skip it",
        place=str(tp),
        offset=offset,
        why=error.message,
        seek_to=seek_to,
    )
    error.topic, error.partition, error.record_offset, error.seek_to = tp.topic, tp.partition, offset, seek_to
    return error
