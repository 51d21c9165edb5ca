"""Whole frames of Kafka 0.7, the proposal of 2012 and the draft of 0.8, written from their pages, byte by byte.

Nothing of kwire is imported. Values are plain; message sets are bytes. The functions are named after the messages of
the pages and take their fields in the order of the wire.
"""

from __future__ import annotations

import struct


def frame(*pieces: bytes) -> bytes:
    body = b"".join(pieces)
    return struct.pack(">i", len(body)) + body


def i8(value: int) -> bytes:
    return struct.pack(">b", value)


def i16(value: int) -> bytes:
    return struct.pack(">h", value)


def i32(value: int) -> bytes:
    return struct.pack(">i", value)


def i64(value: int) -> bytes:
    return struct.pack(">q", value)


def text(value: str) -> bytes:
    raw = value.encode()
    return i16(len(raw)) + raw


def sized(value: bytes) -> bytes:
    return i32(len(value)) + value


def short_list(items: list[bytes]) -> bytes:
    return i16(len(items)) + b"".join(items)


def long_list(items: list[bytes]) -> bytes:
    return i32(len(items)) + b"".join(items)


# Kafka 0.7: the page "Wire Format"; MULTI* by the code of 0.7.2.


def produce_7(topic: str, partition: int, messages: bytes) -> bytes:
    return frame(i16(0), text(topic), i32(partition), sized(messages))


def fetch_7(topic: str, partition: int, offset: int, max_size: int) -> bytes:
    return frame(i16(1), text(topic), i32(partition), i64(offset), i32(max_size))


def multi_fetch_7(fetches: list[tuple[str, int, int, int]]) -> bytes:
    return frame(i16(2), short_list([text(t) + i32(p) + i64(o) + i32(m) for t, p, o, m in fetches]))


def multi_produce_7(produces: list[tuple[str, int, bytes]]) -> bytes:
    return frame(i16(3), short_list([text(t) + i32(p) + sized(m) for t, p, m in produces]))


def offsets_7(topic: str, partition: int, time: int, max_offsets: int) -> bytes:
    return frame(i16(4), text(topic), i32(partition), i64(time), i32(max_offsets))


def fetched_7(error_code: int, messages: bytes) -> bytes:
    return frame(i16(error_code), messages)


def multi_fetched_7(error_code: int, parts: list[tuple[int, bytes]]) -> bytes:
    return frame(i16(error_code), *[sized(i16(code) + messages) for code, messages in parts])


def offsets_answer_7(error_code: int, offsets: list[int]) -> bytes:
    return frame(i16(error_code), long_list([i64(offset) for offset in offsets]))


# The proposal: "Common fields" and the four listings; message sets with an int32 length, which the page leaves open.


def topic_data(data: list[tuple[str, list[tuple[int, bytes]]]]) -> bytes:
    return short_list([text(t) + short_list([i32(p) + sized(m) for p, m in parts]) for t, parts in data])


def produce_p(
    request_type_id: int,
    version_id: int,
    correlation_id: int,
    client_id: str,
    required_acks: int,
    ack_timeout: int,
    data: list[tuple[str, list[tuple[int, bytes]]]],
) -> bytes:
    common = i16(request_type_id) + i16(version_id) + i32(correlation_id) + text(client_id)
    return frame(common, i8(required_acks), i32(ack_timeout), topic_data(data))


def produced_p(correlation_id: int, version_id: int, error: int, errors: list[int], offsets: list[int]) -> bytes:
    lists = short_list([i16(code) for code in errors]) + short_list([i64(offset) for offset in offsets])
    return frame(i32(correlation_id), i16(version_id), i16(error), lists)


def fetch_p_as_printed(
    request_type_id: int,
    correlation_id: int,
    version_id: int,
    client_id: str,
    replica_id: int,
    max_wait: int,
    min_bytes: int,
    topic_offsets: list[tuple[str, list[int], list[int]]],
) -> bytes:
    common = i16(request_type_id) + i32(correlation_id) + i16(version_id) + text(client_id)
    wanted = short_list(
        [
            text(topic) + short_list([i32(p) for p in partitions]) + short_list([i32(o) for o in offsets])
            for topic, partitions, offsets in topic_offsets
        ]
    )
    return frame(common, i32(replica_id), i32(max_wait), i32(min_bytes), wanted)


def fetched_p(
    correlation_id: int, version_id: int, error: int, data: list[tuple[str, list[tuple[int, bytes]]]]
) -> bytes:
    return frame(i32(correlation_id), i16(version_id), i16(error), topic_data(data))


# The draft of 0.8: "MetadataResponse => [TopicMetadata][Broker]", with LeaderExists and the response version.

Partition = tuple[int, int, bool, int, list[int], list[int]]


def metadata_d(correlation_id: int, client_id: str, topics: list[str]) -> bytes:
    return frame(i16(3), i16(0), i32(correlation_id), text(client_id), long_list([text(topic) for topic in topics]))


def metadata_answer_d(
    response_version: int,
    correlation_id: int,
    topics: list[tuple[int, str, list[Partition]]],
    brokers: list[tuple[int, str, int]],
) -> bytes:
    described = []
    for code, name, partitions in topics:
        rows = [
            i16(error)
            + i32(number)
            + i8(exists)
            + i32(leader)
            + long_list([*map(i32, replicas)])
            + long_list([*map(i32, isr)])
            for error, number, exists, leader, replicas, isr in partitions
        ]
        described.append(i16(code) + text(name) + long_list(rows))
    known = [i32(node) + text(host) + i32(port) for node, host, port in brokers]
    return frame(i16(response_version), i32(correlation_id), long_list(described), long_list(known))
