"""What both producers share: the parts that they put together.

Layer 5, below the clients: no protocol logic, no sockets.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from kwire._codec import Accumulator, Delivery
from kwire.drivers.loggers import LateLogger
from kwire.drivers.randomness import random_bits
from kwire.engine.core import Core
from kwire.engine.sender import Sender
from kwire.engine.settings import ProducerSettings

UNASSIGNED_SHARE = 0.02
"""Of max_block_ms: by so much a record without a known partition may fail early, with others of its batch."""

CLOSED = "the producer is closed"

_log = LateLogger("kwire.clients")


def make_accumulator(settings: ProducerSettings, core: Core) -> Accumulator:
    """The accumulator of a producer; its hooks are the front's."""
    return Accumulator(
        batch_size=settings.batch_size,
        linger=settings.linger_ms / 1000,
        buffer_memory=settings.buffer_memory,
        max_request_size=settings.max_request_size,
        max_unassigned_age=settings.max_block_ms / 1000 * UNASSIGNED_SHARE,
        seed=random_bits(63),
        after_step=core.after_step,
    )


def make_sender(settings: ProducerSettings, core: Core, accumulator: Accumulator) -> Sender:
    """The sender that moves its batches; warnings go to the log."""
    after_step = core.after_step
    return Sender(
        core,
        settings,
        accumulator,
        on_warning=lambda text: after_step.append(partial(_log.warning, "%s", text)),
    )


def undelivered(accumulator: Accumulator) -> int:
    """How many records are on their way."""
    return sum(len(batch) for batch in accumulator.pending)


def run_callback(function: Callable[[Delivery], object], delivery: Delivery) -> None:
    """Calls a user's callback; what it raises is logged."""
    try:
        function(delivery)
    except Exception:
        _log.exception("a delivery callback raised")
