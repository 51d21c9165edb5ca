"""Consumer against the embedded broker: the public names, what they give, and what they say when they cannot."""

from __future__ import annotations

import os
import pickle
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from itertools import islice
from typing import Any

import pytest

from kwire import Admin, Consumer, Producer, TopicPartition, errors, records
from kwire.engine.consumer import poll_patience
from kwire.engine.settings.clients import AdminSettings, ClientSettings, ConsumerSettings, ProducerSettings
from kwire.testing import Broker
from tests.thorough import THOROUGH
from tests.timing import PATIENT, SOON, raised_at_last

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
OLD = ["0.8.2.2", "0.9.0.1", "0.10.2.2"]
RELEASES = [*OLD, "3.9.2", "4.4.0"]


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker(topics={"t": 2}) as running:
        yield running


def consumer_of(broker: Broker, **settings: Any) -> Consumer:
    return Consumer(broker.bootstrap_servers, **{"auto_offset_reset": "earliest", **settings})


def read(consumer: Consumer, count: int, seconds: float = PATIENT) -> list[Any]:
    found: list[Any] = []
    give_up = time.monotonic() + seconds
    while len(found) < count and time.monotonic() < give_up:
        found.extend(consumer.poll(timeout=0.5))
    assert len(found) == count
    return found


@pytest.mark.parametrize("release", RELEASES)
def test_records_come_with_their_place(release: str) -> None:
    with Broker(release=release, topics={"t": 2}) as broker:
        broker.append("t", [(b"a", b"k"), (b"b", None)])
        broker.append("t", [b"c"], partition=1)
        with consumer_of(broker) as consumer:
            consumer.subscribe(["t"])
            found = read(consumer, 3)
    assert sorted((r.topic, r.partition, r.offset, r.key, r.value) for r in found) == [
        ("t", 0, 0, b"k", b"a"),
        ("t", 0, 1, None, b"b"),
        ("t", 1, 0, None, b"c"),
    ]


def test_a_poll_gives_objects_and_columns(broker: Broker) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    broker.append("t", [(b"a", b"k", 1000, [("h", b"1"), ("h", None)]), (None, None, 2000, ())])
    broker.append("t", [(b"c", None, 3000, ())], partition=1)
    with consumer_of(broker) as consumer:
        consumer.assign([("t", 0), ("t", 1)])
        deadline = time.monotonic() + PATIENT
        time.sleep(0.1)
        got = consumer.poll(timeout=PATIENT)
        while len(got) < 3 and time.monotonic() < deadline:
            consumer.seek_to_beginning()
            time.sleep(0.1)
            got = consumer.poll(timeout=PATIENT)
    assert len(got) == 3
    assert got
    assert sorted(map(str, got.values())) == sorted(map(str, [b"a", None, b"c"]))
    assert len(got.keys()) == 3
    assert {tp: len(part) for tp, part in got.by_partition().items()} == {("t", 0): 2, ("t", 1): 1}
    table = got.to_arrow()
    assert table.schema.names == [
        "topic",
        "partition",
        "offset",
        "timestamp",
        "timestamp_type",
        "key",
        "value",
        "headers",
    ]
    row = next(row for row in table.to_pylist() if row["value"] == b"a")
    assert row == {
        "topic": "t",
        "partition": 0,
        "offset": 0,
        "timestamp": 1000,
        "timestamp_type": 0,
        "key": b"k",
        "value": b"a",
        "headers": [{"key": "h", "value": b"1"}, {"key": "h", "value": None}],
    }
    assert got.to_arrow(["value"]).schema.names == ["value"]
    assert pyarrow.record_batch(got).num_rows == 3
    first = got[0]
    assert first == next(iter(got))
    assert got[-1].topic == "t"
    assert pickle.loads(pickle.dumps(first)) == first
    assert first.copy() == first
    assert "t-" in repr(got)
    assert "offset=" in repr(first)
    with pytest.raises(IndexError):
        got[3]


def test_slices_of_what_a_poll_returns(broker: Broker) -> None:
    broker.append("t", [b"%d" % number for number in range(3)])
    broker.append("t", [b"%d" % number for number in range(3, 5)], partition=1)
    with consumer_of(broker) as consumer:
        consumer.assign([T0, T1])
        got = consumer.poll(timeout=PATIENT)
        while len(got) < 5:
            consumer.seek_to_beginning()
            got = consumer.poll(timeout=PATIENT)
    values = got.values()
    for start, stop in ((0, 2), (2, 4), (1, None), (None, -1), (4, 4), (-2, None), (9, 12)):
        cut = got[start:stop]
        assert cut.values() == values[start:stop]
        assert [record.value for record in cut] == values[start:stop]
    assert set(got[:3].by_partition()) < set(got.by_partition())
    with pytest.raises(ValueError, match="step 1"):
        got[::2]


