"""Where a consumer stands in each partition, and what was fetched from there but not handed out yet.

Layer 3, no I/O. `fetcher.py` moves these; nothing here asks a broker.

An exception may cut the program anywhere (Ctrl-C), and records must be neither lost nor given twice then. So records
that a poll hands out are only marked (`marked`), and count as taken when the next call confirms that they arrived; and
what belongs together is changed by one assignment.
"""

from __future__ import annotations

from kwire._codec import Records
from kwire.engine.addresses import TopicPartition
from kwire.engine.offsets import EARLIEST, LATEST
from kwire.errors import KafkaError

NO_POSITION = -1
END_OF_OFFSETS = 2**63 - 1


class Chunk:
    """Records fetched from one partition: those before `taken` were handed out, those before `marked` perhaps."""

    __slots__ = ("count", "marked", "memory", "next_offset", "node", "records", "taken")

    def __init__(self, records: Records, next_offset: int, node: int) -> None:
        self.records = records
        self.next_offset = next_offset
        self.node = node
        self.count = len(records)
        self.memory = records.decompressed_bytes + records.index_bytes
        self.taken = 0
        self.marked = 0

    @property
    def unspent(self) -> int:
        """How many records are not marked."""
        return self.count - self.marked

    def mark(self, most: int, most_bytes: int | None) -> tuple[Records, int]:
        """The next records to be handed out, at most so many, of so many bytes (at least one); and their bytes."""
        records, begin = self.records, self.taken
        count = min(most, self.count - begin)
        size = 0
        if most_bytes is not None:
            count, size = records.measure(begin, count, most_bytes)
        self.marked = begin + count
        return (records if count == self.count else records[begin : self.marked]), size

    @property
    def position(self) -> int:
        """The offset of the first record not handed out, or of what follows the chunk."""
        return self.records[self.taken].offset if self.taken < self.count else self.next_offset


class PartitionState:
    """One assigned partition. `fetch_at` is the offset to fetch from: behind what was fetched, or NO_POSITION.

    What must change together with the chunks (`fetch_at`, the position) changes beside them without a call in between:
    no exception comes there.
    """

    __slots__ = (
        "_offset",
        "chunks",
        "end_offset",
        "epoch",
        "fault",
        "fetch_at",
        "in_flight",
        "known_end",
        "last_size",
        "max_bytes",
        "paused",
        "read_from",
        "reset_to",
        "rest_until",
        "tp",
        "turn",
    )

    def __init__(self, tp: TopicPartition, max_bytes: int, reset_to: int | None) -> None:
        self.tp = tp
        self._offset = NO_POSITION
        self.fetch_at = NO_POSITION
        self.reset_to = reset_to
        self.epoch = 0
        self.paused = False
        self.in_flight = False
        self.chunks: tuple[Chunk, ...] = ()
        self.fault: KafkaError | None = None
        self.max_bytes = max_bytes
        self.last_size = 0
        self.rest_until = 0.0
        self.turn = 0
        self.read_from: tuple[int, float] | None = None
        self.end_offset = END_OF_OFFSETS
        self.known_end = NO_POSITION

    @property
    def position(self) -> int:
        """The offset of the next record to hand out; NO_POSITION while it is being looked up."""
        return self.chunks[0].position if self.chunks else self._offset

    def move(self, offset: int) -> None:
        """The next record is to be that of `offset`; what was fetched or is being fetched is of no use."""
        self._begin_anew(offset, None)

    def reset(self, time: int) -> None:
        """The position is to be looked up by time."""
        self._begin_anew(NO_POSITION, time)

    def _begin_anew(self, offset: int, reset_to: int | None) -> None:
        self.epoch += 1
        self.in_flight = False
        self.chunks = ()
        self._offset = self.fetch_at = offset
        self.reset_to = reset_to
        self.fault = None
        self.rest_until = 0.0

    def add(self, records: Records, next_offset: int, node: int) -> None:
        """Takes in what was fetched from `fetch_at`, and from that broker."""
        if len(records):
            chunk = Chunk(records, next_offset, node)
            self.chunks = (*self.chunks, chunk)
        elif self.chunks:
            self.chunks[-1].next_offset = next_offset
        else:
            self._offset = next_offset
        self.fetch_at = next_offset

    def confirm(self) -> None:
        """What is marked has arrived."""
        for chunk in self.chunks:
            chunk.taken = chunk.marked
        while self.chunks and not self.chunks[0].unspent:
            self._offset = self.chunks[0].next_offset
            self.chunks = self.chunks[1:]

    def unmark(self) -> None:
        """What is marked has not arrived: it will be handed out again."""
        for chunk in self.chunks:
            chunk.marked = chunk.taken

    def expects(self, record_size: float, usual_size: float) -> float:
        """Bytes that a fetch may be expected to bring: of as many offsets as are known to wait, each of `record_size`,
        but no more than it brought last time, or than others usually bring.
        """
        behind = min(self.known_end, self.end_offset) - self.fetch_at
        return min(behind * record_size, self.last_size or usual_size) if behind > 0 else 0.0

    @property
    def is_nowhere(self) -> bool:
        """Whether there is no position, and no rule by which one could be looked up."""
        return self.position == NO_POSITION and self.reset_to is None

    @property
    def has_something(self) -> bool:
        """Whether there are records, or an error, to hand out."""
        return not self.paused and (bool(self.chunks) or self.fault is not None)

    @property
    def holds_records(self) -> bool:
        """Whether records wait to be handed out."""
        if not self.paused:
            for chunk in self.chunks:  # a loop, as this is asked of every partition
                if chunk.marked < chunk.count:
                    return True
        return False

    @property
    def unspent(self) -> int:
        """How many records wait to be handed out, paused or not."""
        return sum(chunk.unspent for chunk in self.chunks)

    @property
    def memory(self) -> int:
        """Bytes that decompressed content and index take of records that wait to be handed out, or just were."""
        return sum(chunk.memory for chunk in self.chunks)

    def wants_fetch(self, now: float) -> bool:
        """Whether the next records should be asked for."""
        return (
            0 <= self.fetch_at < self.end_offset
            and not self.paused
            and not self.in_flight
            and self.fault is None
            and now >= self.rest_until
        )

    @property
    def wants_lookup(self) -> bool:
        """Whether the position has to be looked up."""
        return self.position < 0 and self.reset_to is not None and self.fault is None


def reset_time(policy: str) -> int | None:
    """What auto_offset_reset looks up: EARLIEST, LATEST, or None for "none"."""
    return {"earliest": EARLIEST, "latest": LATEST}.get(policy)
