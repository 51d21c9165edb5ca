"""What both kinds of transactional producers share: what does not wait.

Layer 5, below the clients: no protocol logic, no sockets.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from kwire._typing import TYPE_CHECKING, Any, TypeVar
from kwire.engine.calls.arguments import seconds
from kwire.errors import ConfigError, KafkaError, KafkaTimeoutError, TransactionError, TransactionStateError

if TYPE_CHECKING:
    from kwire.engine.producer.sender import Sender
    from kwire.engine.settings.options import Timeout
    from kwire.engine.transactions.manager import TransactionManager
    from kwire.engine.transactions.outcome import Outcome

T = TypeVar("T")

Start = Callable[[float], "Outcome"]


class TransactionsFront:
    """A part of the base of the producers."""

    settings: Any
    _sender: Sender

    def _manager(self) -> TransactionManager:
        manager = self._sender.transactions
        if manager is None:
            raise ConfigError("this producer has no transactional_id: give it one to use transactions")
        return manager

    def _transaction_patience(self, timeout: Timeout) -> float:
        """Seconds that a call may take: by default max_block_ms, as with Java's."""
        given = seconds(timeout)
        return float(self.settings.max_block_ms / 1000) if given is None else given

    def _sending_offsets(self, offsets: object, group: object) -> Start:
        """What `send_offsets_to_transaction` begins."""
        from kwire.engine.transactions.offsets import member_of, offsets_of, why_late

        rows, member = offsets_of(offsets), member_of(group)
        return partial(self._manager().send_offsets, rows, member, late=why_late(offsets, rows, member))

    def _completes(self, prepared: str) -> bool:
        """Whether `prepared` is the transaction that is prepared now."""
        present = text_of(self._manager().prepared)
        if present is None:
            raise TransactionStateError("complete_transaction: no transaction is prepared")
        return present == prepared

    def _undecided(self, outcome: Outcome, patience: float) -> KafkaTimeoutError:
        """The error of a call that waited in vain."""
        return KafkaTimeoutError(
            f"{outcome.what}: not done within {patience:g} s, and goes on; call it again to wait for it; "
            f"{self._manager().why_waiting}"
        )


def text_of(prepared: tuple[int, int] | None) -> str | None:
    """A prepared transaction as text: producer id and epoch, as Java's PreparedTxnState has them."""
    return None if prepared is None else f"{prepared[0]}:{prepared[1]}"


def may_abort(error: BaseException) -> bool:
    """Whether a commit that failed so can be followed by an abort."""
    return isinstance(error, TransactionError) and error.abortable


def after_failed_abort(error: BaseException, failure: KafkaError) -> KafkaError | None:
    """What to raise in place of `error`, which made the transaction abort, where that failed: None to raise `error`."""
    from kwire.errors import ProducerFencedError

    if isinstance(failure, ProducerFencedError) and isinstance(error, KafkaError):
        return failure
    error.add_note(f"the transaction could not be aborted: {failure}")
    return None
