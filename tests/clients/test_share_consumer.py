"""ShareConsumer on the embedded broker: acknowledging, locks, several members, callers, closing."""

from __future__ import annotations

import pickle
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from kwire import Admin, ConsumerRecord, Producer, ShareConsumer, ShareRecords, TopicPartition, errors
from kwire.engine.consumer import poll_patience
from kwire.testing import Broker
from tests.timing import PATIENT, SOON

LOCK_MS = 600
T0 = TopicPartition("t", 0)


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker(
        group_share_heartbeat_interval_ms=50,
        group_share_session_timeout_ms=60_000,
        group_share_record_lock_duration_ms=60_000,
    ) as started:
        with Admin(started.bootstrap_servers) as admin:
            admin.create_topics({"t": 2})
        begin_at_first(started, "g")
        yield started


def begin_at_first(broker: Broker, group_id: str) -> None:
    set_for_group(broker, group_id, "share.auto.offset.reset", "earliest")


def set_for_group(broker: Broker, group_id: str, name: str, value: str) -> None:
    state = broker._state()
    broker._run(lambda: state.groups.configs.set(group_id, name, value))


def write(broker: Broker, values: list[bytes], partition: int = 0) -> None:
    with Producer(broker.bootstrap_servers) as producer:
        for value in values:
            producer.send("t", value, partition=partition)
        producer.flush(PATIENT)


def member_of(broker: Broker, **options: Any) -> ShareConsumer:
    made = ShareConsumer(broker.bootstrap_servers, **{"group_id": "g", "fetch_max_wait_ms": 100, **options})
    made.subscribe(["t"])
    return made


def read(consumer: ShareConsumer, count: int) -> list[ConsumerRecord]:
    found: list[ConsumerRecord] = []
    give_up = time.monotonic() + PATIENT
    while len(found) < count:
        assert time.monotonic() < give_up, found
        found += consumer.poll(timeout=0.5)
    return found


def test_what_one_that_unsubscribes_has_not_returned_goes_to_others_at_once(broker: Broker) -> None:
    """Their locks would last for a minute."""
    write(broker, [b"%d" % number for number in range(10)])
    with member_of(broker) as leaving, member_of(broker) as staying:
        first = leaving.poll(PATIENT, max_records=1)
        leaving.unsubscribe()
        assert [record.offset for record in read(staying, 9)] == list(range(1, 10))
        leaving.acknowledge(first)
        assert leaving.commit() == {T0: None}


def test_each_record_goes_to_one_member(broker: Broker) -> None:
    write(broker, [b"%d" % number for number in range(50)])
    write(broker, [b"%d" % number for number in range(50, 100)], partition=1)
    found: list[bytes | None] = []
    with member_of(broker, max_poll_records=10) as one, member_of(broker, max_poll_records=10) as two:
        while len(found) < 100:
            found += one.poll(timeout=0.2).values()
            found += two.poll(timeout=0.2).values()
        one.commit()
        two.commit()
    assert sorted(found, key=lambda value: int(value or 0)) == [b"%d" % number for number in range(100)]
    with member_of(broker) as three:
        assert len(three.poll(timeout=0.5)) == 0


def test_kinds_and_delivery_counts(broker: Broker) -> None:
    write(broker, [b"accept", b"release", b"reject", b"renew", b"other"])
    with member_of(broker) as consumer:
        records = consumer.poll(timeout=PATIENT)
        assert isinstance(records, ShareRecords)
        assert records.delivery_counts() == [1] * 5
        for record in records[:4]:
            assert record.value is not None
            consumer.acknowledge(record, record.value.decode())
        again = consumer.poll(timeout=PATIENT)
        assert again.values() == [b"renew"]
        assert again.delivery_counts() == [1]
        later = consumer.poll(timeout=PATIENT)
        assert later.values() == [b"release"]
        assert later.delivery_count(later[0]) == 2
        assert consumer.acquisition_lock_timeout_ms == 60_000
        with pytest.raises(KeyError):
            again.delivery_count(later[0])


def test_a_whole_poll_is_acknowledged_at_once(broker: Broker) -> None:
    write(broker, [b"1", b"2"])
    with member_of(broker, share_acknowledgement_mode="explicit") as consumer:
        records = consumer.poll(timeout=PATIENT)
        with pytest.raises(errors.ConfigError, match="2 records of earlier polls not acknowledged"):
            consumer.poll()
        consumer.acknowledge(records, "release")
        assert consumer.commit() == {T0: None}
        assert consumer.commit() == {}
        assert consumer.poll(timeout=PATIENT).delivery_counts() == [2, 2]


def test_a_lock_that_ran_out_is_told(broker: Broker) -> None:
    set_for_group(broker, "g", "share.record.lock.duration.ms", str(LOCK_MS))
    write(broker, [b"1"])
    with member_of(broker) as consumer:
        records = read(consumer, 1)
        time.sleep(LOCK_MS / 1000 + 0.2)
        outcomes = consumer.commit()
        assert isinstance(outcomes[T0], errors.broker.InvalidRecordStateError)
        with pytest.raises(errors.ConfigError, match="t-0, offset 0"):
            consumer.acknowledge(records[0])
        with pytest.raises(errors.ConfigError, match="expected a record of the last poll"):
            consumer.acknowledge("t-0")  # type: ignore[arg-type]
        assert read(consumer, 1)[0].value == b"1"


