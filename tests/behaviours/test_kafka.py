"""What the protocol guides' prose says of brokers, B2 to B16, one test for each, seen at a real Apache Kafka.

Over bare sockets, with kwire's messages and no client: what `test_client.py` makes scripted peers do is true.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from kwire import errors, protocol, records
from tests.brokers import Cluster
from tests.brokers.ports import LOOPBACK, free_ports

pytestmark = pytest.mark.kafka

REQUEST_LIMIT = 300_000
_TIMEOUT_S = 60.0
_JAAS = 'org.apache.kafka.common.security.plain.PlainLoginModule required user_kwire="secret";'


class Peer:
    """A connection over which requests go out without waiting and answers come in by their order."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._sent = 0

    def send(self, request: Any, version: int) -> int:
        """Writes the request; its correlation id."""
        self._sent += 1
        self._socket.sendall(
            protocol.encode_request(request, version, correlation_id=self._sent, client_id="behaviours")
        )
        return self._sent

    def send_bytes(self, data: bytes) -> None:
        self._socket.sendall(data)

    def receive_frame(self) -> bytes:
        """The next frame, with its size; b"" if the broker closed the connection instead."""
        size = self._read(4)
        return size + self._read(int.from_bytes(size, "big")) if size else b""

    def receive(self, key: int, version: int) -> tuple[int, Any]:
        """The correlation id and the message of the next answer."""
        header, message = protocol.decode_response(self.receive_frame(), key, version)
        return header.correlation_id, message

    def call(self, request: Any, version: int) -> Any:
        """One request, and its answer."""
        sent = self.send(request, version)
        found, message = self.receive(request.__api_key__, version)
        assert found == sent
        return message

    def is_closed(self) -> bool:
        """Whether the broker ends the connection instead of saying anything."""
        try:
            return self._socket.recv(1) == b""
        except ConnectionError:
            return True

    def is_silent(self, seconds: float) -> bool:
        """Whether nothing comes for so long."""
        self._socket.settimeout(seconds)
        try:
            self._socket.recv(1, socket.MSG_PEEK)
        except TimeoutError:
            return True
        finally:
            self._socket.settimeout(_TIMEOUT_S)
        return False

    def _read(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            part = self._socket.recv(size - len(data))
            if not part:
                return b""
            data += part
        return data


@pytest.fixture(scope="module")
def sasl_port() -> int:
    return free_ports(1)[0]


@pytest.fixture(scope="module")
def cluster(sasl_port: int) -> Iterator[Cluster]:
    """One node with a low limit for requests and a second listener, on which SASL comes first."""
    settings = {
        "listeners": f"PLAINTEXT://{LOOPBACK}:{{port}},CONTROLLER://{LOOPBACK}:{{controller_port}},"
        f"SASL://{LOOPBACK}:{sasl_port}",
        "advertised.listeners": f"PLAINTEXT://{LOOPBACK}:{{port}},SASL://{LOOPBACK}:{sasl_port}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SASL:SASL_PLAINTEXT",
        "inter.broker.listener.name": "PLAINTEXT",
        "sasl.enabled.mechanisms": "PLAIN",
        "listener.name.sasl.plain.sasl.jaas.config": _JAAS,
        "socket.request.max.bytes": str(REQUEST_LIMIT),
    }
    with Cluster("4.4.0", overrides=settings) as running:
        yield running


@contextmanager
def connection_to(port: int) -> Iterator[Peer]:
    with socket.create_connection((LOOPBACK, port), timeout=_TIMEOUT_S) as connection:
        yield Peer(connection)


@pytest.fixture
def peer(cluster: Cluster) -> Iterator[Peer]:
    with connection_to(int(cluster.bootstrap_servers.rpartition(":")[2])) as made:
        yield made


@pytest.fixture
def other(cluster: Cluster) -> Iterator[Peer]:
    with connection_to(int(cluster.bootstrap_servers.rpartition(":")[2])) as made:
        yield made


def create(peer: Peer, name: str, *, timeout_ms: int = 30_000, **settings: str) -> Any:
    made = protocol.CreateTopicsRequest
    configs = [
        made.CreatableTopic.CreatableTopicConfig(name=key.replace("_", "."), value=value)
        for key, value in settings.items()
    ]
    topic = made.CreatableTopic(name=name, num_partitions=1, replication_factor=1, configs=configs)
    return peer.call(made(timeout_ms=timeout_ms, topics=[topic]), 4).topics[0]


def new_topic(peer: Peer, name: str, **settings: str) -> str:
    """A topic that can be written to."""
    assert create(peer, name, **settings).error_code == 0
    wait_for_leader(peer, name)
    return name


def wait_for_leader(peer: Peer, name: str) -> None:
    give_up = time.monotonic() + _TIMEOUT_S
    while True:
        [found] = peer.call(metadata([name]), 4).topics
        if found.error_code == 0 and found.partitions and found.partitions[0].leader_id >= 0:
            [row] = peer.call(fetch(name, 0, max_wait_ms=0), 4).responses[0].partitions
            if row.error_code == 0:
                return
        assert time.monotonic() < give_up, f"{name} got no leader"
        time.sleep(0.02)


def metadata(names: list[str] | None) -> Any:
    row = protocol.MetadataRequest.MetadataRequestTopic
    topics = None if names is None else [row(name=name) for name in names]
    return protocol.MetadataRequest(topics=topics, allow_auto_topic_creation=True)


def produce(topic: str, *values: bytes, acks: int = -1, partition: int = 0) -> Any:
    made = protocol.ProduceRequest
    data = made.TopicProduceData.PartitionProduceData(
        index=partition, records=records.encode([(value, None, 5) for value in values])
    )
    return made(acks=acks, timeout_ms=10_000, topic_data=[made.TopicProduceData(name=topic, partition_data=[data])])


def fetch(topic: str, offset: int, *, max_wait_ms: int, max_bytes: int = 1 << 20) -> Any:
    made = protocol.FetchRequest
    part = made.FetchTopic.FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=max_bytes)
    return made(
        max_wait_ms=max_wait_ms,
        min_bytes=1,
        max_bytes=max_bytes,
        topics=[made.FetchTopic(topic=topic, partitions=[part])],
    )


