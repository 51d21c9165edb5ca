"""The flush and the close of a producer: when they are done, and which error ends them.

Layer 3, no I/O. A Flush is made and asked for its error with the engine to itself; `is_done` may be asked by any thread
at any time. A Closing goes on after its batches: with acks 0 it asks each broker that took records something which the
broker answers after them, because a broker drops requests that it has read and not handled when their connection ends.
"""

from __future__ import annotations

from functools import partial

from kwire._codec import Accumulator, Results, Timer
from kwire._typing import TYPE_CHECKING, Any, override
from kwire.engine.common.recovery import Recoverable
from kwire.engine.metadata.metadata import metadata_request
from kwire.engine.ports import Services
from kwire.errors import ClientClosedError, DeliveryError, KafkaError, KafkaTimeoutError
from kwire.errors.listing import counted
from kwire.schema.api_keys import METADATA

if TYPE_CHECKING:
    from typing import Protocol
else:
    Protocol = object

MAX_DRAIN_S = 5.0
"""Seconds that brokers are given to read what needs no acknowledgement."""


class Ending(Protocol):
    """The transactions of a producer that closes."""

    @property
    def is_ending(self) -> bool:
        """Whether a transaction is still being ended."""


class Flush:
    """Done once the result of every batch that was pending when it began is known."""

    def __init__(self, accumulator: Accumulator) -> None:
        self._accumulator = accumulator
        self._results = Results(accumulator.pending)

    def is_done(self) -> bool:
        """Whether there is nothing to wait for any more."""
        return self._results.all_complete()

    def error(self, timeout: float) -> KafkaError | None:
        """Returns what to raise after waiting, None if all is well; `timeout` (seconds) ended the wait if not done."""
        if self.is_done():
            return failures(self._accumulator)
        if self._accumulator.closed is not None:
            return ClientClosedError(self._accumulator.closed)
        left = self._results.incomplete()
        return KafkaTimeoutError(
            f"flush: {left} of {counted(self._results.count, 'batch', 'batches')} not delivered within {timeout:g} s"
        )


class Closing(Flush, Recoverable):
    """A flush, and with acks 0 the proof that the brokers have read everything; then nothing is left to do."""

    def __init__(
        self,
        core: Services,
        accumulator: Accumulator,
        unacknowledged: set[int],
        transactions: Ending | None,
    ) -> None:
        super().__init__(accumulator)
        self._core = core
        self._transactions = transactions
        self._unacknowledged = unacknowledged
        self._probes = 0
        self._limit: Timer | None = None

    @override
    def is_done(self) -> bool:
        is_ending = self._transactions is not None and self._transactions.is_ending
        return super().is_done() and not self._unacknowledged and not self._probes and not is_ending

    def advance(self, now: float) -> None:
        """Sends the probes once the batches are done; called after every step that may have ended one."""
        if self._unacknowledged and super().is_done():
            self._limit = self._core.call_at(now + MAX_DRAIN_S, self._give_up)
            while self._unacknowledged:
                self._probes += 1
                self._core.request(
                    self._unacknowledged.pop(),
                    METADATA,
                    partial(metadata_request, topics=[], allow_auto_create=False),
                    self._on_drained,
                    self._on_not_drained,
                    now,
                )

    def finish(self, why: str) -> KafkaError | None:
        """Fails what is left because of `why`; returns the error to raise."""
        fail_pending(self._accumulator, KafkaError(why))
        self._end_probes()
        return failures(self._accumulator)

    def loss(self) -> str:
        """What fails if it is finished now, in words; "" if nothing does."""
        count = undelivered(self._accumulator)
        return f"{counted(count, 'record')} undelivered" if count else ""

    @override
    def recover(self, now: float) -> None:
        """Probes are not answered."""
        self._end_probes()

    def _end_probes(self) -> None:
        self._probes = 0
        self._unacknowledged.clear()
        if self._limit is not None:
            self._limit.cancel()

    def _give_up(self, now: float) -> None:
        self._probes = 0

    def _on_drained(self, response: Any, version: int, now: float) -> None:
        self._probes = max(self._probes - 1, 0)

    def _on_not_drained(self, error: KafkaError, now: float) -> None:
        self._probes = max(self._probes - 1, 0)


def undelivered(accumulator: Accumulator) -> int:
    """How many records are on their way."""
    return sum(len(batch) for batch in accumulator.pending)


def fail_pending(accumulator: Accumulator, error: KafkaError) -> None:
    """Ends every batch whose result is not known."""
    for batch in accumulator.pending:
        accumulator.complete(batch, -1, -1, error)


def failures(accumulator: Accumulator) -> DeliveryError | None:
    """Takes off the batches that failed; returns one error for those of which some record's error was not looked at."""
    found: list[tuple[Exception, int]] = []
    while accumulator.failed:
        found += accumulator.failed.popleft().failures()
    dropped, accumulator.failures_dropped = accumulator.failures_dropped, 0
    if not found:
        return None
    errors = [error for error, _ in found]
    lost = sum(count for _, count in found) + dropped
    records, batches = counted(lost, "record"), counted(len(errors), "batch", "batches")
    if dropped:
        batches += " and older ones"
    return DeliveryError(f"{records} in {batches} could not be delivered, the first: {errors[0]}", errors)
