"""Tokens for OAUTHBEARER from an endpoint, by client credentials (RFC 6749, section 4.4; KIP-768).

    POST, with Authorization: Basic base64(client id:client secret) and the body grant_type=client_credentials&scope=...
    200   {"access_token": "...", "expires_in": 300}
    400   {"error": "invalid_client", "error_description": "..."}

Layer 4. It blocks: drivers run it apart from themselves. Imported only where a token endpoint is set. Certificates are
always checked, redirects are not followed, and an answer that has not come as a whole by half of the time for a login
is given up, so that the next login asks anew. What fails on the way is tried again until then, what the endpoint
refuses is not. Errors say the endpoint without its query, the status, and the endpoint's words; neither the client's
secret nor a token.
"""

from __future__ import annotations

import json
import ssl
import time
from base64 import b64encode, urlsafe_b64decode
from collections.abc import Callable
from functools import partial
from urllib.parse import quote_plus, urlencode, urlsplit
from urllib.request import Request

from kwire.drivers.http_exchange import RETRIED, Answer, Limits, NoRedirects, TransientError, exchange
from kwire.drivers.tls_context import load_authorities, load_location, load_trust_store
from kwire.drivers.tls_renewal import RenewedContext
from kwire.engine.common.secret import without_secrets
from kwire.engine.connections.sasl.exchange import quoted
from kwire.engine.settings.security import SecuritySettings
from kwire.errors import AuthError, ConnectError
from kwire.errors.wording import Wording

Fetched = tuple[str, float]

_MAX_ANSWER = 1024 * 1024
_FIRST_WAIT_S, _MAX_WAIT_S = 0.1, 2.0
_SAID = 1000
_FILES = ("https_ca_location", "ssl_ca_location", "ssl_truststore_location")
_SHARE_OF_SETUP = 0.5
"""Of the time for a connection, which a login is part of: an error says more than its end."""


def token_source(settings: SecuritySettings) -> Callable[[], Fetched]:
    """What fetches a token each time it is called; raises ConfigError for certificates that cannot be loaded."""
    renewed = RenewedContext(partial(_trusting, settings), (getattr(settings, name) for name in _FILES))
    return lambda: fetch_token(settings, renewed.current())


def fetch_token(settings: SecuritySettings, context: ssl.SSLContext | None = None) -> Fetched:
    """A token and its lifetime in seconds; raises AuthError or ConnectError."""
    url = settings.sasl_oauthbearer_token_endpoint_url or ""
    context = context or _trusting(settings)
    request = _request(url, settings)
    setup_ms = settings.socket_connection_setup_timeout_ms
    end = time.monotonic() + setup_ms / 1000 * _SHARE_OF_SETUP
    wait = _FIRST_WAIT_S
    while True:
        try:
            return _token(_body(request, context, settings, end), url)
        except TransientError as error:
            if time.monotonic() + wait > end:
                raise ConnectError(
                    Wording(
                        "{step}: {error}; a token may take half of {socket_connection_setup_timeout_ms}={setup_ms}",
                        step=_step(url),
                        error=str(error),
                        setup_ms=setup_ms,
                    )
                ) from None
        time.sleep(wait)
        wait = min(wait * 2, _MAX_WAIT_S)


def _trusting(settings: SecuritySettings) -> ssl.SSLContext:
    """What the system trusts, and what the settings trust."""
    context = ssl.create_default_context()
    if settings.https_ca_pem is not None:
        load_authorities(context, Wording("{https_ca_pem}"), settings.https_ca_pem)
    if settings.https_ca_location is not None:
        load_location(context, "https_ca_location", settings.https_ca_location)
    load_trust_store(context, settings)
    return context


def _request(url: str, settings: SecuritySettings) -> Request:
    fields = {"grant_type": "client_credentials"}
    if settings.sasl_oauthbearer_scope:
        fields["scope"] = settings.sasl_oauthbearer_scope
    secret = settings.sasl_oauthbearer_client_secret
    pair = [settings.sasl_oauthbearer_client_id or "", "" if secret is None else secret.reveal()]
    if settings.sasl_oauthbearer_header_urlencode:
        pair = [quote_plus(part) for part in pair]
    headers = {
        "Authorization": "Basic " + b64encode(":".join(pair).encode()).decode(),
        "Content-Type": "application/x-www-form-urlencoded",
        "Accept": "application/json",
        "User-Agent": "kwire",
    }
    return Request(url, urlencode(fields).encode(), headers, method="POST")


def _body(request: Request, context: ssl.SSLContext, settings: SecuritySettings, end: float) -> bytes:
    """The body of the endpoint's answer to one request."""
    try:
        answer = exchange(request, context, Limits(end, _MAX_ANSWER), NoRedirects())
    except ssl.SSLError as error:
        raise AuthError(step=_step(request.full_url), reason=_of_tls(error)) from None
    if not answer.is_success:
        raise _refused(answer, settings, request)
    return answer.body


def _of_tls(error: ssl.SSLError) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not accepted: {error.verify_message}"
    return f"no TLS with it: {(error.reason or str(error)).replace('_', ' ').lower()}"


def _refused(answer: Answer, settings: SecuritySettings, request: Request) -> Exception:
    fields = answer.json_object()
    words = (fields.get(name) for name in ("error", "error_description"))
    said = ": ".join(word[:_SAID] for word in words if isinstance(word, str) and word)
    why = f"HTTP status {answer.status}" + (f": {_without_secrets(said, settings, request)}" if said else "")
    if answer.status in RETRIED:
        return TransientError(why)
    return AuthError(step=_step(settings.sasl_oauthbearer_token_endpoint_url or ""), reason=why)


def _token(body: bytes, url: str) -> Fetched:
    try:
        fields = json.loads(body)
        token, kind = fields["access_token"], fields.get("token_type", "bearer")
        if not isinstance(token, str) or not token or str(kind).lower() != "bearer":
            raise ValueError
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise AuthError(step=_step(url), reason="its answer is not JSON with a bearer's access_token") from None
    lifetime = _seconds(fields.get("expires_in"))
    if lifetime is None:
        lifetime = _rest_of(token)
    if lifetime is None:
        raise AuthError(step=_step(url), reason="its response has no expires_in, and its token has no exp")
    if lifetime <= 0:
        raise AuthError(step=_step(url), reason="its token has expired already; are the clocks right?")
    return token, lifetime


def _rest_of(token: str) -> float | None:
    """How long a JSON Web Token is valid from now on, by its own words; None if they cannot be read."""
    try:
        claims = json.loads(urlsafe_b64decode(token.split(".")[1] + "=="))
        end = _seconds(claims["exp"])
    except (ValueError, LookupError, TypeError, RecursionError):
        return None
    return None if end is None else end - time.time()


def _seconds(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if abs(number) < 1e12 else None


def _step(url: str) -> str:
    parts = urlsplit(url)
    return f"the token endpoint {parts.scheme}://{parts.netloc}{parts.path}"


def _without_secrets(said: str, settings: SecuritySettings, request: Request) -> str:
    """What the endpoint said, without the secret if it said that back, as it is or as it was sent."""
    secret = settings.sasl_oauthbearer_client_secret
    hidden = "" if secret is None else secret.reveal()
    sent = request.get_header("Authorization", "").removeprefix("Basic ")
    return quoted(without_secrets(said, {hidden, quote_plus(hidden), sent}))
