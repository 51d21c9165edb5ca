"""Compacted topics of the embedded broker: the last record of each key stays, where it was."""

from __future__ import annotations

import random
from typing import Any

import pytest

from kwire import Consumer, records
from kwire.errors import ConfigError
from kwire.testing import Broker
from kwire.testing.clock import Clock
from kwire.testing.records.record_sets import entries_of
from tests.testing.groups.test_share_groups import Reader, Shared
from tests.testing.state.transaction_requests import TransactionalProducer, broker_of
from tests.timing import PATIENT

COMPACT = {"cleanup.policy": "compact"}
Pairs = list[tuple[bytes | None, bytes | None]]


def frozen(settings: dict[str, str] | None = None, **options: Any) -> Broker:
    broker = Broker(clock=Clock(frozen=True), **options)
    broker.create_topic("t", settings=COMPACT | (settings or {}))
    return broker


def append(broker: Broker, *pairs: tuple[bytes, bytes | None], **encoding: Any) -> None:
    stamp = broker.clock.time_ms()
    broker.append("t", records.encode([(value, key, stamp) for key, value in pairs], **encoding))


def content(broker: Broker) -> list[tuple[int, bytes | None, bytes | None]]:
    return [(each.offset, each.key, each.value) for each in records.decode(broker.record_set("t"))]


@pytest.mark.parametrize("compression", ["none", "gzip", "zstd"])
def test_the_last_record_of_each_key_stays_at_its_offset(compression: str) -> None:
    with frozen() as broker:
        append(broker, (b"a", b"1"), (b"b", b"1"), (b"a", b"2"), compression=compression)
        append(broker, (b"b", b"2"), (b"c", b"1"), compression=compression)
        broker.compact("t")
        assert content(broker) == [(2, b"a", b"2"), (3, b"b", b"2"), (4, b"c", b"1")]
        assert broker.offsets("t") == (0, 5)
        [first, _] = records.decode(broker.record_set("t")).batches
        assert (first.base_offset, first.last_offset, first.compression) == (0, 2, compression)
        append(broker, (b"a", b"3"))
        broker.compact()
        assert content(broker) == [(3, b"b", b"2"), (4, b"c", b"1"), (5, b"a", b"3")]


@pytest.mark.parametrize(("release", "magic", "compression"), [
    ("0.9.0.1", 0, "none"), ("0.9.0.1", 0, "gzip"), ("0.10.2.2", 1, "none"), ("0.10.2.2", 1, "gzip"),
])  # fmt: skip
def test_message_sets_are_compacted(release: str, magic: int, compression: str) -> None:
    with frozen(release=release) as broker:
        for n in range(3):
            pairs = [(b"a", b"%d" % n), (b"b", b"%d" % n)]
            stamp = broker.clock.time_ms() if magic else None
            items = [(value, key, stamp) for key, value in pairs]
            broker.append("t", records.encode(items, magic=magic, compression=compression))
        broker.compact("t")
        assert content(broker) == [(4, b"a", b"2"), (5, b"b", b"2")]


def test_a_reader_goes_over_the_gaps() -> None:
    with Broker() as broker:
        broker.create_topic("t", settings=COMPACT)
        for n in range(50):
            append(broker, (b"%d" % (n % 7), b"%d" % n))
        broker.compact("t")
        with Consumer(broker.bootstrap_servers, auto_offset_reset="earliest") as consumer:
            consumer.assign([("t", 0)])
            seen: list[bytes | None] = []
            while len(seen) < 7:
                seen += consumer.poll(timeout=PATIENT).values()
            assert seen == [b"%d" % n for n in range(43, 50)]
            consumer.seek(("t", 0), 20)
            assert consumer.poll(timeout=PATIENT).values()[0] == b"43"


def test_a_record_without_a_value_goes_after_its_time() -> None:
    with frozen({"delete.retention.ms": "1000"}) as broker:
        append(broker, (b"a", b"1"), (b"b", b"1"))
        append(broker, (b"a", None))
        append(broker, (b"c", b"1"))
        broker.compact("t")
        assert content(broker) == [(1, b"b", b"1"), (2, b"a", None), (3, b"c", b"1")]
        broker.clock.advance(2)
        broker.compact("t")
        assert content(broker) == [(1, b"b", b"1"), (3, b"c", b"1")]


def test_what_is_too_young_stays() -> None:
    with frozen({"min.compaction.lag.ms": "1000", "segment.ms": "100"}) as broker:
        for n in range(4):
            append(broker, (b"a", b"%d" % n))
            broker.clock.advance(0.5)
        broker.compact("t")
        assert [value for _, _, value in content(broker)] == [b"2", b"3"]