def test_columns_without_pyarrow_say_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    made = records.decode(records.encode([b"v"]))
    monkeypatch.delitem(sys.modules, "pyarrow", raising=False)
    monkeypatch.setattr(sys, "meta_path", [])
    with pytest.raises(ImportError, match=r'pip install "kwire\[arrow\]"') as caught:
        made.to_arrow()
    assert caught.value.name == "pyarrow"


def test_reading_begins_where_assign_says(broker: Broker) -> None:
    for milliseconds in (1000, 2000, 3000):
        broker.append("t", [records.Record(b"%d" % milliseconds, None, milliseconds)])
    for at, first in (
        ("earliest", b"1000"),
        (1, b"2000"),
        (datetime.fromtimestamp(2.5, UTC), b"3000"),
        (datetime.fromtimestamp(1.5), b"2000"),
    ):
        with Consumer(broker.bootstrap_servers) as consumer:
            consumer.assign([T0], at={T0: at})
            assert consumer.poll(timeout=PATIENT)[0].value == first
    with Consumer(broker.bootstrap_servers, auto_offset_reset="earliest") as consumer:
        consumer.assign([T0], at={T0: "latest"})
        assert consumer.position(T0) == 3


def test_records_outlive_their_consumer(broker: Broker) -> None:
    broker.append("t", [b"kept" * 100])
    with consumer_of(broker) as consumer:
        consumer.assign([T0])
        got = consumer.poll(timeout=PATIENT)
    assert got.values() == [b"kept" * 100]


def test_a_limit_and_the_rest(broker: Broker) -> None:
    broker.append("t", [b"%d" % number for number in range(5)])
    with consumer_of(broker, max_poll_records=2) as consumer:
        consumer.assign([T0])
        assert consumer.poll(timeout=PATIENT).values() == [b"0", b"1"]
        assert consumer.position(T0) == 2
        assert consumer.poll(timeout=PATIENT, max_records=1).values() == [b"2"]
        assert consumer.poll(timeout=PATIENT).values() == [b"3", b"4"]
        assert not consumer.poll(timeout=0)
        with pytest.raises(errors.ConfigError, match="max_records=0"):
            consumer.poll(max_records=0)


def test_seek_goes_where_it_is_told(broker: Broker) -> None:
    for number in range(5):
        broker.append("t", [(b"%d" % number, None, 1_000_000 * number, ())])
    with consumer_of(broker) as consumer:
        consumer.assign([T0])
        consumer.seek(T0, 3)
        assert consumer.position(T0) == 3
        assert consumer.poll(timeout=PATIENT)[0].value == b"3"
        consumer.seek(T0, datetime.fromtimestamp(1500, UTC))
        assert consumer.poll(timeout=PATIENT)[0].value == b"2"
        consumer.seek_to_end()
        assert consumer.position(T0) == 5
        consumer.seek(T0, "earliest")
        assert consumer.position(T0) == 0
        consumer.seek(T0, datetime.fromtimestamp(99_999, UTC))
        assert consumer.position(T0) == 5
        assert consumer.beginning_offsets([T0]) == {T0: 0}
        assert consumer.end_offsets([("t", 0), ("t", 1)]) == {T0: 5, ("t", 1): 0}
        found = consumer.offsets_for_times({T0: 2_500_000, ("t", 1): 0})
        assert found[T0] is not None
        assert found[T0][:2] == (3, 3_000_000)
        assert found[TopicPartition("t", 1)] is None


@pytest.mark.parametrize("release", ["0.8.2.2", "0.9.0.1"])
def test_times_are_refused_where_the_broker_knows_none(release: str) -> None:
    with Broker(release=release, topics={"t": 1}) as broker, consumer_of(broker) as consumer:
        with pytest.raises(errors.BrokerError, match=r"t-0: brokers before Kafka 0\.10\.1 cannot look") as caught:
            consumer.offsets_for_times({T0: 0})
        assert caught.value.code == 35
        assert consumer.end_offsets([T0]) == {T0: 0}


def test_latest_is_the_default(broker: Broker) -> None:
    broker.append("t", [b"old"])
    with Consumer(broker.bootstrap_servers) as consumer:
        consumer.assign([T0])
        assert consumer.position(T0) == 1
        broker.append("t", [b"new"])
        assert consumer.poll(timeout=PATIENT).values() == [b"new"]


