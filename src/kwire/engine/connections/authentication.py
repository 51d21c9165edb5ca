"""How a client logs in on a connection: SaslHandshake, then the tokens of its mechanism.

Layer 3, no I/O: flows (see `flows.py`). After ApiVersions:

    SaslHandshake v1   the tokens travel in SaslAuthenticate, which has words for a refusal and, from v1 on, the
                       lifetime of the session (KIP-152, KIP-368)
    SaslHandshake v0   the tokens travel bare (0.10); a broker closes the connection where it refuses one
    neither            0.9 knows GSSAPI only: its tokens come first on a fresh connection, before any request

A refusal is an AuthError with the step and the broker's words. `negotiation.py` runs the flow on a fresh connection,
`session.py` once more before the session ends.
"""

from __future__ import annotations

from base64 import urlsafe_b64encode
from functools import partial

from kwire import errors, protocol
from kwire._typing import Any
from kwire.engine.common.addresses import Address
from kwire.engine.common.retry import RandomFraction
from kwire.engine.common.secret import without_secrets
from kwire.engine.connections.flows import Ask, Flow, Raw
from kwire.engine.connections.sasl.credentials import Credentials, OwnCredentials
from kwire.engine.connections.sasl.exchange import Say, quoted
from kwire.engine.connections.sasl.gssapi import gssapi
from kwire.engine.connections.sasl.oauthbearer import Tokens, oauthbearer
from kwire.engine.connections.sasl.plain import plain
from kwire.engine.connections.sasl.scram import scram
from kwire.engine.connections.versions import Versions
from kwire.engine.settings.clients import ClientSettings
from kwire.engine.settings.security_conflicts import TOKEN_SOURCES
from kwire.errors import AuthError, CodecError, ConnectError
from kwire.errors.wording import Wording
from kwire.schema.api_keys import SASL_AUTHENTICATE, SASL_HANDSHAKE
from kwire.schema.error_codes import ILLEGAL_SASL_STATE, UNSUPPORTED_SASL_MECHANISM

HANDSHAKE = "SaslHandshake"
_NONCE_BYTES = 24
_MAX_TOKEN = 512 * 1024


class Login:
    """The logins of one client: what it is and knows, and what it keeps from one login to the next."""

    def __init__(self, settings: ClientSettings, rng: RandomFraction) -> None:
        self._settings = settings
        self._rng = rng
        self._credentials = OwnCredentials(
            settings.sasl_username or "", settings.sasl_password or "", settings.sasl_credentials
        )
        given = [name for name in TOKEN_SOURCES if getattr(settings, name) is not None]
        self.tokens = Tokens(settings.sasl_oauthbearer_extensions, settings.sasl_oauth_token, *given[:1])
        self.mechanism: str = settings.sasl_mechanism or ""
        self.may_come_first = self.mechanism == "GSSAPI"
        self.handshake_step = HANDSHAKE
        self.bare_step = f"the tokens of {self.mechanism}"

    def flow(self, versions: Versions, address: Address, session: float, now: float) -> Flow[float]:
        """Logs in, where the broker offers `versions`; returns the session's lifetime in seconds, 0 if it has no end.

        `session` is how long the one before was, 0 if there was none.
        """
        step = HANDSHAKE
        try:
            handshake, authenticate = _versions(versions)
            yield from self._shake_hands(handshake)
            if handshake == 0:
                step = self.bare_step
                yield from self._speak(_Bare(step).say, address, session, now)
                return 0.0
            step = f"SaslAuthenticate ({self.mechanism})"
            wrapped = _Wrapped(authenticate, step)
            yield from self._speak(wrapped.say, address, session, now)
        except (AuthError, CodecError, ConnectError) as error:
            raise self._explained(error, step) from error.__cause__
        return wrapped.lifetime

    def flow_before_requests(self, address: Address) -> Flow[None]:
        """Logs in as 0.9 wants it, before any request."""
        try:
            yield from self._speak(_Bare(self.bare_step).say, address, 0.0, 0.0)
        except (AuthError, CodecError, ConnectError) as error:
            raise self._explained(error, self.bare_step) from error.__cause__

    def _shake_hands(self, version: int) -> Flow[None]:
        request = protocol.SaslHandshakeRequest(mechanism=self.mechanism)
        frame = yield Ask(SASL_HANDSHAKE, version, request, HANDSHAKE)
        response: Any = protocol.decode_response_body(frame, SASL_HANDSHAKE, version, strict=False)[1]
        if response.error_code:
            raise self._refused_handshake(response)

    def _refused_handshake(self, response: protocol.SaslHandshakeResponse) -> Exception:
        if response.error_code == UNSUPPORTED_SASL_MECHANISM:
            offered = quoted(", ".join(response.mechanisms)) or "none"
            return AuthError(step=HANDSHAKE, reason=f"the broker does not offer {self.mechanism}; it offers: {offered}")
        if response.error_code == ILLEGAL_SASL_STATE:
            return AuthError(
                step=HANDSHAKE,
                reason=Wording(
                    "the broker expects no login here (ILLEGAL_SASL_STATE): its listener is PLAINTEXT or SSL, and "
                    "{security_protocol}={protocol!r}",
                    protocol=self._settings.security_protocol,
                ),
            )
        return _refusal(response.error_code, None, HANDSHAKE)

    def _speak(self, say: Say, address: Address, session: float, now: float) -> Flow[None]:
        settings, mechanism = self._settings, self.mechanism
        if mechanism == "GSSAPI":
            return gssapi(
                say,
                settings.sasl_kerberos_service_name,
                address.host,
                settings.sasl_kerberos_principal,
                settings.sasl_kerberos_keytab,
            )
        if mechanism == "OAUTHBEARER":
            return oauthbearer(say, self.tokens, session, now)
        return self._credentials.log_in(partial(self._say_password, say))

    def _say_password(self, say: Say, credentials: Credentials) -> Flow[None]:
        if self.mechanism == "PLAIN":
            return plain(say, credentials.user, credentials.password)
        return scram(
            say,
            self.mechanism,
            credentials.user,
            credentials.password,
            nonce=self._nonce(),
            passwords=credentials.salted,
            token_auth=self._settings.sasl_scram_token_auth,
        )

    def _nonce(self) -> str:
        """Never the same twice; the driver's randomness is the system's."""
        return urlsafe_b64encode(bytes(int(self._rng() * 256) for _ in range(_NONCE_BYTES))).decode()

    def _explained(self, error: AuthError | CodecError | ConnectError, step: str) -> AuthError | ConnectError:
        """The error with its step, and without any secret that someone quoted."""
        if isinstance(error, ConnectError):
            return ConnectError(self._without_secrets(error.message))
        if isinstance(error, CodecError):
            error = AuthError(step=step, reason=f"the broker's answer cannot be read: {error}")
        return AuthError(
            self._without_secrets(error.message),
            broker=error.broker,
            step=error.step or step,
            reason=self._without_secrets(error.reason),
        )

    def _without_secrets(self, text: str) -> str:
        client_secret = self._settings.sasl_oauthbearer_client_secret or ""
        return without_secrets(text, (client_secret, *self._credentials.secrets, *self.tokens.secrets))


