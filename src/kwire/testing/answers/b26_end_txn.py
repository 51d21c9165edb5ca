"""EndTxn (key 26).

Behaviour
    Commits or aborts. The markers are in the log by the time of the answer, unless a partition has no living leader;
    Kafka writes them soon after it. The repetition of what was done is a success, anything else outside of a
    transaction INVALID_TXN_STATE.

Version notes
    v2   PRODUCER_FENCED; below it INVALID_PRODUCER_EPOCH
    v5   the end raises the epoch: the answer has the id and epoch for the next transaction. An abort outside of a
         transaction is a success that raises it, too (KIP-890)
"""

from __future__ import annotations

from kwire.errors import BrokerError
from kwire.protocol import EndTxnRequest, EndTxnResponse
from kwire.testing.answers.transaction_requests import check_may_write, code_told
from kwire.testing.requests import RequestContext
from kwire.testing.state.transactions import ProducerIdAndEpoch

_FENCED_SINCE = 2
_RAISES_EPOCH_SINCE = 5


def answer(context: RequestContext[EndTxnRequest]) -> EndTxnResponse:
    """Whether it ended so."""
    request = context.request
    try:
        check_may_write(context, request.transactional_id)
        following = context.cluster.transactions.end(
            request.transactional_id,
            ProducerIdAndEpoch(request.producer_id, request.producer_epoch),
            commit=request.committed,
            raises_epoch=context.version >= _RAISES_EPOCH_SINCE,
            fences_newer=context.release.fences_newer_epochs,
        )
    except BrokerError as refused:
        return refuse(context, code_told(context, refused, _FENCED_SINCE))
    return EndTxnResponse(producer_id=following.producer_id, producer_epoch=following.epoch)


def refuse(context: RequestContext[EndTxnRequest], code: int) -> EndTxnResponse:
    """The error, without an id."""
    return EndTxnResponse(error_code=code)