def test_a_long_poll_ends_as_soon_as_something_comes(broker: Broker) -> None:
    broker.append("t", [b"there"], partition=1)
    with consumer_of(broker, fetch_max_wait_ms=30_000) as consumer:
        consumer.assign([T0])
        assert not consumer.poll(timeout=0.3)
        late = threading.Timer(0.2, broker.append, ("t", [b"now"]))
        late.start()
        begun = time.monotonic()
        assert consumer.poll(timeout=PATIENT).values() == [b"now"]
        assert 0.1 < time.monotonic() - begun < SOON
        late.join()


def test_a_poll_in_vain_ends_at_its_timeout(broker: Broker) -> None:
    with consumer_of(broker) as consumer:
        consumer.assign([T0])
        begun = time.monotonic()
        assert not consumer.poll(timeout=0.3)
        assert time.monotonic() - begun >= 0.3


def test_iteration_ends_at_the_offsets_given(broker: Broker) -> None:
    for partition in range(2):
        broker.append("t", [b"%d" % number for number in range(10)], partition=partition)
    with consumer_of(broker, fetch_max_wait_ms=30_000) as consumer:
        consumer.assign([("t", 0), ("t", 1)], until={("t", 0): 4, ("t", 1): 7})
        begun = time.monotonic()
        got = [(r.partition, r.offset) for r in consumer]
        assert time.monotonic() - begun < SOON
        assert consumer.done()
    assert sorted(got) == [(0, offset) for offset in range(4)] + [(1, offset) for offset in range(7)]


def test_reading_goes_on_where_until_ended_it(broker: Broker) -> None:
    broker.append("t", records.encode([b"%d" % number for number in range(10)]))
    with consumer_of(broker) as consumer:
        consumer.assign([T0], until={T0: 7})
        assert [record.offset for record in consumer] == list(range(7))
        assert consumer.position(T0) == 7
        consumer.assign([T0])
        assert [record.offset for record in consumer.poll(timeout=PATIENT)] == [7, 8, 9]


def test_until_holds_for_what_was_fetched_before(broker: Broker) -> None:
    broker.append("t", records.encode([b"%d" % number for number in range(10)]))
    with consumer_of(broker) as consumer:
        consumer.assign([T0])
        assert len(consumer.poll(timeout=PATIENT, max_records=2)) == 2
        consumer.assign([T0], until={T0: 5})
        assert [record.offset for record in consumer] == [2, 3, 4]


def numbered(broker: Broker) -> Consumer:
    """Both partitions hold 0 to 29, in batches of ten; a poll gives what there is of both."""
    for partition in (0, 1):
        for first in (0, 10, 20):
            values = [b"%d" % number for number in range(first, first + 10)]
            broker.append("t", records.encode(values), partition=partition)
    consumer = consumer_of(broker)
    consumer.assign([("t", 0), ("t", 1)])
    return consumer


def test_leaving_a_loop_keeps_the_rest_for_the_next(broker: Broker) -> None:
    got: dict[int, list[int]] = {0: [], 1: []}
    with numbered(broker) as consumer:
        for count in (1, 3, 11, 7, 9, 2):
            for record in islice(consumer, count):
                got[record.partition].append(record.offset)
            assert [consumer.position(("t", partition)) for partition in (0, 1)] == [len(got[0]), len(got[1])]
        while len(got[0]) + len(got[1]) < 60:
            for tp, part in consumer.poll(timeout=PATIENT).by_partition().items():
                got[tp.partition] += [record.offset for record in part]
    assert got == {0: [*range(30)], 1: [*range(30)]}


def test_an_exception_in_a_loop_loses_nothing(broker: Broker) -> None:
    with numbered(broker) as consumer:

        def work() -> None:
            for record in consumer:
                1 // (3 - record.offset)

        with pytest.raises(ZeroDivisionError):
            work()
        assert next(iter(consumer)).offset == 4


def test_in_a_loop_positions_seeks_and_pauses_count_from_the_next_record_on(broker: Broker) -> None:
    seen: dict[int, list[int]] = {0: [], 1: []}
    with numbered(broker) as consumer:
        for record in consumer:
            seen[record.partition].append(record.offset)
            place = ("t", record.partition)
            assert consumer.position(place) == record.offset + 1
            if seen[0][-1:] == [2]:
                consumer.seek(T0, 25)
            if seen[1][-1:] == [4]:
                consumer.pause([T1])
            if seen[0][-1:] == [29] and seen[1][-1:] == [4]:
                break
        consumer.resume([T1])
        assert next(iter(consumer)).offset == 5
    assert seen == {0: [0, 1, 2, 25, 26, 27, 28, 29], 1: [0, 1, 2, 3, 4]}


