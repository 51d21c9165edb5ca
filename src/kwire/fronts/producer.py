"""What both producers share: all but the signatures of the calls that wait, and `send()`, which is compiled.

Layer 5, below the clients: no protocol logic, no sockets.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable
from functools import partial
from math import inf
from types import TracebackType

from kwire._codec import Accumulator, Delivery
from kwire._typing import TYPE_CHECKING, Any, override
from kwire.drivers.loggers import LateLogger
from kwire.drivers.randomness import random_bits
from kwire.engine.calls.arguments import seconds
from kwire.engine.producer import waits
from kwire.engine.producer.flushing import undelivered
from kwire.engine.producer.sender import Sender
from kwire.engine.settings.clients import ProducerSettings
from kwire.errors import ConfigError, KafkaError
from kwire.errors.listing import counted
from kwire.fronts.front import Front

if TYPE_CHECKING:
    from kwire.engine.common.serialization import Serializer
    from kwire.engine.common.waits import Wait
    from kwire.engine.settings.options import Timeout
    from kwire.engine.transactions.waits import Transactions
    from kwire.fronts.health import Parts
    from kwire.fronts.interceptors import ProducerInterceptors
    from kwire.fronts.metrics import Metrics

UNASSIGNED_SHARE = 0.02
"""Of max_block_ms: by so much a record without a known partition may fail early, with others of its batch."""

_log = LateLogger("kwire.clients")


class ProducerFront(Front[ProducerSettings]):
    """The base of the producers, after their compiled half."""

    _kind = "producer"

    _accumulator: Accumulator
    _serialize_by: Callable[[Callable[..., Any]], None]
    _intercept_by: Callable[[Callable[..., Delivery]], None]
    _sender: Sender

    @override
    def _put_together(self) -> None:
        """Puts accumulator and sender together; the hooks by which the accumulator waits are each client's own."""
        settings, after_step = self.settings, self._core.after_step
        self._accumulator = new_accumulator(settings, random_bits(63), after_step)
        self._accumulator.run_callback = _run_callback
        if settings.key_serializer is not None or settings.value_serializer is not None:
            self._add_serializers(settings.key_serializer, settings.value_serializer)
        self._interceptors: ProducerInterceptors | None = None
        self._transaction_calls: Transactions | None = None
        if settings.interceptors:
            self._add_interceptors(settings.interceptors)
        self._sender = Sender(
            self._core,
            settings,
            self._accumulator,
            on_warning=lambda text: after_step.append(partial(_log.warning, "%s", text)),
        )

    def _add_serializers(self, key: Serializer | None, value: Serializer | None) -> None:
        from kwire.engine.producer.serialization import Serialization

        self._serialize_by(Serialization(key, value))

    def _transactional(self) -> Transactions:
        """Its calls about transactions; ConfigError without a transactional_id."""
        if self._transaction_calls is None:
            manager = self._sender.transactions
            if manager is None:
                raise ConfigError("this producer has no transactional_id: give it one to use transactions")
            from kwire.engine.transactions.waits import Transactions  # late: most producers have none

            self._transaction_calls = Transactions(self._door, manager, self._accumulator, self.settings)
        return self._transaction_calls

    def _add_interceptors(self, interceptors: Iterable[object]) -> None:
        """From now on what is sent passes these, after those that there are."""
        if self._interceptors is None:
            from kwire.fronts.interceptors import ProducerInterceptors

            self._interceptors = ProducerInterceptors()
            self._intercept_by(self._interceptors.send)
        self._interceptors.add(interceptors)

    @override
    def __repr__(self) -> str:
        accumulator: Accumulator | None = self._accumulator  # None in one whose constructor failed
        if accumulator is None or not self._is_open():
            return self._shown("")
        state = "closed" if accumulator.closed else f"{counted(len(accumulator.pending), 'batch', 'batches')} pending"
        return f"<Producer to {', '.join(map(str, self.settings.addresses))}, {state}>"

    @override
    def _add_metrics(self, found: Metrics) -> None:
        from kwire.fronts.metrics import add_producer

        add_producer(found, self._core, self._accumulator, self._sender.throttling)

    @override
    def _health_parts(self) -> Parts:
        from kwire.fronts.health import without_partitions

        return without_partitions(self._accumulator.used)

    def __bool__(self) -> bool:
        return True

    def __len__(self) -> int:
        raise TypeError("a Producer has no len(): flush() waits for all pending records, Delivery.done() is about one")

    def _flushing(self, timeout: Timeout) -> Wait[None]:
        patience = seconds(timeout)
        self._accumulator.check_open()
        return waits.flush(self._door, self._sender, patience)

    def _end_by(self, timeout: Timeout) -> float:
        """When a close() ends at the latest."""
        patience = seconds(timeout)
        return inf if patience is None else self._door.now() + patience

    def _farewell(self, until: float) -> Wait[None] | None:
        if self._door.closed:
            return None
        self._door.check_may_block()
        return self._with_last_push(waits.close(self._door, self._sender, until), until)

    def _undelivered(self) -> int:
        """How many records are on their way."""
        return undelivered(self._accumulator)

    def _close_in_child(self) -> None:
        """In a forked process: takes no more records."""
        self._accumulator.closed = f"this producer belongs to process {os.getppid()}: make a new one after a fork"


def new_accumulator(settings: ProducerSettings, seed: int, after_step: deque[Callable[[], object]]) -> Accumulator:
    """An accumulator as the settings want it."""
    return Accumulator(
        batch_size=settings.batch_size,
        linger=settings.linger_ms / 1000,
        buffer_memory=settings.buffer_memory,
        max_request_size=settings.max_request_size,
        max_unassigned_age=settings.max_block_ms / 1000 * UNASSIGNED_SHARE,
        seed=seed,
        after_step=after_step,
        partitioner=settings.partitioner,
    )


class ClosedBecauseOf:
    """A block that closes a producer at the end of a `with` block, which `error` ended: what could not be delivered is
    noted on that, and raised where there was none."""

    def __init__(self, error: BaseException | None) -> None:
        self._error = error

    def __enter__(self) -> None:
        """There is nothing to begin."""

    def __exit__(
        self, kind: type[BaseException] | None, failure: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if self._error is None or not isinstance(failure, KafkaError):
            return False
        self._error.add_note(f"the producer was closed because of this, and: {failure}")
        return True


def _run_callback(function: Callable[[Delivery], object], delivery: Delivery) -> None:
    """Calls a user's callback; what it raises is logged."""
    try:
        function(delivery)
    except Exception:
        _log.exception("a delivery callback raised")
