"""SaslHandshake (key 17).

Behaviour
    Takes the mechanism of a login, or of a re-authentication (session.py has the order of requests), and lists those
    that the broker offers. One that it does not offer is UNSUPPORTED_SASL_MECHANISM, and the connection closes.
    Where no login is expected (there are no accounts, the session has no end, the last re-authentication began less
    than a second ago) it is ILLEGAL_SASL_STATE without a list, and the connection stays.

Version notes
    v0   what follows are bare tokens, each with its size and nothing else, both ways; a refused one closes
    v1   what follows are SaslAuthenticate requests (KIP-152)
"""

from __future__ import annotations

from kwire.errors import BrokerError
from kwire.protocol import SaslHandshakeRequest, SaslHandshakeResponse
from kwire.testing.requests import RequestContext


def answer(context: RequestContext[SaslHandshakeRequest]) -> SaslHandshakeResponse:
    """The mechanisms that there are, with or without the asked one."""
    session = context.session
    mechanisms = session.mechanisms
    try:
        session.choose(context.request.mechanism, bare_tokens=context.version == 0)
    except BrokerError as refused:
        return SaslHandshakeResponse(error_code=refused.code, mechanisms=mechanisms)
    return SaslHandshakeResponse(mechanisms=mechanisms)


def refuse(context: RequestContext[SaslHandshakeRequest], code: int) -> SaslHandshakeResponse:
    """The error alone; a login has failed by it."""
    context.session.fail("the login was refused by an injected fault")
    return SaslHandshakeResponse(error_code=code)
