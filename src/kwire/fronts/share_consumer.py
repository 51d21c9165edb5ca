"""What both share consumers share: all but the signatures of the calls that wait.

Layer 5, below the clients. This file makes the waits, and each consumer's door runs them; the logic of
share groups is in `kwire.engine.share`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from functools import partial

from kwire._codec import ConsumerRecord
from kwire._typing import TYPE_CHECKING, Any, override
from kwire.drivers.loggers import LateLogger
from kwire.engine.calls import arguments
from kwire.engine.calls.calls import result_of
from kwire.engine.common import absent
from kwire.engine.consumer.deserialization import as_received
from kwire.engine.settings.clients import ShareConsumerSettings
from kwire.engine.share import waits
from kwire.engine.share.acquired import kind_of
from kwire.engine.share.polling import OnAcknowledged, OnCommitted, SharePolling
from kwire.engine.share.records import ShareRecords
from kwire.errors import ConfigError, SerializationError
from kwire.fronts.deserializers import deserialization_of
from kwire.fronts.front import Front
from kwire.fronts.group_lines import write_lines_of

if TYPE_CHECKING:
    from kwire.engine.common.waits import Wait
    from kwire.engine.consumer.deserialization import DeserializedRecord
    from kwire.engine.settings.options import Timeout
    from kwire.engine.share.acknowledging import Outcomes
    from kwire.fronts.health import Parts
    from kwire.fronts.metrics import Metrics

_ONE = (ConsumerRecord, SerializationError)

CLOSING_S = 30.0
"""Seconds that close() takes at most to acknowledge and leave, unless it gets a timeout."""

_log = LateLogger("kwire.clients")


class ShareConsumerFront(Front[ShareConsumerSettings]):
    """The base of the share consumers."""

    _kind = "share consumer"
    _one_caller = True

    _polling: SharePolling

    @override
    def _put_together(self) -> None:
        self._polling = SharePolling(self._core, self.settings, partial(_run_later, self._core.after_step))
        self._deserialization = deserialization_of(self.settings)
        write_lines_of(self._polling.membership.log, self._core.after_step)

    @override
    def _add_metrics(self, found: Metrics) -> None:
        from kwire.fronts.metrics import add_share_consumer

        add_share_consumer(found, self._core, self._polling)

    @override
    def _health_parts(self) -> Parts:
        from kwire.fronts.health import of_share_consumer

        return of_share_consumer(self._polling.membership)

    def subscribe(self, topics: Iterable[str]) -> None:
        """Reads these topics from the next poll on; the topics of an earlier call no more: what no poll has returned of
        them is released."""
        names = tuple(dict.fromkeys(arguments.topic_names(topics)))
        self._door.do(partial(self._polling.subscribe, names))

    def unsubscribe(self) -> None:
        """Leaves the group. Records in hand may still be acknowledged; those that no poll has returned are released."""
        self._door.do(lambda now: self._polling.unsubscribe(now, _ignore))

    def subscription(self) -> set[str]:
        """The topics subscribed to."""
        return set(self._polling.membership.topics)

    def acknowledge(
        self, what: ConsumerRecord | DeserializedRecord | ShareRecords | SerializationError, kind: str = "accept"
    ) -> None:
        """Acknowledges a record of the last poll, or all records given: "accept" (done), "release" (another
        try, by any member), "reject" (never again), "renew" (its lock begins anew; the next poll returns it again).

        Sent with the next poll or commit. The last call counts. ConfigError for a record that is not in hand. The
        SerializationError that a poll raised stands for its record, which is released if nothing is said.
        """
        number = kind_of(kind)
        received: Any = as_received(what)
        records: list[Any] = [received] if isinstance(received, _ONE) else list(map(as_received, received))
        if not all(isinstance(each, _ONE) for each in records):
            raise ConfigError(f"acknowledge({what!r}): expected a record of the last poll, or several")
        self._door.do(lambda now: self._polling.acknowledge(records, number))

    def commit_async(self, *, callback: OnCommitted | None = None) -> None:
        """As `commit`, without waiting: `callback` is called with its result."""
        self._door.do(lambda now: self._polling.commit_async(callback, now))

    def set_acknowledgement_commit_callback(self, callback: OnAcknowledged | None) -> None:
        """Has callback(offsets, error) called with the outcome of all acknowledgements, as brokers answer: offsets is
        {TopicPartition: set of offsets}; error is None where they were accepted."""
        self._polling.on_acknowledged = callback

    @property
    def acquisition_lock_timeout_ms(self) -> int | None:
        """How long brokers lock the records that a poll returns; None before the first answer."""
        return self._polling.lock_ms

    def wakeup(self) -> None:
        """Makes a poll that waits, or else the next one, return at once with nothing; from any thread."""
        self._polling.woken = True
        self._door.driver.wake()

    # -- what waits -------------------------------------------------------------------------------------------------

    def _polled(self, timeout: Timeout, max_records: int | None, unknown: Mapping[str, object]) -> Wait[ShareRecords]:
        absent.refuse_keywords("poll", unknown, absent.POLL_KEYWORDS)
        patience = arguments.poll_seconds(timeout)
        polled = waits.poll(self._door, self._polling, patience, arguments.record_count(max_records, "max_records"))
        if self._deserialization is None:
            return polled
        from kwire.engine.share.deserialized import deserialized  # late: most have no deserializers

        return deserialized(polled, self._door, self._polling, self._deserialization)

    def _committing(self, timeout: Timeout) -> Wait[Outcomes]:
        return result_of(self._door, self._polling.commit, self._patience(timeout))

    def _end_by(self, timeout: Timeout) -> float:
        given = arguments.seconds(timeout)
        return self._door.now() + (CLOSING_S if given is None else given)

    def _farewell(self, until: float) -> Wait[None] | None:
        if not self._door.driver.has_resources:
            return None
        return self._with_last_push(waits.close(self._door, self._polling, until), until)


def _run_later(after_step: deque[Callable[[], object]], function: Callable[..., object], *given: Any) -> None:
    """Has the user's function called outside the lock; what it raises is logged."""
    after_step.append(partial(_guarded, function, *given))


def _guarded(function: Callable[..., object], *given: Any) -> None:
    try:
        function(*given)
    except Exception:
        _log.exception("a callback of a share consumer raised")


def _ignore(now: float) -> None:
    """Nobody waits for the end of the membership."""
