"""InitProducerId (key 22).

Behaviour
    A producer without a transactional id gets a new id with epoch 0, whatever id it had before. There are no
    transactions: a transactional id is refused with INVALID_REQUEST.

Version notes
    v3   producer_id and producer_epoch of a producer that starts over; without a transactional id they change nothing
    v6   two-phase commit, which needs a transactional id
"""

from __future__ import annotations

from kwire.errors import broker as codes
from kwire.protocol import InitProducerIdRequest, InitProducerIdResponse
from kwire.testing.requests import RequestContext


def answer(context: RequestContext[InitProducerIdRequest]) -> InitProducerIdResponse:
    """A producer id that was not used before."""
    if context.request.transactional_id is not None:
        return refuse(context, codes.INVALID_REQUEST.code)
    return InitProducerIdResponse(producer_id=context.cluster.new_producer_id(), producer_epoch=0)


def refuse(context: RequestContext[InitProducerIdRequest], code: int) -> InitProducerIdResponse:
    """The error, without an id."""
    return InitProducerIdResponse(error_code=code, producer_id=-1, producer_epoch=-1)