def test_closing_releases_what_is_not_acknowledged(broker: Broker) -> None:
    write(broker, [b"1", b"2"])
    with member_of(broker) as one:
        first, _ = read(one, 2)
        one.acknowledge(first)
    with member_of(broker) as two:
        records = two.poll(timeout=SOON)  # a third of what the lock lasts
    assert (records.values(), records.delivery_counts()) == ([b"2"], [2])


def test_a_member_stays_while_its_program_is_at_work(broker: Broker) -> None:
    write(broker, [b"1"])
    with member_of(broker, client_id="slow") as consumer:
        read(consumer, 1)
        before = broker.request_count("ShareGroupHeartbeat")
        broker.wait_for_requests("ShareGroupHeartbeat", before + 4, timeout=PATIENT)


def test_callbacks_hear_what_became_of_acknowledgements(broker: Broker) -> None:
    write(broker, [b"1", b"2"])
    told: list[tuple[dict[TopicPartition, set[int]], Exception | None]] = []
    outcomes: list[Any] = []
    with member_of(broker) as consumer:
        consumer.set_acknowledgement_commit_callback(lambda offsets, error: told.append((offsets, error)))
        read(consumer, 2)
        consumer.commit_async(callback=outcomes.append)
        give_up = time.monotonic() + PATIENT
        while not outcomes and time.monotonic() < give_up:
            consumer.poll(timeout=0.1)
    assert told == [({T0: {0, 1}}, None)]
    assert outcomes == [{T0: None}]


def test_a_callback_that_raises_is_logged(broker: Broker, caplog: pytest.LogCaptureFixture) -> None:
    def bad(outcomes: object) -> None:
        raise RuntimeError("mine")

    write(broker, [b"1"])
    with member_of(broker) as consumer:
        read(consumer, 1)
        consumer.commit_async(callback=bad)
        consumer.poll(timeout=0.3)
    assert "mine" in caplog.text


def test_waking_a_poll_and_using_it_twice(broker: Broker) -> None:
    with member_of(broker) as consumer:
        consumer.poll(timeout=0.3)
        timer = threading.Timer(0.2, consumer.wakeup)
        timer.start()
        assert len(consumer.poll(timeout=None)) == 0
        timer.join()
        failures: list[Exception] = []

        def other() -> None:
            try:
                consumer.commit()
            except errors.ConcurrentUseError as error:
                failures.append(error)
            consumer.wakeup()

        timer = threading.Timer(0.2, other)
        timer.start()
        consumer.poll(timeout=None)
        timer.join()
        assert len(failures) == 1


def test_topics_change_and_end(broker: Broker) -> None:
    broker.create_topic("u", 1)
    broker.append("u", [b"u"])
    with member_of(broker) as consumer:
        assert consumer.subscription() == {"t"}
        consumer.subscribe(["u"])
        assert read(consumer, 1)[0].topic == "u"
        consumer.unsubscribe()
        with pytest.raises(errors.ConfigError, match="subscribe"):
            consumer.poll()
        consumer.subscribe(["t"])
        write(broker, [b"t"])
        assert read(consumer, 1)[0].topic == "t"


def test_what_a_share_consumer_needs_and_has_not(broker: Broker) -> None:
    with pytest.raises(errors.ConfigError, match="group_id is missing"):
        ShareConsumer(broker.bootstrap_servers)
    consumer = ShareConsumer(broker.bootstrap_servers, group_id="g")
    with pytest.raises(AttributeError, match="no positions"):
        consumer.seek  # type: ignore[attr-defined]  # noqa: B018
    assert pickle.loads(pickle.dumps(consumer)).settings == consumer.settings
    consumer.close()
    consumer.close()
    with pytest.raises(errors.ClientClosedError):
        consumer.poll()


def test_one_that_is_not_closed_is_collected(broker: Broker) -> None:
    consumers = [member_of(broker)]
    consumers[0].poll(timeout=0.2)
    with pytest.warns(ResourceWarning, match="was not closed"):
        consumers.clear()


def test_a_release_without_share_groups() -> None:
    with Broker(release="3.9.2", topics=["t"]) as old, member_of(old) as consumer:
        with pytest.raises(
            errors.broker.UnsupportedVersionError,
            match=r"^broker 1 \([\d.:]+\), as Kafka 3\.9, does not support share groups",
        ):
            consumer.poll(timeout=PATIENT)


def test_transactions_that_were_aborted_are_not_read(broker: Broker) -> None:
    set_for_group(broker, "g", "share.isolation.level", "read_committed")
    with Producer(broker.bootstrap_servers, transactional_id="x") as producer:
        producer.init_transactions()
        for value, commits in ((b"1", False), (b"2", True)):
            producer.begin_transaction()
            producer.send("t", value, partition=0)
            producer.flush()
            (producer.commit_transaction if commits else producer.abort_transaction)()
    with member_of(broker) as consumer:
        assert consumer.poll(timeout=PATIENT).values() == [b"2"]
        assert consumer.commit() == {T0: None}


def test_a_topic_that_may_be_misspelt_is_warned_of_once_and_long_before_a_poll_raises(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, broker: Broker
) -> None:
    monkeypatch.setattr(poll_patience, "WARN_AFTER_S", 0.2)
    settings: dict[str, Any] = {"metadata_max_age_ms": 100, "allow_auto_create_topics": False}
    with ShareConsumer(broker.bootstrap_servers, group_id="g", **settings) as consumer:
        consumer.subscribe(["ordres"])
        for _ in range(8):
            assert not consumer.poll(timeout=0.1)
        said = [record.message for record in caplog.records if "'ordres' does not exist" in record.message]
        assert [text.rpartition("; ")[2] for text in said] == ["polls wait for it, and raise this in the end"]
