"""The same odd requests to real Kafka and to the embedded broker of the same release: the same answers, or none.

Left out of the comparison is what must differ (addresses, ids) and what is free (texts). How a log stores old formats
differs too: Kafka converts them to its own, the embedded broker keeps them; so records are compared, not bytes.
"""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest

from kwire import protocol, records
from kwire.protocol import (
    ApiVersionsRequest,
    CreateTopicsRequest,
    DeleteTopicsRequest,
    FindCoordinatorRequest,
    InitProducerIdRequest,
    ListOffsetsRequest,
    MetadataRequest,
    ProduceRequest,
    SaslAuthenticateRequest,
    SaslHandshakeRequest,
)
from kwire.testing import Broker
from tests.brokers import Cluster
from tests.testing.wire import batch, fetch, produce

SILENT, CLOSED = "silent", "closed"
SILENCE_S = 0.4
NOT_COMPARED = {
    "host", "port", "cluster_id", "topic_id", "producer_id", "error_message", "configs", "node_id", "controller_id",
    "leader_id", "leader_epoch", "replica_nodes", "isr_nodes", "current_leader", "node_endpoints", "session_id",
    "last_stable_offset", "throttle_time_ms", "record_errors", "rack", "topic_authorized_operations",
    "cluster_authorized_operations", "mechanisms",
}  # fmt: skip
Question = tuple[str, bytes, tuple[int, int] | None]


def header(key: int, version: int) -> bytes:
    return struct.pack(">hhih", key, version, 9, 1) + b"c"


def strings(*texts: str) -> bytes:
    return struct.pack(">i", len(texts)) + b"".join(struct.pack(">h", len(text)) + text.encode() for text in texts)


def asked(name: str, request: protocol.Request, version: int) -> Question:
    frame = protocol.encode_request(request, version, correlation_id=9, client_id="c")
    return f"{name}, version {version}", frame, (request.__api_key__, version)


def raw(name: str, body: bytes, decoded_as: tuple[int, int] | None = None) -> Question:
    return name, struct.pack(">i", len(body)) + body, decoded_as


def metadata(*names: str, create: bool = True) -> MetadataRequest:
    return MetadataRequest(
        topics=[MetadataRequest.MetadataRequestTopic(name=name) for name in names], allow_auto_topic_creation=create
    )


def offsets(topic: str, when: int, partition: int = 0, most: int | None = None) -> ListOffsetsRequest:
    wanted = ListOffsetsRequest.ListOffsetsTopic.ListOffsetsPartition(partition_index=partition, timestamp=when)
    if most is not None:
        wanted.max_num_offsets = most
    return ListOffsetsRequest(
        replica_id=-1, topics=[ListOffsetsRequest.ListOffsetsTopic(name=topic, partitions=[wanted])]
    )


def topic_to_make(name: str, partitions: int = 1, replicas: int = 1, **configs: str) -> CreateTopicsRequest:
    wanted = CreateTopicsRequest.CreatableTopic
    given = [wanted.CreatableTopicConfig(name=key.replace("_", "."), value=value) for key, value in configs.items()]
    made = wanted(name=name, num_partitions=partitions, replication_factor=replicas, configs=given)
    return CreateTopicsRequest(topics=[made], timeout_ms=10_000)


