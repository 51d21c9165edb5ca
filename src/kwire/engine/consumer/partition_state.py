"""One assigned partition of a consumer: its position, and what was fetched but not delivered yet.

Layer 3, no I/O; asks no broker. `subscription.py` owns these, `position_lookup.py` and `fetcher.py` move them.

An exception may cut the program anywhere (Ctrl-C), and records must be neither lost nor returned twice then. So records
that a poll returns are only handed out, and count as delivered when the next call knows that the caller has them
(`hand_out.py`); what belongs together is changed by one assignment.
"""

from __future__ import annotations

from itertools import count

from kwire._codec import Records, set_tenure
from kwire.engine.common.addresses import TopicPartition
from kwire.errors import KafkaError

NO_POSITION = -1
NO_EPOCH = -1
END_OF_OFFSETS = 2**63 - 1

_revisions = count()


class Chunk:
    """Records of one fetch of one partition: the first `delivered` are with the caller, up to `handed_out` perhaps."""

    __slots__ = ("count", "delivered", "handed_out", "memory", "next_offset", "node", "records")

    def __init__(self, records: Records, next_offset: int, node: int) -> None:
        self.records = records
        self.next_offset = next_offset
        self.node = node
        self.count = len(records)
        self.memory = records.decompressed_bytes + records.index_bytes
        self.delivered = 0
        self.handed_out = 0

    @property
    def buffered(self) -> int:
        """The number of records not handed out yet."""
        return self.count - self.handed_out

    def hand_out(self, max_records: int, max_bytes: int | None) -> tuple[Records, int]:
        """The next records, at most `max_records` of `max_bytes` (but at least one record), and their bytes."""
        records, begin = self.records, self.delivered
        count = min(max_records, self.count - begin)
        size = 0
        if max_bytes is not None:
            count, size = records.measure(begin, count, max_bytes)
        self.handed_out = begin + count
        return (records if count == self.count else records[begin : self.handed_out]), size

    @property
    def plain_bytes(self) -> int:
        """Bytes of what was received that the records lie in: the compressed batches of it are let go of."""
        return sum(batch.size for batch in self.records.batches if batch.compression == "none")

    @property
    def position(self) -> int:
        """The offset of the first record not delivered, or of the first after the chunk."""
        return self._offset_at(self.delivered)

    @property
    def next_to_hand_out(self) -> int:
        """The offset of the first record not handed out, or of the first after the chunk."""
        return self._offset_at(self.handed_out)

    def handed_out_part(self, next_offset: int) -> Chunk:
        """What of it was handed out, without the rest; `next_offset` follows."""
        made = Chunk(self.records[: self.handed_out], next_offset, self.node)
        made.delivered, made.handed_out = self.delivered, self.handed_out
        return made

    def _offset_at(self, index: int) -> int:
        return self.records[index].offset if index < self.count else self.next_offset

    def epoch_of(self, index: int) -> int:
        """The leader epoch of the record at that index."""
        offset = self.records[index].offset
        return next(batch.partition_leader_epoch for batch in self.records.batches if batch.last_offset >= offset)


