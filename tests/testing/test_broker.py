"""`Broker` as its users see it: life cycle, topics and records without a client, errors that say what would work."""

from __future__ import annotations

import threading
import time

import pytest

from kwire import records, testing
from kwire.errors import ConfigError, KafkaTimeoutError, UnknownTopicError
from kwire.protocol import ApiVersionsRequest
from kwire.testing import Broker
from tests.testing.client import Client
from tests.testing.wire import batch, values


def test_it_is_part_of_the_public_names() -> None:
    import kwire

    assert kwire.testing is testing
    assert testing.Broker is Broker


def test_life_cycle() -> None:
    broker = Broker(topics={"orders": 3})
    with pytest.raises(ConfigError, match="before it is started"):
        broker.bootstrap_servers  # noqa: B018
    broker.stop()
    with broker:
        address = broker.bootstrap_servers
        assert address == f"127.0.0.1:{broker.port}"
        assert repr(broker) == f"<kwire.testing.Broker 4.4.0 {address}>"
        with pytest.raises(ConfigError, match=f"is already running, on {address}"):
            broker.start()
        broker.append("orders", batch(b"a"))
    assert "stopped" in repr(broker)
    broker.stop()
    with broker:
        assert broker.bootstrap_servers == address
        assert broker.offsets("orders") == (0, 1)


def test_topics_and_records_without_a_client() -> None:
    with Broker(max_message_bytes=100_000) as broker:
        broker.create_topic("orders", 2, settings={"message.timestamp.type": "LogAppendTime"})
        assert broker.topics() == {"orders": 2}
        assert [broker.append("orders", batch(b"a", b"b"), partition=1) for _ in range(2)] == [0, 2]
        assert broker.offsets("orders", partition=1) == (0, 4)
        decoded = records.decode(broker.record_set("orders", partition=1))
        assert [(record.offset, record.value) for record in decoded] == [(0, b"a"), (1, b"b"), (2, b"a"), (3, b"b")]
        assert {record.timestamp_type for record in decoded} == {1}
        broker.delete_records("orders", before=2, partition=1)
        assert broker.offsets("orders", partition=1) == (2, 4)
        assert values(broker.record_set("orders")) == []
        broker.delete_topic("orders")
        assert broker.topics() == {}


def test_what_is_not_there_is_named() -> None:
    with Broker(topics={"orders": 2}) as broker:
        for wrong in (
            lambda: broker.delete_topic("none"),
            lambda: broker.append("none", batch(b"a")),
            lambda: broker.record_set("none"),
            lambda: broker.offsets("none"),
        ):
            with pytest.raises(UnknownTopicError, match=r"'none'; it has \['orders'\]"):
                wrong()
        with pytest.raises(UnknownTopicError, match="partitions 0 to 1, not 2"):
            broker.offsets("orders", partition=2)


def test_what_cannot_be_meant_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"generation '0\.6'"):
        Broker(generation="0.6")
    with pytest.raises(ConfigError, match=r"0\.7\.2"):
        Broker(release="0.7.2")
    with pytest.raises(ConfigError, match=r"host '0\.0\.0\.0'.*reach"):
        Broker(host="0.0.0.0")
    with pytest.raises(ConfigError, match="port 65536"):
        Broker(port=65536)
    with pytest.raises(ConfigError, match="num_partitions 0"):
        Broker(num_partitions=0)
    with pytest.raises(ConfigError, match="max_request_bytes 1:"):
        Broker(max_request_bytes=1)
    with pytest.raises(ConfigError, match="'a b'"):
        Broker(topics={"a b": 1})
    broker = Broker(topics={"orders": 1})
    with pytest.raises(ConfigError, match="exists already"):
        broker.create_topic("orders")
    with pytest.raises(ConfigError, match="unknown topic setting 'retention'"):
        broker.create_topic("new", settings={"retention": "1"})
    with pytest.raises(ConfigError, match="checksum"):
        broker.append("orders", batch(b"a")[:-1] + b"?")
    with pytest.raises(ConfigError, match="5 is not within"):
        broker.delete_records("orders", before=5)


def test_a_request_that_is_too_large_closes_the_connection() -> None:
    with Broker(max_request_bytes=64) as broker, Client(broker) as client:
        client.socket.sendall(b"\0\0\0\x41" + b"x" * 65)
        assert client.is_closed()


