"""Every error code in the answer to every request of a transaction: none leaves a producer stuck, or commits half."""

from __future__ import annotations

import pytest

from kwire.engine.transactions import states, verdicts
from kwire.errors import KafkaError, TransactionError
from kwire.errors.broker import by_code
from kwire.errors.history import codes_of
from kwire.schema.api_keys import PRODUCE
from tests.each import each
from tests.engine.transactions.world import NOBODY, TransactionalProducer, TransactionWorld
from tests.thorough import THOROUGH

CODES = [code for code in codes_of("4.4.0") if code]
SOME = CODES if THOROUGH else [code for code in CODES if code < 60 or code in (82, 88, 90, 113, 120)]
APIS = ["InitProducerId", "AddPartitionsToTxn", "Produce", "AddOffsetsToTxn", "TxnOffsetCommit", "EndTxn"]


def one_transaction(producer: TransactionalProducer) -> None:
    """As a user makes one."""
    if producer.state == states.UNINITIALIZED:
        producer.init()
    producer.begin()
    try:
        producer.send_all(b"a", b"b", partition=0)
        producer.send_offsets({("t", 1): 2}, NOBODY)
        producer.commit()
    except TransactionError as error:
        if error.abortable:
            producer.abort()
        raise


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("api", APIS)
@each("code", SOME)
def test_an_error_code(version: int, api: str, code: int) -> None:
    world = TransactionWorld(version)
    producer = world.producer(delivery_timeout_ms=5000)
    world.faults.error(api, code)
    failed: KafkaError | None = None
    try:
        one_transaction(producer)
    except KafkaError as error:
        failed = error
    world.faults.clear()
    if producer.state == states.FATAL:
        producer = world.producer()
        producer.init()
    if producer.state == states.UNINITIALIZED:
        producer.init()
    assert producer.state == states.READY
    producer.transact(b"c", partition=0)
    offsets = world.cluster.groups.offsets.find("g", "t", 1)
    if failed is None:
        assert world.committed() == [b"a", b"b", b"c"]
        assert offsets is not None
    else:
        assert not by_code(code).retriable
        assert world.committed() == [b"c"]
        assert offsets is None


@each("code", [code for code in CODES if not by_code(code).retriable])
def test_a_leaders_refusal_is_abortable_but_for_those_of_the_producer_itself(code: int) -> None:
    """As Java's maybeTransitionToErrorState."""
    found = verdicts.verdict(PRODUCE, code)
    wanted = {90: verdicts.FENCED, **dict.fromkeys((31, 35, 49, 53), verdicts.FATAL)}
    assert found == wanted.get(code, verdicts.ABORT)
