"""ExpireDelegationToken (key 40).

Behaviour
    Has a token expire then, within its lifetime; -1 removes it. That is for the owner, for who asked for it and for its
    renewers (DELEGATION_TOKEN_OWNER_MISMATCH).

Version notes
    none: later versions are only written differently
"""

from __future__ import annotations

from kwire.errors import BrokerError
from kwire.protocol import ExpireDelegationTokenRequest, ExpireDelegationTokenResponse
from kwire.testing.answers.token_requests import principal_of, require_login
from kwire.testing.requests import RequestContext

Context = RequestContext[ExpireDelegationTokenRequest]


def answer(context: Context) -> ExpireDelegationTokenResponse:
    """When it expires."""
    request, tokens = context.request, context.cluster.tokens
    try:
        require_login(context)
        expires = tokens.expire(bytes(request.hmac), request.expiry_time_period_ms, principal_of(context))
    except BrokerError as refused:
        return refuse(context, refused.code)
    return ExpireDelegationTokenResponse(expiry_timestamp_ms=expires)


def refuse(context: Context, code: int) -> ExpireDelegationTokenResponse:
    """The error alone."""
    return ExpireDelegationTokenResponse(error_code=code, expiry_timestamp_ms=-1)
