"""AddOffsetsToTxn (key 25).

Behaviour
    Makes the offsets of a group part of a transaction: the partition of __consumer_offsets that the group's id chooses,
    as DescribeTransactions shows. The offsets themselves come by TxnOffsetCommit.

Version notes
    v2   PRODUCER_FENCED; below it INVALID_PRODUCER_EPOCH
"""

from __future__ import annotations

from kwire.errors import BrokerError
from kwire.protocol import AddOffsetsToTxnRequest, AddOffsetsToTxnResponse
from kwire.testing.answers.transaction_requests import check_coordinator, code_told
from kwire.testing.requests import RequestContext
from kwire.testing.state.authorizer import GROUP as GROUP_RESOURCE
from kwire.testing.state.authorizer import READ, TRANSACTIONAL_ID, WRITE
from kwire.testing.state.coordinators import GROUP
from kwire.testing.state.transactions import OFFSETS_TOPIC, ProducerIdAndEpoch

_FENCED_SINCE = 2


def answer(context: RequestContext[AddOffsetsToTxnRequest]) -> AddOffsetsToTxnResponse:
    """Whether it was added."""
    request = context.request
    place = OFFSETS_TOPIC, context.cluster.coordinators.slot(GROUP, request.group_id).slot
    try:
        context.require(WRITE, TRANSACTIONAL_ID, request.transactional_id)
        context.require(READ, GROUP_RESOURCE, request.group_id)
        check_coordinator(context, request.transactional_id)
        producer = ProducerIdAndEpoch(request.producer_id, request.producer_epoch)
        context.cluster.transactions.add(request.transactional_id, producer, [place])
    except BrokerError as refused:
        return refuse(context, code_told(context, refused, _FENCED_SINCE))
    return AddOffsetsToTxnResponse()


def refuse(context: RequestContext[AddOffsetsToTxnRequest], code: int) -> AddOffsetsToTxnResponse:
    """The error."""
    return AddOffsetsToTxnResponse(error_code=code)
