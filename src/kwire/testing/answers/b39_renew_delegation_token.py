"""RenewDelegationToken (key 39).

Behaviour
    Has a token expire later, within its lifetime; -1 is the time that the broker is set to. That is for the owner, for
    who asked for it and for its renewers (DELEGATION_TOKEN_OWNER_MISMATCH); one that has expired stays so
    (..._EXPIRED).

Version notes
    none: later versions are only written differently
"""

from __future__ import annotations

from kwire.errors import BrokerError
from kwire.protocol import RenewDelegationTokenRequest, RenewDelegationTokenResponse
from kwire.testing.answers.token_requests import principal_of, require_login
from kwire.testing.requests import RequestContext

Context = RequestContext[RenewDelegationTokenRequest]


def answer(context: Context) -> RenewDelegationTokenResponse:
    """When it expires."""
    request, tokens = context.request, context.cluster.tokens
    try:
        require_login(context)
        expires = tokens.renew(bytes(request.hmac), request.renew_period_ms, principal_of(context))
    except BrokerError as refused:
        return refuse(context, refused.code)
    return RenewDelegationTokenResponse(expiry_timestamp_ms=expires)


def refuse(context: Context, code: int) -> RenewDelegationTokenResponse:
    """The error alone."""
    return RenewDelegationTokenResponse(error_code=code, expiry_timestamp_ms=-1)
