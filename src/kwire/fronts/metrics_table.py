"""The table of all metrics that clients count: Java's names, units, and what each is.

Layer 5, below the clients. `kwire.fronts.metrics` makes snapshots by it; docs/metrics.md prints it.
"""

from __future__ import annotations

from kwire._typing import NamedTuple

Key = str | tuple[str | tuple[str, str], ...]
"""A name, or (name, (tag, value), ...): `("records-lag", ("topic", "orders"), ("partition", "0"))`."""

TOTAL = "total"
NOW = "now"
AVERAGE = "average"
LARGEST = "largest"

ALL = "all"
PRODUCER = "Producer"
CONSUMER = "Consumer"
SHARE = "ShareConsumer"
BOTH = "Consumer, ShareConsumer"
GROUP = "Consumer in a group"


class Rate(NamedTuple):
    """Java's name of what a total grows by in a second, times `factor`."""

    name: str
    factor: float


_RATES = {
    "bufferpool-wait-time-ns-total": Rate("bufferpool-wait-ratio", 1e-9),
    "rebalance-total": Rate("rebalance-rate-per-hour", 3600.0),
    "failed-rebalance-total": Rate("failed-rebalance-rate-per-hour", 3600.0),
}


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

    @property
    def rate(self) -> Rate | None:
        """What two values of a total give; None of other kinds, and of times, which averages are made of."""
        if self.kind != TOTAL or self.unit == "ms":
            return None
        return _RATES.get(self.name) or Rate(self.name.removesuffix("-total") + "-rate", 1.0)


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
    Metric("produce-throttle-time-total", TOTAL, "ms", PRODUCER, "Pauses that brokers asked for, by quotas."),
    Metric("produce-throttle-time-avg", AVERAGE, "ms", PRODUCER, "The same, per response."),
    Metric("produce-throttle-time-max", LARGEST, "ms", PRODUCER, "The longest of these."),
    Metric("records-consumed-total", TOTAL, "records", BOTH, "Records that polls returned.", ("topic",)),
    Metric(
        "bytes-consumed-total", TOTAL, "bytes", CONSUMER, "Bytes of record batches fetched, compressed.", ("topic",)
    ),
    Metric("fetch-total", TOTAL, "", BOTH, "Fetches that were answered."),
    Metric("fetch-latency-avg", AVERAGE, "ms", BOTH, "Time that a fetch took, with the broker's wait for records."),
    Metric("fetch-latency-max", LARGEST, "ms", BOTH, "The longest of these."),
    Metric("fetch-throttle-time-total", TOTAL, "ms", BOTH, "Pauses that brokers asked for, by quotas."),
    Metric("fetch-throttle-time-avg", AVERAGE, "ms", BOTH, "The same, per response."),
    Metric("fetch-throttle-time-max", LARGEST, "ms", BOTH, "The longest of these."),
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

ROWS = {row.name: row for row in TABLE}
