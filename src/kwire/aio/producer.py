"""Producer for asyncio: `send()` at once, deliveries to be awaited.

Layer 5: puts the compiled send path, the sender and the loop driver together; no protocol logic, no sockets.

What only runs a wait is written by `make docs`, from the methods of `producer.py`.
"""

from __future__ import annotations

import atexit
import os
import sys
import warnings
import weakref
from collections.abc import Iterable, Mapping
from functools import partial
from time import monotonic
from types import TracebackType

from kwire._codec import LoopHooks, LoopProducerBase
from kwire._typing import TYPE_CHECKING, Any, Self, Unpack, override
from kwire.aio.client import Client
from kwire.aio.transactions import TransactionCalls
from kwire.drivers.loop import LoopDriver
from kwire.engine.calls.arguments import seconds
from kwire.engine.common import absent
from kwire.engine.common.absent import without
from kwire.engine.producer.sender import CLOSED, Sender
from kwire.engine.producer.waits import drain, until
from kwire.engine.settings.clients import ProducerSettings
from kwire.engine.settings.config import configured_by, keywords
from kwire.errors import KafkaError
from kwire.errors.listing import counted
from kwire.fronts.producer import ClosedBecauseOf

if TYPE_CHECKING:
    from kwire.aio.serializing import LateSending
    from kwire.engine.common.serialization import Serializer
    from kwire.engine.common.waits import Unfinished, Wait
    from kwire.engine.settings.options import ProducerOptions, Servers, Timeout
    from kwire.engine.transactions.waits import Transactions

__all__ = ["Producer"]

LONG_TURN_S = 0.002
"""Seconds of sending after which `drain` lets the loop turn, though there is room."""

_live: weakref.WeakValueDictionary[int, Producer] = weakref.WeakValueDictionary()
"""By id: each is added, and all are copied, by one atomic call, because each thread with an event loop makes some."""

_orphans: set[weakref.ref[LoopDriver]] = set()
"""Of producers that were dropped with records, which they deliver if their event loop goes on for long enough."""