def questions(topic: str, topic_id: UUID | None, spans: dict[int, tuple[int, int]]) -> list[Question]:
    """What is asked, in this order, each on a connection of its own."""
    return [
        raw("an API key that nobody has", header(999, 0)),
        raw("a header that is cut off", b"\0\3\0\0"),
        raw("ApiVersions 99", header(18, 99) + b"\0", (18, 0) if 18 in spans else None),
        raw("Produce 99", header(0, 99)),
        raw("Metadata with bytes behind it", header(3, 0) + strings(topic) + b"xx", (3, 0)),
        raw("Metadata that is cut off", header(3, 0) + struct.pack(">ih", 1, 50) + b"short"),
        raw("Metadata 1", header(3, 1) + strings(topic), (3, 1) if 18 in spans else (3, 0)),
        *produce_questions(topic, topic_id, spans[0]),
        *fetch_questions(topic, topic_id, spans[1]),
        *(asked(f"time {when}", offsets(topic, when), version)
          for version in range(max(spans[2][0], 1), spans[2][1] + 1) for when in (-1, -2, -3, -4, 0, 1001, 10**15)),
        *(asked(f"borders {when}", offsets(topic, when, most=5), 0) for when in (-1, -2) if spans[2][0] == 0),
        *(asked("a partition that is missing", offsets(topic, -1, 7), version) for version in spans[2]),
        *(asked("a topic", metadata(topic), version) for version in range(spans[3][0], spans[3][1] + 1)),
        *(asked("a bad name", metadata("bad name"), version) for version in range(1, spans[3][1] + 1)),
        *(asked("a missing topic", metadata("is-not-there", create=False), version)
          for version in range(4, spans[3][1] + 1)),
        *admin_questions(topic, spans),
        *login_questions(spans),
        *name_questions(spans),
    ]  # fmt: skip


def name_questions(spans: dict[int, tuple[int, int]]) -> list[Question]:
    """Names of clients, and of share partitions, that are none."""
    names = ("good", "bad name!", "", "-x", "x.y-z0", "é")
    software = [(name, "1") for name in names] + [("good", version) for version in names]
    share_keys = ("g", "g:x:0", ":AAAAAAAAAAAAAAAAAAAAAA:0", "g:AAAAAAAAAAAAAAAAAAAAAA:x", "g:AAAAAAAAAAAAAAAAAAAAAA")
    return [
        asked(f"a client {name!r} {number!r}", ApiVersionsRequest(client_software_name=name,
                                                                 client_software_version=number), version)
        for version in range(3, spans.get(18, (0, 0))[1] + 1)
        for name, number in software
        if (name, number) not in (("good", "good"), ("good", "1"), ("x.y-z0", "1"), ("good", "x.y-z0"))
    ] + [
        asked(f"a share partition {key!r}", FindCoordinatorRequest(coordinator_keys=[key], key_type=2), version)
        for version in range(4, spans.get(10, (0, 0))[1] + 1)
        for key in share_keys
    ]  # fmt: skip


def login_questions(spans: dict[int, tuple[int, int]]) -> list[Question]:
    """Logins where nobody has to log in."""
    wanted: dict[int, protocol.Request] = {
        17: SaslHandshakeRequest(mechanism="PLAIN"),
        36: SaslAuthenticateRequest(auth_bytes=b"\0alice\0secret"),
    }
    return [
        asked("a login that is not asked for", request, version)
        for key, request in wanted.items()
        if key in spans
        for version in range(spans[key][0], spans[key][1] + 1)
    ]


def produce_questions(topic: str, topic_id: UUID | None, span: tuple[int, int]) -> list[Question]:
    asked_of = []
    for version in range(span[0], span[1] + 1):
        if version >= 13 and topic_id is None:
            continue
        magic = 2 if version >= 3 else version // 2
        named: dict[str, Any] = {"topic_id": topic_id} if version >= 13 and topic_id else {"topic": topic}
        good = batch(b"a", b"b") if magic == 2 else batch(b"a", magic=magic)
        zipped = batch(b"c", b"d", magic=magic, compression="gzip")
        wrong = batch(b"x", magic=1) if magic == 2 else good[:-1] + b"?"
        asked_of += [
            asked("a record set", produce(good, **named), version),
            asked("a compressed record set", produce(zipped, **named), version),
            asked("a record set that is wrong", produce(wrong, **named), version),
            asked("a record set under a wrong checksum", produce(good[:-1] + b"?", **named), version),
            asked("two batches", produce(good + good, **named), version),
            asked("an empty record set", produce(b"", **named), version),
            asked("a partition that is missing", produce(good, partition=7, **named), version),
        ]
        if span[1] > 0:  # 0.8 would wait for that many replicas
            asked_of.append(asked("acks 5", produce(good, acks=5, **named), version))
        if version < 13:
            asked_of.append(asked("a topic that is missing", produce(good, topic="is-not-there"), version))
            asked_of.append(asked("nothing at all", ProduceRequest(acks=1, timeout_ms=100), version))
    return asked_of


