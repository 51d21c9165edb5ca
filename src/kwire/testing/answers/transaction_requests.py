"""What the requests of transactions have in common: who answers them, and how an error is told to an old client."""

from __future__ import annotations

from typing import Any

from kwire.errors import BrokerError
from kwire.errors import broker as codes
from kwire.testing.requests import RequestContext
from kwire.testing.state.authorizer import TRANSACTIONAL_ID, WRITE
from kwire.testing.state.coordinators import TRANSACTION


def check_may_write(context: RequestContext[Any], transactional_id: str) -> None:
    """Raises BrokerError where the client may not use the transactional id, or another node coordinates it."""
    context.require(WRITE, TRANSACTIONAL_ID, transactional_id)
    check_coordinator(context, transactional_id)


def check_coordinator(context: RequestContext[Any], transactional_id: str) -> None:
    """Raises BrokerError (NOT_COORDINATOR) where another node coordinates the transactional id."""
    node = context.cluster.coordinators.leader(TRANSACTION, transactional_id)
    if node != context.node:
        raise codes.NOT_COORDINATOR(f"node {node} coordinates {transactional_id!r}, not {context.node}")


def code_told(context: RequestContext[Any], refused: BrokerError, fenced_since: int) -> int:
    """The error code for the client: versions before `fenced_since` do not know PRODUCER_FENCED (KIP-588)."""
    if refused.code == codes.PRODUCER_FENCED.code and context.version < fenced_since:
        return codes.INVALID_PRODUCER_EPOCH.code
    return refused.code