def test_two_loops_at_once_share_the_records(broker: Broker) -> None:
    with numbered(broker) as consumer:
        pairs = list(islice(zip(consumer, consumer, strict=False), 30))
    got = sorted((record.partition, record.offset) for pair in pairs for record in pair)
    assert got == [(partition, offset) for partition in (0, 1) for offset in range(30)]


def test_wakeup_ends_a_poll_of_another_thread(broker: Broker) -> None:
    with consumer_of(broker) as consumer:
        consumer.assign([T0])
        threading.Timer(0.1, consumer.wakeup).start()
        begun = time.monotonic()
        assert not consumer.poll(timeout=PATIENT)
        assert time.monotonic() - begun < SOON
        consumer.wakeup()
        assert not consumer.poll(timeout=PATIENT)


def test_a_second_thread_is_told(broker: Broker) -> None:
    with consumer_of(broker) as consumer:
        consumer.assign([T0])
        thread = threading.Thread(target=consumer.poll, args=(0.5,))
        thread.start()
        time.sleep(0.1)
        with pytest.raises(errors.ConcurrentUseError, match="another thread"):
            consumer.poll()
        thread.join()
        consumer.poll()


def test_pause_and_resume(broker: Broker) -> None:
    broker.append("t", [b"0"])
    broker.append("t", [b"1"], partition=1)
    with consumer_of(broker) as consumer:
        consumer.assign([("t", 0), ("t", 1)])
        consumer.pause([T0])
        assert consumer.paused() == {T0}
        assert read(consumer, 1)[0].partition == 1
        assert not consumer.poll(timeout=0.2)
        consumer.resume([T0])
        assert read(consumer, 1)[0].partition == 0


def test_partitions_added_later_are_read_too() -> None:
    with Broker(auto_create_topics=False) as broker, consumer_of(broker) as consumer:
        consumer.subscribe(["later"])
        assert not consumer.poll(timeout=0.2)
        broker.create_topic("later", 3)
        for partition in range(3):
            broker.append("later", [b"x"], partition=partition)
        assert {r.partition for r in read(consumer, 3)} == {0, 1, 2}
        assert consumer.assignment() == {TopicPartition("later", partition) for partition in range(3)}
        assert consumer.partitions_for("later") == sorted(consumer.assignment())
        consumer.unsubscribe()
        assert consumer.assignment() == set()


def test_a_broker_that_restarts_is_found_again() -> None:
    with Broker(topics={"t": 1}) as broker:
        broker.append("t", [b"before"])
        port = broker.port
        with Consumer(broker.bootstrap_servers, auto_offset_reset="earliest") as consumer:
            consumer.assign([T0])
            assert consumer.poll(timeout=PATIENT).values() == [b"before"]
            broker.stop()
            assert not consumer.poll(timeout=0.3)
            with Broker(port=port, topics={"t": 1}) as again:
                again.append("t", [b"lost", b"after"])
                assert consumer.poll(timeout=PATIENT).values() == [b"after"]


@pytest.mark.parametrize("fault", ["close", "truncate", "delay"])
def test_faults_of_the_connection_lose_nothing(broker: Broker, fault: str) -> None:
    with consumer_of(broker) as consumer:
        consumer.assign([T0])
        for number in range(10 if THOROUGH else 4):
            broker.append("t", [b"%d" % number])
            if fault == "close":
                broker.faults.close("Fetch")
            elif fault == "truncate":
                broker.faults.truncate("Fetch", 20)
            else:
                broker.faults.delay("Fetch", 0.05)
            assert [r.value for r in read(consumer, 1)] == [b"%d" % number]


def test_stale_metadata_is_refreshed(broker: Broker) -> None:
    broker.append("t", [b"0"])
    for code in (6, 74, 3, 100):
        broker.faults.error("Fetch", code)
        with consumer_of(broker) as consumer:
            consumer.assign([T0])
            assert [r.value for r in read(consumer, 1)] == [b"0"]