def fetch_questions(topic: str, topic_id: UUID | None, span: tuple[int, int]) -> list[Question]:
    asked_of = []
    for version in range(span[0], span[1] + 1):
        if version >= 13 and topic_id is None:
            continue
        named: dict[str, Any] = {"topic_id": topic_id} if version >= 13 and topic_id else {"topic": topic}
        asked_of += [
            asked("from the start", fetch(0, **named), version),
            asked("beyond the end", fetch(10**6, **named), version),
            asked("before the start", fetch(-1, **named), version),
            asked("a partition that is missing", fetch(0, partitions=[7], **named), version),
        ]
        if version >= 3:
            asked_of.append(asked("one byte", fetch(0, partition_max_bytes=1, max_bytes=1, **named), version))
        if version < 13:
            asked_of.append(asked("a topic that is missing", fetch(0, topic="is-not-there"), version))
        else:
            asked_of.append(asked("an id that is missing", fetch(0, topic_id=UUID(int=77)), version))
        if version >= 7:
            asked_of.append(asked("an unknown session", fetch(0, session_id=1, session_epoch=1, **named), version))
    return asked_of


def admin_questions(topic: str, spans: dict[int, tuple[int, int]]) -> list[Question]:
    asked_of = []
    for version in range(spans[19][0], spans[19][1] + 1) if 19 in spans else ():
        made = f"{topic}-made-{version}"
        asked_of += [
            asked("a new topic", topic_to_make(made, 2), version),
            asked("a topic that exists", topic_to_make(made, 2), version),
            asked("a bad name", topic_to_make("bad name"), version),
            asked("no partitions", topic_to_make("fresh", 0), version),
            asked("too many replicas", topic_to_make("fresh", 1, 3), version),
            asked("an unknown setting", topic_to_make("fresh", no_such="1"), version),
        ]
    for version in range(spans[20][0], spans[20][1] + 1) if 20 in spans else ():
        names = [f"{topic}-made-{version}", "is-not-there"]
        request = DeleteTopicsRequest(topic_names=names, timeout_ms=10_000)
        if version >= 6:
            states = [DeleteTopicsRequest.DeleteTopicState(name=name) for name in names]
            request = DeleteTopicsRequest(topics=states, timeout_ms=10_000)
        asked_of.append(asked("topics to delete", request, version))
    for version in range(spans[22][0], spans[22][1] + 1) if 22 in spans else ():
        for transactional_id in (None, ""):
            request_id = InitProducerIdRequest(transactional_id=transactional_id, transaction_timeout_ms=1000)
            asked_of.append(asked(f"an id for {transactional_id!r}", request_id, version))
    return asked_of


def answer(servers: str, question: Question) -> Any:
    """The comparable part of what comes back."""
    host, _, port = servers.rpartition(":")
    _, frame, decoded_as = question
    with socket.create_connection((host, int(port)), 10) as connection:
        connection.sendall(frame)
        connection.settimeout(SILENCE_S if decoded_as is None else 10)
        data = b""
        try:
            while len(data) < 4 or len(data) < 4 + struct.unpack_from(">i", data)[0]:
                piece = connection.recv(1 << 20)
                if not piece:
                    return CLOSED
                data += piece
        except ConnectionError:
            return CLOSED
        except TimeoutError:
            return SILENT
    assert decoded_as is not None, f"an answer of {len(data)} bytes was not expected"
    return comparable(protocol.decode_response(data, *decoded_as)[1].to_dict())


