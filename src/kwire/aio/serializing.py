"""Serializers of a producer that have to be awaited: records wait here for them, in order, before they are sent.

Layer 5. `send()` of such a producer returns a Delivery where nothing has to be awaited and nothing waits, or else a
LateDelivery, which becomes that of its record. One task awaits for one record after the other, and waits for room where
there is none. A record that cannot be serialized fails; those after it are sent.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Generator
from functools import partial
from inspect import isawaitable

from kwire._codec import Delivery, RecordMetadata, Watcher
from kwire._typing import TYPE_CHECKING, Any
from kwire.drivers.loggers import LateLogger
from kwire.drivers.loop import is_coroutine_function
from kwire.engine.common.serialization import OfOneArgument, SerializationContext
from kwire.engine.common.waits import Until
from kwire.engine.producer.sender import CLOSED
from kwire.engine.producer.serialization import Serialization, refused
from kwire.errors import BufferFull, ClientClosedError, ConfigError, DeliveryError, KafkaTimeoutError
from kwire.errors.listing import counted

if TYPE_CHECKING:
    from kwire.engine.common.serialization import Headers, Serializer
    from kwire.engine.common.waits import Unfinished, Wait

MAX_WAITING = 10_000
"""Records that wait for their serializers; `send()` raises BufferFull for more."""

_log = LateLogger("kwire.clients")


def has_to_be_awaited(serializer: Serializer | None) -> bool:
    """Whether it is a coroutine function, or one of a registry that is asked by coroutines."""
    function: Any = serializer._function if isinstance(serializer, OfOneArgument) else serializer
    is_async = is_coroutine_function
    call = getattr(type(function), "__call__", None)  # noqa: B004 - it is looked at, not asked for
    return is_async(function) or is_async(call) or getattr(function, "needs_await", False)


class LateDelivery:
    """The delivery of a record that waits for its serializers: the methods of a Delivery."""

    __slots__ = ("_callbacks", "_decided", "_delivery", "_error", "_watchers", "looked_at")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._decided: asyncio.Future[None] = loop.create_future()
        self._delivery: Delivery | None = None
        self._error: Exception | None = None
        self._callbacks: list[Callable[[Any], object]] = []
        self._watchers: list[Callable[..., object]] = []
        self.looked_at = False

    def sent_as(self, delivery: Delivery) -> None:
        """The record has been handed over."""
        self._delivery = delivery
        for callback in self._callbacks:
            delivery.add_done_callback(callback)
        for watcher in self._watchers:
            delivery.add_done_callback(Watcher(watcher))
        self._decide()

    def failed_by(self, error: Exception) -> None:
        """It never will be."""
        self._error = error
        for callback in self._callbacks:
            self._call(callback)
        for watcher in self._watchers:
            watcher(None, error)
        self._decide()

    def _decide(self) -> None:
        self._callbacks, self._watchers = [], []
        if not self._decided.done():
            self._decided.set_result(None)

    def _call(self, callback: Callable[[Any], object]) -> None:
        self.looked_at = True
        try:
            callback(self)
        except Exception:
            _log.exception("a delivery callback raised")

    @property
    def is_decided(self) -> bool:
        """Whether it is sent, or has failed."""
        return self._delivery is not None or self._error is not None

    def done(self) -> bool:
        """Whether the record's result is known."""
        return self._error is not None or (self._delivery is not None and self._delivery.done())

    def exception(self, timeout: float | None = None) -> Exception | None:
        """The error of a record that was not delivered, or None; ConfigError while that is not known."""
        if self._error is not None:
            self.looked_at = True
            return self._error
        return self._sent().exception(timeout)

    def result(self, timeout: float | None = None) -> RecordMetadata:
        """Where the record is, or raises why it is not; ConfigError while that is not known."""
        if self._error is not None:
            self.looked_at = True
            raise self._error.with_traceback(None)
        return self._sent().result(timeout)

    def _sent(self) -> Delivery:
        if self._delivery is None:
            raise ConfigError("the record waits for its serializer: await the delivery")
        return self._delivery

    def add_done_callback(self, function: Callable[[Any], object]) -> None:
        """Calls function(delivery) once the result is known, at once if it is; what it raises is logged."""
        if self._delivery is not None:
            self._delivery.add_done_callback(function)
        elif self._error is not None:
            self._call(function)
        else:
            self._callbacks.append(function)

    def watch(self, function: Callable[..., object]) -> None:
        """Calls function(metadata, error) once the result is known, which still counts as not looked at."""
        if self._delivery is not None:
            self._delivery.add_done_callback(Watcher(function))
        elif self._error is not None:
            function(None, self._error)
        else:
            self._watchers.append(function)

    def __await__(self) -> Generator[Any, None, RecordMetadata]:
        """As `result`, for a task. To cancel the task does not cancel the record."""
        if not self.is_decided:
            yield from asyncio.shield(self._decided).__await__()
        return self.result() if self._delivery is None else (yield from self._delivery.__await__())

    def __repr__(self) -> str:
        if self._error is not None:
            return f"<LateDelivery: failed, {self._error}>"
        return "<LateDelivery: waits for its serializer>" if self._delivery is None else repr(self._delivery)

    def _repr_html_(self) -> str:
        from kwire._html import of_fields

        if self._delivery is not None:
            shown: Any = self._delivery
            return str(shown._repr_html_())
        state = "pending" if self._error is None else "failed"
        return of_fields("Delivery", [("state", state), ("error", self._error)])


