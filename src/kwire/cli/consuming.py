"""The loops of `kwire consume`: polls, until the end is reached, and what is printed of each.

A poll returns as soon as there are records, and what it returns is written at once, as one block: that is quick with
many records, and with few nobody waits for them.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping
from operator import attrgetter
from time import monotonic
from typing import TYPE_CHECKING

from kwire.cli.record_columns import UnfitError
from kwire.cli.record_output import write_block
from kwire.errors import KafkaError, KafkaTimeoutError, RegistryError

if TYPE_CHECKING:
    from kwire.cli.record_columns import Rows
    from kwire.cli.record_filters import Filter
    from kwire.cli.record_output import Renderer
    from kwire.consumer import Consumer, TopicPartition

    Parts = Iterable[tuple[TopicPartition, Rows]]

_LOOK_AGAIN_S = 0.1
_EMPTY_HANDED_S = 12.0


class Printer:
    """Writes the records that pass the filters, up to a count of them; `left` is how many may still come."""

    def __init__(self, render: Renderer, choose: Filter | None, count: int | None, head: bytes = b"") -> None:
        self._render, self._choose, self.left, self._head = render, choose, count, head
        self._after = 0

    def write_head(self) -> None:
        """Writes what stands above the records."""
        write_block(self._head)

    @property
    def most(self) -> int | None:
        """How many records a poll should return at most."""
        return self.left if self._choose is None else None

    def write(self, parts: Parts) -> dict[TopicPartition, int]:
        """Writes records. KafkaError for the first that does not fit its form, when those before it are written.

        Returns from where on records are left over, as the count is reached.
        """
        blocks: list[bytes] = []
        left_over: dict[TopicPartition, int] = {}
        for place, rows in parts:
            if self.left == 0:
                left_over[place] = rows[0].offset
                continue
            try:
                blocks.append(self._block(place, rows))
            except UnfitError as unfit:
                block, first = self._block_before(place, rows, unfit)
                blocks.append(block)
                if self.left != 0:
                    write_block(b"".join(blocks))
                    raise KafkaError(
                        f"{place}, offset {first.offset}: the {first.field} does not fit --{first.field}-as: "
                        f"{first.why}; --on-error keep prints it as base64"
                    ) from None
            except RegistryError:
                write_block(b"".join(blocks))
                raise
            if self.left == 0:
                left_over[place] = self._after
        write_block(b"".join(blocks))
        return left_over

    def _block(self, place: TopicPartition, rows: Rows) -> bytes:
        if self._choose is not None:
            rows = self._choose(place.topic, place.partition, rows)
        if self.left is not None:
            rows = rows[: self.left]
        made = self._render(place.topic, place.partition, rows)
        if self.left is not None and rows:
            self.left, self._after = self.left - len(rows), rows[-1].offset + 1
        return made

    def _block_before(self, place: TopicPartition, rows: Rows, unfit: UnfitError) -> tuple[bytes, UnfitError]:
        """What comes before the first record that does not fit, and that record: an earlier one than `unfit`, maybe."""
        rows = rows[: _before(rows, unfit.offset)]
        try:
            return self._block(place, rows), unfit
        except UnfitError as earlier:
            return self._block_before(place, rows, earlier)


def print_assigned(consumer: Consumer, printer: Printer, *, patience: float | None, live_end: bool) -> None:
    """Prints until every partition is at its `until`, or `live_end`, until nothing is left to read.

    KafkaTimeoutError when nothing comes for `patience` seconds.
    """
    timeout = _LOOK_AGAIN_S if live_end else patience
    while printer.left != 0 and not consumer.done():
        records = consumer.poll(timeout=timeout, max_records=printer.most)
        printer.write(records.by_partition().items())
        if records:
            continue
        if live_end:
            if not any(consumer.lag().values()):
                return
        elif patience is not None and not consumer.done():
            topics = ", ".join(sorted({repr(topic) for topic, _ in consumer.assignment()}))
            raise KafkaTimeoutError(f"no record of {topics} came within {patience:g} s, before its end")


def print_in_group(
    consumer: Consumer,
    printer: Printer,
    *,
    until: Mapping[TopicPartition, int] | None,
    live_end: bool,
) -> None:
    """Prints what the group assigns: for ever, or until each of these partitions is at its end, those of other members
    left out, or `live_end`, until nothing is left to read."""
    ends, share = _Ends(consumer, until or {}), _Share(consumer)
    timeout = None if until is None and not live_end else _LOOK_AGAIN_S
    while printer.left != 0:
        records = consumer.poll(timeout=timeout, max_records=printer.most)
        left_over = printer.write(ends.cut(records.by_partition()))
        reached = ends.stop_there()
        for place, offset in left_over.items():
            consumer.seek(place, offset)
        if timeout is None or not share.is_known() or (records and not reached):
            continue
        if (until is not None and ends.are_reached()) or (live_end and not any(consumer.lag().values())):
            return


class _Share:
    """The partitions that the group has assigned. Nothing may be an answer that the next heartbeat corrects: the broker
    has not looked for topics that match a pattern yet, or another member has not given up its partitions."""

    def __init__(self, consumer: Consumer) -> None:
        self._consumer, self._last_held = consumer, monotonic()

    def is_known(self) -> bool:
        """Called after each poll."""
        now = monotonic()
        if self._consumer.assignment():
            self._last_held = now
            return True
        return now - self._last_held > _EMPTY_HANDED_S


class _Ends:
    """Offsets at which partitions of a group are not read on, so that just what precedes them is committed."""

    def __init__(self, consumer: Consumer, until: Mapping[TopicPartition, int]) -> None:
        self._consumer, self._until = consumer, until
        self._passed: dict[TopicPartition, int] = {}

    def cut(self, parts: Mapping[TopicPartition, Rows]) -> Parts:
        """The records before the ends."""
        for place, rows in parts.items():
            end = self._until.get(place)
            count = len(rows) if end is None else _before(rows, end)
            if count < len(rows):
                self._passed[place] = max(self._until[place], rows[0].offset)
            if count:
                yield place, rows[:count]

    def stop_there(self) -> bool:
        """Goes back to where the last poll has passed an end; whether it has."""
        passed, self._passed = self._passed, {}
        for place, offset in passed.items():
            self._consumer.seek(place, offset)
        if passed:
            self._consumer.pause(passed)
        return bool(passed)

    def are_reached(self) -> bool:
        consumer = self._consumer
        return all(consumer.position(place) >= self._until.get(place, 0) for place in consumer.assignment())


_offset: Callable[[object], int] = attrgetter("offset")


def _before(rows: Rows, offset: int) -> int:
    """How many of the records precede the offset."""
    return bisect_left(rows, offset, key=_offset)
