"""The synchronous producer: `send()` from any thread, deliveries with a Future's verbs.

Layer 5: puts the compiled send path, the sender and the reactor together; no protocol logic, no sockets.
"""

from __future__ import annotations

import atexit
import os
import sys
import time
import weakref
from collections.abc import Mapping
from functools import cache
from math import inf
from types import TracebackType

from kwire._codec import Accumulator, Delivery, ProducerBase, ProducerHooks, RecordMetadata
from kwire._door import ThreadDoor
from kwire._transactions import TransactionCalls
from kwire._typing import TYPE_CHECKING, Any, NamedTuple, Self, Unpack, override
from kwire.drivers.reactor import Reactor
from kwire.drivers.threads import begin_thread
from kwire.engine.calls.arguments import seconds
from kwire.engine.common import absent
from kwire.engine.common.absent import without
from kwire.engine.producer.flushing import failures
from kwire.engine.producer.sender import CLOSED, Sender
from kwire.engine.producer.waits import close
from kwire.engine.settings.clients import ProducerSettings
from kwire.engine.settings.config import configured_by, keywords
from kwire.errors import KafkaError
from kwire.errors.listing import counted
from kwire.fronts.producer import ClosedBecauseOf

if TYPE_CHECKING:
    from asyncio import Future

    from kwire.engine.settings.options import ProducerOptions, Servers, Timeout

__all__ = ["Delivery", "Producer", "RecordMetadata"]

_TOO_LATE = "the process ended, or the producer was dropped, before the record was delivered"

EXIT_TIMEOUT_S = 5.0
"""Seconds that a process takes at its end to deliver what no flush() and close() waited for."""

# By id; each is changed and copied by one atomic call, because threads and signal handlers make producers, too.
_live: dict[int, weakref.ref[Producer]] = {}
_dropped: dict[int, _Dropped] = {}


@configured_by(ProducerSettings)
@without(absent.PRODUCER)
class Producer(ProducerBase, TransactionCalls):
    """Sends records to topics; any thread may use it.

        with Producer("host:9092", compression="lz4") as producer:
            delivery = producer.send("topic", b"value", key=b"key")

    Keywords are the settings below. As a context manager it flushes and closes at the end. It pickles as its
    configuration; in a forked child its methods raise, make a new one there. Errors: ConfigError for settings and
    arguments; KafkaTimeoutError after a deadline; BufferFull; DeliveryError from `flush` and `close`.
    """

    def __init__(self, bootstrap_servers: Servers | None = None, **options: Unpack[ProducerOptions]) -> None:
        self._open(ProducerSettings(**keywords(bootstrap_servers, options)))

    @classmethod
    def from_config(
        cls, config: Mapping[str, Any], bootstrap_servers: Servers | None = None, **options: Unpack[ProducerOptions]
    ) -> Self:
        """From a mapping of dotted names (Java's, librdkafka's, with or without `kafka.`); keywords win.

        One mapping may serve all clients: what only other kinds have is ignored, with a line at DEBUG.
        """
        return cls._configured(ProducerSettings, config, bootstrap_servers, options)

    @override
    def _open(self, settings: ProducerSettings, *, background: bool = True) -> None:
        super()._open(settings, background=background)
        _connect(self._accumulator, self._sender, self._reactor, settings.max_block_ms / 1000)
        _deliver_at_the_end_of_a_worker()
        _live[id(self)] = weakref.ref(self)

    def flush(self, timeout: Timeout = None) -> None:
        """Waits until every record that was sent before has been delivered or has failed.

        `timeout` is in seconds; None leaves it to delivery_timeout_ms. Raises DeliveryError with one cause for each
        batch that failed since the last flush, unless the error of each of its records was looked at, and
        KafkaTimeoutError when records are still on their way at the end of `timeout`. A flush that is
        interrupted cancels no record.
        """
        self._door.run(self._flushing(timeout))

    @override
    def close(self, timeout: Timeout = None) -> None:
        """Flushes, then closes all connections; records not delivered within `timeout` seconds fail.

        Raises what `flush` raises, after closing. Idempotent: a second one waits for the first, and finishes one that
        was interrupted.
        """
        until = self._end_by(timeout)
        self._door.close(self._farewell(until), until)

    @override
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        with ClosedBecauseOf(error):
            self.close()

    @override
    def __del__(self) -> None:
        reactor = getattr(self, "_reactor", None)
        if self._accumulator is None or reactor is None:
            return
        _live.pop(id(self), None)
        if reactor.closed or not reactor.owned_by_process:
            return
        dropped = _Dropped(repr(self), self._sender, self._door)
        count = self._undelivered()
        try:
            if count:
                _warn(
                    f"{dropped.name} was dropped with {counted(count, 'record')} undelivered: call flush() or close()",
                    self,
                )
        finally:
            if not sys.is_finalizing() and (count or reactor.has_resources):
                self._accumulator.closed = CLOSED
                _dropped[id(dropped)] = dropped
                begin_thread(dropped.deliver, "kwire-close")