class LateSending:
    """The records of one producer that wait for their serializers. `drain` waits for room; `wake` has those that wait
    for the producer look again."""

    def __init__(
        self,
        key: Serializer | None,
        value: Serializer | None,
        check_taking: Callable[[], object],
        drain: Callable[[], Coroutine[Any, Any, None]],
        wake: Callable[[], None],
    ) -> None:
        self._serializers = (("key", key), ("value", value))
        self._at_once = Serialization(key, value)
        self._never_at_once = any(map(has_to_be_awaited, (key, value))) and not self._may_be_at_once()
        self._check_taking = check_taking
        self._drain = drain
        self._wake = wake
        self._waiting: deque[tuple[LateDelivery, Callable[[], Coroutine[Any, Any, Delivery]]]] = deque()
        self._failed: list[LateDelivery] = []
        self._task: asyncio.Task[None] | None = None
        self._is_closing = False

    def _may_be_at_once(self) -> bool:
        """Whether what is awaited is the schema alone, once for a subject."""
        slow = [each for _, each in self._serializers if has_to_be_awaited(each)]
        return all(hasattr(each, "preparing") for each in slow)

    def send(
        self, send: Callable[..., Delivery], topic: str, value: Any, key: Any, partition: int | None, timestamp: Any,
        headers: Any, nowait: bool,
    ) -> Any:  # fmt: skip
        """Sends by `send` at once, or later."""
        if not self._waiting and not self._never_at_once and not self._preparations(topic, value, key):
            value, key, headers = self._at_once(topic, value, key, headers)
            return send(topic, value, key, partition, timestamp, headers, nowait)
        if self._is_closing:
            raise ClientClosedError(CLOSED)
        self._check_taking()
        if len(self._waiting) >= MAX_WAITING:
            raise BufferFull(f"{MAX_WAITING} records wait for their serializers: await drain() between sends")
        loop = asyncio.get_running_loop()
        late = LateDelivery(loop)
        given = list(headers or ())
        self._waiting.append(
            (late, partial(self._sent, late, send, topic, value, key, partition, timestamp, given, nowait))
        )
        if self._task is None:
            self._task = loop.create_task(self._work())
        return late

    def _preparations(self, topic: str, value: Any, key: Any) -> list[Any]:
        """What has to be awaited before these can be serialized."""
        found = []
        for (field, serializer), given in zip(self._serializers, (key, value), strict=True):
            preparing = getattr(serializer, "preparing", None)
            if preparing is not None and preparing(given, SerializationContext(topic, field)):
                found.append(serializer)
        return found

    async def _work(self) -> None:
        """Serializes and sends what waits, one after the other."""
        try:
            while self._waiting:
                late, sent = self._waiting[0]
                try:
                    late.sent_as(await sent())
                except Exception as error:
                    if late.is_decided:
                        return  # it was given up, and all that waited with it
                    self._fail(late, error)
                self._waiting.popleft()
                self._wake()
        except asyncio.CancelledError:
            self.give_up("the task that serializes was cancelled")
        except BaseException as end:
            self.give_up(f"the task that serializes was ended by {type(end).__name__}")
            raise
        finally:
            if self._task is asyncio.current_task():
                self._task = None

    async def _sent(
        self, late: LateDelivery, send: Callable[..., Delivery], topic: str, value: Any, key: Any,
        partition: int | None, timestamp: Any, headers: Headers, nowait: bool,
    ) -> Delivery:  # fmt: skip
        made: dict[str, Any] = {"key": key, "value": value}
        for field, serializer in self._serializers:
            if serializer is not None:
                context = SerializationContext(topic, field, headers)
                made[field] = await _awaited(serializer, made[field], context)
        while True:
            if late.is_decided:
                raise ClientClosedError(CLOSED)
            try:
                return send(topic, made["value"], made["key"], partition, timestamp, headers, nowait)
            except BufferFull:
                await self._drain()

    def _fail(self, late: LateDelivery, error: Exception) -> None:
        late.failed_by(error)
        self._failed.append(late)

    def give_up(self, why: str) -> None:
        """What waits fails."""
        while self._waiting:
            self._fail(self._waiting.popleft()[0], ClientClosedError(why))
        task, self._task = self._task, None
        if task is not None and task is not asyncio.current_task():
            task.cancel()
        self._wake()

    @property
    def has_room(self) -> bool:
        """Whether at most half of what may wait does."""
        return len(self._waiting) <= MAX_WAITING // 2

    @property
    def count(self) -> int:
        """How many wait."""
        return len(self._waiting)

    def settle(self, patience: float | None) -> Wait[None]:
        """Until all that was sent before is serialized; KafkaTimeoutError after so many seconds."""
        if self._waiting:
            last = self._waiting[-1][0]
            if not (yield Until(lambda: last.is_decided, patience)) and not last.is_decided:
                raise KafkaTimeoutError(f"serializers are still busy with {counted(self.count, 'record')}")

    def before_flush(self, flushing: Wait[None], patience: float | None) -> Wait[None]:
        """The flush, once all is serialized; raises DeliveryError for what could not be, too."""
        yield from self.settle(patience)
        yield from self._with_failures(flushing)

    def before_close(self, closing: Wait[None], patience: float, on_cut: Callable[[], object]) -> Wait[None]:
        """The close, once all is serialized, or after so many seconds: what waits fails then. Where it is cut before,
        no more is taken, and `on_cut` has the close go on by itself."""
        try:
            yield from self.settle(patience)
        except KafkaTimeoutError:
            self.give_up("the producer was closed before the record was serialized")
        except GeneratorExit:
            self._is_closing = True
            on_cut()
            raise
        yield from self._with_failures(closing)

    def _with_failures(self, wait: Wait[None]) -> Wait[None]:
        failed, self._failed = [late for late in self._failed if not late.looked_at], []
        errors = [error for late in failed if (error := late.exception()) is not None]
        try:
            yield from wait
        except DeliveryError as error:
            raise DeliveryError(error.message, [*errors, *error.exceptions]) from None
        if errors:
            raise DeliveryError(
                f"{counted(len(errors), 'record')} could not be serialized, the first: {errors[0]}", errors
            )