def test_no_broker_is_said_in_time() -> None:
    with Consumer("127.0.0.1:1,[::1]:1", default_api_timeout_ms=1000) as consumer:
        consumer.assign([T0])
        assert not consumer.poll(timeout=0.1)
        with pytest.raises(errors.ConnectError) as caught:
            consumer.poll(timeout=PATIENT)
        assert set(caught.value.causes) == {"127.0.0.1:1", "[::1]:1"}
        raised_at_last(lambda: consumer.end_offsets([T0], timeout=0.3), errors.ConnectError, "127.0.0.1:1")
        raised_at_last(lambda: consumer.position(T0, timeout=0.3), errors.ConnectError, "127.0.0.1:1")


def test_a_topic_that_does_not_exist_is_named() -> None:
    with Broker(auto_create_topics=False) as broker:
        with consumer_of(broker, default_api_timeout_ms=300) as consumer:
            with pytest.raises(errors.UnknownTopicError, match="'nowhere' does not exist; asked: 127"):
                consumer.end_offsets([("nowhere", 0)])
            consumer.assign([("nowhere", 0)])
            consumer.poll(timeout=0.1)
            with pytest.raises(errors.UnknownTopicError, match="'nowhere'"):
                consumer.poll(timeout=PATIENT)
            with pytest.raises(errors.UnknownTopicError, match="'elsewhere'"):
                consumer.partitions_for("elsewhere")


def test_a_topic_that_may_be_misspelt_is_warned_of_long_before_a_poll_raises(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(poll_patience, "WARN_AFTER_S", 0.2)
    with Broker(auto_create_topics=False) as broker, consumer_of(broker, metadata_max_age_ms=100) as consumer:
        consumer.assign([("ordres", 0)])
        for _ in range(8):
            assert not consumer.poll(timeout=0.1)
        said = [record.message for record in caplog.records if "'ordres' does not exist" in record.message]
        assert [text.rpartition("; ")[2] for text in said] == ["polls wait for it, and raise this in the end"]
        with Admin(broker.bootstrap_servers) as admin:
            admin.create_topics({"ordres": 1})
        with Producer(broker.bootstrap_servers) as producer:
            producer.send("ordres", b"1")
        consumer.seek_to_beginning()
        assert len(consumer.poll(timeout=PATIENT)) == 1


def test_a_partition_that_does_not_exist_is_named(broker: Broker) -> None:
    with consumer_of(broker) as consumer:
        with pytest.raises(errors.UnknownTopicError, match="no partition 9: its partitions are 0 to 1"):
            consumer.end_offsets([("t", 9)])
        consumer.assign([("t", 9)])
        with pytest.raises(errors.UnknownTopicError, match="no partition 9"):
            consumer.poll(timeout=PATIENT)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda c: c.assign(["t"]), "'t' is not a partition"),
        (lambda c: c.assign([("t", -1)]), "not a number from 0"),
        (lambda c: c.assign([("", 1)]), "not a topic name"),
        (lambda c: c.subscribe([5]), "5 is not a topic name"),
        (lambda c: c.seek(("u", 0), 1), "u-0 is not assigned"),
        (lambda c: c.seek(("t", 0), -5), "-5 of t-0 is not an offset"),
        (lambda c: c.seek(("t", 0), "soon"), "'soon' is not a position"),
        (lambda c: c.offsets_for_times({("t", 0): 1.5}), "1.5 is not a time"),
    ],
)
def test_arguments_that_cannot_be_meant(broker: Broker, call: Callable[[Consumer], object], words: str) -> None:
    with consumer_of(broker) as consumer:
        consumer.assign([T0])
        with pytest.raises(errors.ConfigError) as caught:
            call(consumer)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("client", "table"), [(Producer, ProducerSettings), (Consumer, ConsumerSettings), (Admin, AdminSettings)]
)
def test_help_lists_the_settings(client: type, table: type[ClientSettings]) -> None:
    for keyword in table.table:
        assert f"\n    {keyword} (default " in (client.__doc__ or "")


def test_a_call_of_another_client_says_what_to_do() -> None:
    with Consumer("127.0.0.1:1") as consumer:
        with pytest.raises(errors.UnsupportedError, match=r"store_offsets\(\): set enable_auto_commit=False"):
            consumer.store_offsets  # type: ignore[attr-defined]  # noqa: B018
        assert not hasattr(consumer, "store_offsets")
        with pytest.raises(AttributeError, match="'pol'"):
            consumer.pol  # type: ignore[attr-defined]  # noqa: B018