def test_the_cleaner_runs_by_the_clock_and_leaves_the_last_segment() -> None:
    with frozen({"segment.ms": "500", "min.cleanable.dirty.ratio": "0.5"}) as broker:
        append(broker, (b"a", b"1"))
        append(broker, (b"a", b"2"))
        broker.clock.advance(1)
        append(broker, (b"a", b"3"))
        append(broker, (b"a", b"4"))
        assert len(content(broker)) == 4
        broker.clock.advance(16)
        assert content(broker) == [(1, b"a", b"2"), (2, b"a", b"3"), (3, b"a", b"4")]


def test_the_cleaner_waits_until_enough_is_dirty() -> None:
    with frozen({"segment.ms": "500", "min.cleanable.dirty.ratio": "0.9", "max.compaction.lag.ms": "60000"}) as broker:
        for n in range(20):
            append(broker, (b"%d" % n, b"first"))
        broker.clock.advance(1)
        append(broker, (b"x", b"1"))
        broker.clock.advance(16)
        broker.clock.advance(1)
        append(broker, (b"x", b"2"))
        broker.clock.advance(16)
        assert len(content(broker)) == 22
        broker.clock.advance(60)
        append(broker, (b"y", b"1"))
        broker.clock.advance(20)
        assert len(content(broker)) == 22
        assert [key for _, key, _ in content(broker)].count(b"x") == 1


def test_an_open_transaction_holds_compaction_back_and_an_aborted_one_goes() -> None:
    broker = broker_of()
    broker.cluster.change_topic(broker.cluster.topics["orders"], broker.cluster.settings_for(COMPACT))
    partition = broker.cluster.topics["orders"].partitions[0]
    producer = TransactionalProducer(broker, v2=True, key=b"k")
    producer.write(b"a")
    producer.commit()
    producer.write(b"b")
    producer.abort()
    producer.write(b"c")
    broker.cluster.upkeep.compact(partition, partition.log.end_offset)
    held = [record.value for record in records.decode(partition.log.whole()) if record.key == b"k"]
    assert held == [b"a", b"c"]
    producer.commit()
    broker.cluster.upkeep.compact(partition, partition.log.end_offset)
    held = [record.value for record in records.decode(partition.log.whole()) if record.key == b"k"]
    assert held == [b"c"]
    broker.cluster.truncate(partition, partition.log.end_offset)


def test_a_share_group_is_done_with_gaps() -> None:
    group = Shared()
    cluster = group.broker.cluster
    partition = cluster.topics["orders"].partitions[0]
    keyed = [(b"%d" % n, b"k") for n in range(10)]
    for item in keyed:
        partition.append(entries_of(records.encode([(*item, 1000)])), None)
    cluster.change_topic(partition.topic, cluster.settings_for(COMPACT))
    cluster.upkeep.compact(partition, partition.log.end_offset)
    assert Reader(group, "a").acquired() == [(19, 19, 1)]
    assert cluster.groups.shares.of_group("g")[0].start == 19


@pytest.mark.parametrize("seed", range(20))
def test_any_log_keeps_the_last_of_each_key(seed: int) -> None:
    rng = random.Random(seed)
    with frozen() as broker:
        last: dict[bytes, tuple[int, bytes | None]] = {}
        end = 0
        for _ in range(rng.randint(5, 60)):
            pairs = [
                (b"%d" % rng.randrange(6), rng.choice((None, b"v%d" % rng.randrange(99))))
                for _ in range(rng.randint(1, 5))
            ]
            append(broker, *pairs, compression=rng.choice(("none", "gzip")))
            for key, value in pairs:
                last[key] = end, value
                end += 1
            if rng.random() < 0.2:
                broker.compact("t")
        broker.compact("t")
        found = {key: (offset, value) for offset, key, value in content(broker)}
        assert found == last
        assert broker.offsets("t") == (0, end)
        log = broker._state().topics["t"].partitions[0].log
        for offset in range(end):
            first = records.decode(log.read(offset, 1 << 20, first_whole=True))
            expected = min(at for at, _ in last.values() if at >= offset)
            assert min(each.offset for each in first if each.offset >= offset) == expected


def test_only_compacted_topics_are_compacted() -> None:
    with Broker(topics=["plain"]) as broker:
        broker.append("plain", [(b"1", b"k"), (b"2", b"k")])
        broker.compact()
        assert broker.values("plain") == [b"1", b"2"]
        with pytest.raises(ConfigError, match=r"cleanup\.policy=compact"):
            broker.compact("plain")
