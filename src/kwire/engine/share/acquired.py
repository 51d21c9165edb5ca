"""Records that a share group's broker has locked for this member, from the response until they are acknowledged.

Layer 3, no I/O. `Acquired` is what one answer brought of one partition; polls take `Portion`s of it, which are in the
caller's hands until each of their records is acknowledged.

    gaps       offsets that were acquired but hold no record of the program's (compacted away, control records): they
               are acknowledged as such by themselves
    faults     a batch that is corrupt is rejected, so that nobody gets it again; one that this client cannot read
               (codec, memory) is released; what comes after it is released, to be acquired again
    time       after `until` the broker has taken the lock back: records not handed out by then are dropped, and so are
               those whose partition has another leader by then, and those of a session or a connection that is lost:
               others may have accepted them meanwhile. Locks are timed from the request on, since an answer may have
               been on its way for long, or have waited for a process that was stopped
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter

from kwire._codec import Records
from kwire._typing import TYPE_CHECKING, NamedTuple
from kwire.engine.common.addresses import TopicPartition
from kwire.errors import ConfigError

if TYPE_CHECKING:
    from uuid import UUID

GAP, ACCEPT, RELEASE, REJECT, RENEW = range(5)

KINDS = {"accept": ACCEPT, "release": RELEASE, "reject": REJECT, "renew": RENEW}

_offset = attrgetter("offset")

OffsetRange = tuple[int, int]
"""The first and the last offset."""


class AckRange(NamedTuple):
    """Offsets `first` to `last` are acknowledged as `kind`."""

    first: int
    last: int
    kind: int


class AcquiredPartition(NamedTuple):
    """A partition as the wire names it, by its topic's name, and the broker that holds the locks."""

    topic_id: UUID
    tp: TopicPartition
    node: int

    @property
    def key(self) -> tuple[UUID, int]:
        """The partition as the wire names it."""
        return self.topic_id, self.tp.partition


class Grant(NamedTuple):
    """The session and the connection in which a broker has granted locks: it takes them back when one of them ends."""

    session_losses: int
    connection_life: int


class DeliveryCount(NamedTuple):
    """How often the records of a range of offsets were delivered, this time counted."""

    first: int
    last: int
    times: int


def ascending(ranges: Iterable[DeliveryCount]) -> list[DeliveryCount]:
    """The ranges in order; one that overlaps another is left out."""
    found: list[DeliveryCount] = []
    for each in sorted(ranges):
        if each.first <= each.last and (not found or each.first > found[-1].last):
            found.append(each)
    return found


def cut(counts: Iterable[DeliveryCount], begin: int, end: int | None) -> list[DeliveryCount]:
    """The parts of the ranges from `begin` on, before `end`."""
    stop = end if end is not None else 1 << 63
    return [
        DeliveryCount(max(each.first, begin), min(each.last, stop - 1), each.times)
        for each in counts
        if each.last >= begin and each.first < stop
    ]


def merged(ranges: Iterable[AckRange]) -> list[AckRange]:
    """The same in order, with as few ranges as can be."""
    found: list[AckRange] = []
    for each in sorted(ranges):
        if found and found[-1].kind == each.kind and found[-1].last + 1 == each.first:
            found[-1] = AckRange(found[-1].first, each.last, each.kind)
        else:
            found.append(each)
    return found


def runs(offsets: Sequence[int]) -> Iterator[OffsetRange]:
    """Ascending offsets as ranges without gaps."""
    first = last = None
    for offset in offsets:
        if first is None or last is None:
            first = offset
        elif offset != last + 1:
            yield first, last
            first = offset
        last = offset
    if first is not None and last is not None:
        yield first, last


def offsets_of(records: Records) -> list[int]:
    """The offset of each record."""
    if not len(records):
        return []
    first, last = records[0].offset, records[-1].offset
    if last - first + 1 == len(records):
        return list(range(first, last + 1))
    return [record.offset for record in records]


def ranges_of(records: Records) -> list[OffsetRange]:
    """The offsets of the records; does not look at each record where none is missing in between."""
    if not len(records):
        return []
    first, last = records[0].offset, records[-1].offset
    return [(first, last)] if last - first + 1 == len(records) else list(runs(offsets_of(records)))


def gaps_in(records: Records, ranges: Iterable[DeliveryCount]) -> list[OffsetRange]:
    """The acquired offsets that have no record, all of `ranges` having been decoded."""
    found: list[OffsetRange] = []
    for first, last, _ in ranges:
        at, end = bisect_left(records, first, key=_offset), bisect_right(records, last, key=_offset)
        if end - at == last - first + 1:
            continue
        expected = first
        for offset in offsets_of(records[at:end]):
            if offset > expected:
                found.append((expected, offset - 1))
            expected = offset + 1
        if expected <= last:
            found.append((expected, last))
    return found


