"""What becomes of the records of `kwire produce`: they go to the producer, and are counted once acknowledged.

Nothing is kept of a record that was written; of those that were not, the first are remembered by line and reason.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

from kwire.errors import DeliveryError, KafkaError, LimitError
from kwire.errors.broker import (
    CorruptMessageError,
    InvalidRecordError,
    InvalidTimestampError,
    MessageTooLargeError,
    RecordListTooLargeError,
)
from kwire.errors.listing import counted

if TYPE_CHECKING:
    from kwire.cli.produce_input import Block
    from kwire.cli.terminal import Progress
    from kwire.producer import Delivery, Producer

MAX_REMEMBERED = 5
"""So many failures are told with their reasons."""

_PAUSES_PER_S = 20
_ABOUT_ONE_RECORD = (
    CorruptMessageError,
    InvalidRecordError,
    InvalidTimestampError,
    LimitError,
    MessageTooLargeError,
    RecordListTooLargeError,
)


class Sent(Protocol):
    """Records that were handed over."""

    def is_done(self) -> bool:
        """Whether the result of each is known."""

    def __len__(self) -> int:
        """How many."""

    def failures(self) -> Sequence[tuple[int, Exception]]:
        """The number in the block of each that failed, and why; once all are done."""


class Sendable(Protocol):
    """Records of one input, in order."""

    @property
    def size(self) -> int:
        """Bytes of the input."""

    def __len__(self) -> int:
        """How many records."""

    def name(self, index: int) -> str:
        """Where a record comes from."""

    def parts(self, most: int) -> Iterator[Sendable]:
        """The same in parts of at most so many records."""

    def send(self, producer: Producer, topic: str, partition: int | None, into: Sending) -> None:
        """Hands the records over, and tells `into` what it handed over, even where it raises."""


class SentItems:
    """What `send` and `send_many` have returned, or an error for one that was refused for itself."""

    def __init__(self, results: Sequence[Delivery | Exception]) -> None:
        self._results = results

    def __len__(self) -> int:
        return len(self._results)

    def is_done(self) -> bool:
        return all(isinstance(each, Exception) or each.done() for each in reversed(self._results))

    def failures(self) -> Sequence[tuple[int, Exception]]:
        errors = [each if isinstance(each, Exception) else each.exception(0) for each in self._results]
        return [(index, error) for index, error in enumerate(errors) if error is not None]


class Sending:
    """The records of a command on their way, and how many came through."""

    def __init__(
        self,
        producer: Producer,
        topic: str,
        progress: Progress,
        *,
        partition: int | None = None,
        rate: float | None = None,
    ) -> None:
        self._producer = producer
        self._topic = topic
        self._partition = partition
        self._rate = rate
        self._progress = progress
        self._begun = time.monotonic()
        self._on_their_way: deque[tuple[Sendable, Sent]] = deque()
        self.given = 0
        """Records that were to be sent so far."""
        self.acknowledged = 0
        self.failed = 0
        self.failures: list[tuple[str, Exception]] = []
        """The first that failed, by where they come from."""
        self.is_hopeless = False
        """Whether a record failed for a reason that others will fail for, too."""

    def send(self, block: Sendable) -> bool:
        """Sends the records; returns whether there is a point in sending more."""
        for part in (block,) if self._rate is None else self._paced(block, self._rate):
            self.given += len(part)
            part.send(self._producer, self._topic, self._partition, self)
            self._progress.advance(part.size)
            self._settle()
            if self.is_hopeless:
                return False
        self._progress.describe(f"{counted(self.given, 'record', spec=',')} to {self._topic}")
        return True

    def _paced(self, block: Sendable, rate: float) -> Iterator[Sendable]:
        for part in block.parts(max(1, int(rate / _PAUSES_PER_S))):
            due = self._begun + self.given / rate
            if (left := due - time.monotonic()) > 0:
                time.sleep(left)
            yield part

    def note(self, block: Sendable, sent: Sent) -> None:
        """These records of the block, from its first on, were handed over."""
        self._on_their_way.append((block, sent))

    def finish(self) -> None:
        """Waits until the result of each record is known."""
        try:
            self._producer.flush()
        except DeliveryError:
            pass  # each record is asked for its own
        self._settle()

    def abandon(self) -> int:
        """Gives up at once what is not acknowledged; returns how many records may or may not have been written."""
        before = self.failed
        try:
            self._producer.close(timeout=0)
        except KafkaError:
            pass
        self._settle()
        return self.given - self.acknowledged - before

    def _settle(self) -> None:
        while self._on_their_way and self._on_their_way[0][1].is_done():
            block, sent = self._on_their_way.popleft()
            failures = sent.failures()
            self.acknowledged += len(sent) - len(failures)
            self.failed += len(failures)
            for index, error in failures[: MAX_REMEMBERED - len(self.failures)]:
                self.failures.append((block.name(index), error))
            self.is_hopeless |= any(not isinstance(error, _ABOUT_ONE_RECORD) for _, error in failures)


def send_items(block: Block, producer: Producer, topic: str, partition: int | None, into: Sending) -> None:
    """Hands over a block of records as Python has them: all at once, unless some have places of their own or may be too
    large."""
    settings = producer.settings
    if block.places is not None or block.size > min(settings.max_request_size, settings.buffer_memory) // 2:
        _send_singly(block, producer, topic, partition, into)
        return
    try:
        into.note(block, SentItems(producer.send_many(topic, block.items, partition=partition)))
    except KafkaError as error:
        into.note(block, SentItems(getattr(error, "deliveries", ())))
        raise


def _send_singly(block: Block, producer: Producer, topic: str, partition: int | None, into: Sending) -> None:
    results: list[Delivery | Exception] = []
    into.note(block, SentItems(results))
    for index, item in enumerate(block.items):
        value, key, timestamp, headers = (item, None, None, ()) if isinstance(item, bytes) else item
        own_topic, own_partition = (None, None) if block.places is None else block.places[index]
        place = own_partition if partition is None else partition
        try:
            sent: Delivery | Exception = producer.send(
                own_topic or topic, value, key=key, partition=place, timestamp=timestamp, headers=headers
            )
        except LimitError as error:
            sent = error
        results.append(sent)
