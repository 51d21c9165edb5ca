"""ListPartitionReassignments (key 46).

Behaviour
    Reassignments are done when they are asked for, so none is ever in progress.

Version notes
    there is v0
"""

from __future__ import annotations

from kwire.errors import BrokerError
from kwire.protocol import ListPartitionReassignmentsRequest, ListPartitionReassignmentsResponse
from kwire.testing.requests import RequestContext
from kwire.testing.state.authorizer import CLUSTER, DESCRIBE

Context = RequestContext[ListPartitionReassignmentsRequest]


def answer(context: Context) -> ListPartitionReassignmentsResponse:
    """Nothing, to who may know."""
    try:
        context.check_controller()
        context.require(DESCRIBE, CLUSTER)
    except BrokerError as refused:
        return refuse(context, refused.code)
    return ListPartitionReassignmentsResponse(error_message=None, topics=[])


def refuse(context: Context, code: int) -> ListPartitionReassignmentsResponse:
    """The error alone."""
    return ListPartitionReassignmentsResponse(error_code=code, topics=[])
