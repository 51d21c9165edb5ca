"""The broker's thread over real sockets: order, waiting, faults on the wire, and nothing left behind."""

from __future__ import annotations

import os
import random
import socket
import struct
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from kwire.errors import ConfigError
from kwire.protocol import ApiVersionsRequest, MetadataRequest
from kwire.testing import Broker
from tests.drivers.waiting import until
from tests.testing.client import Client
from tests.testing.frames import corpus, damage
from tests.testing.wire import batch, fetch, produce, values

ALL_TOPICS = MetadataRequest(topics=None)


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker(release="3.9.2", topics={"orders": 2}) as started:
        yield started


def test_requests_of_one_connection_are_answered_in_order(broker: Broker) -> None:
    with Client(broker) as client:
        client.send(fetch(0, max_wait_ms=100), 11)
        client.send(produce(batch(b"a")), 9)
        client.send(ALL_TOPICS, 9)
        assert values(client.receive().responses[0].partitions[0].records) == [], "nothing was there in time"
        assert client.receive().responses[0].partition_responses[0].base_offset == 0
        assert [topic.name for topic in client.receive().topics] == ["orders"]


def test_a_fetch_that_waits_is_answered_by_anothers_produce(broker: Broker) -> None:
    with Client(broker) as reader, Client(broker) as writer:
        reader.send(fetch(0, partitions=[1, 0], max_wait_ms=60_000), 11)
        broker.wait_for_waiting()
        writer.ask(produce(batch(b"a")), 9)
        assert values(reader.receive().responses[0].partitions[1].records) == [b"a"]


def test_a_fetch_that_waits_is_answered_by_an_append_from_outside(broker: Broker) -> None:
    with Client(broker) as reader:
        reader.send(fetch(0, max_wait_ms=60_000), 11)
        broker.wait_for_waiting()
        assert broker.append("orders", batch(b"a", b"b")) == 0
        assert values(reader.receive().responses[0].partitions[0].records) == [b"a", b"b"]


def test_a_fetch_is_not_answered_before_its_time(broker: Broker) -> None:
    with Client(broker) as reader:
        started = time.monotonic()
        reader.ask(fetch(0, max_wait_ms=150), 11)
        assert time.monotonic() - started >= 0.15


def test_a_request_may_come_byte_by_byte(broker: Broker) -> None:
    with Client(broker) as client:
        frame = struct.pack(">i", len(corpus("3.9.2")[-1])) + corpus("3.9.2")[-1]
        for n in range(len(frame)):
            client.socket.sendall(frame[n : n + 1])
        assert len(client.read_frame()) > 8


def test_large_answers_arrive_whole(broker: Broker) -> None:
    entry = batch(b"x" * 1_000_000)
    for _ in range(20):
        broker.append("orders", entry)
    with Client(broker) as client:
        seen = 0
        while seen < 20:
            response = client.ask(fetch(seen, partition_max_bytes=1 << 26, max_bytes=1 << 26), 11)
            seen += len(values(response.responses[0].partitions[0].records))


def test_bad_frames_close_only_their_connection(broker: Broker, caplog: pytest.LogCaptureFixture) -> None:
    with Client(broker) as good:
        for bad in (b"GET / HTTP/1.1\r\n\r\n", struct.pack(">i", -1), struct.pack(">ihhih", 10, 3, 99, 1, -1)):
            with Client(broker) as client:
                client.socket.sendall(bad)
                assert client.is_closed()
        assert good.ask(ALL_TOPICS, 9).topics
    assert "Metadata version 99" in caplog.text
    assert caplog.text.count("connection closed") == 3


def test_damaged_frames_harm_nobody_else(broker: Broker) -> None:
    rng = random.Random(1)
    frames = [frame for frame in corpus("3.9.2") if frame[1] not in (1, 19)]  # neither waits nor many topics
    with Client(broker) as good:
        for _ in range(300):
            damaged = bytearray(rng.choice(frames))
            damage(damaged, rng)
            with Client(broker) as client:
                client.socket.sendall(struct.pack(">i", len(damaged)) + damaged)
                client.socket.shutdown(socket.SHUT_WR)
                while client.socket.recv(65536):
                    pass
            assert good.ask(ALL_TOPICS, 9).topics