def test_requests_are_counted_and_can_be_waited_for() -> None:
    with Broker() as broker:
        with pytest.raises(KafkaTimeoutError, match=r"1 request of ApiVersions within 0\.01 s"):
            broker.wait_for_requests("ApiVersions", timeout=0.01)
        with pytest.raises(ConfigError, match="'Nonsense'"):
            broker.request_count("Nonsense")

        def ask() -> None:
            with Client(broker) as client:
                client.ask(ApiVersionsRequest(), 2)

        thread = threading.Thread(target=ask)
        thread.start()
        broker.wait_for_requests("ApiVersions")
        thread.join()
        assert (broker.request_count("ApiVersions"), broker.request_count("ApiVersions", 0)) == (1, 0)


def test_ipv6_addresses_are_written_with_brackets() -> None:
    broker = Broker(host="::1")
    try:
        broker.start()
    except ConfigError:
        pytest.skip("no IPv6 loopback here")
    try:
        assert broker.bootstrap_servers == f"[::1]:{broker.port}"
    finally:
        broker.stop()


def test_topics_by_name_alone() -> None:
    assert Broker(topics=["a", "b"], num_partitions=2).topics() == {"a": 2, "b": 2}
    assert Broker(topics="orders").topics() == {"orders": 1}


@pytest.mark.parametrize(("release", "magic"), [("4.4.0", 2), ("0.10.0.1", 1), ("0.9.0.1", 0)])
def test_values_go_in_and_come_out(release: str, magic: int) -> None:
    broker = Broker(topics={"orders": 2}, release=release)
    before = int(time.time() * 1000)
    assert broker.append("orders", [b"a", (b"b", b"key"), records.Record(b"c")]) == 0
    assert broker.append("orders", (value for value in [b"d"]), partition=1) == 0
    assert broker.append("orders", records.decode(broker.record_set("orders"))[1:]) == 3
    assert broker.values("orders", partition=0) == [b"a", b"b", b"c", b"b", b"c"]
    assert broker.values("orders") == [b"a", b"b", b"c", b"b", b"c", b"d"]
    stored = records.decode(broker.record_set("orders"))
    assert {batch.magic for batch in stored.batches} == {magic}
    assert stored.keys() == [None, b"key", None, b"key", None]
    assert all(before <= record.timestamp <= time.time() * 1000 or not magic for record in stored)


def test_a_tombstone_gets_the_present_time_like_a_value() -> None:
    with Broker(topics={"orders": 1}) as broker:
        broker.append("orders", [b"a", None])
        value, tombstone = records.decode(broker.record_set("orders"))
    assert (tombstone.value, tombstone.timestamp) == (None, value.timestamp)


def test_times_and_headers_of_appended_records_are_kept() -> None:
    broker = Broker(topics=["orders"])
    broker.append("orders", [(b"a", None, 5, [("h", b"1")]), (b"b", b"k", None, [("h", None)])])
    first, second = records.decode(broker.record_set("orders"))
    assert (first.timestamp, first.headers) == (5, (("h", b"1"),))
    assert second.timestamp > 1_700_000_000_000
    assert second.headers == (("h", None),)


def test_values_on_a_broker_of_0_7() -> None:
    broker = Broker(generation="0.7")
    assert broker.append("t", [b"hi", b"yo"]) == 0
    assert broker.values("t") == [b"hi", b"yo"]
    with pytest.raises(ConfigError, match=r"3 of 15 bytes are not a whole message"):
        broker.append("t", records.encode([b"hi"], generation="0.7") + b"abc")


@pytest.mark.parametrize(
    "garbage", [b"x", b"garbage", b"garbage garbage garbage", batch(b"a") + b"rest", batch(b"a")[:-1]]
)
def test_bytes_that_are_no_record_set_are_refused(garbage: bytes) -> None:
    broker = Broker(topics=["orders"])
    with pytest.raises(ConfigError):
        broker.append("orders", garbage)
    with pytest.raises(ConfigError, match=r"give values as a list|claims a size"):
        broker.append("orders", bytearray(garbage))
    assert broker.offsets("orders") == (0, 0)


def test_what_no_record_is_made_of() -> None:
    broker = Broker(topics=["orders"])
    with pytest.raises(TypeError, match="a record is bytes"):
        broker.append("orders", "text")
    with pytest.raises(TypeError, match="not int"):
        broker.append("orders", [1])
    with pytest.raises(UnknownTopicError, match="'none'"):
        broker.values("none")
    with pytest.raises(UnknownTopicError, match="'none'"):
        broker.append("none", [b"a"])
    assert broker.append("orders", []) == 0
    assert broker.values("orders") == []


def test_the_earlier_name_of_wait_for_waiting_still_works() -> None:
    assert Broker.wait_for_parked is Broker.wait_for_waiting
