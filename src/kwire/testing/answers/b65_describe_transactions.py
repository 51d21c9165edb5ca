"""DescribeTransactions (key 65).

Behaviour
    State, producer, time-out and partitions of each transactional id; one that is not known is answered with
    TRANSACTIONAL_ID_NOT_FOUND, an empty one with INVALID_REQUEST. Topics that the client may not see are left out.

Version notes
    only v0
"""

from __future__ import annotations

from kwire.errors import BrokerError
from kwire.errors import broker as codes
from kwire.protocol import DescribeTransactionsRequest, DescribeTransactionsResponse
from kwire.testing.answers.transaction_requests import check_coordinator
from kwire.testing.requests import RequestContext
from kwire.testing.state.authorizer import DESCRIBE, TOPIC, TRANSACTIONAL_ID
from kwire.testing.state.transactions import Transaction

Context = RequestContext[DescribeTransactionsRequest]
_State = DescribeTransactionsResponse.TransactionState


def answer(context: Context) -> DescribeTransactionsResponse:
    """The description of each transactional id."""
    return DescribeTransactionsResponse(
        transaction_states=[_state(context, each) for each in context.request.transactional_ids]
    )


def refuse(context: Context, code: int) -> DescribeTransactionsResponse:
    """Every transactional id answered with `code`."""
    return DescribeTransactionsResponse(
        transaction_states=[
            _State(error_code=code, transactional_id=each) for each in context.request.transactional_ids
        ]
    )


def _state(context: Context, transactional_id: str) -> _State:
    try:
        found = _found(context, transactional_id)
    except BrokerError as refused:
        return _State(error_code=refused.code, transactional_id=transactional_id)
    by_topic: dict[str, list[int]] = {}
    for topic, index in sorted(found.places):
        if not context.allows(DESCRIBE, TOPIC, topic):
            continue
        by_topic.setdefault(topic, []).append(index)
    return _State(
        transactional_id=transactional_id,
        transaction_state=found.state,
        transaction_timeout_ms=found.timeout_ms,
        transaction_start_time_ms=found.started,
        producer_id=found.producer_id,
        producer_epoch=found.epoch,
        topics=[_State.TopicData(topic=topic, partitions=indexes) for topic, indexes in by_topic.items()],
    )


def _found(context: Context, transactional_id: str) -> Transaction:
    context.require(DESCRIBE, TRANSACTIONAL_ID, transactional_id)
    if not transactional_id:
        raise codes.INVALID_REQUEST("a transactional id is empty")
    check_coordinator(context, transactional_id)
    found = context.cluster.transactions.find(transactional_id)
    if found is None:
        raise codes.TRANSACTIONAL_ID_NOT_FOUND(f"no transactional id {transactional_id!r}")
    return found
