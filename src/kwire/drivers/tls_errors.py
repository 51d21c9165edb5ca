"""What went wrong with TLS, in words: certificates that are not trusted, alerts of the broker, bytes that are not TLS.

Layer 4. What no other try mends is an AuthError; the rest is an OSError, after which the connection is tried again.
"""

from __future__ import annotations

import ssl

from kwire._typing import Any
from kwire.engine.common.addresses import Address
from kwire.engine.connections.sasl.exchange import quoted
from kwire.errors import AuthError
from kwire.errors.wording import Wording

TLS_HANDSHAKE = "TLS handshake"
"""The step at which an AuthError of TLS happened."""

_NOT_YET_VALID, _EXPIRED, _SELF_SIGNED, _SELF_SIGNED_ROOT = 9, 10, 18, 19
_ISSUER_UNKNOWN = (2, 20, 21, 27)
_OTHER_NAME, _OTHER_ADDRESS = 62, 64

_REFUSALS = {
    "certificate_required": "it wants a certificate of the client: set {ssl_certificate_location} and "
    "{ssl_key_location}, or {ssl_keystore_location}",
    "bad_certificate": "it wants a certificate of the client, or refuses the one it got: see "
    "{ssl_certificate_location}",
    "unsupported_certificate": "it refuses the kind of the client's certificate",
    "certificate_revoked": "the client's certificate is revoked",
    "certificate_expired": "the client's certificate has expired",
    "certificate_unknown": "it refuses the client's certificate: does it trust its CA?",
    "unknown_ca": "it does not trust the CA of the client's certificate",
    "access_denied": "it accepts the client's certificate, and refuses access",
    "decrypt_error": "the client's key does not fit its certificate, or its signature is not accepted",
    "handshake_failure": "it shares no cipher suite with this client, or wants a certificate of the client "
    "({ssl_certificate_location})",
    "protocol_version": "it speaks none of the versions of TLS that are allowed here: see {ssl_enabled_protocols}",
    "insufficient_security": "it wants stronger cipher suites: see {ssl_cipher_suites}",
    "unrecognized_name": "it does not know the host name that it was asked for",
    "no_application_protocol": "it is not a Kafka listener: it wants an application protocol by ALPN",
}
"""Alerts that mean that the broker refuses this client, and will again."""

_LOCAL_REFUSALS = {
    "UNSUPPORTED_PROTOCOL": "the broker offers no version of TLS that is allowed here: see {ssl_enabled_protocols}",
    "WRONG_SSL_VERSION": "the broker offers no version of TLS that is allowed here: see {ssl_enabled_protocols}",
    "NO_PROTOCOLS_AVAILABLE": "no version of TLS is allowed here: see {ssl_enabled_protocols}",
    "NO_CIPHERS_AVAILABLE": "no cipher suite is allowed here with these versions of TLS: see {ssl_cipher_suites}",
    "DH_KEY_TOO_SMALL": "the broker's Diffie-Hellman key is too small to be secure",
    "UNSAFE_LEGACY_RENEGOTIATION_DISABLED": "the broker's TLS is too old to be secure: it lacks RFC 5746",
    "UNEXPECTED_MESSAGE": "the broker repeats its part of the handshake, as brokers before Kafka 2.0 do that "
    "refuse the client's certificate, or want one ({ssl_certificate_location})",
    "WRONG_SIGNATURE_TYPE": "the broker signs in a way that is not allowed here",
}
"""What OpenSSL refuses by itself, other than certificates."""