class LateClosing:
    """A close() that was cut while serializers were busy: what is left of it. `begin` ends the producer's sending, and
    `undelivered` counts what it has sent."""

    def __init__(
        self, late: LateSending, begin: Callable[[], Unfinished | None], undelivered: Callable[[], int]
    ) -> None:
        self._late = late
        self._begin = begin
        self._undelivered = undelivered
        self._closing: Unfinished | None = None

    def go_on(self) -> None:
        """All is serialized."""
        self._closing = self._begin()

    def is_done(self) -> bool:
        """Whether all is delivered, too."""
        return self._closing is not None and self._closing.is_done()

    def loss(self) -> str:
        """What is lost if it ends now, in words; "" if nothing is."""
        if self._closing is not None:
            return self._closing.loss()
        count = self._late.count + self._undelivered()
        return f"{counted(count, 'record')} undelivered" if count else ""


async def _awaited(serializer: Serializer, value: Any, context: SerializationContext) -> Any:
    """What the serializer makes of the value, as Serialization does it."""
    try:
        if (preparing := getattr(serializer, "preparing", None)) is not None and preparing(value, context):
            await serializer.prepare(context.topic, context.field)  # type: ignore[attr-defined]
        made = serializer(value, context)
        return await made if isawaitable(made) else made
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        raise refused(error, context) from error
    except Exception as error:
        raise refused(error, context) from error