@configured_by(ProducerSettings)
@without(absent.PRODUCER)
class Producer(LoopProducerBase, TransactionCalls):
    """Sends records to topics, from any task of one event loop.

        async with kwire.aio.Producer("host:9092", compression="lz4") as producer:
            delivery = producer.send("topic", b"value", key=b"key")
            metadata = await delivery

    `send` is not a coroutine: it hands the record over and returns. What one turn of the loop sends leaves at its end,
    or, with linger_ms, when a batch is full, old enough, or awaited. Keywords are the settings below. As a context
    manager it flushes and closes at the end. To cancel `close` cancels no record: the producer takes no more, delivers
    what it has, and then closes by itself. Errors: ConfigError for settings and arguments; BufferFull; DeliveryError
    from `flush` and `close`; KafkaTimeoutError for what takes longer than it may.
    """

    _late: LateSending | None = None
    """The records that wait for serializers, where those have to be awaited."""

    _left_by_loop = 0
    """Records that failed because the event loop had ended, until `close` has said so."""

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
    def _open(self, settings: ProducerSettings) -> None:
        Client._open(self, settings)
        self._hooks = LoopHooks(self._driver, self._sender, self._accumulator)
        _close_those_of_ended_loops()
        _live[id(self)] = self

    @override
    def _add_serializers(self, key: Serializer | None, value: Serializer | None) -> None:
        from kwire.aio.serializing import LateSending, has_to_be_awaited

        if not (has_to_be_awaited(key) or has_to_be_awaited(value)):
            super()._add_serializers(key, value)
            return
        self._late = LateSending(key, value, self._accumulator.check_taking, self._drain_buffer, self._driver.wake)
        self._intercept_by(self._late.send)

    @override
    def _add_interceptors(self, interceptors: Iterable[object]) -> None:
        super()._add_interceptors(interceptors)
        late, intercepted = self._late, self._interceptors
        if late is not None and intercepted is not None:
            self._intercept_by(lambda send, *given: intercepted.send(partial(late.send, send), *given))

    @override
    def _transactional(self) -> Transactions:
        made = super()._transactional()
        if self._late is not None:
            made.settle = self._late.settle
        return made

    @override
    def _flushing(self, timeout: Timeout) -> Wait[None]:
        flushing = super()._flushing(timeout)
        return flushing if self._late is None else self._late.before_flush(flushing, seconds(timeout))

    async def drain(self) -> None:
        """Waits until there is room for more: until at most half of `buffer_memory` waits to be delivered, and the
        record that was refused last fits.

        Returns at once while there is. It lets the loop turn where sending has kept it for long, so a loop of `send`
        and `drain` stops no other task.
        """
        late = self._late
        if late is not None and not late.has_room:
            await self._door.run(until(lambda: late.has_room))
        await self._drain_buffer()

    async def _drain_buffer(self) -> None:
        hooks = self._hooks
        self._accumulator.check_open()
        wanted, hooks.wanted = hooks.wanted, 0
        if monotonic() - self._driver.turned_at > LONG_TURN_S or not hooks.is_half_free(wanted):
            await self._door.run(drain(self._door, self._sender, partial(hooks.is_half_free, wanted)))

    async def flush(self, timeout: Timeout = None) -> None:
        """Waits until every record that was sent before has been delivered or has failed.

        `timeout` is in seconds; None leaves it to delivery_timeout_ms. Raises DeliveryError with one cause for each
        batch that failed since the last flush, unless the error of each of its records was looked at, and
        KafkaTimeoutError when records are still on their way at the end of `timeout`. A flush that is
        interrupted cancels no record.
        """
        await self._door.run(self._flushing(timeout))

    @override
    async def close(self, timeout: Timeout = None) -> None:
        """Flushes, then closes all connections; records not delivered within `timeout` seconds fail.

        Raises what `flush` raises, after closing. Idempotent: a second one waits for the first, and finishes one that
        was interrupted.
        """
        until = self._end_by(timeout)
        await self._door.close(self._farewell(until), until)

    @override
    def _farewell(self, until: float) -> Wait[None] | None:
        driver = self._driver
        if not driver.owned_by_process:
            return None
        if driver.loop is None or driver.at_home or driver.loop.is_running():
            farewell = super()._farewell(until)
            late = self._late
            if farewell is None or late is None:
                return farewell
            return late.before_close(farewell, max(until - self._door.now(), 0.0), partial(self._close_later, late))
        self._end_with_loop()
        count, self._left_by_loop = self._left_by_loop, 0
        if count:
            raise KafkaError(f"{counted(count, 'record')} not delivered: the event loop of this producer has ended")
        return None

    def _close_later(self, late: LateSending) -> None:
        """Has a close() that was cut go on once all is serialized; until then this keeps the producer."""
        from kwire.aio.serializing import LateClosing

        rest = LateClosing(late, self._begin_closing, self._undelivered)
        self._door.go_on(rest)
        self._driver.when(lambda: not late.count, rest.go_on)

    def _begin_closing(self) -> Unfinished | None:
        return None if self._driver.closed else self._door.call(partial(self._sender.close, CLOSED))

    def _end_with_loop(self) -> None:
        """Fails what was not delivered, where its event loop has ended or stands still."""
        if not self._driver.closed:
            self._left_by_loop = self._undelivered()
        self._accumulator.closed = self._accumulator.closed or CLOSED
        self._driver.close()

    @override
    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with ClosedBecauseOf(error):
            await self.close()

    @override
    def __del__(self) -> None:
        driver = getattr(self, "_driver", None)
        if driver is None or self._accumulator is None or self._accumulator.closed or not driver.owned_by_process:
            return  # closed, or a close that was cancelled goes on by itself
        count = self._undelivered()
        if sys.is_finalizing() or not (count or driver.has_resources):
            return
        what = (
            f"dropped with {counted(count, 'record')} undelivered: await flush() or close()" if count else "not closed"
        )
        warnings.warn(f"{self!r} was {what}", ResourceWarning, source=self)
        _orphans.add(weakref.ref(driver, _orphans.discard))
        driver.run_on_loop(partial(_deliver_dropped, driver, self._sender))


def _deliver_dropped(driver: LoopDriver, sender: Sender) -> None:
    driver.when(driver.step(partial(sender.close, CLOSED)).is_done, driver.close)


def _close_those_of_ended_loops() -> None:
    """Dropped or not: their records fail, else what is to be told of them, which may lead back to the producer, would
    be kept for ever."""
    for producer in _open_producers():
        if _is_left_by_loop(producer._driver):
            producer._end_with_loop()
            if producer._left_by_loop:
                _warn_of_undelivered(producer, producer._left_by_loop)
    for each in _orphans.copy():
        driver = each()
        if driver is not None and _is_left_by_loop(driver):
            driver.close()


def _open_producers() -> list[Producer]:
    return [producer for reference in _live.valuerefs() if (producer := reference()) is not None]


def _is_left_by_loop(driver: LoopDriver) -> bool:
    return driver.owned_by_process and not driver.closed and driver.loop is not None and driver.loop.is_closed()


def _warn_of_undelivered(producer: Producer, count: int) -> None:
    what = f"{producer!r} was left with {counted(count, 'record')} undelivered"
    warnings.warn(what, ResourceWarning, source=producer)


def _at_exit() -> None:
    for producer in _open_producers():
        if not producer._accumulator.closed and (count := producer._undelivered()):
            _warn_of_undelivered(producer, count)


def _after_fork_in_child() -> None:
    for producer in _open_producers():
        producer._close_in_child()
    _live.clear()


atexit.register(_at_exit)
os.register_at_fork(after_in_child=_after_fork_in_child)
