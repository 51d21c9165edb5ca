"""Offsets of groups in transactions of the embedded broker: held, committed, dropped, refused."""

from __future__ import annotations

from typing import Any

import pytest

from kwire.errors import broker as codes
from kwire.protocol import AddOffsetsToTxnRequest, OffsetFetchRequest, TxnOffsetCommitRequest
from tests.testing.in_process import InProcess
from tests.testing.state.transaction_requests import V1, V2, TransactionalProducer, broker_of, describe


def hold_offset(producer: TransactionalProducer, offset: int, version: int, **fields: Any) -> int:
    topic = TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic
    request = TxnOffsetCommitRequest(
        transactional_id="mine",
        group_id="g",
        producer_id=producer.producer_id,
        producer_epoch=producer.epoch,
        topics=[
            topic(
                name="orders",
                topic_id=producer.broker.cluster.topics["orders"].topic_id,
                partitions=[topic.TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=offset)],
            )
        ],
        **fields,
    )
    code: int = producer.broker.ask(request, version).topics[0].partitions[0].error_code
    return code


def add_offsets(producer: TransactionalProducer) -> int:
    request = AddOffsetsToTxnRequest(
        transactional_id="mine", producer_id=producer.producer_id, producer_epoch=producer.epoch, group_id="g"
    )
    code: int = producer.broker.ask(request, 3).error_code
    return code


def committed_offset(broker: InProcess, *, stable: bool = False) -> tuple[int, int]:
    """(error code, offset) of the group."""
    asked = OffsetFetchRequest.OffsetFetchRequestGroup
    group = asked(group_id="g", topics=[asked.OffsetFetchRequestTopics(name="orders", partition_indexes=[0])])
    answer = broker.ask(OffsetFetchRequest(groups=[group], require_stable=stable), 8)
    found = answer.groups[0].topics[0].partitions[0]
    return found.error_code, found.committed_offset


@pytest.mark.parametrize("v2", [False, True])
def test_offsets_are_the_groups_once_the_transaction_is_committed(v2: bool) -> None:
    broker = broker_of(features=V2 if v2 else V1)
    producer = TransactionalProducer(broker, v2=v2)
    for offset, commit, expected in ((5, True, 5), (7, False, 5), (9, True, 9)):
        if not v2:
            assert add_offsets(producer) == 0
        before = committed_offset(broker)
        assert hold_offset(producer, offset, 5 if v2 else 4) == 0
        assert committed_offset(broker) == before
        assert committed_offset(broker, stable=True)[0] == codes.UNSTABLE_OFFSET_COMMIT.code
        assert producer.end(commit=commit) == 0
        assert committed_offset(broker, stable=True) == (0, expected)


def test_the_offsets_of_a_group_are_a_partition_of_the_transaction() -> None:
    broker = broker_of()
    assert add_offsets(TransactionalProducer(broker)) == 0
    assert [topic.topic for topic in describe(broker).topics] == ["__consumer_offsets"]


@pytest.mark.parametrize(
    ("version", "code"),
    [
        (2, codes.INVALID_TXN_STATE.code),
        (3, codes.INVALID_TXN_STATE.code),
        (4, codes.TRANSACTION_ABORTABLE.code),
        (5, 0),
        (6, 0),
    ],
)
def test_offsets_outside_of_the_transaction(version: int, code: int) -> None:
    assert hold_offset(TransactionalProducer(broker_of()), 5, version) == code


@pytest.mark.parametrize("fields", [{"member_id": "nobody", "generation_id": 3}, {"generation_id": 3}])
def test_offsets_of_a_generation_that_is_none(fields: dict[str, Any]) -> None:
    producer = TransactionalProducer(broker_of())
    assert add_offsets(producer) == 0
    assert hold_offset(producer, 5, 4, **fields) == codes.ILLEGAL_GENERATION.code
