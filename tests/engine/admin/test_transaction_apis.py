"""What responses about transactions become: those that no embedded broker gives."""

from __future__ import annotations

import pytest

from kwire import errors, protocol
from kwire.engine.admin.a22_init_producer_id import FenceProducers
from kwire.engine.admin.a27_write_txn_markers import AbortTransaction
from kwire.engine.admin.a61_describe_producers import DescribeProducers
from kwire.engine.admin.a65_describe_transactions import DescribeTransactions, FindTransactions
from kwire.engine.admin.a66_list_transactions import ListTransactions, TransactionFilters
from kwire.engine.admin.transaction_results import ProducerState, TransactionListing
from kwire.engine.calls.lookup import TRANSACTION, find_coordinator_request
from kwire.engine.common.addresses import TopicPartition
from kwire.schema.error_codes import COORDINATOR_NOT_AVAILABLE, INVALID_TRANSACTION_TIMEOUT, TRANSACTIONAL_ID_NOT_FOUND

T0 = TopicPartition("t", 0)
STATE = ProducerState(7, 3, 0, 0)


def markers(producer_id: int, code: int = 0) -> protocol.WriteTxnMarkersResponse:
    made = protocol.WriteTxnMarkersResponse.WritableTxnMarkerResult
    topic = made.WritableTxnMarkerTopicResult
    row = topic.WritableTxnMarkerPartitionResult(error_code=code)
    return protocol.WriteTxnMarkersResponse(
        markers=[made(producer_id=producer_id, topics=[topic(name="t", partitions=[row])])]
    )


def test_a_marker_of_another_producer_is_no_answer() -> None:
    api = AbortTransaction(T0, STATE)
    assert api.result([T0], markers(8), 1) == {}
    assert api.result([T0], markers(7), 1) == {T0: None}


@pytest.mark.parametrize(("epoch", "sent"), [(None, 0), (5, 5)])
def test_a_marker_has_the_epoch_of_the_last_coordinator(epoch: int | None, sent: int) -> None:
    request = AbortTransaction(T0, STATE._replace(coordinator_epoch=epoch)).request(None, [T0], 2)  # type: ignore[arg-type]
    [marker] = request.markers
    assert (marker.producer_id, marker.producer_epoch, marker.coordinator_epoch) == (7, 3, sent)
    assert not marker.transaction_result
    assert marker.transaction_version == 0


def test_what_a_producer_does_not_have_is_none() -> None:
    made = protocol.DescribeProducersResponse.TopicResponse
    row = made.PartitionResponse.ProducerState(producer_id=7, coordinator_epoch=-1, current_txn_start_offset=-1)
    rows = [made.PartitionResponse(active_producers=[row])]
    response = protocol.DescribeProducersResponse(topics=[made(name="t", partitions=rows)])
    [found] = DescribeProducers([T0], None).result([T0], response, 0)[T0]  # type: ignore[misc]
    assert repr(found) == (
        "ProducerState(producer_id=7, producer_epoch=0, last_sequence=-1, last_timestamp=-1, coordinator_epoch=None, "
        "current_transaction_start_offset=None)"
    )


def test_an_unknown_transactional_id_is_an_error_or_none() -> None:
    row = protocol.DescribeTransactionsResponse.TransactionState(
        transactional_id="tx", error_code=TRANSACTIONAL_ID_NOT_FOUND
    )
    response = protocol.DescribeTransactionsResponse(transaction_states=[row])
    error = DescribeTransactions(["tx"]).result(["tx"], response, 0)["tx"]
    assert isinstance(error, errors.broker.TRANSACTIONAL_ID_NOT_FOUND)
    assert FindTransactions(["tx"]).result(["tx"], response, 0) == {"tx": (None,)}


def test_a_coordinator_that_shuts_down_fails_the_list_with_its_name() -> None:
    api = ListTransactions(TransactionFilters())
    with pytest.raises(errors.broker.COORDINATOR_NOT_AVAILABLE, match="ListTransactions of broker 4"):
        api.result([4], protocol.ListTransactionsResponse(error_code=COORDINATOR_NOT_AVAILABLE), 0)


def test_an_id_that_two_brokers_list_is_listed_once() -> None:
    found = {broker: (TransactionListing("tx", 7, "Empty", broker),) for broker in (1, 2)}
    assert ListTransactions(TransactionFilters()).merge(found) == [TransactionListing("tx", 7, "Empty", 2)]


def test_why_a_producer_is_not_fenced_is_told_with_its_id() -> None:
    response = protocol.InitProducerIdResponse(error_code=INVALID_TRANSACTION_TIMEOUT)
    error = FenceProducers(["tx"]).result(["tx"], response, 4)["tx"]
    assert str(error).startswith("InitProducerId of 'tx': INVALID_TRANSACTION_TIMEOUT")


def test_a_broker_without_transactions_has_no_coordinator_of_them() -> None:
    with pytest.raises(errors.broker.UNSUPPORTED_VERSION, match="'tx'"):
        find_coordinator_request(TRANSACTION, "tx", 0)
