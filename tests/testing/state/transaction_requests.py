"""A producer of transactions, request by request, on the embedded broker in process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kwire import records
from kwire.protocol import (
    AddPartitionsToTxnRequest,
    DescribeTransactionsRequest,
    EndTxnRequest,
    InitProducerIdRequest,
    ProduceRequest,
)
from tests.testing.in_process import InProcess

V1, V2 = {"transaction.version": 1}, {"transaction.version": 2}
_Topic = AddPartitionsToTxnRequest.AddPartitionsToTxnTopic
_TopicData = ProduceRequest.TopicProduceData
_PartitionData = _TopicData.PartitionProduceData


def broker_of(release: str = "4.4.0", **options: Any) -> InProcess:
    broker = InProcess(release, **options)
    broker.cluster.create_topic("orders", 3)
    return broker


def describe(broker: InProcess, transactional_id: str = "mine") -> Any:
    [found] = broker.ask(DescribeTransactionsRequest(transactional_ids=[transactional_id]), 0).transaction_states
    return found


def init_request(transactional_id: str | None = "mine", timeout_ms: int = 60_000, **fields: Any) -> Any:
    return InitProducerIdRequest(transactional_id=transactional_id, transaction_timeout_ms=timeout_ms, **fields)


def add_request(
    producer_id: int,
    epoch: int,
    partitions: Sequence[int] = (0,),
    topic: str = "orders",
    transactional_id: str = "mine",
) -> AddPartitionsToTxnRequest:
    return AddPartitionsToTxnRequest(
        v3_and_below_transactional_id=transactional_id,
        v3_and_below_producer_id=producer_id,
        v3_and_below_producer_epoch=epoch,
        v3_and_below_topics=[_Topic(name=topic, partitions=list(partitions))],
    )


def end_request(producer_id: int, epoch: int, *, commit: bool, transactional_id: str = "mine") -> EndTxnRequest:
    return EndTxnRequest(
        transactional_id=transactional_id, producer_id=producer_id, producer_epoch=epoch, committed=commit
    )


def produce_request(
    values: Sequence[bytes],
    producer_id: int,
    epoch: int,
    sequence: int,
    partition: int = 0,
    *,
    topic: str = "orders",
    transactional_id: str | None = "mine",
    is_transactional: bool = True,
    timestamp: int = 1000,
    key: bytes | None = None,
) -> ProduceRequest:
    record_set = records.encode(
        [(value, key, timestamp) for value in values],
        producer_id=producer_id,
        producer_epoch=epoch,
        base_sequence=sequence,
        is_transactional=is_transactional,
    )
    return ProduceRequest(
        transactional_id=transactional_id,
        acks=-1,
        timeout_ms=1000,
        topic_data=[_TopicData(name=topic, partition_data=[_PartitionData(index=partition, records=record_set)])],
    )


class TransactionalProducer:
    """Speaks the protocol v1, or v2, which adds partitions by producing and changes the epoch at each end."""

    def __init__(
        self, broker: InProcess, transactional_id: str = "mine", *, v2: bool = False, key: bytes | None = None
    ) -> None:
        self.broker, self.transactional_id, self.v2, self.key = broker, transactional_id, v2, key
        given = broker.ask(init_request(transactional_id), 4)
        assert given.error_code == 0
        self.producer_id, self.epoch = given.producer_id, given.producer_epoch
        self._sequences: dict[int, int] = {}

    def add(self, *partitions: int) -> int:
        answer = self.broker.ask(
            add_request(self.producer_id, self.epoch, partitions, transactional_id=self.transactional_id), 3
        )
        code: int = answer.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code
        return code

    def send(self, *values: bytes, partition: int = 0, version: int | None = None) -> int:
        sequence = self._sequences.get(partition, 0)
        request = produce_request(
            values,
            self.producer_id,
            self.epoch,
            sequence,
            partition,
            transactional_id=self.transactional_id,
            key=self.key,
        )
        answer = self.broker.ask(request, version or (12 if self.v2 else 11))
        code: int = answer.responses[0].partition_responses[0].error_code
        if not code:
            self._sequences[partition] = sequence + len(values)
        return code

    def write(self, *values: bytes, partition: int = 0) -> None:
        """Makes the partition part of the transaction and writes to it."""
        if not self.v2:
            assert self.add(partition) == 0
        assert self.send(*values, partition=partition) == 0

    def end(self, *, commit: bool) -> int:
        request = end_request(self.producer_id, self.epoch, commit=commit, transactional_id=self.transactional_id)
        answer = self.broker.ask(request, 5 if self.v2 else 4)
        if self.v2 and not answer.error_code:
            self.producer_id, self.epoch = answer.producer_id, answer.producer_epoch
            self._sequences.clear()
        code: int = answer.error_code
        return code

    def commit(self) -> None:
        assert self.end(commit=True) == 0

    def abort(self) -> None:
        assert self.end(commit=False) == 0
