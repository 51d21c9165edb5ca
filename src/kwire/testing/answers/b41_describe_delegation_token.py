"""DescribeDelegationToken (key 41).

Behaviour
    The tokens of the owners named, or of all, that the client may see: its own, those it asked for or may renew, those
    that it may DESCRIBE by their ids, and those of users whose tokens it may DESCRIBE_TOKENS.

Version notes
    v3   the response names who asked for each (KIP-373)
"""

from __future__ import annotations

from kwire.errors import BrokerError
from kwire.protocol import DescribeDelegationTokenRequest, DescribeDelegationTokenResponse
from kwire.testing.answers.token_requests import principal_of, require_login
from kwire.testing.requests import RequestContext
from kwire.testing.state.authorizer import DELEGATION_TOKEN, DESCRIBE, DESCRIBE_TOKENS, USER
from kwire.testing.state.tokens import Token

Context = RequestContext[DescribeDelegationTokenRequest]
_Row = DescribeDelegationTokenResponse.DescribedDelegationToken
_FIRST_VERSION_WITH_REQUESTERS = 3


def answer(context: Context) -> DescribeDelegationTokenResponse:
    """The tokens."""
    try:
        require_login(context)
        context.cluster.tokens.require_enabled()
    except BrokerError as refused:
        return refuse(context, refused.code)
    tokens = [_row(context, token) for token in context.cluster.tokens if _may_see(context, token)]
    return DescribeDelegationTokenResponse(tokens=tokens)


def refuse(context: Context, code: int) -> DescribeDelegationTokenResponse:
    """The error alone."""
    return DescribeDelegationTokenResponse(error_code=code, tokens=[])


def _may_see(context: Context, token: Token) -> bool:
    owners = context.request.owners
    if owners is not None and token.owner not in [(each.principal_type, each.principal_name) for each in owners]:
        return False
    if token.is_of(principal_of(context)):
        return True
    if not context.cluster.authorizer.enabled:
        return False
    return context.allows(DESCRIBE, DELEGATION_TOKEN, token.token_id) or context.allows(
        DESCRIBE_TOKENS, USER, ":".join(token.owner)
    )


def _row(context: Context, token: Token) -> _Row:
    row = _Row(
        principal_type=token.owner[0],
        principal_name=token.owner[1],
        issue_timestamp=token.issued,
        expiry_timestamp=token.expires,
        max_timestamp=token.ends,
        token_id=token.token_id,
        hmac=token.hmac,
        renewers=[
            _Row.DescribedDelegationTokenRenewer(principal_type=kind, principal_name=name)
            for kind, name in token.renewers
        ],
    )
    if context.version >= _FIRST_VERSION_WITH_REQUESTERS:
        row.token_requester_principal_type, row.token_requester_principal_name = token.requester
    return row