def test_a_client_that_goes_away_while_it_is_answered_harms_nobody(broker: Broker) -> None:
    broker.append("orders", batch(b"x" * 1_000_000))
    for _ in range(5):
        client = Client(broker)
        client.send(fetch(0, partition_max_bytes=1 << 21), 11)
        client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.socket.close()
    with Client(broker) as client:
        assert client.ask(ALL_TOPICS, 9).topics


def test_truncated_answers_and_closed_connections(broker: Broker) -> None:
    broker.faults.truncate("Metadata", 7)
    broker.faults.truncate("Metadata", 0)
    broker.faults.close("Metadata")
    for _ in range(3):
        with Client(broker) as client:
            client.send(ALL_TOPICS, 9)
            with pytest.raises((EOFError, ConnectionError)):
                client.receive()
    with Client(broker) as client:
        assert client.ask(ALL_TOPICS, 9).topics


def test_a_muted_connection_stays_open_and_others_go_on(broker: Broker) -> None:
    broker.faults.mute("ApiVersions")
    with Client(broker) as muted, Client(broker) as other:
        muted.send(ApiVersionsRequest(), 0)
        broker.wait_for_waiting()
        assert other.ask(ALL_TOPICS, 9).topics
        muted.socket.settimeout(0.05)
        with pytest.raises(TimeoutError):
            muted.receive()


def test_slow_answers_take_their_time_and_arrive_whole(broker: Broker) -> None:
    broker.append("orders", batch(b"x" * 10_000))
    broker.faults.slow(100_000)
    with Client(broker) as client:
        started = time.monotonic()
        assert values(client.ask(fetch(0), 11).responses[0].partitions[0].records) == [b"x" * 10_000]
        assert time.monotonic() - started > 0.05
        broker.faults.slow(None)
        client.ask(fetch(0), 11)


def test_connections_can_be_refused_and_closed(broker: Broker) -> None:
    with Client(broker) as present:
        port = broker.port
        broker.refuse_connections()
        with pytest.raises(ConnectionRefusedError):
            Client(broker)
        assert present.ask(ALL_TOPICS, 9).topics
        broker.accept_connections()
        assert broker.port == port
        with Client(broker) as again:
            assert again.ask(ALL_TOPICS, 9).topics
            assert broker.close_connections() == 2
            assert again.is_closed()
            assert present.is_closed()


def test_many_clients_at_once(broker: Broker) -> None:
    def work(number: int) -> int:
        with Client(broker) as client:
            for n in range(20):
                client.ask(produce(batch(b"%d-%d" % (number, n)), partition=number % 2), 9)
            return 20

    with ThreadPoolExecutor(16) as pool:
        assert sum(pool.map(work, range(32))) == 640
    assert sum(broker.offsets("orders", partition=n)[1] for n in (0, 1)) == 640
    assert broker.request_count("Produce") == broker.request_count("Produce", 9) == 640


def open_descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="counts descriptors under /proc")
def test_a_hundred_brokers_leave_nothing_behind() -> None:
    def cycle() -> None:
        with Broker(topics={"orders": 1}) as broker, Client(broker) as idle, Client(broker) as waiting:
            waiting.send(fetch(0, max_wait_ms=60_000), 12)
            assert idle.ask(ALL_TOPICS, 9).topics

    cycle()
    threads, descriptors = threading.active_count(), open_descriptors()
    for _ in range(100):
        cycle()
    until(lambda: threading.active_count() <= threads)
    until(lambda: open_descriptors() <= descriptors)


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="counts descriptors under /proc")
def test_a_hundred_connections_leave_nothing_behind(broker: Broker) -> None:
    with Client(broker) as client:
        client.ask(ALL_TOPICS, 9)
        descriptors = open_descriptors()
    for _ in range(100):
        with Client(broker) as client:
            client.ask(ALL_TOPICS, 9)
    with Client(broker) as client:
        client.ask(ALL_TOPICS, 9)
        until(lambda: open_descriptors() <= descriptors)


def test_a_port_that_is_taken_is_said(broker: Broker) -> None:
    with pytest.raises(ConfigError, match=f"cannot listen on 127.0.0.1:{broker.port}"):
        Broker(port=broker.port).start()
    with pytest.raises(ConfigError, match=r"cannot listen on 203\.0\.113\.1:0"):
        Broker(host="203.0.113.1").start()
