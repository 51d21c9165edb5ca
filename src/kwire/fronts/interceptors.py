"""Interceptors: objects of the program's that see what is sent, acknowledged, consumed and committed.

Layer 5, below the clients; loaded where there are any. What one raises is logged and changes nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from inspect import iscoroutine
from time import time_ns

from kwire._codec import Delivery, RecordMetadata, Watcher
from kwire._typing import TYPE_CHECKING, Any, NamedTuple
from kwire.drivers.loggers import LateLogger
from kwire.errors import ConfigError

if TYPE_CHECKING:
    from kwire.engine.calls.offsets import OffsetAndMetadata
    from kwire.engine.common.addresses import TopicPartition
    from kwire.engine.common.waits import Wait
    from kwire.engine.consumer.records import ConsumerRecords

_log = LateLogger("kwire.clients")


class OutgoingRecord(NamedTuple):
    """A record as `send()` was given it, before it is serialized."""

    value: Any
    key: Any
    partition: int | None
    timestamp: int | datetime | None
    headers: tuple[tuple[str, bytes | None], ...]


class ProducerInterceptors:
    """What `send()` goes through: `on_send(topic, record)` may return another OutgoingRecord, or None to leave it;
    `on_acknowledged(metadata, error)` has one of the two. `begin_send(topic, record)` of kwire.contrib is both in one:
    it returns the record, and what is called with metadata and error of that very record."""

    def __init__(self) -> None:
        self._all: tuple[object, ...] = ()

    def add(self, interceptors: Iterable[object]) -> None:
        """These too, after those that there are."""
        self._all = (*self._all, *interceptors)

    def send(
        self,
        send: Callable[..., Any],
        topic: str,
        value: Any,
        key: Any,
        partition: int | None,
        timestamp: int | datetime | None,
        headers: Iterable[tuple[str, bytes | None]] | None,
        nowait: bool,
    ) -> Any:
        """Sends by `send` what each has seen; a record that is refused is acknowledged with its error."""
        record = OutgoingRecord(value, key, partition, timestamp, () if headers is None else tuple(headers))
        watchers = []
        for interceptor in self._all:
            if (begun := _call(interceptor, "begin_send", topic, record)) is not None:
                record, watcher = begun
                watchers.append(watcher)
                continue
            changed = _call(interceptor, "on_send", topic, record)
            if changed is not None:
                record = _guarded(_outgoing, changed) or record
            if (on_acknowledged := getattr(interceptor, "on_acknowledged", None)) is not None:
                watchers.append(on_acknowledged)
        try:
            delivery = send(topic, *record, nowait)
        except Exception as error:
            for watcher in watchers:
                _guarded(watcher, None, error)
            raise
        for watcher in watchers:
            told = _Acknowledgement(watcher)
            if isinstance(delivery, Delivery):
                delivery.add_done_callback(Watcher(told))
            else:
                delivery.watch(told)
        return delivery


class _Acknowledgement:
    """A call of `on_acknowledged`."""

    __slots__ = ("_function",)

    def __init__(self, function: Callable[..., object]) -> None:
        self._function = function

    def __call__(self, metadata: RecordMetadata | None, error: Exception | None) -> None:
        _guarded(self._function, metadata, error)


class ConsumerInterceptors:
    """Told of what polls return, `on_consume(records)`, and of what the group has stored, `on_commit(offsets)`.
    `end_poll(records, began_ns)` of kwire.contrib is told when the poll began, too."""

    def __init__(self) -> None:
        self._all: tuple[object, ...] = ()

    def add(self, interceptors: Iterable[object]) -> None:
        """These too, after those that there are."""
        self._all = (*self._all, *interceptors)

    def consuming(self, polled: Wait[ConsumerRecords]) -> Wait[ConsumerRecords]:
        """The poll, and what it returned shown to each; nothing where it returned nothing."""
        began_ns = time_ns()
        records = yield from polled
        if len(records):
            for interceptor in self._all:
                _call(interceptor, "on_consume", records)
                _call(interceptor, "end_poll", records, began_ns)
        return records

    def committed(self, offsets: dict[TopicPartition, OffsetAndMetadata]) -> None:
        """The group has stored these."""
        for interceptor in self._all:
            _call(interceptor, "on_commit", offsets)


def _outgoing(changed: Any) -> OutgoingRecord:
    if iscoroutine(changed):
        changed.close()
        raise ConfigError("on_send is an async def: nothing awaits an interceptor")
    return OutgoingRecord(*changed)


def _call(interceptor: object, name: str, *arguments: Any) -> Any:
    function = getattr(interceptor, name, None)
    return None if function is None else _guarded(function, *arguments)


def _guarded(function: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return function(*arguments)
    except Exception:
        _log.exception("an interceptor raised")
        return None
