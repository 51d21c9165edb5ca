"""What one partition remembers of its producers: epochs, last batches, open and aborted transactions.

    a batch comes again              the offset of the first time; five batches are remembered
    a sequence is missing            OUT_OF_ORDER_SEQUENCE_NUMBER; a new epoch begins at 0; a producer that is not known
                                     here may begin anywhere (KIP-360; older releases: see release.py), in a transaction
                                     from transaction.version 2 on at 0
    an older epoch                   INVALID_PRODUCER_EPOCH
    no transaction in a transaction  INVALID_TXN_STATE
    a marker of an older epoch       INVALID_PRODUCER_EPOCH; from transaction.version 2 on the marker that ends
                                     a transaction has a newer one than its batches (KIP-890, KIP-1228)
    a marker of an older coordinator TRANSACTION_COORDINATOR_FENCED

A transaction begins here with its first batch and ends with its marker. Readers of committed records may read up to the
first offset of the oldest open one. Aborted ones that wrote something are kept in a list for them.

Sources: KIP-98, KIP-360, KIP-890.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from kwire.errors import BrokerError
from kwire.errors import broker as codes
from kwire.testing.records.control_batches import read_marker
from kwire.testing.records.record_sets import Entry

_REMEMBERED = 5

MAX_PRODUCERS = 10_000
"""A partition remembers so many producers, those that wrote last, and each that has a transaction open here."""
_SEQUENCES = 2**31


@dataclass(slots=True)
class Appended:
    """Where a batch went: the sequences it covers, its first offset and its largest timestamp (ms)."""

    first_sequence: int
    last_sequence: int
    base_offset: int
    timestamp: int


class Aborted(NamedTuple):
    """An aborted transaction: its first offset here and the one of its marker."""

    producer_id: int
    first_offset: int
    last_offset: int


@dataclass(slots=True)
class Producer:
    """What is known of one producer; `transaction_start` is the first offset of its open transaction, or None."""

    epoch: int
    batches: deque[Appended] = field(default_factory=lambda: deque(maxlen=_REMEMBERED))
    coordinator_epoch: int = -1
    last_timestamp: int = -1
    transaction_start: int | None = None

    @property
    def last_sequence(self) -> int:
        """-1 before the first batch of an epoch."""
        return self.batches[-1].last_sequence if self.batches else -1

    def set_epoch(self, epoch: int) -> None:
        if epoch != self.epoch:
            self.epoch = epoch
            self.batches.clear()


class ProducerStates:
    """The producers of one partition."""

    def __init__(self) -> None:
        self._producers: dict[int, Producer] = {}
        self.aborted: list[Aborted] = []

    def __iter__(self) -> Iterator[tuple[int, Producer]]:
        yield from self._producers.items()

    @property
    def first_unstable_offset(self) -> int | None:
        """Where the oldest open transaction begins; None without any."""
        starts = [each.transaction_start for each in self._producers.values() if each.transaction_start is not None]
        return min(starts, default=None)

    def has_transaction(self, producer_id: int, epoch: int) -> bool:
        """Whether a transaction of this producer and epoch is open here."""
        known = self._producers.get(producer_id)
        return known is not None and known.transaction_start is not None and known.epoch == epoch

    def find_duplicate(self, batch: Entry) -> Appended | None:
        """What became earlier of a batch that comes again."""
        known = self._producers.get(batch.producer_id)
        if known is None or known.epoch != batch.producer_epoch:
            return None
        sequences = batch.base_sequence, _last_sequence(batch)
        return next((each for each in known.batches if (each.first_sequence, each.last_sequence) == sequences), None)

    def check(self, batch: Entry, code_of_unknown: type[BrokerError] | None = None) -> None:
        """Raises BrokerError for a batch that may not follow what the producer sent before.

        `code_of_unknown` is for a producer that is not known here and does not begin at 0; None: it may.
        """
        known = self._producers.get(batch.producer_id)
        if known is None:
            if code_of_unknown is not None and batch.base_sequence:
                raise code_of_unknown(f"producer {batch.producer_id} begins at sequence {batch.base_sequence}")
            return
        if batch.producer_epoch < known.epoch:
            raise codes.INVALID_PRODUCER_EPOCH(
                f"producer {batch.producer_id} sends epoch {batch.producer_epoch} after {known.epoch}",
            )
        follows = batch.producer_epoch == known.epoch
        _expect(batch, (known.last_sequence + 1) % _SEQUENCES if follows else 0)
        if known.transaction_start is not None and not batch.transactional:
            raise codes.INVALID_TXN_STATE(
                f"producer {batch.producer_id} sends a batch outside of its transaction, which is open since offset "
                f"{known.transaction_start}"
            )

    def remember(self, batch: Entry) -> None:
        """Notes a batch that was appended; a transactional one may begin a transaction."""
        known = self._known(batch.producer_id, batch.producer_epoch)
        known.set_epoch(batch.producer_epoch)
        last = _last_sequence(batch)
        known.batches.append(Appended(batch.base_sequence, last, batch.base_offset, batch.max_timestamp))
        known.last_timestamp = batch.max_timestamp
        if batch.transactional and known.transaction_start is None:
            known.transaction_start = batch.base_offset

    def _known(self, producer_id: int, epoch: int) -> Producer:
        """The producer, as the last one that wrote."""
        found = self._producers.pop(producer_id, None) or Producer(epoch)
        if len(self._producers) >= MAX_PRODUCERS:
            oldest = next((each for each, of in self._producers.items() if of.transaction_start is None), None)
            if oldest is not None:
                del self._producers[oldest]
        self._producers[producer_id] = found
        return found

    def check_marker(self, producer_id: int, epoch: int, coordinator_epoch: int, *, raises_epoch: bool) -> None:
        """Raises BrokerError for a marker that comes too late."""
        known = self._producers.get(producer_id)
        if known is None:
            return
        must_be_newer = raises_epoch and known.transaction_start is not None
        if epoch < known.epoch + must_be_newer:
            raise codes.INVALID_PRODUCER_EPOCH(
                f"a marker of producer {producer_id}, epoch {epoch}, after {known.epoch}"
            )
        if coordinator_epoch < known.coordinator_epoch:
            raise codes.TRANSACTION_COORDINATOR_FENCED(
                f"a marker of coordinator epoch {coordinator_epoch} after {known.coordinator_epoch}",
            )

    def end(self, marker: Entry, committed: bool, coordinator_epoch: int) -> None:
        """Notes a marker that was appended: it ends the producer's transaction, if there is one."""
        known = self._known(marker.producer_id, marker.producer_epoch)
        if known.transaction_start is not None and not committed:
            self.aborted.append(Aborted(marker.producer_id, known.transaction_start, marker.base_offset))
        known.set_epoch(marker.producer_epoch)
        known.coordinator_epoch = coordinator_epoch
        known.last_timestamp = marker.max_timestamp
        known.transaction_start = None

    def take_in(self, entries: list[Entry]) -> None:
        """Notes appended batches of any kind without a check, as a follower does."""
        for entry in entries:
            if entry.producer_id < 0:
                continue
            if not entry.control:
                self.remember(entry)
            elif (marker := read_marker(entry)) is not None:
                self.end(entry, *marker)

    def aborted_within(self, start: int, end: int) -> list[Aborted]:
        """The aborted transactions that a reader of the offsets from `start` up to `end` must know."""
        return [each for each in self.aborted if each.last_offset >= start and each.first_offset < end]

    def forget_before(self, offset: int) -> None:
        """Drops the aborted transactions that lie before `offset`, the new start of the log."""
        self.aborted = [each for each in self.aborted if each.last_offset >= offset]


def _expect(batch: Entry, sequence: int) -> None:
    if batch.base_sequence != sequence:
        raise codes.OUT_OF_ORDER_SEQUENCE_NUMBER(
            f"producer {batch.producer_id} sends sequence {batch.base_sequence} where {sequence} is next",
        )


def _last_sequence(batch: Entry) -> int:
    return (batch.base_sequence + batch.count - 1) % _SEQUENCES
