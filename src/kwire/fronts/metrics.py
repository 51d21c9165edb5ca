"""What a client has counted, under Java's names and units: the table of all metrics, and the snapshots by it.

Layer 5, below the clients. Nothing here counts: the engine does, once for a batch, a request or a response; averages
are made when somebody asks. A snapshot reads without the client's lock, from any thread, and waits for nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import nan

from kwire._typing import TYPE_CHECKING, NamedTuple
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
    from kwire.engine.consumer.fetcher import Fetcher
    from kwire.engine.core import Core
    from kwire.engine.groups.membership import Membership
    from kwire.engine.share.polling import SharePolling

Key = str | tuple[str | tuple[str, str], ...]
"""A name, or (name, (tag, value), ...): `("records-lag", ("topic", "orders"), ("partition", "0"))`."""

Metrics = dict[Key, float]

TOTAL = "total"
NOW = "now"
AVERAGE = "average"
LARGEST = "largest"

MAX_SHOWN = 200
"""Rows of a table of metrics."""

ALL = "all"
PRODUCER = "Producer"
CONSUMER = "Consumer"
SHARE = "ShareConsumer"
BOTH = "Consumer, ShareConsumer"
GROUP = "Consumer in a group"


class Metric(NamedTuple):
    """A row of the table. `kind`: TOTAL only grows; NOW is as it is at this moment; AVERAGE and LARGEST are over the
    life of the client, NaN before there is any. `tags`: there is also one for each of these."""

    name: str
    kind: str
    unit: str
    of: str
    doc: str
    tags: tuple[str, ...] = ()
    untagged: bool = True


TABLE = (
    Metric("connection-count", NOW, "", ALL, "Connections that are open."),
    Metric("connection-creation-total", TOTAL, "", ALL, "Connections that were made."),
    Metric("connection-close-total", TOTAL, "", ALL, "Connections that have ended."),
    Metric("incoming-byte-total", TOTAL, "bytes", ALL, "Bytes received, inside TLS."),
    Metric("outgoing-byte-total", TOTAL, "bytes", ALL, "Bytes sent, inside TLS."),
    Metric("request-total", TOTAL, "", ALL, "Requests written.", ("api",)),
    Metric("response-total", TOTAL, "", ALL, "Responses received.", ("api",)),
    Metric("requests-in-flight", NOW, "", ALL, "Requests that wait to be sent or to be answered."),
    Metric("request-latency-total", TOTAL, "ms", ALL, "Time from writing requests to their responses.", ("api",)),
    Metric("request-latency-avg", AVERAGE, "ms", ALL, "The same, per response.", ("api",)),
    Metric("request-latency-max", LARGEST, "ms", ALL, "The longest of these.", ("api",)),
    Metric("record-send-total", TOTAL, "records", PRODUCER, "Records written into requests, again too.", ("topic",)),
    Metric("byte-total", TOTAL, "bytes", PRODUCER, "Bytes of the batches written.", ("topic",)),
    Metric("record-retry-total", TOTAL, "records", PRODUCER, "Records put back to be sent again.", ("topic",)),
    Metric("record-error-total", TOTAL, "records", PRODUCER, "Records that failed for good.", ("topic",)),
    Metric("batch-send-total", TOTAL, "batches", PRODUCER, "Batches written into requests, again too."),
    Metric("batch-size-avg", AVERAGE, "bytes", PRODUCER, "Bytes of a batch as it is sent."),
    Metric("batch-size-max", LARGEST, "bytes", PRODUCER, "The largest of these."),
    Metric(
        "records-per-request-avg", AVERAGE, "records", f"{PRODUCER}, {CONSUMER}", "Of a Produce request, of a fetch."
    ),
    Metric("compression-rate-avg", AVERAGE, "", PRODUCER, "Bytes of batches as sent, per byte before compression."),
    Metric("record-queue-time-total", TOTAL, "ms", PRODUCER, "Time that batches took from opening to being written."),
    Metric("record-queue-time-avg", AVERAGE, "ms", PRODUCER, "The same, per batch."),
    Metric("record-queue-time-max", LARGEST, "ms", PRODUCER, "The longest of these."),
    Metric("buffer-total-bytes", NOW, "bytes", PRODUCER, "`buffer_memory`."),
    Metric("buffer-available-bytes", NOW, "bytes", PRODUCER, "What is left of it."),
    Metric("bufferpool-wait-time-ns-total", TOTAL, "ns", PRODUCER, "Time that `send()` waited for room."),
    Metric("records-consumed-total", TOTAL, "records", BOTH, "Records that polls returned.", ("topic",)),
    Metric(
        "bytes-consumed-total", TOTAL, "bytes", CONSUMER, "Bytes of record batches fetched, compressed.", ("topic",)
    ),
    Metric("fetch-total", TOTAL, "", BOTH, "Fetches that were answered."),
    Metric("fetch-latency-avg", AVERAGE, "ms", BOTH, "Time that a fetch took, with the broker's wait for records."),
    Metric("fetch-latency-max", LARGEST, "ms", BOTH, "The longest of these."),
    Metric("fetch-size-avg", AVERAGE, "bytes", CONSUMER, "Bytes of record batches in a response."),
    Metric(
        "records-lag",
        NOW,
        "records",
        CONSUMER,
        "Offsets from what was returned to the end of the log, as the last response said.",
        ("topic", "partition"),
        untagged=False,
    ),
    Metric("records-lag-max", NOW, "records", CONSUMER, "The largest of these; NaN while none is known."),
    Metric("assigned-partitions", NOW, "", CONSUMER, "Partitions that are read."),
    Metric("last-poll-seconds-ago", NOW, "s", BOTH, "Since the last poll began; NaN before the first."),
    Metric("commit-total", TOTAL, "", GROUP, "Commits of offsets that were answered."),
    Metric("commit-latency-avg", AVERAGE, "ms", GROUP, "Time that a commit took."),
    Metric("commit-latency-max", LARGEST, "ms", GROUP, "The longest of these."),
    Metric("heartbeat-total", TOTAL, "", f"{GROUP}, ShareConsumer", "Heartbeats that were answered."),
    Metric("heartbeat-response-time-max", LARGEST, "ms", f"{GROUP}, ShareConsumer", "The longest of these."),
    Metric("join-total", TOTAL, "", GROUP, "JoinGroup requests answered (classic protocol)."),
    Metric("join-time-avg", AVERAGE, "ms", GROUP, "Time that these took."),
    Metric("sync-total", TOTAL, "", GROUP, "SyncGroup requests answered (classic protocol)."),
    Metric("sync-time-avg", AVERAGE, "ms", GROUP, "Time that these took."),
    Metric("rebalance-total", TOTAL, "", GROUP, "Rebalances that brought an assignment."),
    Metric("failed-rebalance-total", TOTAL, "", GROUP, "Attempts to join that failed (classic protocol)."),
)


class Snapshot(dict[Key, float]):
    """What a client has counted so far; a notebook shows it as a table."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        from kwire._html import table

        units = {metric.name: metric.unit for metric in TABLE}

        def row(index: int) -> list[object]:
            key = keys[index]
            name, tags = (key, ()) if isinstance(key, str) else (str(key[0]), key[1:])
            return [name, ", ".join(map(" ".join, tags)), self[key], units.get(name, "")]

        keys = list(self)
        return table(f"{len(keys)} metrics", ("metric", "of", "value", "unit"), len(keys), row, MAX_SHOWN)


