"""`kwire.Producer` over real sockets: the embedded broker, its faults, threads, forks, and the end of the process."""

from __future__ import annotations

import logging
import os
import pickle
import re
import socket
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from kwire import Consumer, Producer, errors, records
from kwire.testing import Broker
from tests.subprocesses import with_this_kwire
from tests.timing import PATIENT, SOON, raised_at_last


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker(topics={"t": 1, "wide": 8}) as running:
        yield running


def test_send_result_flush_close(broker: Broker) -> None:
    with Producer(broker.bootstrap_servers) as producer:
        delivery = producer.send("t", b"v", key=b"k", timestamp=5, headers=[("h", b"1"), ("h", None)])
        metadata = delivery.result(timeout=PATIENT)
        assert (metadata.topic, metadata.partition, metadata.offset, metadata.timestamp) == ("t", 0, 0, 5)
        later = [producer.send("t", b"%d" % i) for i in range(1000)]
        producer.flush(timeout=PATIENT)
        assert [delivery.result(0).offset for delivery in later] == list(range(1, 1001))
        producer.send("t", b"last")
    read = records.decode(broker.record_set("t"))
    assert len(read) == 1002
    assert (read[0].key, read[0].timestamp, list(read[0].headers)) == (b"k", 5, [("h", b"1"), ("h", None)])
    assert read[1001].value == b"last"
    with pytest.raises(errors.KafkaError, match="closed"):
        producer.send("t", b"v")


