"""What a client has counted, under Java's names and units: snapshots, and what went on between two of them.

Layer 5, below the clients. Nothing here counts: the engine does, once for a batch, a request or a response; averages
and rates are made when somebody asks. A snapshot reads without the client's lock, from any thread, and waits for
nothing. `metrics_table.py` says what each metric is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import nan

from kwire._typing import TYPE_CHECKING, NamedTuple
from kwire.errors import ConfigError
from kwire.fronts.metrics_table import NOW, ROWS, Key
from kwire.protocol import APIS
from kwire.schema.api_keys import (
    CONSUMER_GROUP_HEARTBEAT,
    FETCH,
    HEARTBEAT,
    JOIN_GROUP,
    OFFSET_COMMIT,
    PRODUCE,
    SHARE_FETCH,
    SHARE_GROUP_HEARTBEAT,
    SYNC_GROUP,
)

if TYPE_CHECKING:
    from kwire._codec import Accumulator
    from kwire.engine.common.pace import Throttling
    from kwire.engine.consumer.fetcher import Fetcher
    from kwire.engine.core import Core
    from kwire.engine.groups.membership import Membership
    from kwire.engine.share.polling import SharePolling

MAX_SHOWN = 200
"""Rows of a table of metrics."""


class _Ratio(NamedTuple):
    """What an average is made of."""

    amount: float
    divisor: float

    @property
    def average(self) -> float:
        return self.amount / self.divisor if self.divisor else nan

    def since(self, earlier: _Ratio) -> _Ratio:
        return _Ratio(self.amount - earlier.amount, self.divisor - earlier.divisor)


_NOTHING = _Ratio(0, 0)


class Metrics(dict[Key, float]):
    """One snapshot. `taken_at` is in seconds, on a clock that never goes back."""

    __slots__ = ("_averages", "_of", "taken_at")

    def __init__(self, core: Core, taken_at: float) -> None:
        self.taken_at = taken_at
        self._of = id(core)
        self._averages: dict[Key, _Ratio] = {}

    def since(self, earlier: Metrics) -> dict[Key, float]:
        """What went on between an earlier snapshot of the same client and this one: each total as a rate per second,
        under Java's name (`record-send-rate`), each average over that time (NaN where there was nothing), and what is
        as it is now. Not the largest values, which are over the life of the client.
        """
        if earlier._of != self._of:
            raise ConfigError("since() was given a snapshot of another client")
        seconds = self.taken_at - earlier.taken_at
        if seconds < 0:
            raise ConfigError(f"since() was given a snapshot that is {-seconds:.3f} s younger: call it on that one")
        found: dict[Key, float] = {}
        for key, value in self.items():
            name, tags = (key, ()) if isinstance(key, str) else (str(key[0]), key[1:])
            row = ROWS[name]
            if row.rate is not None:
                grown = max(value - earlier.get(key, 0), 0) * row.rate.factor  # a topic may begin anew at 0
                found[(row.rate.name, *tags) if tags else row.rate.name] = grown / seconds if seconds else nan
            elif key in self._averages:
                found[key] = self._averages[key].since(earlier._averages.get(key, _NOTHING)).average
            elif row.kind == NOW:
                found[key] = value
        return found

    def _repr_html_(self) -> str:
        from kwire._html import table

        def row(index: int) -> list[object]:
            key = keys[index]
            name, tags = (key, ()) if isinstance(key, str) else (str(key[0]), key[1:])
            return [name, ", ".join(map(" ".join, tags)), self[key], ROWS[name].unit]

        keys = list(self)
        return table(f"{len(keys)} metrics", ("metric", "of", "value", "unit"), len(keys), row, MAX_SHOWN)

    def add_average(self, key: Key, amount: float, count: float) -> None:
        """An average of so much in so many; NaN of nothing."""
        self._averages[key] = ratio = _Ratio(amount, count)
        self[key] = ratio.average

    def add_by_topic(self, name: str, by_topic: Mapping[str, float], others: float = 0) -> None:
        """A total, and what each topic has of it; topics without a row of their own have `others`."""
        self[name] = sum(by_topic.values()) + others
        for topic, value in by_topic.items():
            self[name, ("topic", topic)] = value


class _Answers(NamedTuple):
    """Counts of some APIs together."""

    requests: int
    answers: int
    seconds: float
    longest: float

    @property
    def longest_ms(self) -> float:
        return self.longest * 1000 if self.answers else nan


def of_core(core: Core, now: float) -> Metrics:
    """A snapshot of what every client has; the functions below add what some have."""
    traffic = core.traffic
    by_api = {key: _Answers(*counts) for key, counts in traffic.by_api.items()}
    found = Metrics(core, now)
    found["connection-count"] = traffic.connections_made - traffic.connections_lost
    found["connection-creation-total"] = traffic.connections_made
    found["connection-close-total"] = traffic.connections_lost
    found["incoming-byte-total"] = traffic.bytes_in
    found["outgoing-byte-total"] = traffic.bytes_out
    found["requests-in-flight"] = len(core._requests)
    for key, counts in by_api.items():
        _add_answers(found, counts, (("api", APIS[key].name),))
    _add_answers(found, _together(by_api.values()), ())
    return found


def _add_answers(found: Metrics, counts: _Answers, tags: tuple[tuple[str, str], ...]) -> None:
    found[_key("request-total", tags)] = counts.requests
    found[_key("response-total", tags)] = counts.answers
    found[_key("request-latency-total", tags)] = counts.seconds * 1000
    _add_latency(found, _key("request-latency-avg", tags), counts)
    found[_key("request-latency-max", tags)] = counts.longest_ms


def add_producer(found: Metrics, core: Core, accumulator: Accumulator, throttling: Throttling) -> None:
    """What a producer has."""
    topics, former = list(accumulator.topics.values()), accumulator.former
    every = [*topics, former]
    batches = sum(topic.batches_written for topic in every)
    size = sum(topic.bytes_written for topic in every)
    records = sum(topic.records_written for topic in every)
    queued_ms = sum(topic.queued_s for topic in every) * 1000
    longest_queued_s = max((topic.longest_queued_s for topic in every if topic.batches_written), default=nan)
    found["batch-send-total"] = batches
    found.add_average("batch-size-avg", size, batches)
    found["batch-size-max"] = max((topic.largest_written for topic in every if topic.batches_written), default=nan)
    found.add_average("records-per-request-avg", records, _answers(core, PRODUCE).requests)
    found.add_average("compression-rate-avg", size, sum(topic.bytes_gathered for topic in every))
    found["record-queue-time-total"] = queued_ms
    found.add_average("record-queue-time-avg", queued_ms, batches)
    found["record-queue-time-max"] = longest_queued_s * 1000
    found["buffer-total-bytes"] = accumulator.buffer_memory
    found["buffer-available-bytes"] = accumulator.buffer_memory - accumulator.used
    found["bufferpool-wait-time-ns-total"] = accumulator.waited_s * 1e9
    _add_throttling(found, "produce", throttling, _answers(core, PRODUCE))
    sent, size_of = former.records_written, former.bytes_written
    found.add_by_topic("record-send-total", {topic.name: topic.records_written for topic in topics}, sent)
    found.add_by_topic("byte-total", {topic.name: topic.bytes_written for topic in topics}, size_of)
    retried, failed = former.records_retried, former.records_failed
    found.add_by_topic("record-retry-total", {topic.name: topic.records_retried for topic in topics}, retried)
    found.add_by_topic("record-error-total", {topic.name: topic.records_failed for topic in topics}, failed)


def add_consumer(found: Metrics, core: Core, fetcher: Fetcher, membership: Membership | None) -> None:
    """What a consumer has."""
    states = dict(fetcher.subscription.states)
    lags = {tp: lag for tp, state in states.items() if (lag := state.lag) is not None}
    consumed, sizes = fetcher.consumed.snapshot(), fetcher.fetched_bytes.snapshot()
    fetches = _answers(core, FETCH)
    _add_fetches(found, fetches, fetcher.throttling)
    found.add_average("fetch-size-avg", sizes.whole, fetches.answers)
    found.add_average("records-per-request-avg", consumed.whole, fetches.answers)
    found["records-lag-max"] = max(lags.values(), default=nan)
    found["assigned-partitions"] = len(states)
    found["last-poll-seconds-ago"] = _since(fetcher.polled_at, found.taken_at)
    found.add_by_topic("records-consumed-total", *consumed)
    found.add_by_topic("bytes-consumed-total", *sizes)
    for tp, lag in lags.items():
        found["records-lag", ("topic", tp.topic), ("partition", str(tp.partition))] = lag
    if membership is not None:
        _add_group(found, core, membership)


def _add_group(found: Metrics, core: Core, membership: Membership) -> None:
    commits, joins, syncs = (_answers(core, key) for key in (OFFSET_COMMIT, JOIN_GROUP, SYNC_GROUP))
    found["commit-total"] = commits.answers
    _add_latency(found, "commit-latency-avg", commits)
    found["commit-latency-max"] = commits.longest_ms
    _add_heartbeats(found, _answers(core, HEARTBEAT, CONSUMER_GROUP_HEARTBEAT))
    found["join-total"] = joins.answers
    _add_latency(found, "join-time-avg", joins)
    found["sync-total"] = syncs.answers
    _add_latency(found, "sync-time-avg", syncs)
    found["rebalance-total"] = membership.rebalances
    found["failed-rebalance-total"] = membership.failed_rebalances


def add_share_consumer(found: Metrics, core: Core, polling: SharePolling) -> None:
    """What a share consumer has."""
    _add_fetches(found, _answers(core, SHARE_FETCH), polling.throttling)
    _add_heartbeats(found, _answers(core, SHARE_GROUP_HEARTBEAT))
    found["last-poll-seconds-ago"] = _since(polling.polled_at, found.taken_at)
    found.add_by_topic("records-consumed-total", *polling.consumed.snapshot())


def _add_fetches(found: Metrics, fetches: _Answers, throttling: Throttling) -> None:
    found["fetch-total"] = fetches.answers
    _add_latency(found, "fetch-latency-avg", fetches)
    found["fetch-latency-max"] = fetches.longest_ms
    _add_throttling(found, "fetch", throttling, fetches)


def _add_throttling(found: Metrics, what: str, throttling: Throttling, counts: _Answers) -> None:
    found[f"{what}-throttle-time-total"] = throttling.total * 1000
    found.add_average(f"{what}-throttle-time-avg", throttling.total * 1000, counts.answers)
    found[f"{what}-throttle-time-max"] = throttling.longest * 1000 if counts.answers else nan


def _add_heartbeats(found: Metrics, heartbeats: _Answers) -> None:
    found["heartbeat-total"] = heartbeats.answers
    found["heartbeat-response-time-max"] = heartbeats.longest_ms


def _add_latency(found: Metrics, key: Key, counts: _Answers) -> None:
    found.add_average(key, counts.seconds * 1000, counts.answers)


def _answers(core: Core, *api_keys: int) -> _Answers:
    by_api = core.traffic.by_api
    return _together([_Answers(*by_api[key]) for key in api_keys if key in by_api])


def _together(counts: Iterable[_Answers]) -> _Answers:
    rows = list(counts)
    return _Answers(
        sum(row.requests for row in rows),
        sum(row.answers for row in rows),
        sum(row.seconds for row in rows),
        max((row.longest for row in rows), default=0.0),
    )


def _key(name: str, tags: tuple[tuple[str, str], ...]) -> Key:
    return (name, *tags) if tags else name


def _since(moment: float, now: float) -> float:
    return max(now - moment, 0.0) if moment else nan