class PartitionState:
    """One assigned partition.

    fetch_at           the offset to fetch from, after all that was fetched; NO_POSITION while it is looked up
    revision           another one with each seek and reset, and with each assignment of the partition, or where the
                       metadata missed it for a while: a response to what was asked before is dropped
    reset_to           the time to look the position up by; None where there is no rule
    offset_epoch       leader epoch of the last record fetched or of the offset looked up; NO_EPOCH where unknown
    checked_epoch      leader epoch of the metadata for which the position was last found valid (KIP-320)
    preferred_replica  (node, until): fetched from there instead of from the leader (KIP-392)
    leader_until       before this moment the leader is asked for the records themselves, not for a replica
    log_end            end of the log as the last response said; NO_POSITION where unknown
    retry_at           nothing is asked about the partition before; `failures` in a row so far
    lookup_since       when the position was first looked for; None while there is one
    order              place in the round of partitions: those that returned records last come last
    stopped            paused by the user, or held by the group: neither fetched nor handed out
    awaits_committed   the position is to be the offset that the group committed, and that is not known yet
    unfinished         (offset, leader epoch) from which on the caller may still be processing what was delivered; None
                       where it is done with all that is before the position
    moved              where the partition says that its position has changed; None without a group
    generation         of the metadata when it was assigned: only newer metadata may say that there is no such partition
    tenure             numbers the assignments by a group, from 1 on; 0 for what the program has assigned to itself

    `fetch_at` and the position change beside `chunks` without a call in between: no exception comes there.
    """

    __slots__ = (
        "_epoch",
        "_held",
        "_offset",
        "_paused",
        "awaits_committed",
        "checked_epoch",
        "chunks",
        "end_offset",
        "failures",
        "fault",
        "fetch_at",
        "generation",
        "in_flight",
        "last_size",
        "leader_until",
        "log_end",
        "lookup_since",
        "max_bytes",
        "moved",
        "offset_epoch",
        "order",
        "preferred_replica",
        "reset_to",
        "retry_at",
        "revision",
        "stopped",
        "tenure",
        "tp",
        "unfinished",
    )

    def __init__(self, tp: TopicPartition, max_bytes: int, reset_to: int | None) -> None:
        self.tp = tp
        self._offset = NO_POSITION
        self.fetch_at = NO_POSITION
        self.reset_to = reset_to
        self.revision = next(_revisions)
        self.offset_epoch = NO_EPOCH
        self.checked_epoch = NO_EPOCH
        self._held = False
        self._paused = False
        self.stopped = False
        self.in_flight = False
        self.chunks: tuple[Chunk, ...] = ()
        self.fault: KafkaError | None = None
        self.max_bytes = max_bytes
        self.last_size = 0
        self.retry_at = 0.0
        self.failures = 0
        self.lookup_since: float | None = None
        self.order = 0
        self.preferred_replica: tuple[int, float] | None = None
        self.leader_until = 0.0
        self.end_offset = END_OF_OFFSETS
        self.log_end = NO_POSITION
        self._epoch = NO_EPOCH
        self.awaits_committed = False
        self.unfinished: tuple[int, int] | None = None
        self.moved: set[PartitionState] | None = None
        self.generation = 0
        self.tenure = 0

    def __str__(self) -> str:
        return str(self.tp)

    @property
    def paused(self) -> bool:
        """Whether the user wants nothing of it for now."""
        return self._paused

    @paused.setter
    def paused(self, paused: bool) -> None:
        self._paused = paused
        self.stopped = paused or self._held

    @property
    def held(self) -> bool:
        """Whether its group has not handed it over yet, or takes it back."""
        return self._held

    @held.setter
    def held(self, held: bool) -> None:
        self._held = held
        self.stopped = held or self._paused

    @property
    def position(self) -> int:
        """The offset of the next record to deliver; NO_POSITION while it is being looked up."""
        return self.chunks[0].position if self.chunks else self._offset

    @property
    def lag(self) -> int | None:
        """How many offsets the log goes on for after what was handed out, as the last response said; None where that is
        not known. From any thread."""
        position, end = self.next_to_hand_out, self.log_end
        return max(end - position, 0) if end >= 0 and position >= 0 else None

    @property
    def next_to_hand_out(self) -> int:
        """The offset of the next record to hand out: the position, once all that was handed out has arrived."""
        return next((chunk.next_to_hand_out for chunk in self.chunks if chunk.buffered), self.fetch_at)

    @property
    def buffered_bytes(self) -> int:
        """Bytes of memory that wait to be handed out or to be known as delivered. From any thread."""
        return sum(chunk.plain_bytes + chunk.memory for chunk in self.chunks)

    @property
    def delivered(self) -> tuple[int, int]:
        """The position, and the leader epoch of the record before it (NO_EPOCH where unknown)."""
        epoch = self._epoch
        if self.chunks:
            chunk = self.chunks[0]
            if chunk.delivered and chunk.records.last_leader_epoch != epoch:
                epoch = chunk.epoch_of(chunk.delivered - 1)
        return self.position, epoch

    @property
    def finished(self) -> tuple[int, int]:
        """As `delivered`, but before what the caller may still be processing."""
        return self.delivered if self.unfinished is None else self.unfinished

    def seek(self, offset: int, epoch: int = NO_EPOCH) -> None:
        """Moves to `offset`, of that leader epoch; drops what was fetched or is being fetched. The caller is done with
        what came before."""
        self.unfinished = None
        self._begin_anew(offset, None, epoch)

    def reset(self, time: int) -> None:
        """Has the position looked up by time, as a seek that is not done yet."""
        self.unfinished = None
        self._begin_anew(NO_POSITION, time, NO_EPOCH)

    def go_on_at(self, offset: int, epoch: int = NO_EPOCH) -> None:
        """Fetches on from there, or from where the log was cut before, if that was not handed out yet. The caller has
        sought nothing: what it may have of the last hand-out is still settled, and what it may be processing stays
        unfinished."""
        offset = self._at_most(offset)
        if self.unfinished is not None and self.unfinished[0] > offset:
            self.unfinished = None
        given = tuple(chunk.handed_out_part(offset) for chunk in self.chunks if chunk.handed_out > chunk.delivered)
        self._begin_anew(offset, None, epoch, given)

    def look_up(self, time: int) -> None:
        """As `go_on_at`, where the offset has to be looked up; all that was handed out is settled."""
        self._begin_anew(NO_POSITION, time, NO_EPOCH)

    def set_end(self, offset: int) -> None:
        """Ends reading before `offset`; drops what was fetched if some of it comes after that."""
        if self.chunks and offset < self.fetch_at:
            self.seek(self._at_most(self.position))
        self.end_offset = offset

    def _at_most(self, offset: int) -> int:
        """`offset`, or where what was fetched goes back to before it: other records came in the place of a part."""
        return min([offset, *[chunk.next_offset for chunk in self.chunks]])

    def forget_asked(self) -> None:
        """What is being asked about it will not be taken in."""
        self.revision = next(_revisions)
        self.in_flight = False

    def _begin_anew(self, offset: int, reset_to: int | None, epoch: int, chunks: tuple[Chunk, ...] = ()) -> None:
        self.forget_asked()
        self.chunks = chunks
        self._offset = self.fetch_at = offset
        self.reset_to = reset_to
        self._epoch = self.offset_epoch = epoch
        self.awaits_committed = False
        if self.moved is not None:
            self.moved.add(self)
        self.checked_epoch = NO_EPOCH
        self.fault = None
        self.lookup_since = None
        self.retry_at = 0.0
        self.failures = 0

    def add(self, records: Records, next_offset: int, node: int) -> None:
        """Takes in what was fetched from `fetch_at`, from that broker."""
        if len(records):
            set_tenure(records, self.tenure)
            chunk = Chunk(records, next_offset, node)
            self.chunks = (*self.chunks, chunk)
        elif self.chunks:
            self.chunks[-1].next_offset = next_offset
        else:
            self._offset = next_offset
            self._epoch = records.last_leader_epoch
            if self.moved is not None:
                self.moved.add(self)
        self.fetch_at = next_offset
        self.offset_epoch = records.last_leader_epoch
        self.failures = 0

    def set_delivered(self) -> None:
        """Counts what was handed out as delivered."""
        for chunk in self.chunks:
            chunk.delivered = chunk.handed_out
        while self.chunks and not self.chunks[0].buffered:
            self._offset = self.chunks[0].next_offset
            self._epoch = self.chunks[0].records.last_leader_epoch
            self.chunks = self.chunks[1:]
        if self.moved is not None:
            self.moved.add(self)

    def take_back(self) -> None:
        """Keeps what was handed out, to hand it out again: the caller does not have it."""
        for chunk in self.chunks:
            chunk.handed_out = chunk.delivered

    def expected_bytes(self, record_size: float, usual_size: float) -> float:
        """Bytes that a fetch may be expected to bring: of as many offsets as are known to wait, each of `record_size`,
        but no more than the last fetch brought, or than others usually bring.
        """
        if self.log_end <= self.fetch_at or self.end_offset <= self.fetch_at:
            return 0.0
        waiting = min(self.log_end, self.end_offset) - self.fetch_at
        return min(waiting * record_size, self.last_size or usual_size)

    @property
    def has_no_rule(self) -> bool:
        """Whether there is no position, and no rule to look one up by."""
        return self.position == NO_POSITION and self.reset_to is None and not self.awaits_committed

    @property
    def holds_records(self) -> bool:
        """Whether records wait to be handed out."""
        if not self.stopped:
            for chunk in self.chunks:  # a loop, as this is asked of every partition
                if chunk.handed_out < chunk.count:
                    return True
        return False

    @property
    def has_fault_next(self) -> bool:
        """Whether the next thing to tell of the partition is its fault: nothing fetched comes before it."""
        return self.fault is not None and not self.stopped and not self.holds_records

    @property
    def memory(self) -> int:
        """Bytes of memory held for records that were not delivered yet, beside the responses themselves."""
        return sum(chunk.memory for chunk in self.chunks)

    def wants_fetch(self, now: float) -> bool:
        """Whether the next records should be asked for."""
        return (
            0 <= self.fetch_at < self.end_offset
            and not self.stopped
            and not self.in_flight
            and self.fault is None
            and now >= self.retry_at
        )

    @property
    def wants_lookup(self) -> bool:
        """Whether the position has to be looked up by time."""
        return self.position < 0 and self.reset_to is not None and self.fault is None and not self.awaits_committed
