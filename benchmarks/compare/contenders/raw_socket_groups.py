"""Blocking sockets and nothing else: requests prepared beforehand, whose responses are read."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from itertools import cycle, islice, repeat
from math import copysign
from typing import Any

from benchmarks.compare.contenders.members import PER_TRANSACTION
from benchmarks.compare.contenders.meters import Meter, round_trips
from benchmarks.compare.contenders.raw_requests import connected, exchange
from benchmarks.compare.contenders.task import Task, values_of
from kwire import protocol, records
from kwire.schema.api_keys import END_TXN, PRODUCE
from kwire.schema.messages import Message

_VERSION = 8
_INIT_VERSION, _PRODUCE_VERSION, _END_VERSION, _DESCRIBE_VERSION = 4, 12, 5, 0
_LOOK_AFTER_S, _PAUSE_S = 0.002, 0.0005
_TRIES = 1_000
_ID = "raw-socket"


def commits(task: Task) -> dict[str, float]:
    """The same request again and again, for a group without members."""
    topics = protocol.OffsetCommitRequest.OffsetCommitRequestTopic
    partition = topics.OffsetCommitRequestPartition(partition_index=0, committed_offset=1)
    request = protocol.OffsetCommitRequest(
        group_id="commits-raw", topics=[topics(name=task.topic, partitions=[partition])]
    )
    frame = protocol.encode_request(request, _VERSION, correlation_id=1, client_id="raw")
    with connected(task) as connection:
        _, response = protocol.decode_response(exchange(connection, frame), 8, _VERSION)
        code = response.topics[0].partitions[0].error_code
        if code:
            raise SystemExit(f"the broker refused a commit for {task.topic}: error {code}")
        return round_trips(lambda: exchange(connection, frame), task.count)


def transactions(task: Task) -> dict[str, float]:
    """For each record a call that makes an object; then a batch ready made is sent and committed, and the coordinator
    asked until the markers are written."""
    with connected(task) as data, connected(task) as coordinator:
        producer = _until_answered(
            coordinator,
            protocol.InitProducerIdRequest(transactional_id=_ID, transaction_timeout_ms=60_000),
            _INIT_VERSION,
        )
        transactions = list(_transactions(task, producer.producer_id, producer.producer_epoch))
        look = _frame(protocol.DescribeTransactionsRequest(transactional_ids=[_ID]), _DESCRIBE_VERSION)
        _transact(data, coordinator, transactions[0], look)
        with Meter() as meter:
            for each in transactions[1:]:
                _call_for_each_record()
                _transact(data, coordinator, each, look)
    return meter.per_record(task.count)


def _transactions(task: Task, producer_id: int, epoch: int) -> Iterator[tuple[bytes, bytes]]:
    """Produce and EndTxn of each, and of one before: every EndTxn raises the epoch by one."""
    produced = protocol.ProduceRequest.TopicProduceData
    values = list(islice(cycle(values_of(task.size)), PER_TRANSACTION))
    for number in range(task.count // PER_TRANSACTION + 1):
        given = {"producer_id": producer_id, "producer_epoch": epoch + number}
        batch = records.encode(values, base_sequence=0, is_transactional=True, **given)
        entry = produced.PartitionProduceData(index=number % task.partitions, records=batch)
        topic = produced(name=task.topic, partition_data=[entry])
        send = protocol.ProduceRequest(transactional_id=_ID, acks=-1, timeout_ms=30_000, topic_data=[topic])
        end = protocol.EndTxnRequest(transactional_id=_ID, committed=True, **given)
        yield _frame(send, _PRODUCE_VERSION), _frame(end, _END_VERSION)


def _call_for_each_record() -> None:
    """What a caller does who has the records one by one: the least of its kind, a function of two arguments."""
    send = copysign
    for _ in repeat(None, PER_TRANSACTION):
        send(1.0, 1.0)


def _transact(data: socket.socket, coordinator: socket.socket, frames: tuple[bytes, bytes], look: bytes) -> None:
    send, end = frames
    _, sent = protocol.decode_response(exchange(data, send), PRODUCE, _PRODUCE_VERSION)
    _, ended = protocol.decode_response(exchange(coordinator, end), END_TXN, _END_VERSION)
    codes = (sent.responses[0].partition_responses[0].error_code, ended.error_code)
    if any(codes):
        raise SystemExit(f"the broker refused a transaction: errors {codes}")
    time.sleep(_LOOK_AFTER_S)
    while b"CompleteCommit" not in exchange(coordinator, look):
        time.sleep(_PAUSE_S)


def _until_answered(connection: socket.socket, message: Message, version: int) -> Any:
    """The first answer without an error: a coordinator may still be ending what was before."""
    for _ in range(_TRIES):
        _, response = protocol.decode_response(
            exchange(connection, _frame(message, version)), message.__api_key__, version
        )
        if not response.error_code:
            return response
        time.sleep(_PAUSE_S)
    raise SystemExit(f"the broker refused {type(message).__name__}: error {response.error_code}")


def _frame(message: Message, version: int) -> bytes:
    return protocol.encode_request(message, version, correlation_id=1, client_id="raw")