class _Dropped(NamedTuple):
    """The parts of a producer that was dropped, or whose process ends."""

    name: str
    sender: Sender
    door: ThreadDoor

    def deliver(self, until: float = inf) -> None:
        """Delivers what it was given, and closes; says on stderr and by a warning what could not be delivered."""
        error: KafkaError | None = None
        try:
            self.door.close(close(self.door, self.sender, until, _TOO_LATE), until)
        except KafkaError as failure:
            error = failure
        finally:
            _dropped.pop(id(self), None)
            error = error or self.door.conclude(self._failures)
            if error is not None:
                self._tell(f"{self.name} was not closed; {error}; call flush() or close()")

    def _failures(self, now: float) -> KafkaError | None:
        """What a delivery that was cut has left."""
        return failures(self.sender._accumulator)

    def _tell(self, text: str) -> None:
        if sys.stderr is not None:
            print(f"kwire: {text}", file=sys.stderr, flush=True)
        _warn(text, None)


def _warn(text: str, source: object) -> None:
    import warnings

    warnings.warn(text, ResourceWarning, source=source, stacklevel=2)


def _connect(accumulator: Accumulator, sender: Sender, reactor: Reactor, max_block: float) -> None:
    """Sets the accumulator's hooks; nothing here may refer to the Producer itself."""

    def future_for(delivery: Delivery) -> Future[None]:
        from asyncio import get_running_loop

        future: Future[None] = get_running_loop().create_future()
        hooks.expedite(delivery)
        return future

    accumulator.future_for = future_for
    accumulator.settle_future = _settle_from_a_thread
    hooks = ProducerHooks(reactor, sender, accumulator, seconds, max_block)


def _settle_from_a_thread(future: Future[None]) -> None:
    """Wakes a task that awaits a delivery; its event loop may have ended."""

    def settle() -> None:
        if not future.done():
            future.set_result(None)

    try:
        future.get_loop().call_soon_threadsafe(settle)
    except RuntimeError:
        pass


def _at_exit() -> None:
    """Delivers what producers still have, all of them together within EXIT_TIMEOUT_S."""
    until = time.monotonic() + EXIT_TIMEOUT_S
    left = [
        _Dropped(repr(producer), producer._sender, producer._door)
        for producer in _open_producers()
        if producer._accumulator.pending or producer._reactor.has_resources
    ]
    left += list(_dropped.values())
    for one in left:
        one.door.conclude(one.sender.flush)
    for one in left:
        try:
            one.deliver(until)
        except KeyboardInterrupt:
            until = 0.0


@cache
def _deliver_at_the_end_of_a_worker() -> None:
    """A process that `multiprocessing` has forked ends without what `atexit` was told: it has finalizers instead."""
    process = sys.modules.get("multiprocessing.process")
    if process is not None and process.parent_process() is not None:
        from multiprocessing.util import Finalize

        Finalize(None, _at_exit, exitpriority=0)


def _open_producers() -> list[Producer]:
    return [producer for reference in list(_live.values()) if (producer := reference()) is not None]


def _after_fork_in_child() -> None:
    for producer in _open_producers():
        producer._close_in_child()
        producer._reactor.close()
    _live.clear()
    _dropped.clear()
    _deliver_at_the_end_of_a_worker.cache_clear()


atexit.register(_at_exit)
os.register_at_fork(after_in_child=_after_fork_in_child)