@pytest.mark.parametrize("compression", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_every_codec_arrives(broker: Broker, compression: str) -> None:
    sent = [b"%d" % i * 30 for i in range(200)]
    with Producer(broker.bootstrap_servers, compression=compression) as producer:
        producer.send_many("t", sent)
    read = records.decode(broker.record_set("t"))
    assert read.values() == sent
    assert {batch.compression for batch in read.batches} == {compression}


@pytest.mark.parametrize(("release", "magic"), [("0.8.2.2", 0), ("0.9.0.1", 0), ("0.10.2.2", 1), ("2.4.1", 2)])
def test_older_releases_with_default_settings(release: str, magic: int) -> None:
    with Broker(release=release, topics={"t": 1}) as broker:
        with Producer(broker.bootstrap_servers) as producer:
            assert producer.send("t", b"v", key=b"k").result(timeout=PATIENT).offset == 0
        read = records.decode(broker.record_set("t"))
        assert [batch.magic for batch in read.batches] == [magic]


def test_send_many_takes_items_and_columns_and_gives_deliveries_in_order(broker: Broker) -> None:
    pa = pytest.importorskip("pyarrow")
    columns = pa.RecordBatch.from_pydict({"value": [b"a", None, b"c"], "key": [b"k", None, b"l"]})
    with Producer(broker.bootstrap_servers) as producer:
        items: list[Any] = [b"v", (b"w", b"k"), (b"x", None, 7, [("h", b"")]), records.Record(b"y", b"l")]
        deliveries = producer.send_many("t", items) + producer.send_many("t", columns, partition=0)
        assert [delivery.result(PATIENT).offset for delivery in deliveries] == list(range(7))
    read = records.decode(broker.record_set("t"))
    assert read.values() == [b"v", b"w", b"x", b"y", b"a", None, b"c"]
    assert read.keys() == [None, b"k", None, b"l", b"k", None, b"l"]
    assert read[2].timestamp == 7
    assert abs(read[4].timestamp / 1000 - time.time()) < 60


def test_an_unknown_option_names_the_nearest() -> None:
    with pytest.raises(errors.ConfigError, match="linger_ms"):
        Producer("127.0.0.1:1", lingr_ms=5)
    with pytest.raises(errors.ConfigError, match=r"compression.*zstd"):
        Producer("127.0.0.1:1", compression="brotli")
    with pytest.raises(errors.ConfigError, match="acks"):
        Producer("127.0.0.1:1", acks=2)
    with pytest.raises(errors.ConfigError, match=r"enable_idempotence.*acks"):
        Producer("127.0.0.1:1", acks=1, enable_idempotence=True)


def test_from_config_takes_dotted_names(broker: Broker) -> None:
    config = {"bootstrap.servers": broker.bootstrap_servers, "kafka.linger.ms": "1", "compression.type": "lz4"}
    with Producer.from_config(config) as producer:
        assert producer.send("t", b"v").result(PATIENT).offset == 0
        assert (producer.settings.linger_ms, producer.settings.compression) == (1, "lz4")


@pytest.mark.parametrize("name", ["", ".", "..", "a b", "a/b", "é", "x" * 250])
def test_a_name_that_no_topic_can_have_is_refused_at_once(broker: Broker, name: str) -> None:
    with Producer(broker.bootstrap_servers) as producer, pytest.raises(errors.ConfigError, match="topic"):
        producer.send(name, b"v")


@pytest.mark.parametrize(
    ("wrong", "kind"),
    [({"topic": 5}, TypeError), ({"value": "text"}, TypeError), ({"key": 5}, TypeError),
     ({"partition": -1}, errors.ConfigError), ({"partition": 2**40}, errors.ConfigError),
     ({"timestamp": -5}, errors.CodecError), ({"headers": [("a",)]}, TypeError),
     ({"value": b"x" * 2_000_000}, errors.LimitError)],
)  # fmt: skip
def test_what_cannot_be_sent_is_refused_at_once_and_harms_nothing(broker: Broker, wrong: Any, kind: Any) -> None:
    with Producer(broker.bootstrap_servers) as producer:
        arguments: dict[str, Any] = {"topic": "t", "value": b"v", **wrong}
        with pytest.raises(kind):
            producer.send(**arguments)
        producer.send("t", b"good")
    assert broker.values("t") == [b"good"]


def test_nobody_there_gives_each_address_with_its_cause_within_the_time_asked() -> None:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{bound.getsockname()[1]}"
        with Producer(address, max_block_ms=500) as producer:
            begin = time.monotonic()
            with pytest.raises(errors.ConnectError, match=address):
                producer.send("t", b"v").result(timeout=PATIENT)
            assert time.monotonic() - begin < SOON


@pytest.mark.parametrize("seconds", [0.7, 2.0, None])
def test_a_broker_that_is_slow_to_say_its_versions_is_not_taken_for_an_old_one(seconds: float | None) -> None:
    with Broker(topics={"t": 1}) as broker:
        if seconds is None:
            broker.faults.mute("ApiVersions", times=1)
        else:
            broker.faults.delay("ApiVersions", seconds, times=1)
        with Producer(broker.bootstrap_servers, enable_idempotence=True) as producer:
            producer.send("t", b"v", headers=[("a", b"1")], timestamp=1_700_000_000_000).result(PATIENT)
        with Consumer(broker.bootstrap_servers, auto_offset_reset="earliest") as consumer:
            consumer.assign([("t", 0)])
            [record] = consumer.poll(PATIENT)
    assert (list(record.headers), record.timestamp) == ([("a", b"1")], 1_700_000_000_000)


def test_a_result_that_does_not_come_in_time_says_why_nothing_is_connected() -> None:
    producer = Producer("127.0.0.1:1", max_block_ms=round(PATIENT * 1000))
    delivery = producer.send("t", b"v")
    told = raised_at_last(lambda: delivery.result(timeout=0.3), errors.KafkaTimeoutError, "refused")
    assert re.search(r"not delivered within 0\.3 s; .*127\.0\.0\.1:1: .*refused", str(told))
    assert isinstance(told.__cause__, errors.ConnectError)
    assert set(told.__cause__.causes) == {"127.0.0.1:1"}
    with pytest.raises(errors.DeliveryError):
        producer.close(timeout=0)


def test_an_unknown_topic_is_named(broker: Broker) -> None:
    with Broker(auto_create_topics=False) as strict, Producer(strict.bootstrap_servers, max_block_ms=400) as producer:
        error = raised_at_last(lambda: producer.send("nowhere", b"v").result(PATIENT), errors.UnknownTopicError)
        assert re.search(r"nowhere.*127\.0\.0\.1", str(error))


def test_result_within_a_timeout_that_is_too_short(broker: Broker) -> None:
    broker.faults.delay("Produce", 60)
    with Producer(broker.bootstrap_servers) as producer:
        delivery = producer.send("t", b"v")
        with pytest.raises(errors.KafkaTimeoutError):
            delivery.result(timeout=0.05)
        broker.wait_for_waiting(timeout=PATIENT)
        broker.clock.advance(60)
        assert delivery.result(timeout=PATIENT).offset == 0


def test_flush_and_close_say_what_failed_unless_it_was_said(broker: Broker) -> None:
    producer = Producer(broker.bootstrap_servers, linger_ms=60_000)
    broker.faults.error("Produce", 87)
    told = producer.send("t", b"told")
    with pytest.raises(errors.BrokerError):
        told.result(PATIENT)
    producer.flush(PATIENT)
    broker.faults.error("Produce", 87)
    producer.send_many("t", [b"untold"] * 3)
    with pytest.raises(errors.DeliveryError, match=r"^3 records in 1 batch .*INVALID_RECORD") as caught:
        producer.flush(PATIENT)
    assert [getattr(error, "code", None) for error in caught.value.exceptions] == [87]
    broker.faults.error("Produce", 87)
    producer.send("t", b"untold, too")
    with pytest.raises(errors.DeliveryError, match=r"^1 record in 1 batch "):
        producer.close()
    producer.close()
    assert broker.values("t") == []


def test_leaving_the_block_by_an_exception_flushes_and_raises_it(broker: Broker) -> None:
    def interrupted() -> None:
        with Producer(broker.bootstrap_servers, linger_ms=1000) as producer:
            producer.send("t", b"v")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        interrupted()
    assert broker.values("t") == [b"v"]


def test_back_pressure_blocks_and_nowait_raises(broker: Broker) -> None:
    released: list[bool] = []

    def release() -> None:
        broker.wait_for_waiting(timeout=PATIENT)
        time.sleep(0.1)
        released.append(True)
        broker.clock.advance(60)

    with Producer(broker.bootstrap_servers, buffer_memory=20_000, batch_size=4000, linger_ms=0) as producer:
        producer.send("t", b"warm").result(PATIENT)
        broker.faults.delay("Produce", 60)
        with pytest.raises(errors.BufferFull, match="buffer_memory=20000"):
            producer.send_many("t", [b"x" * 1000] * 100, nowait=True)
        releaser = threading.Thread(target=release)
        releaser.start()
        for _ in range(25):
            producer.send("t", b"y" * 1000)
        assert released, "it waited for room"
        producer.flush(PATIENT)
        releaser.join()
        assert producer._accumulator.used == 0


def test_back_pressure_ends_after_max_block(broker: Broker) -> None:
    producer = Producer(broker.bootstrap_servers, buffer_memory=10_000, max_block_ms=300, delivery_timeout_ms=1500)
    while producer.send("t", b"the topic is known").exception(PATIENT) is not None:
        assert not broker.values("t")
    broker.faults.mute("Produce", times=None)
    with pytest.raises(errors.KafkaTimeoutError, match="max_block_ms=300"):
        producer.send_many("t", [b"x" * 1000] * 20)
    with pytest.raises(errors.DeliveryError, match="delivery_timeout_ms=1500"):
        producer.close()


def test_callbacks_run_outside_locks_and_what_they_raise_is_logged(
    broker: Broker, caplog: pytest.LogCaptureFixture
) -> None:
    seen: list[Any] = []
    refused: list[Any] = []
    with Producer(broker.bootstrap_servers) as producer:

        def again(delivery: Any) -> None:
            seen.append(delivery.result(0).offset)
            if len(seen) == 1:
                producer.send("t", b"from the callback").add_done_callback(again)
                try:
                    producer.flush(1)
                except errors.ConcurrentUseError as error:
                    refused.append(error)
            raise ZeroDivisionError("in the callback")

        with caplog.at_level(logging.ERROR, logger="kwire"):
            producer.send("t", b"v").add_done_callback(again)
            until = time.monotonic() + PATIENT
            while len(seen) < 2 and time.monotonic() < until:
                time.sleep(0.01)
    assert seen == [0, 1]
    assert len(refused) == 1, "a blocking call inside a callback raises"
    assert "in the callback" in caplog.text


def test_a_log_handler_may_send_with_the_producer_that_logs(broker: Broker) -> None:
    class ToKafka(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            sent.append(producer.send("t", record.getMessage().encode()))

    sent: list[Any] = []
    log = logging.getLogger("kwire")
    handler, level = ToKafka(), log.level
    with Producer(broker.bootstrap_servers, reconnect_backoff_ms=10, retry_backoff_ms=10) as producer:
        log.addHandler(handler)
        log.setLevel(logging.DEBUG)
        try:
            for n in range(5):
                producer.send("t", b"%d" % n).result(PATIENT)
                broker.close_connections()
        finally:
            log.removeHandler(handler)
            log.setLevel(level)
        producer.flush(PATIENT)
        assert sent
        assert all(delivery.result(0).offset >= 0 for delivery in sent)


def test_what_nobody_waits_for_leaves_by_itself(broker: Broker) -> None:
    with Producer(broker.bootstrap_servers, linger_ms=5) as producer:
        producer.send("t", b"warm").result(PATIENT)
        producer.send("t", b"v")
        until = time.monotonic() + PATIENT
        while broker.offsets("t")[1] < 2 and time.monotonic() < until:
            time.sleep(0.005)
        assert broker.offsets("t") == (0, 2)


def test_many_threads_share_one_producer(broker: Broker) -> None:
    offsets: list[int] = []
    with Producer(broker.bootstrap_servers) as producer:

        def work(number: int) -> None:
            deliveries = [producer.send("t", b"%d %d" % (number, i)) for i in range(500)]
            own = [delivery.result(PATIENT).offset for delivery in deliveries]
            assert own == sorted(own)
            offsets.extend(own)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENT)
    assert sorted(offsets) == list(range(4000))
    seen = broker.values("t")
    for number in range(8):
        own = [value for value in seen if value is not None and value.startswith(b"%d " % number)]
        assert own == [b"%d %d" % (number, i) for i in range(500)]


def test_connections_that_die_lose_and_double_nothing(broker: Broker) -> None:
    sent = [b"%d" % i for i in range(3000)]
    with Producer(broker.bootstrap_servers, batch_size=500, reconnect_backoff_ms=10, retry_backoff_ms=10) as producer:
        for i, value in enumerate(sent):
            producer.send("t", value)
            if i % 500 == 250:
                broker.faults.close("Produce", after_effect=i % 1000 == 250)
            if i % 700 == 699:
                broker.close_connections()
        producer.flush(PATIENT)
    assert broker.values("t") == sent


def test_a_broker_that_is_silent_for_a_while_is_waited_for(broker: Broker) -> None:
    with Producer(broker.bootstrap_servers, request_timeout_ms=300, retry_backoff_ms=10) as producer:
        producer.send("t", b"0").result(PATIENT)
        broker.faults.mute("Produce", after_effect=True)
        assert producer.send("t", b"1").result(PATIENT).offset == 1
    assert broker.values("t") == [b"0", b"1"]


def test_a_batch_above_the_brokers_limit_is_split() -> None:
    with Broker(topics={"t": 1}, max_message_bytes=2000) as broker:
        sent = [b"%d" % i * 25 for i in range(200)]
        with Producer(broker.bootstrap_servers, batch_size=10_000) as producer:
            deliveries = producer.send_many("t", sent)
            assert [delivery.result(PATIENT).offset for delivery in deliveries] == list(range(200))
        assert broker.values("t") == sent


def test_it_pickles_as_its_configuration(broker: Broker) -> None:
    with Producer(broker.bootstrap_servers, linger_ms=1, compression="lz4") as producer:
        with pickle.loads(pickle.dumps(producer)) as copy:
            assert copy.send("t", b"from the copy").result(PATIENT).offset == 0
            assert copy.settings == producer.settings


def test_a_forked_child_is_told_and_the_parent_goes_on(broker: Broker) -> None:
    with Producer(broker.bootstrap_servers, linger_ms=200) as producer:
        producer.send("t", b"before").result(PATIENT)
        pending = producer.send("t", b"pending")
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            said = []
            for action in (lambda: producer.send("t", b"v"), producer.flush, lambda: pending.result(1)):
                try:
                    action()
                    said.append("nothing")
                except BaseException as error:
                    said.append(f"{type(error).__name__} {'process' in str(error)}")
            os.write(writer, repr(said).encode())
            os._exit(0)
        os.waitpid(child, 0)
        assert os.read(reader, 1000).decode() == repr(["ClientClosedError True"] * 3)
        os.close(reader)
        os.close(writer)
        assert pending.result(PATIENT).offset == 1
    assert broker.values("t") == [b"before", b"pending"]


def test_what_a_producer_dropped_as_a_temporary_was_given_is_delivered(broker: Broker) -> None:
    with pytest.warns(ResourceWarning, match="1 record undelivered"):
        delivery = Producer(broker.bootstrap_servers, linger_ms=60_000).send("t", b"v")
    assert delivery.result(PATIENT).offset == 0


def test_a_dropped_producer_leaves_no_delivery_waiting(broker: Broker) -> None:
    broker.faults.mute("Produce", times=None)
    with pytest.warns(ResourceWarning, match="1 record undelivered"):
        delivery = Producer(broker.bootstrap_servers, delivery_timeout_ms=300).send("t", b"v")
    with pytest.raises(errors.KafkaTimeoutError, match="delivery_timeout_ms=300"):
        delivery.result(PATIENT)


def run_script(script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "always", "-c", textwrap.dedent(script), *arguments],
        capture_output=True, text=True, timeout=60, check=False, env=with_this_kwire(),
    )  # fmt: skip