class Acquired:
    """What one answer brought of one partition, less what was handed out."""

    __slots__ = ("_given", "counts", "grant", "place", "records", "until")

    def __init__(
        self,
        place: AcquiredPartition,
        records: Records,
        counts: Sequence[DeliveryCount],
        until: float,
        grant: Grant,
    ) -> None:
        self.place = place
        self.grant = grant
        self.records = records
        self.counts = counts
        self.until = until
        self._given = 0

    @property
    def left(self) -> int:
        """How many records were not handed out."""
        return len(self.records) - self._given

    def take(self, count: int) -> Portion:
        """The next records, `count` at most."""
        begin, self._given = self._given, min(self._given + count, len(self.records))
        return Portion(self, self.records[begin : self._given])


class Portion:
    """Records in the caller's hands. `kinds` has the offsets acknowledged so far, `_open` those not sent yet.

    With `renewed` the lock was prolonged: the next poll hands the records out again.
    """

    __slots__ = ("_open", "acquired", "kinds", "records", "renewed")

    def __init__(self, acquired: Acquired, records: Records, *, renewed: bool = False) -> None:
        self.acquired = acquired
        self.records = records
        self.renewed = renewed
        self.kinds: dict[int, int] = {}
        self._open: set[int] | None = None

    @property
    def place(self) -> AcquiredPartition:
        """Where the records are from."""
        return self.acquired.place

    @property
    def counts(self) -> list[DeliveryCount]:
        """How often its records were delivered."""
        return cut(self.acquired.counts, self.records[0].offset, self.records[-1].offset + 1)

    @property
    def unacknowledged(self) -> int:
        """How many records are in the caller's hands, and not acknowledged."""
        return (len(self.records) if self._open is None else len(self._open)) - len(self.kinds)

    def holds(self, offset: int) -> bool:
        """Whether that record is in the caller's hands."""
        if self._open is not None:
            return offset in self._open
        at = bisect_left(self.records, offset, key=_offset)
        return at < len(self.records) and self.records[at].offset == offset

    def acknowledge(self, offset: int, kind: int) -> None:
        """Notes how; the last word counts."""
        self.kinds[offset] = kind

    def take_acknowledged(self) -> list[AckRange]:
        """What was noted; these records are no longer in the caller's hands."""
        kinds, self.kinds = self.kinds, {}
        if not kinds:
            return []
        self._open = set(self._offsets()) - kinds.keys()
        ranges = []
        for kind in set(kinds.values()):
            offsets = sorted(offset for offset, each in kinds.items() if each == kind)
            ranges += [AckRange(first, last, kind) for first, last in runs(offsets)]
        return merged(ranges)

    def take_all(self, kind: int) -> list[AckRange]:
        """What was noted, and `kind` for all of which nothing was: nothing is in the caller's hands any more."""
        if self.kinds or self._open is not None:
            for offset in self._offsets():
                self.kinds.setdefault(offset, kind)
            return self.take_acknowledged()
        self._open = set()
        return [AckRange(first, last, kind) for first, last in ranges_of(self.records)]

    def renew(self, ranges: Iterable[AckRange], until: float) -> list[Portion]:
        """The records whose locks were renewed, locked until then: to be handed out again."""
        offsets = [offset for each in ranges if each.kind == RENEW for offset in range(each.first, each.last + 1)]
        before = self.acquired
        return self._parts(offsets, Acquired(self.place, self.records, before.counts, until, before.grant))

    def rest(self) -> list[Portion]:
        """The records that are not acknowledged yet, in as many pieces as lie apart from each other."""
        return [self] if self._open is None else self._parts(sorted(self._open), self.acquired)

    def _parts(self, offsets: Sequence[int], acquired: Acquired) -> list[Portion]:
        at = [(bisect_left(self.records, offset, key=_offset)) for offset in offsets]
        return [Portion(acquired, self.records[first : last + 1], renewed=True) for first, last in runs(at)]

    def _offsets(self) -> Iterable[int]:
        return offsets_of(self.records) if self._open is None else sorted(self._open)


def split(portions: Iterable[Portion], count: int) -> tuple[list[Portion], list[Portion]]:
    """The first `count` records of portions that nothing was acknowledged of, and the others."""
    first: list[Portion] = []
    rest: list[Portion] = []
    for portion in portions:
        at = min(count, len(portion.records))
        count -= at
        if at:
            first.append(Portion(portion.acquired, portion.records[:at]))
        if at < len(portion.records):
            rest.append(Portion(portion.acquired, portion.records[at:]))
    return first, rest


def kind_of(name: str) -> int:
    """The number of an acknowledgement; ConfigError for another word."""
    kind = KINDS.get(name) if isinstance(name, str) else None
    if kind is None:
        raise ConfigError(f"acknowledge as {name!r}: expected one of {', '.join(map(repr, KINDS))}")
    return kind