def values_of(response: Any) -> list[bytes | None]:
    return records.decode(response.responses[0].partitions[0].records or b"").values()


def outcome(response: Any) -> Any:
    return response.responses[0].partition_responses[0]


def test_b01_b02_requests_of_one_connection_are_answered_in_order_one_at_a_time(peer: Peer, other: Peer) -> None:
    topic = new_topic(peer, "b02")
    held = peer.send(fetch(topic, 0, max_wait_ms=30_000), 4)
    behind = [peer.send(metadata([topic]), 4) for _ in range(3)]
    assert peer.is_silent(0.3), "what stands behind a long poll waits for it"
    assert outcome(other.call(produce(topic, b"v"), 8)).error_code == 0
    assert peer.receive(1, 4)[0] == held
    assert [peer.receive(3, 4)[0] for _ in behind] == behind


def test_b03_acks_0_is_never_answered(peer: Peer) -> None:
    topic = new_topic(peer, "b03")
    peer.send(produce(topic, b"v", acks=0), 8)
    after = peer.send(metadata([topic]), 4)
    assert peer.receive(3, 4)[0] == after
    assert values_of(peer.call(fetch(topic, 0, max_wait_ms=10_000), 4)) == [b"v"]


def test_b03_acks_0_and_an_error_is_the_end_of_the_connection(peer: Peer) -> None:
    topic = new_topic(peer, "b03-error")
    peer.send(produce(topic, b"v", acks=0, partition=9), 8)
    assert peer.is_closed()


def test_b04_a_request_above_the_limit_is_the_end_of_the_connection(peer: Peer) -> None:
    topic = new_topic(peer, "b04")
    assert outcome(peer.call(produce(topic, b"x" * (REQUEST_LIMIT - 1000)), 8)).error_code == 0
    peer.send_bytes((REQUEST_LIMIT + 1).to_bytes(4, "big"))
    assert peer.is_closed()


def test_b06_another_broker_than_the_leader_refuses_with_a_retriable_code(peer: Peer) -> None:
    topic = new_topic(peer, "b06")
    code = outcome(peer.call(produce(topic, b"v", partition=9), 8)).error_code
    assert code == 3
    assert errors.broker.by_code(code).retriable


def test_b09_an_unknown_api_versions_is_answered_in_version_0_with_code_35(peer: Peer) -> None:
    body = (18).to_bytes(2, "big") + (99).to_bytes(2, "big") + (7).to_bytes(4, "big") + b"\0\1c" + b"\0"
    peer.send_bytes(len(body).to_bytes(4, "big") + body)
    header, response = protocol.decode_response(peer.receive_frame(), 18, 0)
    assert (header.correlation_id, response.error_code) == (7, 35)
    [own] = [row for row in response.api_keys if row.api_key == 18]
    assert own.max_version < 99
    asked = protocol.ApiVersionsRequest(client_software_name="tests", client_software_version="1")
    assert peer.call(asked, own.max_version - 1).error_code == 0


def test_b10_sasl_handshake_then_raw_tokens_with_a_size(cluster: Cluster, sasl_port: int) -> None:
    with connection_to(sasl_port) as peer:
        assert peer.call(protocol.ApiVersionsRequest(), 0).error_code == 0, "allowed before"
        assert peer.call(protocol.SaslHandshakeRequest(mechanism="PLAIN"), 0).error_code == 0
        token = b"\0kwire\0secret"
        peer.send_bytes(len(token).to_bytes(4, "big") + token)
        assert peer.receive_frame() == b"\0\0\0\0", "an empty token: the end of PLAIN"
        assert peer.call(metadata([]), 4).brokers
    with connection_to(sasl_port) as peer:
        refusal = peer.call(protocol.SaslHandshakeRequest(mechanism="BOGUS"), 0)
        assert (refusal.error_code, list(refusal.mechanisms)) == (33, ["PLAIN"])
        assert peer.is_closed()
    with connection_to(sasl_port) as peer:
        peer.send(metadata([]), 4)
        assert peer.is_closed(), "nothing else is heard before the handshake"


