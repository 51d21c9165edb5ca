"""Rows of record batches that are sent without a Delivery each: where they go, and what became of them."""

from __future__ import annotations

import struct
import time
from collections.abc import Iterator

import pyarrow as pa
import pytest

from kwire import Admin, Producer, errors
from kwire._codec import SentRows
from kwire.testing import Broker
from tests.timing import PATIENT, SOON


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker(topics={"t": 3, "u": 1}) as running:
        yield running


def int32s(*numbers: int) -> bytes:
    return struct.pack(f"={len(numbers)}i", *numbers)


def test_rows_go_to_the_topics_and_partitions_that_are_named(broker: Broker) -> None:
    with Producer(broker.bootstrap_servers) as producer:
        rows = SentRows(producer._accumulator)
        batch = pa.record_batch({"value": [b"a", b"b", b"c", None]})
        rows.send(["t", "u"], batch, int32s(0, 1, 0, 1), int32s(2, -1, 0, 0))
        producer.flush()
        assert len(rows) == 4
        assert rows.all_complete
        assert rows.failed() == ([], None)
        assert rows.next_offsets() == {("t", 2): 1, ("t", 0): 1, ("u", 0): 2}
    assert broker.values("t", partition=2) == [b"a"]
    assert broker.values("t", partition=0) == [b"c"]
    assert broker.values("u", partition=0) == [b"b", None]


def test_a_batch_of_rows_is_sent_once(broker: Broker) -> None:
    with Producer(broker.bootstrap_servers) as producer:
        rows = SentRows(producer._accumulator)
        rows.send(["u"], pa.record_batch({"value": [b"a"]}))
        with pytest.raises(RuntimeError, match="already"):
            rows.send(["u"], pa.record_batch({"value": [b"b"]}))


def test_batches_of_rows_share_batches_of_records(broker: Broker) -> None:
    with Producer(broker.bootstrap_servers, linger_ms=1000) as producer:
        sent = [SentRows(producer._accumulator) for _ in range(3)]
        for number, rows in enumerate(sent):
            rows.send(["u"], pa.record_batch({"value": [b"%d-%d" % (number, row) for row in range(10)]}))
        assert not any(rows.all_complete for rows in sent)
        producer.flush()
        assert [rows.next_offsets() for rows in sent] == [{("u", 0): 10}, {("u", 0): 20}, {("u", 0): 30}]


@pytest.mark.parametrize("targets", [int32s(0), int32s(0, 2), int32s(0, -1)])
def test_targets_that_do_not_fit_the_rows_are_refused(broker: Broker, targets: bytes) -> None:
    with Producer(broker.bootstrap_servers) as producer:
        rows = SentRows(producer._accumulator)
        with pytest.raises((ValueError, IndexError)):
            rows.send(["t", "u"], pa.record_batch({"value": [b"a", b"b"]}), targets)


def test_the_row_at_which_sending_stops_is_known(broker: Broker) -> None:
    with Producer(broker.bootstrap_servers, max_request_size=1000) as producer:
        rows = SentRows(producer._accumulator)
        with pytest.raises(errors.LimitError):
            rows.send(["u"], pa.record_batch({"value": [b"a", b"b", b"c" * 2000, b"d"]}))
        assert len(rows) == 2
        producer.flush()
        assert rows.all_complete
    assert broker.values("u", partition=0) == [b"a", b"b"]


def test_failed_rows_are_told_once_and_not_again_by_flush(broker: Broker) -> None:
    producer = Producer(broker.bootstrap_servers, max_block_ms=200, linger_ms=0)
    while producer.send("u", b"the topic is known", partition=0).exception(PATIENT) is not None:
        assert not broker.values("u", partition=0)
    rows = SentRows(producer._accumulator)
    rows.send(["u", "missing-partition"], pa.record_batch({"value": [b"a", b"b", b"c"]}), None, int32s(0, 7, 7))
    with pytest.raises(errors.DeliveryError):
        producer.flush()
    failed, first = rows.failed()
    assert failed == [1, 2]
    assert first is not None
    assert first[:2] == ("u", 7)
    assert isinstance(first[2], errors.UnknownTopicError)
    assert rows.next_offsets() == {("u", 0): 2}
    producer.close()


def test_rows_of_a_batch_that_is_split_are_followed(broker: Broker) -> None:
    with Admin(broker.bootstrap_servers) as admin:
        admin.create_topics({"small": {"num_partitions": 1, "configs": {"max.message.bytes": "1000"}}})
    with Producer(broker.bootstrap_servers, linger_ms=1000) as producer:
        rows = SentRows(producer._accumulator)
        rows.send(["small"], pa.record_batch({"value": [b"%050d" % row for row in range(100)]}))
        producer.flush()
        assert rows.all_complete
        assert rows.failed() == ([], None)
        assert rows.next_offsets() == {("small", 0): 100}
    assert broker.values("small", partition=0) == [b"%050d" % row for row in range(100)]


def test_rows_for_a_topic_not_known_yet_wait_for_its_partitions_once_they_fill_a_batch(broker: Broker) -> None:
    with Producer(broker.bootstrap_servers, batch_size=1000, linger_ms=1000) as producer:
        few, many = SentRows(producer._accumulator), SentRows(producer._accumulator)
        few.send(["u"], pa.record_batch({"value": [b"v"] * 10}))
        many.send(["t"], pa.record_batch({"value": [b"v"] * 10_000}))
        assert producer._accumulator.topics["t"].known == 3
        producer.flush()
        assert sum(many.next_offsets().values()) == 10_000
        assert few.next_offsets() == {("u", 0): 10}


def test_many_rows_for_a_topic_that_never_comes_fail_together_in_the_time_of_one() -> None:
    with Broker(topics={"u": 1}, auto_create_topics=False) as strict:
        producer = Producer(strict.bootstrap_servers, batch_size=1000, max_block_ms=300, buffer_memory=20_000)
        rows = SentRows(producer._accumulator)
        topic_of = int32s(*[row % 2 for row in range(10_000)])
        begun = time.monotonic()
        rows.send(["nowhere", "u"], pa.record_batch({"value": [b"v"] * 10_000}), topic_of)
        assert time.monotonic() - begun < SOON
        with pytest.raises(errors.DeliveryError):
            producer.flush()
        failed, first = rows.failed()
        assert failed == list(range(0, 10_000, 2))
        assert first is not None
        assert first[:2] == ("nowhere", -1)
        assert isinstance(first[2], errors.UnknownTopicError)
        assert rows.next_offsets() == {("u", 0): 5000}
        producer.close()