def explained(error: ssl.SSLError, address: Address, side: Any) -> AuthError | OSError:
    """What that error of OpenSSL means for the connection to that address."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return _refused(address, _why_not_trusted(error, address, side), str(error.verify_message))
    reason = error.reason or ""
    if reason in _LOCAL_REFUSALS:
        return _refused(address, Wording(_LOCAL_REFUSALS[reason]), _plain(reason))
    alert = _alert_in(reason)
    if alert in _REFUSALS:
        words = Wording("the broker answered with the TLS alert {alert}: " + _REFUSALS[alert], alert=alert)
        return _refused(address, words, alert)
    if alert:
        return ConnectionError(f"the broker ended TLS with the alert {alert}")
    return ConnectionError(f"TLS failed: {_plain(reason) or error}")


def not_tls(address: Address, begin: bytes) -> AuthError:
    """The error where the first bytes that the broker sends are not TLS."""
    if begin.startswith(b"\0"):
        return _refused(
            address,
            Wording(
                "the broker answers in plaintext: is {security_protocol}=PLAINTEXT (or SASL_PLAINTEXT) meant for this "
                "port?"
            ),
            "no TLS",
        )
    return _refused(address, f"it answers without TLS, and not as a Kafka broker either: {begin!r}", "no TLS")


def _refused(address: Address, words: str, reason: str) -> AuthError:
    return AuthError(words, broker=str(address), step=TLS_HANDSHAKE, reason=reason)


def _plain(reason: str) -> str:
    return reason.lower().replace("_", " ")


def _alert_in(reason: str) -> str:
    """The alert that one of OpenSSL's reasons (TLSV13_ALERT_CERTIFICATE_REQUIRED) is about; "" if it is not one."""
    _, found, name = reason.partition("_ALERT_")
    if found:
        return name.lower()
    return "unrecognized_name" if reason == "TLSV1_UNRECOGNIZED_NAME" else ""


# -- certificates -----------------------------------------------------------------------------------------------------


def _why_not_trusted(error: ssl.SSLCertVerificationError, address: Address, side: Any) -> str:
    chain = chain_of(side)
    own = chain[0] if chain else {}
    code = error.verify_code
    if code == _EXPIRED:
        ends = [str(each["notAfter"]) for each in chain if "notAfter" in each]
        when = f" on {min(ends, key=ssl.cert_time_to_seconds)}" if ends else ""
        return f"the broker's certificate has expired{when}"
    if code == _NOT_YET_VALID:
        begins = [str(each["notBefore"]) for each in chain if "notBefore" in each]
        when = f" before {max(begins, key=ssl.cert_time_to_seconds)}" if begins else " yet"
        return f"the broker's certificate is not valid{when}"
    if code in (_OTHER_NAME, _OTHER_ADDRESS):
        names = quoted(", ".join(value for _, value in own.get("subjectAltName", ())))
        if not own:
            return error.verify_message
        named = names or f"no host in its subjectAltName, and a common name{_name_in(own.get('subject', ()))} is none"
        return f"the broker's certificate is not for {address.host!r}; it names: {named}"
    if code == _SELF_SIGNED:
        return Wording("the broker's certificate is self-signed, and is not trusted here: see {ssl_ca_location}")
    if code == _SELF_SIGNED_ROOT or code in _ISSUER_UNKNOWN:
        root = _name_in((chain[-1] if chain else {}).get("issuer", ()))
        return Wording(
            "the broker's certificate is from a CA that is not trusted here{root}: see {ssl_ca_location}", root=root
        )
    return f"the broker's certificate is not accepted: {error.verify_message}"


def chain_of(side: Any) -> list[dict[str, Any]]:
    """The certificates that came, also where they were not accepted; [] where this version of Python cannot tell.

    SSLObject.getpeercert refuses before the handshake is done, so there is no public way until Python 3.13, and then
    only to their bytes.
    """
    try:
        return [each.get_info() for each in side._sslobj.get_unverified_chain() or ()]
    except (AttributeError, ssl.SSLError, ValueError):
        return []


def _name_in(parts: Any) -> str:
    """The common name, or else all, of a certificate's subject or issuer: " (name)"."""
    pairs = [pair for part in parts for pair in part]
    common = [value for key, value in pairs if key == "commonName"]
    name = quoted(", ".join(common or [value for _, value in pairs]))
    return f" ({name})" if name else ""