def comparable(value: Any) -> Any:
    """Without what is not compared, topics in order of name, and no transactions as an empty list, not as null.

    The last stable offset is -1 up to 1.1 where it was not asked for.
    """
    if isinstance(value, dict):
        return {key: _comparable_field(key, item) for key, item in value.items() if key not in NOT_COMPARED}
    if isinstance(value, list | tuple):
        found = [comparable(item) for item in value]
        named = all(isinstance(item, dict) and "name" in item for item in found)
        return sorted(found, key=lambda item: item["name"]) if named else found
    return value


def _comparable_field(key: str, value: Any) -> Any:
    if key == "records":
        return _records(value)
    return (value or []) if key == "aborted_transactions" else comparable(value)


def _records(data: bytes | None) -> list[tuple[int, bytes | None]]:
    return [(record.offset, record.value) for record in records.decode(data or b"")]


def wait_for_topic(ask: Callable[[protocol.Request, int], Any], topic: str, version: int) -> UUID | None:
    """Has Kafka make the topic, and gives its id where it has one."""
    until = time.monotonic() + 20
    while time.monotonic() < until:
        [found] = ask(metadata(topic), version).topics
        if found.error_code == 0 and all(partition.error_code == 0 for partition in found.partitions):
            return found.topic_id if found.topic_id.int else None
        time.sleep(0.05)
    raise AssertionError(f"{topic} was not made")


def wait_for_producer_ids(ask: Callable[[protocol.Request, int], Any], spans: dict[int, tuple[int, int]]) -> None:
    """A fresh Kafka answers COORDINATOR_LOAD_IN_PROGRESS for a moment."""
    until = time.monotonic() + 20
    request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1000)
    while 22 in spans and ask(request, spans[22][0]).error_code != 0:
        assert time.monotonic() < until, "no producer ids"
        time.sleep(0.05)


def test_the_answers_are_those_of_kafka(kafka: Cluster, new_topic: Callable[[], str]) -> None:
    if kafka.release.name == "2.8.2-kraft":
        pytest.skip("its preview of KRaft serves fewer APIs than the release")
    release = kafka.release.version
    topic = new_topic()
    spans = protocol.versions_of(release)
    with Broker(release=release) as broker:
        broker.create_topic(topic)
        servers = kafka.bootstrap_servers, broker.bootstrap_servers
        wait_for_producer_ids(asker(servers[0]), spans)
        ids = [wait_for_topic(asker(each), topic, min(spans[3][1], 10)) for each in servers]
        theirs, ours = (questions(topic, topic_id, spans) for topic_id in ids)
        different = []
        for their_question, our_question in zip(theirs, ours, strict=True):
            if is_a_fault_of(release, our_question):
                continue
            expected, found = answer(servers[0], their_question), answer(servers[1], our_question)
            if expected != found:
                different.append(f"{their_question[0]}:\n  Kafka {expected}\n  kwire {found}")
    assert not different, f"{len(different)} of {len(ours)} answers differ\n" + "\n".join(different)


def is_a_fault_of(release: str, question: Question) -> bool:
    """What the embedded broker does not copy: 2.1 to 2.7 close the connection on an empty record set, and 2.1 answers
    Fetch below 10 with UNSUPPORTED_COMPRESSION_TYPE where a topic is missing."""
    number = tuple(int(part) for part in release.split("."))
    name, _, decoded_as = question
    if name.startswith("an empty record set"):
        return (2, 1) <= number < (2, 8)
    missing = name.startswith(("a partition that is missing", "a topic that is missing"))
    return missing and number[:2] == (2, 1) and decoded_as is not None and decoded_as[0] == 1


def asker(servers: str) -> Callable[[protocol.Request, int], Any]:
    def ask(request: protocol.Request, version: int) -> Any:
        host, _, port = servers.rpartition(":")
        with socket.create_connection((host, int(port)), 10) as connection:
            connection.sendall(protocol.encode_request(request, version, correlation_id=9, client_id="c"))
            stream = connection.makefile("rb")
            size = stream.read(4)
            data = size + stream.read(struct.unpack(">i", size)[0])
        return protocol.decode_response(data, request.__api_key__, version)[1]

    return ask
