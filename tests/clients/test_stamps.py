"""A record's timestamp lies between the call that handed it over and its return; a read from before finds it.

On the embedded broker; `tests/clients/test_producer_kafka.py` does so on Apache's.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest

from kwire import Consumer, Producer, aio, records
from kwire._codec import SentRows
from kwire.engine.calls.offsets import EARLIEST, time_of
from kwire.testing import Broker
from tests.timing import PATIENT

SENDS = 1000


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker(topics={"t": 1}) as running:
        yield running


def now_ms() -> int:
    """The time of day as programs take it."""
    return int(time.time() * 1000)


def stamps(broker: Broker) -> list[int]:
    return [record.timestamp for record in records.decode(broker.record_set("t", partition=0))]


def one_by_one(producer: Producer) -> None:
    producer.send("t", b"x")


def many(producer: Producer) -> None:
    producer.send_many("t", [b"x"])


def columns(producer: Producer) -> None:
    producer.send_many("t", pa.table({"value": [b"x"]}))


def columns_without_times(producer: Producer) -> None:
    times = pa.array([None], pa.timestamp("ms"))
    producer.send_many("t", pa.table({"value": [b"x"], "timestamp": times}))


def rows(producer: Producer) -> None:
    """As Spark's writer."""
    SentRows(producer._accumulator).send(["t"], pa.record_batch({"value": [b"x"]}))


@pytest.mark.parametrize("send", [one_by_one, many, columns, columns_without_times, rows])
def test_no_record_is_stamped_before_its_call_or_after_it(broker: Broker, send: Any) -> None:
    spans = []
    with Producer(broker.bootstrap_servers) as producer:
        producer.send("t", b"first").result(PATIENT)
        for _ in range(SENDS):
            before = now_ms()
            send(producer)
            spans.append((before, now_ms()))
    stamped = stamps(broker)[1:]
    assert len(stamped) == SENDS
    assert [s for s, (before, after) in zip(stamped, spans, strict=True) if not before <= s <= after] == []


def test_nor_on_an_event_loop(broker: Broker) -> None:
    spans = []

    async def main() -> None:
        async with aio.Producer(broker.bootstrap_servers) as producer:
            for _ in range(SENDS):
                before = now_ms()
                delivery = producer.send("t", b"x")
                spans.append((before, now_ms()))
                await delivery

    asyncio.run(main())
    assert [s for s, (before, after) in zip(stamps(broker), spans, strict=True) if not before <= s <= after] == []


def test_nor_in_a_transaction(broker: Broker) -> None:
    with Producer(broker.bootstrap_servers, transactional_id="t") as producer, producer.transaction():
        before = now_ms()
        metadata = producer.send("t", b"x")
        after = now_ms()
        assert before <= metadata.result(PATIENT).timestamp <= after


@pytest.mark.parametrize("moment", [now_ms, datetime.now, lambda: datetime.now(UTC)])
def test_a_read_from_a_moment_finds_what_was_sent_after_it(broker: Broker, moment: Any) -> None:
    found = []
    with Producer(broker.bootstrap_servers) as producer, Consumer(broker.bootstrap_servers) as consumer:
        for _ in range(100):
            since = moment()
            offset = producer.send("t", b"x").result(PATIENT).offset
            at = consumer.offsets_for_times({("t", 0): since})["t", 0]
            found.append(at is not None and at.offset <= offset)
    assert found == [True] * 100


def test_a_consumer_assigned_at_a_moment_or_sent_to_it_reads_what_was_sent_after_it(broker: Broker) -> None:
    with Producer(broker.bootstrap_servers) as producer, Consumer(broker.bootstrap_servers) as consumer:
        for number in range(20):
            since = datetime.now(UTC)
            offset = producer.send("t", b"x").result(PATIENT).offset
            if number % 2:
                consumer.seek(("t", 0), since)
            else:
                consumer.assign([])
                consumer.assign([("t", 0)], at={("t", 0): since})
            assert offset in [record.offset for record in consumer.poll(timeout=PATIENT)]


def test_a_batch_of_a_lazy_stream_is_stamped_when_it_is_made(broker: Broker) -> None:
    made: list[int] = []

    def batches() -> Iterator[pa.RecordBatch]:
        for _ in range(3):
            time.sleep(0.02)
            made.append(now_ms())
            yield pa.record_batch({"value": [b"x"]})

    reader = pa.RecordBatchReader.from_batches(pa.schema({"value": pa.binary()}), batches())
    with Producer(broker.bootstrap_servers) as producer:
        producer.send_many("t", reader)
    assert [stamp for stamp, since in zip(stamps(broker), made, strict=True) if stamp < since] == []


def test_stamps_of_a_partition_do_not_go_back_among_threads_that_wait_for_room(broker: Broker) -> None:
    """Columns are stamped together where nothing comes between; a record that waits is stamped when it has its room."""
    table = pa.table({"value": [b"x" * 500] * 40})
    with Producer(broker.bootstrap_servers, buffer_memory=20_000, batch_size=2_000, linger_ms=0) as producer:
        work = [lambda: producer.send("t", b"y" * 700), lambda: producer.send_many("t", table)]

        def send(one: Any) -> None:
            for _ in range(50):
                one()

        threads = [threading.Thread(target=send, args=(one,)) for one in work * 2]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    found = stamps(broker)
    assert len(found) == 2 * 50 * 41
    assert [(a, b) for a, b in pairwise(found) if a > b] == []


def test_the_timestamp_of_a_row_that_is_that_of_the_call_counts_as_given() -> None:
    """A leader whose format has no timestamps refuses the record, rather than to lose what was given."""
    times = pa.array([1_700_000_000_000, None], pa.timestamp("ms"))
    with Broker(release="0.9.0.1", topics={"t": 1}) as old, Producer(old.bootstrap_servers) as producer:
        producer._accumulator.set_clock(time.monotonic(), 1_700_000_000_000)
        given, stamped = producer.send_many("t", pa.table({"value": [b"x", b"y"], "timestamp": times}))
        assert "timestamp" in str(given.exception(PATIENT))
        assert stamped.exception(PATIENT) is None


@pytest.mark.parametrize(
    ("moment", "expected"),
    [
        (datetime(2026, 1, 1, 0, 0, 0, 999_999, UTC), 1_767_225_600_999),
        (datetime(2026, 1, 1, 0, 0, 0, 500, UTC), 1_767_225_600_000),
        (datetime(1969, 12, 31, 23, 59, 59, 999_000, UTC), 0),
        (datetime.min.replace(tzinfo=UTC) + timedelta(days=1), 0),
        ("earliest", EARLIEST),
    ],
)
def test_a_moment_is_the_millisecond_that_it_lies_in(moment: Any, expected: int) -> None:
    assert time_of(moment) == expected
