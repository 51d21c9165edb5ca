"""The poll of a consumer, whatever its front: when it may return, which records, and which errors it raises.

Layer 3, no I/O; used with the core to itself. A front calls `begin`, waits until `ready()`, looks at `check` now and
then, and calls `take`: the rest of a poll is the same for threads and for asyncio.

    brokers    a poll never fails because its own time-out is short. While no broker was ever reached it returns
               nothing; after default_api_timeout_ms of such polls it raises ConnectError, with a cause for each address
    topics     one that is missing is waited for; after default_api_timeout_ms of polls it is an UnknownTopicError. One
               that the cluster refuses for good is told by the next poll
"""

from __future__ import annotations

from kwire._typing import TYPE_CHECKING
from kwire.engine.addresses import TopicPartition
from kwire.engine.fetcher import Fetched, Fetcher
from kwire.engine.settings import ConsumerSettings
from kwire.errors import ConfigError, ConnectError, KafkaError, KafkaTimeoutError

if TYPE_CHECKING:
    from kwire.engine.ports import Services

LOOK_EVERY_S = 1.0
"""Seconds between two calls of `check` while a poll waits."""


class Polling:
    """The polls of one consumer. `woken` makes the current poll, or the next one, return at once with nothing."""

    def __init__(self, core: Services, settings: ConsumerSettings, fetcher: Fetcher) -> None:
        self._cluster = core.cluster
        self._fetcher = fetcher
        self._max_records = settings.max_poll_records
        self._patience = settings.default_api_timeout_ms / 1000
        self._missing_since: dict[str, float] = {}
        self._alone_since: float | None = None
        self.woken = False

    def begin(self, now: float) -> None:
        """Begins a poll; raises ConfigError while nothing is assigned or subscribed to."""
        self._fetcher.settle()
        self._fetcher.polled_at = now
        self._fetcher.pump_if_due(now)
        if self._fetcher.subscription.reads_nothing:
            raise ConfigError("there is nothing to poll: call assign() or subscribe() first")

    def ready(self) -> bool:
        """Whether the poll may return."""
        return self.woken or self._fetcher.has_something() or self._fetcher.subscription.done

    def take(self, max_records: int | None, now: float) -> Fetched:
        """Takes the records that the poll returns; raises an error that comes before them."""
        woken, self.woken = self.woken, False
        if woken:
            return []
        if not self.ready():
            self.check(now)
        taken = self._fetcher.take(self._max_records if max_records is None else max_records)
        self._fetcher.pump_if_due(now)
        return taken

    def check(self, now: float) -> None:
        """Raises what makes waiting any longer useless."""
        if self._cluster.generation > 0:
            self._alone_since = None
        else:
            self._check_brokers(now)
        for topic in self._fetcher.subscription.topics:
            error = self._cluster.unknown_topic(topic)
            if error is None:
                self._missing_since.pop(topic, None)
            elif now - self._missing_since.setdefault(topic, now) >= self._patience:
                del self._missing_since[topic]
                raise error

    def _check_brokers(self, now: float) -> None:
        if self._alone_since is None:
            self._alone_since = self._fetcher.polled_at
        failure = self._cluster.failure
        if now - self._alone_since >= self._patience and failure is not None:
            self._alone_since = None
            raise _afresh(failure)

    # -- positions --------------------------------------------------------------------------------------------------

    def look_up(self, tp: TopicPartition, now: float) -> None:
        """Makes sure that the position of an assigned partition is looked up; ConfigError for another."""
        self._fetcher.settle()
        self._fetcher.subscription.state(tp)
        self._fetcher.pump_if_due(now)

    def has_position(self, tp: TopicPartition) -> bool:
        """Whether `position` would return or raise something but a time-out."""
        state = self._fetcher.subscription.states.get(tp)
        return state is None or state.position >= 0 or state.fault is not None

    def position(self, tp: TopicPartition) -> int | None:
        """The offset of the next record that a poll will return; None while it is not known. Raises its fault."""
        state = self._fetcher.subscription.state(tp)
        if state.position >= 0:
            return state.position
        fault, state.fault = state.fault, None
        if fault is not None:
            raise fault
        return None

    def no_position(self, tp: TopicPartition, waited: float) -> KafkaError:
        """The error for a position that did not become known within `waited` seconds."""
        failure = self._cluster.failure
        if self._cluster.generation == 0 and isinstance(failure, ConnectError):
            return _afresh(failure)
        error = KafkaTimeoutError(f"the position of {tp.topic}-{tp.partition} was not known within {waited:g} s")
        error.__cause__ = failure
        return error


def _afresh(error: KafkaError) -> KafkaError:
    """The same error without the traceback of an earlier raise."""
    return ConnectError(error.message, error.causes) if isinstance(error, ConnectError) else error
