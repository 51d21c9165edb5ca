"""InitProducerId (key 22).

Behaviour
    A producer without a transactional id gets a new id with epoch 0, whatever id it had before. With one it gets the
    id that belongs to it and an epoch that fences every earlier producer. An open transaction is aborted first: the
    answer is CONCURRENT_TRANSACTIONS until that is done.

Version notes
    v3   producer_id and producer_epoch of a producer that goes on after an error (KIP-360): another one than the
         present is fenced; one of the two without the other is INVALID_REQUEST. Without a transactional id they change
         nothing
    v4   PRODUCER_FENCED; below it INVALID_PRODUCER_EPOCH
    v6   two-phase commit, with transaction_two_phase_commit_enable on the broker: such a transaction does not time out.
         Without it TRANSACTIONAL_ID_AUTHORIZATION_FAILED. keep_prepared_txn is answered with UNSUPPORTED_VERSION
"""

from __future__ import annotations

from kwire.errors import BrokerError
from kwire.errors import broker as codes
from kwire.protocol import InitProducerIdRequest, InitProducerIdResponse
from kwire.testing.answers.transaction_requests import check_coordinator, code_told
from kwire.testing.requests import RequestContext
from kwire.testing.state.authorizer import CLUSTER, IDEMPOTENT_WRITE, TOPIC, TRANSACTIONAL_ID, TWO_PHASE_COMMIT, WRITE
from kwire.testing.state.transactions import ProducerIdAndEpoch

_FENCED_SINCE = 4


def answer(context: RequestContext[InitProducerIdRequest]) -> InitProducerIdResponse:
    """The producer's id and epoch."""
    try:
        given = _given(context)
    except BrokerError as refused:
        return refuse(context, code_told(context, refused, _FENCED_SINCE))
    return InitProducerIdResponse(producer_id=given.producer_id, producer_epoch=given.epoch)


def refuse(context: RequestContext[InitProducerIdRequest], code: int) -> InitProducerIdResponse:
    """The error, without an id."""
    return InitProducerIdResponse(error_code=code, producer_id=-1, producer_epoch=-1)


def _given(context: RequestContext[InitProducerIdRequest]) -> ProducerIdAndEpoch:
    request = context.request
    _authorize(context)
    if (request.producer_id == -1) != (request.producer_epoch == -1):
        raise codes.INVALID_REQUEST(f"producer id {request.producer_id} with epoch {request.producer_epoch}")
    transactional_id = request.transactional_id
    if transactional_id is None:
        return ProducerIdAndEpoch(context.cluster.new_producer_id(), 0)
    if not transactional_id:
        raise codes.INVALID_REQUEST("a transactional id is empty")
    if request.enable2_pc and not context.cluster.properties.transaction_two_phase_commit_enable:
        raise codes.TRANSACTIONAL_ID_AUTHORIZATION_FAILED("transaction_two_phase_commit_enable is off")
    if request.keep_prepared_txn:
        raise codes.UNSUPPORTED_VERSION("keep_prepared_txn")
    check_coordinator(context, transactional_id)
    is_known = request.producer_id != -1
    expected = ProducerIdAndEpoch(request.producer_id, request.producer_epoch) if is_known else None
    return context.cluster.transactions.init(
        transactional_id, request.transaction_timeout_ms, expected, two_phase=request.enable2_pc
    )


def _authorize(context: RequestContext[InitProducerIdRequest]) -> None:
    transactional_id = context.request.transactional_id
    if transactional_id is None:
        if not any(context.allows(WRITE, TOPIC, name) for name in context.cluster.topics):
            context.require(IDEMPOTENT_WRITE, CLUSTER)
        return
    context.require(WRITE, TRANSACTIONAL_ID, transactional_id)
    if context.request.enable2_pc:
        context.require(TWO_PHASE_COMMIT, TRANSACTIONAL_ID, transactional_id)
