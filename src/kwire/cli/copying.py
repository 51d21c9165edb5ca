"""Moving the messages of a Kafka 0.7 partition to a newer broker, and going on where an earlier run ended.

Every copied record carries a header `kwire.copy`: its source, the position it was read from and the one after it. The
destination is therefore its own record of how far the copy came, and a run that was killed anywhere loses and doubles
nothing: the next one reads the last records back and sends what is not among them. Records are sent in windows, each
acknowledged as a whole before the next, so that only the last window of a source can have gaps; what fills them is
acknowledged before anything new is sent.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from kwire import errors
from kwire.engine.common.addresses import TopicPartition
from kwire.legacy import Message, Position

if TYPE_CHECKING:
    from kwire.consumer import Consumer
    from kwire.producer import Producer

__all__ = ["HEADER", "Resumption", "Source", "Stamp", "copy", "damage_of", "placed", "resumptions", "without_damage"]

HEADER = "kwire.copy"
_WINDOW = 10_000


class Stamp(NamedTuple):
    """What the header says: from where a record was copied."""

    source: str
    position: Position
    next: Position

    def encode(self) -> bytes:
        here, after = self.position, self.next
        return f"{self.source} {here.offset}+{here.skip} {after.offset}+{after.skip}".encode()

    @classmethod
    def decode(cls, content: bytes) -> Stamp:
        """Raises CorruptError for what this module has not written."""
        try:
            source, here, after = content.decode().rsplit(" ", 2)
            return cls(source, _position(here), _position(after))
        except ValueError:
            raise errors.CorruptError(f"{content!r} is not a mark of a copy", HEADER) from None


def _position(text: str) -> Position:
    offset, skip = text.split("+")
    return Position(int(offset), int(skip))


@dataclass(frozen=True)
class Source:
    """One partition to copy: `read` yields its messages from a position on (None: all), `end` returns where they end.

    `next_segment` returns the offset of the first segment that begins after an offset, or the end of the log.
    """

    name: str
    read: Callable[[Position | None], Iterator[Message]]
    end: Callable[[], int]
    next_segment: Callable[[int], int]


def without_damage(source: Source, report: Callable[[errors.CodecError, int], None]) -> Source:
    """The same source without what cannot be read; `report` gets each error, and where reading goes on.

    That is after the damaged message, or at the next segment where not even the message's length can be right.
    """

    def read(start: Position | None) -> Iterator[Message]:
        at = start
        while True:
            try:
                yield from source.read(at)
                return
            except errors.CodecError as error:
                damaged = damage_of(error)
                if damaged is None:
                    raise
                resumed_at = source.next_segment(damaged) if error.seek_to is None else error.seek_to
                report(error, resumed_at)
                at = Position(resumed_at)

    return replace(source, read=read)


def damage_of(error: errors.CodecError) -> int | None:
    """The offset of the message that is at fault; None when none is, but a limit that it is above."""
    return None if isinstance(error, errors.LimitError) else error.record_offset


@dataclass
class Resumption:
    """Where to go on reading a source (None: from its beginning), and which positions after it are there already."""

    position: Position | None = None
    present: set[Position] = field(default_factory=set)

    @classmethod
    def after(cls, stamps: Iterable[Stamp], *, first_window: bool = False) -> Resumption:
        """From the newest stamps of one source, of which all before the oldest are known to be there.

        Except in the `first_window`: there the gap may be before the oldest.
        """
        following = {stamp.position: stamp.next for stamp in stamps}
        if not following or first_window:
            return cls(present=set(following))
        at = min(following)
        while at in following:
            at = following[at]
        return cls(at, {position for position in following if position > at})


def placed(
    consumer: Consumer, topic: str, partitions: int, sources: Iterable[str]
) -> dict[str, tuple[TopicPartition, Resumption]]:
    """Where each source goes on, and how far it is there.

    A source that is new goes to the partition of its number; one that an earlier run has sent elsewhere, when there
    were other sources or another order of them, goes on where it began.
    """
    names = list(sources)
    wanted = {name: TopicPartition(topic, number % partitions) for number, name in enumerate(names)}
    found: dict[str, tuple[TopicPartition, Resumption]] = {}
    for place in sorted(set(wanted.values())):
        here = resumptions(consumer, place, [name for name in names if wanted[name] == place])
        found.update({name: (place, resumption) for name, resumption in here.items()})
    for number in range(partitions):
        place = TopicPartition(topic, number)
        missing = [name for name in names if found[name][1] == Resumption() and wanted[name] != place]
        if not missing:
            continue
        for name, resumption in resumptions(consumer, place, missing).items():
            if resumption != Resumption():
                found[name] = place, resumption
    return found


def resumptions(consumer: Consumer, place: TopicPartition, sources: Iterable[str]) -> dict[str, Resumption]:
    """For each source that is copied to the partition `place`: how far it is there. Reads back from the end."""
    names = list(sources)
    first = consumer.beginning_offsets([place])[place]
    end = consumer.end_offsets([place])[place]
    found: dict[str, deque[Stamp]] = {name: deque() for name in names}
    span = _WINDOW * len(names)
    begin = end
    while begin > first and any(len(stamps) < _WINDOW for stamps in found.values()):
        stop, begin = begin, max(first, begin - span)
        span *= 2
        older: dict[str, deque[Stamp]] = {name: deque(maxlen=_WINDOW) for name in names}
        for stamp in _stamps(consumer, place, begin, stop):
            if stamp.source in older:
                older[stamp.source].append(stamp)
        found = {name: deque([*older[name], *found[name]], maxlen=_WINDOW) for name in names}
    return {
        name: Resumption.after(stamps, first_window=first == 0 and len(stamps) < _WINDOW)
        for name, stamps in found.items()
    }


def _stamps(consumer: Consumer, place: TopicPartition, begin: int, stop: int) -> Iterator[Stamp]:
    consumer.assign([place], at={place: begin}, until={place: stop})
    while not consumer.done():
        for record in consumer.poll(timeout=None):
            for name, content in record.headers:
                if name == HEADER and content is not None:
                    yield Stamp.decode(content)


def copy(
    source: Source,
    resumption: Resumption,
    producer: Producer,
    place: TopicPartition,
    *,
    progress: Callable[[int, int, int], None],
) -> int:
    """Copies what is not there yet; returns how many records it sent.

    `progress(records, bytes, position)` is called after each window. Raises DeliveryError when records could not be
    written; they are sent by the next run.
    """
    sent = in_window = size = 0
    last_present = max(resumption.present, default=Position(-1))
    fills_gap = False
    for message in source.read(resumption.position):
        if message.position in resumption.present:
            continue
        if in_window == _WINDOW or (fills_gap and message.position > last_present):
            producer.flush()
            progress(in_window, size, message.position.offset)
            in_window = size = 0
        fills_gap = message.position < last_present
        stamp = Stamp(source.name, message.position, message.next)
        producer.send(place.topic, message.value, partition=place.partition, headers=[(HEADER, stamp.encode())])
        sent += 1
        in_window += 1
        size += len(message.value)
    producer.flush()
    progress(in_window, size, source.end())
    return sent
