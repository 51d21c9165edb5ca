"""The records of one partition as a share group sees them (KIP-932): each has a state, a delivery count and a lock.

    available      acquired: a member fetches it, and the delivery count grows
    acquired       acknowledged: accepted. archived: rejected, or a gap. available again: released, or the lock timed
                   out, or the member's share session ended; archived instead once it was delivered often enough
    acknowledged,  the end. The start offset moves on over these
    archived

A group begins where `share.auto.offset.reset` says, at its first fetch of the partition. The leader holds the locks: a
new one has none, and does not count the deliveries that were under way.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from kwire.errors import broker as codes
from kwire.testing.records.record_sets import last_offset_of, split_stored
from kwire.testing.settings.durations import milliseconds_of

if TYPE_CHECKING:
    from kwire.testing.cluster import ClusterState
    from kwire.testing.state.partition import Partition
    from kwire.testing.state.timers import Timer

GAP, ACCEPT, RELEASE, REJECT, RENEW = range(5)
_BY_DURATION = "by_duration:"
_ATTRIBUTES_AT, _PRODUCER_ID_AT = 22, 43
_TRANSACTIONAL, _CONTROL = 0x10, 0x20


class RecordState(Enum):
    """What may happen to a record."""

    AVAILABLE = 0
    ACQUIRED = 1
    ACKNOWLEDGED = 2
    ARCHIVED = 4

    @property
    def is_final(self) -> bool:
        return self in (RecordState.ACKNOWLEDGED, RecordState.ARCHIVED)


@dataclass(slots=True, eq=False)
class _Lock:
    """What one request of a member locked; its timer lasts as long as it holds a record."""

    member_id: str
    timer: Timer
    held: int = 0


@dataclass(slots=True)
class _Slot:
    """One offset that was fetched already. `batch` is that of the log, then the row that it was acquired with."""

    state: RecordState = RecordState.AVAILABLE
    batch: object = None
    deliveries: int = 0
    lock: _Lock | None = None

    def acquire(self, lock: _Lock) -> None:
        """Locks it, with another lock than before if it has one."""
        lock.held += 1
        self.unlock()
        self.state, self.lock = RecordState.ACQUIRED, lock

    def unlock(self) -> None:
        """Lets go of the lock, if there is one; that of the last record ends."""
        lock, self.lock = self.lock, None
        if lock is not None:
            lock.held -= 1
            if not lock.held:
                lock.timer.cancel()


class Acquired(NamedTuple):
    """Offsets that a member holds now, with how often they were delivered."""

    first: int
    last: int
    deliveries: int


class Acknowledgement(NamedTuple):
    """What a member says of offsets: one type for all, or one for each."""

    first: int
    last: int
    types: Sequence[int]

    def type_of(self, offset: int) -> int:
        return self.types[0] if len(self.types) == 1 else self.types[offset - self.first]


class Limits(NamedTuple):
    """How much a fetch may acquire: bytes, records (a whole batch more unless `strict`), and records per answer row."""

    max_bytes: int
    max_records: int
    batch_size: int
    strict: bool


@dataclass(slots=True)
class _Taking:
    """What one fetch has got so far, by batches of the log."""

    limits: Limits
    lock: _Lock
    batches: list[list[int]] = field(default_factory=list)
    _count: int = 0
    _batch: object = None

    def may_have(self, batch: object) -> bool:
        """Whether one record more may be acquired; beyond the limit only of the batch that was begun."""
        if self._count >= self.limits.max_records and (self.limits.strict or batch is not self._batch):
            return False
        self._count += 1
        self._batch = batch
        return True


@dataclass(slots=True, eq=False)
class SharePartition:
    """One partition of one group. `start` is None until the first fetch decides it, or an administrator."""

    group_id: str
    cluster: ClusterState
    partition: Partition
    start: int | None = None
    _next: int = 0
    _slots: dict[int, _Slot] = field(default_factory=dict)
    _leader_epoch: int = 0

    # What is to be had.

    def begin(self) -> None:
        """Decides where the group begins, follows a change of the leader, and forgets what the log has no more."""
        log = self.partition.log
        if self.start is None:
            self.reset(self._first_offset())
        if self._leader_epoch != self.partition.leader_epoch:
            self._forget_locks()
        if self.start is not None and self.start < log.start_offset:
            for offset in [offset for offset in self._slots if offset < log.start_offset]:
                self._slots.pop(offset).unlock()
            self.start, self._next = log.start_offset, max(self._next, log.start_offset)
        self._next = min(self._next, max(log.end_offset, self.start or 0))

    def reset(self, start: int | None) -> None:
        """The group begins at another offset; None: where its setting says."""
        for slot in self._slots.values():
            slot.unlock()
        self.start, self._next, self._slots = start, start or 0, {}
        self._leader_epoch = self.partition.leader_epoch
        self.cluster.wake([self])

    def _first_offset(self) -> int:
        reset = self.cluster.groups.configs.text(self.group_id, "share.auto.offset.reset")
        log = self.partition.log
        if reset == "earliest":
            return log.start_offset
        if reset.startswith(_BY_DURATION):
            since = self.cluster.clock() - milliseconds_of(reset.removeprefix(_BY_DURATION))
            found = log.offset_for_timestamp(since)
            return log.end_offset if found is None else found[1]
        return log.end_offset

    @property
    def end(self) -> int:
        """The offset before which members may read."""
        return self.partition.last_stable_offset if self._is_committed else self.partition.high_watermark

    @property
    def _is_committed(self) -> bool:
        return self.cluster.groups.configs.text(self.group_id, "share.isolation.level") == "read_committed"

    def has_more(self) -> bool:
        """Whether a fetch would find something."""
        return self._next_available() < self.end

    def _next_available(self) -> int:
        free = (offset for offset, slot in self._slots.items() if slot.state is RecordState.AVAILABLE)
        offset = min(free, default=self._next)
        return self.end if offset == self._next and not self._room else offset

    @property
    def _room(self) -> int:
        """How many more records may be under way."""
        limit = self.cluster.groups.configs.number(self.group_id, "share.partition.max.record.locks")
        return max(limit - (self._next - (self.start or 0)), 0)

    # Acquiring.

    def acquire(self, member_id: str, limits: Limits) -> tuple[bytes, list[Acquired]]:
        """Locks what is available for a member: (the batches that hold it, what it got)."""
        offset = self._next_available()
        if offset >= self.end or limits.max_records <= 0:
            return b"", []
        data = self.partition.log.read(offset, limits.max_bytes, first_whole=True, end=self.end)
        taking = _Taking(limits, self._new_lock(member_id))
        first_byte, last_byte, at, read_to = 0, 0, 0, offset
        for entry in split_stored(memoryview(data)):
            if read_to > self._next:
                break  # some of the batch before are left for later
            offsets = range(max(int.from_bytes(entry[:8], "big"), offset), last_offset_of(entry) + 1)
            self._archive(range(read_to, offsets.start))
            read_to = offsets.stop
            taken = [] if self._archive_aborted(entry, offsets) else self._take(offsets, taking)
            if taken:
                first_byte = first_byte if taking.batches else at
                last_byte = at + entry.nbytes
                taking.batches.append(taken)
            at += entry.nbytes
        if not taking.batches:
            taking.lock.timer.cancel()
        self._move_start()
        return bytes(data[first_byte:last_byte]), self._rows(taking.batches, limits.batch_size)

    def _archive_aborted(self, entry: memoryview, offsets: range) -> bool:
        """Whether members that read what is committed must not see the batch; then it is done with."""
        if not self._is_committed or not entry[_ATTRIBUTES_AT] & _TRANSACTIONAL or entry[_ATTRIBUTES_AT] & _CONTROL:
            return False
        producer_id = int.from_bytes(entry[_PRODUCER_ID_AT : _PRODUCER_ID_AT + 8], "big")
        aborted = self.partition.producers.aborted_within(offsets.start, offsets.stop)
        if not any(each.producer_id == producer_id for each in aborted):
            return False
        self._archive(offsets)
        return True

    def _archive(self, offsets: range) -> None:
        """Is done with offsets that members do not see; some have no records any more, in a compacted log."""
        for offset in offsets:
            slot = self._slots.setdefault(offset, _Slot())
            slot.unlock()
            slot.state = RecordState.ARCHIVED
        self._next = max(self._next, offsets.stop)

    def _new_lock(self, member_id: str) -> _Lock:
        duration_ms = self.cluster.groups.configs.number(self.group_id, "share.record.lock.duration.ms")
        return _Lock(
            member_id, self.cluster.timers.call_at(self.cluster.now() + duration_ms / 1000, self._expire_locks)
        )

    def _take(self, offsets: range, taking: _Taking) -> list[int]:
        """Locks those of a batch that are available, as long as there may be more."""
        taken: list[int] = []
        for offset in offsets:
            if not self._may_take(offset):
                continue
            slot = self._slots.get(offset) or _Slot(batch=offsets)
            if not taking.may_have(slot.batch):
                break
            self._slots[offset] = slot
            slot.acquire(taking.lock)
            slot.deliveries += 1
            self._next = max(self._next, offset + 1)
            taken.append(offset)
        return taken

    def _may_take(self, offset: int) -> bool:
        slot = self._slots.get(offset)
        if slot is not None:
            return slot.state is RecordState.AVAILABLE
        return offset >= self._next and self._room > 0

    def _rows(self, batches: list[list[int]], batch_size: int) -> list[Acquired]:
        """Runs of offsets with one delivery count, cut between batches once they have `batch_size` records."""
        rows: list[Acquired] = []
        for taken in batches:
            full = bool(rows) and 0 < batch_size <= rows[-1].last - rows[-1].first + 1
            for offset in taken:
                deliveries = self._slots[offset].deliveries
                if rows and not full and rows[-1].last == offset - 1 and rows[-1].deliveries == deliveries:
                    rows[-1] = rows[-1]._replace(last=offset)
                else:
                    rows.append(Acquired(offset, offset, deliveries))
                full = False
        for row in rows:
            for offset in range(row.first, row.last + 1):
                self._slots[offset].batch = row
        return rows

    # Letting go.

    def acknowledge(self, member_id: str, given: Sequence[Acknowledgement]) -> None:
        """Takes in what a member says. Raises BrokerError, and changes nothing, if any of it cannot be."""
        held = [(offset, each.type_of(offset)) for each in given for offset in self._held(member_id, each)]
        renewed: _Lock | None = None
        for offset, kind in held:
            slot = self._slots[offset]
            if kind == RENEW:
                renewed = renewed or self._new_lock(member_id)
                slot.acquire(renewed)
            elif kind == RELEASE:
                self._release(slot)
            else:
                slot.state = RecordState.ACKNOWLEDGED if kind == ACCEPT else RecordState.ARCHIVED
                slot.unlock()
        self._move_start()

    def _held(self, member_id: str, given: Acknowledgement) -> Iterator[int]:
        for offset in range(given.first, given.last + 1):
            if offset < (self.start or 0):
                continue
            slot = self._slots.get(offset)
            if slot is None:
                raise codes.INVALID_REQUEST(
                    "Batch record not found. The request batch offsets are not found in the cache."
                )
            if slot.lock is not None and slot.lock.member_id != member_id:
                raise codes.INVALID_RECORD_STATE("Member is not the owner of batch record")
            if slot.state is not RecordState.ACQUIRED or slot.lock is None:
                raise codes.INVALID_RECORD_STATE(
                    "The batch cannot be acknowledged. The batch is not in the acquired state."
                )
            yield offset

    def release_member(self, member_id: str) -> None:
        """The member's share session has ended: all that it holds is available again."""
        for slot in self._slots.values():
            if slot.lock is not None and slot.lock.member_id == member_id:
                self._release(slot)
        self._move_start()

    def _expire_locks(self) -> None:
        for slot in self._slots.values():
            if slot.lock is not None and not slot.lock.timer.pending:
                self._release(slot)
        self._move_start()

    def _release(self, slot: _Slot) -> None:
        limit = self.cluster.groups.configs.number(self.group_id, "share.delivery.count.limit")
        slot.state = RecordState.ARCHIVED if slot.deliveries >= limit else RecordState.AVAILABLE
        slot.unlock()

    def _move_start(self) -> None:
        while self.start is not None and (slot := self._slots.get(self.start)) is not None and slot.state.is_final:
            del self._slots[self.start]
            self.start += 1
        self.cluster.wake([self])

    def _forget_locks(self) -> None:
        for slot in self._slots.values():
            if slot.state is RecordState.ACQUIRED:
                slot.state = RecordState.AVAILABLE
                slot.deliveries -= 1
            slot.unlock()
        self._leader_epoch = self.partition.leader_epoch

    # For administrators.

    @property
    def lag(self) -> int:
        """How many records are not done; -1 before the first fetch."""
        if self.start is None:
            return -1
        done = sum(slot.state.is_final for slot in self._slots.values())
        return max(self.partition.high_watermark - self.start - done, 0)