LAST_RECORD = """
    import sys
    from kwire import Producer
    producer = Producer(sys.argv[1], linger_ms=60000)
    producer.send("t", b"v")
    {ending}
"""


@pytest.mark.parametrize("ending", ["pass", "del producer", "producer.close()"])
def test_records_are_delivered_when_the_process_ends(broker: Broker, ending: str) -> None:
    done = run_script(LAST_RECORD.format(ending=ending), broker.bootstrap_servers)
    assert done.returncode == 0, done.stderr
    assert broker.values("t") == [b"v"]
    assert ("1 record undelivered" in done.stderr) == (ending == "del producer")
    assert "kwire:" not in done.stderr


@pytest.mark.parametrize("ending", ["pass", "del producer"])
def test_records_that_are_lost_when_the_process_ends_are_told(broker: Broker, ending: str) -> None:
    broker.faults.mute("Produce", times=None)
    done = run_script(LAST_RECORD.format(ending=ending), broker.bootstrap_servers)
    assert done.returncode == 0, done.stderr
    assert "kwire: <Producer to" in done.stderr
    assert "1 record in 1 batch could not be delivered" in done.stderr
    assert "ResourceWarning" in done.stderr


def test_flush_tells_of_a_batch_of_which_not_every_record_was_asked_for(broker: Broker) -> None:
    with Producer(broker.bootstrap_servers, linger_ms=60_000) as producer:
        broker.faults.error("Produce", 87, times=1)
        asked, *_ = producer.send_many("t", [b"v"] * 100, partition=0)
        asked.add_done_callback(lambda delivery: None)
        with pytest.raises(errors.DeliveryError, match="99 records in 1 batch"):
            producer.flush(PATIENT)
        producer.flush(PATIENT)
        broker.faults.error("Produce", 87, times=1)
        deliveries = producer.send_many("t", [b"v"] * 100, partition=0)
        assert all(delivery.exception(PATIENT) is not None for delivery in deliveries)
        producer.flush(PATIENT)