class _Answers(NamedTuple):
    """Counts of some APIs together."""

    requests: int
    answers: int
    seconds: float
    longest: float

    @property
    def average_ms(self) -> float:
        return _per(self.seconds * 1000, self.answers)

    @property
    def longest_ms(self) -> float:
        return self.longest * 1000 if self.answers else nan


def of_core(core: Core) -> Metrics:
    """What every client has."""
    traffic = core.traffic
    by_api = {key: _Answers(*counts) for key, counts in traffic.by_api.items()}
    found: Metrics = {
        "connection-count": traffic.connections_made - traffic.connections_lost,
        "connection-creation-total": traffic.connections_made,
        "connection-close-total": traffic.connections_lost,
        "incoming-byte-total": traffic.bytes_in,
        "outgoing-byte-total": traffic.bytes_out,
        "requests-in-flight": len(core._requests),
    }
    for key, counts in by_api.items():
        _add_answers(found, counts, (("api", APIS[key].name),))
    _add_answers(found, _together(by_api.values()), ())
    return found


def _add_answers(found: Metrics, counts: _Answers, tags: tuple[tuple[str, str], ...]) -> None:
    found[_key("request-total", tags)] = counts.requests
    found[_key("response-total", tags)] = counts.answers
    found[_key("request-latency-total", tags)] = counts.seconds * 1000
    found[_key("request-latency-avg", tags)] = counts.average_ms
    found[_key("request-latency-max", tags)] = counts.longest_ms


