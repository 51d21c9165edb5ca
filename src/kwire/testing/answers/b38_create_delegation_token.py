"""CreateDelegationToken (key 38).

Behaviour
    Makes a token for who asks, or for the owner that the request names, which needs the right to CREATE_TOKENS for
    that user. Who has not logged in, or has by a token, is refused (DELEGATION_TOKEN_REQUEST_NOT_ALLOWED), and so are
    all where the broker has no secret key (..._AUTH_DISABLED). A renewer that is no user: INVALID_PRINCIPAL_TYPE.

Version notes
    v0-v2   the owner is who asks
    v3      the owner may be another; the response names who asked (KIP-373)
"""

from __future__ import annotations

from kwire.errors import BrokerError
from kwire.protocol import CreateDelegationTokenRequest, CreateDelegationTokenResponse
from kwire.testing.answers.token_requests import principal_of, require_login
from kwire.testing.requests import RequestContext
from kwire.testing.state.authorizer import CREATE_TOKENS, USER

Context = RequestContext[CreateDelegationTokenRequest]
_FIRST_VERSION_WITH_OWNERS = 3


def answer(context: Context) -> CreateDelegationTokenResponse:
    """The token."""
    request, requester = context.request, principal_of(context)
    owner = requester
    if request.owner_principal_name:
        owner = (request.owner_principal_type or "", request.owner_principal_name)
    try:
        require_login(context)
        if owner != requester:
            context.require(CREATE_TOKENS, USER, ":".join(owner))
        renewers = [(each.principal_type, each.principal_name) for each in request.renewers]
        made = context.cluster.tokens.create(owner, requester, renewers, request.max_lifetime_ms)
    except BrokerError as refused:
        return refuse(context, refused.code)
    response = CreateDelegationTokenResponse(
        principal_type=owner[0],
        principal_name=owner[1],
        issue_timestamp_ms=made.issued,
        expiry_timestamp_ms=made.expires,
        max_timestamp_ms=made.ends,
        token_id=made.token_id,
        hmac=made.hmac,
    )
    if context.version >= _FIRST_VERSION_WITH_OWNERS:
        response.token_requester_principal_type, response.token_requester_principal_name = requester
    return response


def refuse(context: Context, code: int) -> CreateDelegationTokenResponse:
    """The error alone, with who asked."""
    kind, name = principal_of(context)
    response = CreateDelegationTokenResponse(
        error_code=code,
        principal_type=kind,
        principal_name=name,
        issue_timestamp_ms=-1,
        expiry_timestamp_ms=-1,
        max_timestamp_ms=-1,
    )
    if context.version >= _FIRST_VERSION_WITH_OWNERS:
        response.token_requester_principal_type, response.token_requester_principal_name = kind, name
    return response
