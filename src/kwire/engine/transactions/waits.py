"""What a transactional producer waits for: each of its calls.

Layer 3, no I/O: generators of `kwire.engine.common.waits`. A wait that ran out of time, or was cut, is over; what it
waited for goes on, and the same call waits for it again.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from operator import attrgetter

from kwire._typing import TYPE_CHECKING, Any
from kwire.engine.calls.arguments import seconds
from kwire.engine.common.waits import Until
from kwire.errors import (
    KafkaError,
    KafkaTimeoutError,
    TransactionError,
    TransactionStateError,
)

if TYPE_CHECKING:
    from kwire._codec import Accumulator
    from kwire.engine.common.waits import Door, Wait
    from kwire.engine.settings.clients import ProducerSettings
    from kwire.engine.settings.options import Timeout
    from kwire.engine.transactions.manager import TransactionManager
    from kwire.engine.transactions.outcome import Outcome

    Start = Callable[[float], Outcome]

_is_done = attrgetter("done")


class Transactions:
    """Of one producer."""

    def __init__(
        self, door: Door, manager: TransactionManager, accumulator: Accumulator, settings: ProducerSettings
    ) -> None:
        self.manager = manager
        self._door = door
        self._accumulator = accumulator
        self._settings = settings
        self.settle: Callable[[float], Wait[None]] | None = None
        """What is to be waited for before each of them, so many seconds at most."""

    def initialise(self, keep_prepared: bool, timeout: Timeout) -> Wait[str | None]:
        """Aborts what is open under the transactional id, and fences others; returns a transaction that is kept."""
        found = yield from self.result_of(partial(self.manager.initialise, keep_prepared=keep_prepared), timeout)
        return text_of(found)

    def begin(self) -> Wait[None]:
        """Begins one."""
        self._accumulator.check_open()
        self._door.call(self.manager.begin)
        yield from ()

    def send_offsets(self, offsets: object, group: object, timeout: Timeout) -> Wait[None]:
        """Has offsets of a consumer group committed with it."""
        from kwire.engine.transactions.offsets import member_of, offsets_of, why_late

        rows, member = offsets_of(offsets), member_of(group)
        late = why_late(offsets, rows, member)
        yield from self.result_of(partial(self.manager.send_offsets, rows, member, late=late), timeout)

    def commit(self, timeout: Timeout) -> Wait[None]:
        """Delivers every record and commits."""
        yield from self.result_of(self.manager.commit, timeout)

    def abort(self, timeout: Timeout) -> Wait[None]:
        """Aborts."""
        yield from self.result_of(self.manager.abort, timeout)

    def prepare(self, timeout: Timeout) -> Wait[str]:
        """Delivers every record; returns what `complete` is to be given."""
        found = yield from self.result_of(self.manager.prepare, timeout)
        return text_of(found) or ""

    def complete(self, prepared: str, timeout: Timeout) -> Wait[bool]:
        """Commits if `prepared` is the transaction that is prepared now, else aborts; whether it committed."""
        present = text_of(self.manager.prepared)
        if present is None:
            raise TransactionStateError("complete_transaction: no transaction is prepared")
        commits = present == prepared
        yield from (self.commit(timeout) if commits else self.abort(timeout))
        return commits

    def result_of(self, start: Start, timeout: Timeout) -> Wait[Any]:
        """The result of what `start(now)` begins; raises its error. The default is max_block_ms, as with Java's."""
        given = None if timeout is None else seconds(timeout)
        patience = self._settings.max_block_ms / 1000 if given is None else given
        self._accumulator.check_open()
        self._door.check_may_block()
        if self.settle is not None:
            yield from self.settle(patience)
        outcome = self._door.call(start)
        if not (yield Until(partial(_is_done, outcome), patience)) and not outcome.done and not self.manager.is_closed:
            raise self._door.call(lambda now: self._undecided(outcome, patience))
        return outcome.value()

    def _undecided(self, outcome: Outcome, patience: float) -> KafkaTimeoutError:
        """The error of a call that waited in vain."""
        return KafkaTimeoutError(
            f"{outcome.what}: not done within {patience:g} s, and still running; call it again to wait for it; "
            f"{self.manager.why_waiting}"
        )

    # -- a block ----------------------------------------------------------------------------------------------------

    def enter(self) -> Wait[None]:
        """Begins one for a `with` block; initialises first, where that was not done."""
        if self.manager.needs_start:
            yield from self.initialise(keep_prepared=False, timeout=None)
        yield from self.begin()

    def leave(self, error: BaseException | None) -> Wait[None]:
        """The block has ended, by that error or without one: commits, or aborts."""
        if error is not None:
            yield from self._abort_by(error)
            return
        try:
            yield from self.commit(None)
        except TransactionError as failure:
            if failure.abortable:
                yield from self._abort_by(failure)
            raise

    def _abort_by(self, error: BaseException) -> Wait[None]:
        """Aborts because of `error`, which is raised after that."""
        if not self.manager.may_abort:
            return
        try:
            yield from self.abort(None)
        except KafkaError as failure:
            instead = _after_failed_abort(error, failure)
            if instead is not None:
                raise instead from error


def text_of(prepared: tuple[int, int] | None) -> str | None:
    """A prepared transaction as text: producer id and epoch, as Java's PreparedTxnState has them."""
    return None if prepared is None else f"{prepared[0]}:{prepared[1]}"


def _after_failed_abort(error: BaseException, failure: KafkaError) -> KafkaError | None:
    """What to raise in place of `error`, which made the transaction abort, where that failed: None to raise `error`."""
    from kwire.errors import ProducerFencedError

    if isinstance(failure, ProducerFencedError) and isinstance(error, KafkaError):
        return failure
    error.add_note(f"the transaction could not be aborted: {failure}")
    return None