class _Wrapped:
    """Tokens in SaslAuthenticate."""

    def __init__(self, version: int, step: str) -> None:
        self.lifetime = 0.0
        self._version = version
        self._step = step

    def say(self, token: bytes, *, answered: bool = True) -> Flow[bytes]:
        """Sends one."""
        request = protocol.SaslAuthenticateRequest(auth_bytes=token)
        frame = yield Ask(SASL_AUTHENTICATE, self._version, request, self._step)
        response: Any = protocol.decode_response_body(frame, SASL_AUTHENTICATE, self._version, strict=False)[1]
        if response.error_code:
            raise _refusal(response.error_code, response.error_message, self._step)
        self.lifetime = max(response.session_lifetime_ms, 0) / 1000
        return _token(response.auth_bytes)


class _Bare:
    """Tokens without a header."""

    def __init__(self, step: str) -> None:
        self._step = step

    def say(self, token: bytes, *, answered: bool = True) -> Flow[bytes]:
        """Sends one."""
        frame = yield Raw(token, self._step, answered)
        return b"" if frame is None else _token(frame)


def _token(said: Any) -> bytes:
    """The broker's token; one that is larger than any mechanism's is not looked at."""
    if len(said) > _MAX_TOKEN:
        raise AuthError(reason=f"the broker's token has {len(said)} bytes: more than {_MAX_TOKEN}")
    return bytes(said)


def _versions(versions: Versions) -> tuple[int, int]:
    """The versions of SaslHandshake and SaslAuthenticate to speak."""
    authenticate = versions.newest_common(SASL_AUTHENTICATE, 0, protocol.APIS[SASL_AUTHENTICATE].versions[-1])
    handshake = versions.newest_common(SASL_HANDSHAKE, 0, 0 if authenticate is None else 1)
    if handshake is None:
        raise AuthError(step=HANDSHAKE, reason="the broker offers no login (its ApiVersions has no SaslHandshake)")
    return handshake, authenticate or 0


def _refusal(code: int, words: str | None, step: str) -> Exception:
    """The error for an error code: an AuthError unless the same login may succeed in a moment."""
    error = errors.broker.error_for(code, step)
    if error.retriable:
        return ConnectError(f"{error}{': ' * bool(words)}{quoted(words)}")
    return AuthError(step=step, reason=quoted(words) or f"{error.name} ({code}): {error.text}")
