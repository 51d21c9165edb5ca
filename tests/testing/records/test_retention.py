"""What time and size do to the logs of the embedded broker: retention by time, in whole segments."""

from __future__ import annotations

import pytest

from kwire.errors import ConfigError
from kwire.testing import Broker
from kwire.testing.clock import Clock
from tests.testing.client import Client
from tests.testing.wire import fetch

DAY_S = 86_400
DAY_MS = 1000 * DAY_S


def append(broker: Broker, *values: bytes, age_ms: int = 0, topic: str = "t") -> None:
    stamp = broker.clock.time_ms() - age_ms
    broker.append(topic, [(value, b"k", stamp) for value in values])


def test_records_go_once_they_are_older_than_retention_allows() -> None:
    with Broker(clock=Clock(frozen=True)) as broker:
        broker.create_topic("t", settings={"retention.ms": "1000"})
        append(broker, b"a", b"b")
        broker.clock.advance(0.9)
        assert broker.values("t") == [b"a", b"b"]
        broker.clock.advance(0.2)
        assert (broker.values("t"), broker.offsets("t")) == ([], (2, 2))
        append(broker, b"c")
        assert (broker.values("t"), broker.offsets("t")) == ([b"c"], (2, 3))


def test_a_segment_goes_as_a_whole_with_its_newest_record() -> None:
    with Broker(clock=Clock(frozen=True)) as broker:
        broker.create_topic("t", settings={"retention.ms": "1000", "segment.ms": "500"})
        append(broker, b"old")
        broker.clock.advance(0.4)
        append(broker, b"in the same segment")
        broker.clock.advance(0.4)
        append(broker, b"in the next")
        broker.clock.advance(0.5)
        assert broker.values("t") == [b"old", b"in the same segment", b"in the next"]
        broker.clock.advance(0.2)
        assert broker.values("t") == [b"in the next"]


def test_a_segment_ends_at_its_size() -> None:
    with Broker(clock=Clock(frozen=True), max_message_bytes=2**21) as broker:
        broker.create_topic("t", settings={"retention.ms": "1000", "segment.bytes": str(2**20)})
        append(broker, b"x" * 600_000)
        broker.clock.advance(0.8)
        append(broker, b"y" * 600_000)
        broker.clock.advance(0.4)
        assert [value and value[:1] for value in broker.values("t")] == [b"y"]


def test_nobody_has_to_turn_the_clock() -> None:
    with Broker(log_retention_check_interval_ms=1) as broker, Client(broker) as reader:
        broker.create_topic("t", settings={"retention.ms": "1"})
        append(broker, b"a", age_ms=5)
        reader.send(fetch(1, topic="t", max_wait_ms=60_000, min_bytes=1), 11)
        append(broker, b"b", age_ms=5)
        reader.receive()
        while broker.values("t"):
            pass
        assert broker.offsets("t") == (2, 2)


def test_records_are_looked_at_as_often_as_the_broker_is_told() -> None:
    with Broker(clock=Clock(frozen=True), log_retention_check_interval_ms=60_000) as broker:
        broker.create_topic("t", settings={"retention.ms": "1000"})
        append(broker, b"a", age_ms=5000)
        due = broker._state().topics["t"].partitions[0].upkeep
        assert due is not None
        assert 0 < due.when - broker.clock.now() <= 60
        assert broker.values("t") == [b"a"]


def test_the_default_counts_from_when_a_record_came() -> None:
    with Broker(clock=Clock(frozen=True), topics=["t"]) as broker:
        append(broker, b"of last year", age_ms=365 * DAY_MS)
        broker.clock.advance(6 * DAY_S)
        assert broker.values("t") == [b"of last year"]
        broker.clock.advance(2 * DAY_S)
        assert broker.values("t") == []


def test_a_broker_may_say_how_long_its_topics_keep_records() -> None:
    with Broker(clock=Clock(frozen=True), topics=["t"], log_retention_ms=5000) as broker:
        broker.create_topic("for-ever", settings={"retention.ms": "-1"})
        append(broker, b"a")
        append(broker, b"b", topic="for-ever")
        broker.clock.advance(6)
        assert (broker.values("t"), broker.values("for-ever")) == ([], [b"b"])
    with pytest.raises(ConfigError, match="log_retention_ms 'long'"):
        Broker(log_retention_ms="long")


def test_compacted_topics_keep_records_of_any_age() -> None:
    with Broker(clock=Clock(frozen=True)) as broker:
        broker.create_topic("t", settings={"retention.ms": "1000", "cleanup.policy": "compact"})
        broker.create_topic("both", settings={"retention.ms": "1000", "cleanup.policy": "compact,delete"})
        append(broker, b"a")
        append(broker, b"a", topic="both")
        broker.clock.advance(5)
        assert (broker.values("t"), broker.values("both")) == ([b"a"], [])


def test_a_topic_that_is_deleted_has_no_timer_left() -> None:
    with Broker(clock=Clock(frozen=True)) as broker:
        broker.create_topic("t", settings={"retention.ms": "1000"})
        append(broker, b"a")
        partition = broker._state().topics["t"].partitions[0]
        broker.delete_topic("t")
        assert partition.upkeep is None
        broker.clock.advance(5)
        assert broker._state().timers.next_due is None
