"""SaslAuthenticate (key 36).

Behaviour
    Hands the token to the mechanism that SaslHandshake chose and returns its answer. A login that fails is
    SASL_AUTHENTICATION_FAILED, and the connection closes: with the reason where the mechanism has one for the client (a
    wrong password of PLAIN), else only with the mechanism's name (SCRAM). So is a re-authentication as someone else;
    one by another mechanism closes the connection without an answer. After a login it is ILLEGAL_SASL_STATE, and the
    connection stays.

Version notes
    v0   no session lifetime, though the session may have an end (from 2.2 on brokers speak v1)
    v1   session_lifetime_ms: until when the client has to log in again (KIP-368), 0 for a session without end
"""

from __future__ import annotations

from kwire.errors import broker as codes
from kwire.protocol import SaslAuthenticateRequest, SaslAuthenticateResponse
from kwire.testing.requests import RequestContext
from kwire.testing.sasl.exchange import MalformedError, RefusedError
from kwire.testing.session import Step


def answer(context: RequestContext[SaslAuthenticateRequest]) -> SaslAuthenticateResponse:
    """The mechanism's next token, or the refusal."""
    session = context.session
    if session.step is not Step.AUTHENTICATE:
        return _refused(codes.ILLEGAL_SASL_STATE.code, "no login is expected now")
    try:
        token, lifetime_ms = session.evaluate(bytes(context.request.auth_bytes))
    except RefusedError as error:
        session.refusal = str(error)
        return _refused(codes.SASL_AUTHENTICATION_FAILED.code, session.refusal)
    except MalformedError as error:
        session.refusal = str(error)
        what = "re-authentication" if session.reauthenticating else "authentication"
        public = f"Authentication failed during {what}: invalid credentials with SASL mechanism {session.mechanism}"
        return _refused(codes.SASL_AUTHENTICATION_FAILED.code, public)
    return SaslAuthenticateResponse(error_message=None, auth_bytes=token, session_lifetime_ms=lifetime_ms)


def refuse(context: RequestContext[SaslAuthenticateRequest], code: int) -> SaslAuthenticateResponse:
    """The error, without a token; a login has failed by it."""
    context.session.fail("the login was refused by an injected fault")
    return _refused(code, None)


def _refused(code: int, reason: str | None) -> SaslAuthenticateResponse:
    return SaslAuthenticateResponse(error_code=code, error_message=reason)