def test_b11_a_fetch_waits_for_bytes_or_time_whichever_comes_first(peer: Peer, other: Peer) -> None:
    topic = new_topic(peer, "b11")
    begun = time.monotonic()
    assert values_of(peer.call(fetch(topic, 0, max_wait_ms=300), 4)) == []
    assert time.monotonic() - begun >= 0.29
    writer = threading.Thread(target=lambda: other.call(produce(topic, b"v"), 8))
    held = peer.send(fetch(topic, 0, max_wait_ms=2**31 - 1), 4)
    writer.start()
    found, response = peer.receive(1, 4)
    writer.join(_TIMEOUT_S)
    assert (found, values_of(response)) == (held, [b"v"])


def test_b11_the_first_batch_comes_whole_however_large(peer: Peer) -> None:
    topic = new_topic(peer, "b11-large")
    assert outcome(peer.call(produce(topic, b"x" * 50_000), 8)).error_code == 0
    assert values_of(peer.call(fetch(topic, 0, max_wait_ms=10_000, max_bytes=10), 4)) == [b"x" * 50_000]


@pytest.mark.parametrize(("acks", "code"), [(1, 0), (-1, 0), (2, 21), (-2, 21)])
def test_b12_acks_are_0_1_or_all(peer: Peer, acks: int, code: int) -> None:
    topic = new_topic(peer, f"b12-{acks + 5}")
    assert outcome(peer.call(produce(topic, b"v", acks=acks), 8)).error_code == code


def test_b13_all_topics_and_no_topic(peer: Peer) -> None:
    topic = new_topic(peer, "b13")

    def names(request: Any, version: int) -> set[str]:
        return {row.name for row in peer.call(request, version).topics}

    assert topic in names(protocol.MetadataRequest(topics=[]), 0)
    assert topic in names(protocol.MetadataRequest(topics=None), 1)
    assert names(protocol.MetadataRequest(topics=[]), 1) == set()


def test_b14_append_time_is_reported_and_nobody_is_throttled(peer: Peer) -> None:
    created = new_topic(peer, "b14-create", message_timestamp_type="CreateTime")
    appended = new_topic(peer, "b14-append", message_timestamp_type="LogAppendTime")
    first, second = (peer.call(produce(topic, b"v"), 8) for topic in (created, appended))
    assert outcome(first).log_append_time_ms == -1
    assert abs(outcome(second).log_append_time_ms - time.time() * 1000) < 600_000
    assert (first.throttle_time_ms, second.throttle_time_ms) == (0, 0)


def test_b15_a_topic_is_made_even_if_nobody_waits_for_it(peer: Peer) -> None:
    assert create(peer, "b15", timeout_ms=0).error_code in (0, 7), "made, or not made yet"
    wait_for_leader(peer, "b15")


def test_b15_minus_one_partitions_are_for_assignments(peer: Peer) -> None:
    made = protocol.CreateTopicsRequest
    assignment = made.CreatableTopic.CreatableReplicaAssignment(partition_index=0, broker_ids=[1])
    with_it = made.CreatableTopic(name="b15-a", num_partitions=-1, replication_factor=-1, assignments=[assignment])
    without = made.CreatableTopic(name="b15-b", num_partitions=-1, replication_factor=-1)
    rows = {row.name: row for row in peer.call(made(timeout_ms=30_000, topics=[with_it, without]), 2).topics}
    assert rows["b15-a"].error_code == 0
    both = made.CreatableTopic(name="b15-c", num_partitions=3, replication_factor=1, assignments=[assignment])
    [refused] = peer.call(made(timeout_ms=30_000, topics=[both]), 2).topics
    assert refused.error_code == 42


def test_b16_a_group_is_joined_with_an_empty_member_id_at_its_coordinator(peer: Peer) -> None:
    give_up = time.monotonic() + _TIMEOUT_S
    while (found := peer.call(protocol.FindCoordinatorRequest(key="b16"), 0)).error_code == 15:
        assert time.monotonic() < give_up, "no coordinator came up"
        time.sleep(0.05)
    assert (found.error_code, found.host) == (0, LOOPBACK)
    made = protocol.JoinGroupRequest
    request = made(
        group_id="b16",
        session_timeout_ms=10_000,
        rebalance_timeout_ms=10_000,
        member_id="",
        protocol_type="consumer",
        protocols=[made.JoinGroupRequestProtocol(name="range", metadata=b"")],
    )
    while (joined := peer.call(request, 2)).error_code in (14, 16):
        assert time.monotonic() < give_up, "the coordinator does not load"
        time.sleep(0.05)
    assert joined.error_code == 0
    assert joined.member_id
    assert joined.leader == joined.member_id
    left = peer.call(protocol.LeaveGroupRequest(group_id="b16", member_id=joined.member_id), 0)
    assert left.error_code == 0


def test_b16_to_describe_no_group_gives_none(peer: Peer) -> None:
    assert list(peer.call(protocol.DescribeGroupsRequest(groups=[]), 0).groups) == []