def test_a_full_buffer_says_which_records_it_took(broker: Broker) -> None:
    broker.faults.mute("Produce", times=None)
    with Producer(broker.bootstrap_servers, buffer_memory=20_000, delivery_timeout_ms=300) as producer:
        with pytest.raises(errors.BufferFull) as caught:
            producer.send_many("t", [b"x" * 100] * 1000, nowait=True)
        taken = caught.value.deliveries
        assert 0 < len(taken) < 1000
        assert sum(len(batch) for batch in producer._accumulator.pending) == len(taken)
        assert all(delivery.exception(PATIENT) is not None for delivery in taken)


def test_control_c_answers_at_once_and_loses_nothing_that_was_acknowledged(broker: Broker, ctrl_c: int) -> None:
    broker.faults.mute("Produce", times=None)
    with Producer(broker.bootstrap_servers, delivery_timeout_ms=1000) as producer:
        delivery = producer.send("t", b"v")
        timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), ctrl_c))
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            delivery.result(PATIENT)
        with pytest.raises(errors.KafkaTimeoutError):
            delivery.result(PATIENT)


def test_importing_the_producer_imports_no_column_library() -> None:
    done = run_script("""
        import sys
        from kwire import Producer
        print([name for name in ("pyarrow", "numpy", "pandas", "asyncio", "ssl") if name in sys.modules])
    """)
    assert done.stdout.strip() == "[]", done.stdout + done.stderr