def test_a_closed_consumer_says_so(broker: Broker) -> None:
    consumer = consumer_of(broker)
    consumer.assign([T0])
    consumer.close()
    consumer.close()
    for call in (
        consumer.poll,
        consumer.done,
        lambda: consumer.position(T0),
        lambda: consumer.seek(T0, 0),
        lambda: consumer.end_offsets([T0]),
        lambda: consumer.partitions_for("t"),
    ):
        with pytest.raises(errors.KafkaError, match="this consumer is closed"):
            call()
    consumer.wakeup()
    assert repr(consumer).endswith(" (closed)>")


def test_close_from_another_thread_ends_a_poll(broker: Broker) -> None:
    consumer = consumer_of(broker)
    consumer.assign([T0])
    threading.Timer(0.1, consumer.close).start()
    begun = time.monotonic()
    with pytest.raises(errors.KafkaError, match="closed"):
        consumer.poll(timeout=PATIENT)
    assert time.monotonic() - begun < SOON


def test_a_consumer_that_is_not_closed_is_complained_of(broker: Broker) -> None:
    consumer = consumer_of(broker)
    consumer.assign([T0])
    consumer.poll(timeout=0.1)
    with pytest.warns(ResourceWarning, match="was not closed"):
        del consumer
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Consumer("127.0.0.1:1")


def test_it_pickles_as_its_settings(broker: Broker) -> None:
    broker.append("t", [b"0"])
    with consumer_of(broker, max_poll_records=3) as consumer:
        consumer.assign([T0])
        consumer.poll(timeout=1)
        with pickle.loads(pickle.dumps(consumer)) as other:
            assert other.settings == consumer.settings
            assert other.assignment() == set()
            other.assign([T0])
            assert other.poll(timeout=PATIENT).values() == [b"0"]


def test_from_config_takes_the_usual_names(broker: Broker) -> None:
    config = {
        "kafka.bootstrap.servers": broker.bootstrap_servers,
        "auto.offset.reset": "earliest",
        "fetch.max.wait.ms": "50",
    }
    with Consumer.from_config(config) as consumer:
        assert consumer.settings == ConsumerSettings(
            bootstrap_servers=broker.bootstrap_servers, auto_offset_reset="earliest", fetch_max_wait_ms=50
        )
        assert consumer.end_offsets([T0]) == {T0: 0}


def test_a_child_process_is_told(broker: Broker) -> None:
    with consumer_of(broker) as consumer:
        consumer.assign([T0])
        consumer.poll(timeout=0.1)
        child = os.fork()
        if child == 0:
            try:
                consumer.poll(timeout=1)
            except errors.KafkaError as error:
                os._exit(0 if "fork" in str(error) else 2)
            os._exit(1)
        assert os.waitpid(child, 0)[1] == 0
        assert not consumer.poll(timeout=0.1)


def test_without_a_position_and_without_a_rule_for_one_it_says_so(broker: Broker) -> None:
    broker.append("t", [b"a", b"b"])
    with consumer_of(broker, auto_offset_reset="none") as consumer:
        consumer.assign([T0])
        for ask in (lambda: consumer.poll(timeout=PATIENT), lambda: consumer.position(T0, timeout=PATIENT)):
            with pytest.raises(errors.NoOffsetForPartitionError, match=r"t-0 has no.*reset='none'.*seek\(\)") as caught:
                ask()
            assert caught.value.group_id is None
        consumer.seek(T0, 1)
        assert [record.value for record in read(consumer, 1)] == [b"b"]
        consumer.assign([])
        consumer.assign([T0], at={T0: 0})
        assert [record.value for record in read(consumer, 2)] == [b"a", b"b"]


def test_reading_nothing_is_told_instead_of_waited_for(broker: Broker) -> None:
    with consumer_of(broker) as consumer:
        with pytest.raises(errors.ConfigError, match=r"assign\(\) or subscribe\(\) first"):
            next(iter(consumer))
        consumer.subscribe(["t"])
        assert not consumer.poll(timeout=0.1)
        consumer.unsubscribe()
        with pytest.raises(errors.ConfigError, match="nothing to poll"):
            consumer.poll(timeout=PATIENT)


def test_what_was_committed_cannot_be_told_by_a_broker_from_before_transactions() -> None:
    with Broker(release="0.10.2.2", topics=["t"]) as old, Admin(old.bootstrap_servers) as admin:
        with pytest.raises(errors.broker.UnsupportedVersionError, match=r"needs Kafka 0\.11 or newer") as raised:
            admin.list_offsets({("t", 0): "latest"}, isolation_level="read_committed")
        assert str(raised.value).count("UNSUPPORTED_VERSION") == 1
