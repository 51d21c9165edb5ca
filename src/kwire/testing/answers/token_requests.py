"""What requests about delegation tokens have in common: who may make them at all, and as whom."""

from __future__ import annotations

from typing import Any

from kwire.errors import broker as codes
from kwire.testing.requests import RequestContext
from kwire.testing.state.tokens import Principal


def principal_of(context: RequestContext[Any]) -> Principal:
    """Who asks."""
    kind, _, name = context.principal.partition(":")
    return kind, name


def require_login(context: RequestContext[Any]) -> None:
    """Raises BrokerError for a client that has not said who it is, and for one that logged in by a token."""
    if context.session.principal is None or context.session.by_token:
        raise codes.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED("log in, and not by a token")
