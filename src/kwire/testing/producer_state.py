"""What one partition remembers of idempotent producers: their epoch and last five batches.

Source: KIP-98 and KIP-360; five batches, because a producer may have that many in flight. A repeated batch is answered
with the offset it got the first time, a gap with OUT_OF_ORDER_SEQUENCE_NUMBER, an older epoch with
INVALID_PRODUCER_EPOCH.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from kwire.errors import broker as codes
from kwire.testing.record_sets import Entry

_REMEMBERED = 5
_SEQUENCES = 2**31


@dataclass(slots=True)
class Appended:
    """Where a batch went: the sequences it covers, its first offset and the append time that was answered (ms)."""

    first_sequence: int
    last_sequence: int
    base_offset: int
    append_time: int


@dataclass(slots=True)
class _Producer:
    epoch: int
    batches: deque[Appended] = field(default_factory=lambda: deque(maxlen=_REMEMBERED))


class ProducerStates:
    """The idempotent producers of one partition."""

    def __init__(self) -> None:
        self._producers: dict[int, _Producer] = {}

    def check(self, batch: Entry) -> Appended | None:
        """What became earlier of a batch that comes again, or None for one that may be appended.

        Raises BrokerError for a sequence out of order or an epoch of the past.
        """
        known = self._producers.get(batch.producer_id)
        if known is None:
            return None
        if batch.producer_epoch < known.epoch:
            raise codes.INVALID_PRODUCER_EPOCH(
                f"producer {batch.producer_id} sends epoch {batch.producer_epoch} after {known.epoch}",
            )
        if batch.producer_epoch > known.epoch:
            self._expect(batch, 0)
            return None
        last = _last_sequence(batch)
        for earlier in known.batches:
            if (earlier.first_sequence, earlier.last_sequence) == (batch.base_sequence, last):
                return earlier
        self._expect(batch, (known.batches[-1].last_sequence + 1) % _SEQUENCES)
        return None

    def remember(self, batch: Entry, append_time: int) -> None:
        """Notes a batch that was appended."""
        known = self._producers.get(batch.producer_id)
        if known is None or known.epoch != batch.producer_epoch:
            known = self._producers[batch.producer_id] = _Producer(batch.producer_epoch)
        known.batches.append(Appended(batch.base_sequence, _last_sequence(batch), batch.base_offset, append_time))

    @staticmethod
    def _expect(batch: Entry, sequence: int) -> None:
        if batch.base_sequence != sequence:
            raise codes.OUT_OF_ORDER_SEQUENCE_NUMBER(
                f"producer {batch.producer_id} sends sequence {batch.base_sequence} where {sequence} is next",
            )


def _last_sequence(batch: Entry) -> int:
    return (batch.base_sequence + batch.count - 1) % _SEQUENCES
