"""ListTransactions (key 66).

Behaviour
    The transactional ids that this node coordinates, in any state, unless filters say otherwise. A state that Kafka
    does not know is told in unknown_state_filters.

Version notes
    v1   duration_filter: those whose last transaction began longer ago than this
    v2   transactional_id_pattern: those that it matches as a whole; one that is no regular expression is answered with
         INVALID_REGULAR_EXPRESSION. Python's syntax here, RE2's in Kafka
"""

from __future__ import annotations

import re

from kwire.engine.common.expressions import compiled
from kwire.errors import broker as codes
from kwire.protocol import ListTransactionsRequest, ListTransactionsResponse
from kwire.testing.requests import RequestContext
from kwire.testing.state.authorizer import DESCRIBE, TRANSACTIONAL_ID
from kwire.testing.state.coordinators import TRANSACTION
from kwire.testing.state.transactions import KNOWN_STATES, Transaction

Context = RequestContext[ListTransactionsRequest]
_State = ListTransactionsResponse.TransactionState


def answer(context: Context) -> ListTransactionsResponse:
    """The transactional ids that pass the filters."""
    try:
        pattern = compiled(context.request.transactional_id_pattern or "")
    except ValueError:
        return refuse(context, codes.INVALID_REGULAR_EXPRESSION.code)
    found = [each for each in context.cluster.transactions if _is_asked_for(context, each, pattern)]
    return ListTransactionsResponse(
        unknown_state_filters=[each for each in context.request.state_filters if each not in KNOWN_STATES],
        transaction_states=[
            _State(transactional_id=each.transactional_id, producer_id=each.producer_id, transaction_state=each.state)
            for each in found
        ],
    )


def refuse(context: Context, code: int) -> ListTransactionsResponse:
    """The error alone."""
    return ListTransactionsResponse(error_code=code)


def _is_asked_for(context: Context, found: Transaction, pattern: re.Pattern[str]) -> bool:
    request = context.request
    if context.cluster.coordinators.leader(TRANSACTION, found.transactional_id) != context.node:
        return False
    if not context.allows(DESCRIBE, TRANSACTIONAL_ID, found.transactional_id):
        return False
    if request.producer_id_filters and found.producer_id not in request.producer_id_filters:
        return False
    if request.state_filters and found.state not in request.state_filters:
        return False
    if request.duration_filter >= 0 and context.cluster.clock() - found.started <= request.duration_filter:
        return False
    return not pattern.pattern or pattern.fullmatch(found.transactional_id) is not None