def of_producer(core: Core, accumulator: Accumulator) -> Metrics:
    """What a producer has beside that."""
    topics = list(accumulator.topics.values())
    batches = sum(topic.batches_written for topic in topics)
    size = sum(topic.bytes_written for topic in topics)
    records = sum(topic.records_written for topic in topics)
    queued = sum(topic.queued_s for topic in topics)
    found: Metrics = {
        "batch-send-total": batches,
        "batch-size-avg": _per(size, batches),
        "batch-size-max": max((topic.largest_written for topic in topics if topic.batches_written), default=nan),
        "records-per-request-avg": _per(records, _answers(core, PRODUCE).requests),
        "compression-rate-avg": _per(size, sum(topic.bytes_gathered for topic in topics)),
        "record-queue-time-total": queued * 1000,
        "record-queue-time-avg": _per(queued * 1000, batches),
        "record-queue-time-max": 1000
        * max((topic.longest_queued_s for topic in topics if topic.batches_written), default=nan),
        "buffer-total-bytes": accumulator.buffer_memory,
        "buffer-available-bytes": accumulator.buffer_memory - accumulator.used,
        "bufferpool-wait-time-ns-total": accumulator.waited_s * 1e9,
    }
    _add_by_topic(found, "record-send-total", {topic.name: topic.records_written for topic in topics})
    _add_by_topic(found, "byte-total", {topic.name: topic.bytes_written for topic in topics})
    _add_by_topic(found, "record-retry-total", {topic.name: topic.records_retried for topic in topics})
    _add_by_topic(found, "record-error-total", {topic.name: topic.records_failed for topic in topics})
    return found


def of_consumer(core: Core, fetcher: Fetcher, membership: Membership | None, now: float) -> Metrics:
    """What a consumer has beside what every client has."""
    states = dict(fetcher.subscription.states)
    lags = {tp: lag for tp, state in states.items() if (lag := state.lag) is not None}
    consumed, sizes = dict(fetcher.consumed), dict(fetcher.fetched_bytes)
    fetches = _answers(core, FETCH)
    found: Metrics = {
        **_fetches(fetches),
        "fetch-size-avg": _per(sum(sizes.values()), fetches.answers),
        "records-per-request-avg": _per(sum(consumed.values()), fetches.answers),
        "records-lag-max": max(lags.values(), default=nan),
        "assigned-partitions": len(states),
        "last-poll-seconds-ago": _since(fetcher.polled_at, now),
    }
    _add_by_topic(found, "records-consumed-total", consumed)
    _add_by_topic(found, "bytes-consumed-total", sizes)
    for tp, lag in lags.items():
        found["records-lag", ("topic", tp.topic), ("partition", str(tp.partition))] = lag
    if membership is not None:
        found |= _of_group(core, membership)
    return found


def _of_group(core: Core, membership: Membership) -> Metrics:
    commits, joins, syncs = (_answers(core, key) for key in (OFFSET_COMMIT, JOIN_GROUP, SYNC_GROUP))
    return {
        "commit-total": commits.answers,
        "commit-latency-avg": commits.average_ms,
        "commit-latency-max": commits.longest_ms,
        **_heartbeats(_answers(core, HEARTBEAT, CONSUMER_GROUP_HEARTBEAT)),
        "join-total": joins.answers,
        "join-time-avg": joins.average_ms,
        "sync-total": syncs.answers,
        "sync-time-avg": syncs.average_ms,
        "rebalance-total": membership.rebalances,
        "failed-rebalance-total": membership.failed_rebalances,
    }


def of_share_consumer(core: Core, polling: SharePolling, now: float) -> Metrics:
    """What a share consumer has beside what every client has."""
    found: Metrics = {
        **_fetches(_answers(core, SHARE_FETCH)),
        **_heartbeats(_answers(core, SHARE_GROUP_HEARTBEAT)),
        "last-poll-seconds-ago": _since(polling.polled_at, now),
    }
    _add_by_topic(found, "records-consumed-total", dict(polling.consumed))
    return found


def _fetches(fetches: _Answers) -> Metrics:
    return {
        "fetch-total": fetches.answers,
        "fetch-latency-avg": fetches.average_ms,
        "fetch-latency-max": fetches.longest_ms,
    }


def _heartbeats(heartbeats: _Answers) -> Metrics:
    return {"heartbeat-total": heartbeats.answers, "heartbeat-response-time-max": heartbeats.longest_ms}


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


def _add_by_topic(found: Metrics, name: str, by_topic: Mapping[str, float]) -> None:
    found[name] = sum(by_topic.values())
    for topic, value in by_topic.items():
        found[name, ("topic", topic)] = value


def _key(name: str, tags: tuple[tuple[str, str], ...]) -> Key:
    return (name, *tags) if tags else name


def _per(amount: float, count: float) -> float:
    return amount / count if count else nan


def _since(moment: float, now: float) -> float:
    return max(now - moment, 0.0) if moment else nan
