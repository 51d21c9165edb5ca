"""What a topic's settings do to records, on real Kafka and on the embedded broker of the same release.

What the embedded broker does not copy: 0.10 takes segment.ms=0 and retention.ms=-2, and refuses records without a time
where message.timestamp.difference.max.ms is set.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from kwire import protocol, records
from kwire.testing import Broker
from tests.brokers import Cluster
from tests.drivers.waiting import until
from tests.testing.like_kafka.test_like_kafka import asker, offsets, topic_to_make, wait_for_topic
from tests.testing.wire import fetch, produce

HOUR_MS = 3_600_000
SETTINGS = (
    {},
    {"message_timestamp_before_max_ms": "1000"},
    {"message_timestamp_after_max_ms": "1000"},
    {"message_timestamp_difference_max_ms": "600000"},
    {"message_timestamp_difference_max_ms": "600000", "message_timestamp_before_max_ms": str(2 * HOUR_MS)},
    {"message_timestamp_type": "LogAppendTime"},
    {"message_timestamp_type": "LogAppendTime", "message_timestamp_before_max_ms": "1000"},
    {"cleanup_policy": "compact"},
    {"cleanup_policy": "compact,delete"},
    {"cleanup_policy": "compact", "message_timestamp_before_max_ms": "1000"},
    {"segment_bytes": "1000"},
    {"segment_bytes": "1048576"},
    {"segment_ms": "0"},
    {"retention_ms": "-1"},
    {"retention_ms": "-2"},
    {"message_timestamp_before_max_ms": "-1"},
    {"max_compaction_lag_ms": "0"},
)
LATER = ({"segment_ms": "0"}, {"retention_ms": "-2"}, {"message_timestamp_difference_max_ms": "600000"})
AGES_MS = (0, HOUR_MS - 60_000, HOUR_MS + 60_000, 3 * HOUR_MS, 10**12, 60_000 - HOUR_MS, -HOUR_MS - 60_000, None)
Ask = Callable[[protocol.Request, int], Any]


def outcome(ask: Ask, topic: str, spans: dict[int, tuple[int, int]], settings: dict[str, str]) -> list[Any]:
    """Whether the topic may be made, and what becomes of records of any age, with and without keys."""
    made = ask(topic_to_make(topic, **settings), min(spans[19][1], 5)).topics[0].error_code
    if made:
        return [made]
    wait_for_topic(ask, topic, min(spans[3][1], 9))
    version = min(spans[0][1], 9)
    told, now = [], int(time.time() * 1000)
    for age in AGES_MS:
        for key in (b"k", None, b""):
            stamp = -1 if age is None else now - age
            items = [(b"first", b"k", now), (b"v", key, stamp), (b"last", b"k", now)]
            row = ask(produce(records.encode(items, magic=2 if version >= 3 else 1), topic=topic), version)
            row = row.responses[0].partition_responses[0]
            told.append((age, key, row.error_code, row.base_offset, [each.batch_index for each in row.record_errors]))
    return told


def test_the_same_records_are_refused(kafka: Cluster, new_topic: Callable[[], str]) -> None:
    release = kafka.release.version
    spans = protocol.versions_of(release)
    if 19 not in spans:
        pytest.skip("no CreateTopics")
    different = []
    with Broker(release=release) as broker:
        for settings in SETTINGS:
            if kafka.release.number < (0, 11) and settings in LATER:
                continue
            topic = new_topic()
            theirs, ours = (
                outcome(asker(servers), topic, spans, settings)
                for servers in (kafka.bootstrap_servers, broker.bootstrap_servers)
            )
            if theirs != ours:
                rows = [f"  Kafka {a}\n  kwire {b}" for a, b in zip(theirs, ours, strict=False) if a != b]
                different.append(f"{settings}:\n" + "\n".join(rows))
    assert not different, "\n".join(different)


OFTEN = {"log.cleaner.backoff.ms": "50", "log.retention.check.interval.ms": "50", "log.initial.task.delay.ms": "50"}


def compacted(ask: Ask, topic: str) -> list[tuple[int, bytes | None, bytes | None]]:
    """(offset, key, value) of every record."""
    offset, found = 0, []
    while True:
        row = ask(fetch(offset, topic=topic), 11).responses[0].partitions[0]
        read = [each for each in records.decode(row.records or b"") if each.offset >= offset]
        if not read:
            return found
        found += [(each.offset, each.key, each.value) for each in read]
        offset = read[-1].offset + 1


def send(ask: Ask, topic: str, *pairs: tuple[bytes, bytes | None], compression: Any = "none") -> None:
    now = int(time.time() * 1000)
    data = records.encode([(value, key, now) for key, value in pairs], compression=compression)
    assert ask(produce(data, topic=topic), 9).responses[0].partition_responses[0].error_code == 0


def start_of(ask: Ask, topic: str) -> int:
    row = ask(fetch(10**6, topic=topic), 11).responses[0].partitions[0]
    if row.log_start_offset >= 0:
        return row.log_start_offset
    found = ask(offsets(topic, -2), 5).topics[0].partitions[0].offset
    assert isinstance(found, int)
    return found


@pytest.mark.kafka
def test_the_same_records_are_left() -> None:
    with (
        Cluster("4.4.0", overrides=OFTEN) as kafka,
        Broker(log_cleaner_backoff_ms=50, log_retention_check_interval_ms=50) as broker,
    ):
        kept, starts = [], []
        for servers in (kafka.bootstrap_servers, broker.bootstrap_servers):
            ask = asker(servers)
            settings = {"cleanup_policy": "compact", "segment_ms": "1", "min_cleanable_dirty_ratio": "0.01"}
            for name, configs in (("c", settings), ("r", {"retention_ms": "1", "segment_ms": "1"})):
                assert ask(topic_to_make(name, **configs), 5).topics[0].error_code == 0
                wait_for_topic(ask, name, 9)
            send(ask, "c", *((b"%d" % (n % 3), b"%d" % n) for n in range(12)))
            send(ask, "c", (b"0", b"zipped"), (b"1", None), (b"9", b"9"), compression="gzip")
            time.sleep(0.01)
            send(ask, "c", (b"last", b"last"))
            until(lambda ask=ask: len(compacted(ask, "c")) <= 6)
            kept.append(compacted(ask, "c"))
            send(ask, "r", (b"k", b"v"), (b"k", b"w"))
            until(lambda ask=ask: start_of(ask, "r") == 2)
            starts.append(compacted_from(ask, "r", 2))
    assert kept[0] == kept[1]
    assert [key for _, key, _ in kept[0]] == [b"2", b"0", b"1", b"9", b"last"]
    assert starts == [0, 0]


def compacted_from(ask: Ask, topic: str, offset: int) -> int:
    """How many records there are from an offset on."""
    row = ask(fetch(offset, topic=topic), 11).responses[0].partitions[0]
    assert row.error_code == 0
    return len(records.decode(row.records or b""))
