"""TLS as far as it can be read without its keys: that it is TLS, what the client calls the server, alerts.

    record       type uint8 (20 change cipher spec, 21 alert, 22 handshake, 23 data), version 2 x uint8 (3, 0 to 4),
                 length uint16, content
    alert        level uint8 (1 warning, 2 fatal), description uint8; in the clear until the keys are agreed
    ClientHello  handshake type 1: version, random, session id, cipher suites, compression methods, extensions
Sources: RFC 5246, RFC 8446 (sections 4.1.2, 5.1, 6), RFC 6066 (section 3: server_name).
"""

from __future__ import annotations

__all__ = ["TlsConnection", "alert_of", "is_tls", "what_tls"]

_ALERT, _HANDSHAKE = 21, 22
_CLIENT_HELLO = 1
_MAX_RECORD = (1 << 14) + 2048
_HEAD = 5
_ALERTS = {
    0: "close_notify",
    10: "unexpected_message",
    20: "bad_record_mac",
    22: "record_overflow",
    40: "handshake_failure",
    42: "bad_certificate",
    43: "unsupported_certificate",
    44: "certificate_revoked",
    45: "certificate_expired",
    46: "certificate_unknown",
    47: "illegal_parameter",
    48: "unknown_ca",
    49: "access_denied",
    50: "decode_error",
    51: "decrypt_error",
    70: "protocol_version",
    71: "insufficient_security",
    80: "internal_error",
    86: "inappropriate_fallback",
    90: "user_canceled",
    109: "missing_extension",
    110: "unsupported_extension",
    112: "unrecognized_name",
    116: "certificate_required",
    120: "no_application_protocol",
}


def is_tls(data: bytes) -> bool:
    """Whether `data` begins with a TLS record: no frame of Kafka does, it would be of 335 MB or more."""
    if len(data) < _HEAD or not 20 <= data[0] <= 23 or data[1] != 3 or data[2] > 4:
        return False
    return int.from_bytes(data[3:5], "big") <= _MAX_RECORD


def alert_of(data: bytes) -> str | None:
    """The name of the alert that `data` begins with; None when it is another record, or encrypted."""
    if not is_tls(data) or data[0] != _ALERT or data[3:5] != b"\x00\x02" or len(data) < _HEAD + 2:
        return None
    return _ALERTS.get(data[6], f"number {data[6]}")


def what_tls(data: bytes) -> str:
    """What the TLS record that `data` begins with is."""
    alert = alert_of(data)
    if alert is not None:
        return f"a TLS alert, {alert}"
    if data[0] == _HANDSHAKE and data[_HEAD : _HEAD + 1] == bytes((_CLIENT_HELLO,)):
        name = _server_name(data)
        return "a TLS ClientHello" + (f" for {name!r}" if name else "")
    return "TLS records"


def _server_name(hello: bytes) -> str | None:
    """The name of the server in a ClientHello; None when there is none, or not all of it."""
    rest = memoryview(hello)[_HEAD + 4 + 2 + 32 :]
    for width in (1, 2, 1):  # session id, cipher suites, compression methods
        rest = rest[width + int.from_bytes(rest[:width], "big") :]
    rest = rest[2:]
    while len(rest) >= 4:
        kind, size = int.from_bytes(rest[:2], "big"), int.from_bytes(rest[2:4], "big")
        if kind == 0:
            name = bytes(rest[9 : 4 + size]).decode("ascii", "replace")
            return name if name.isprintable() and len(rest) >= 4 + size else None
        rest = rest[4 + size :]
    return None


class TlsConnection:
    """A connection whose client speaks TLS: what is worth a note of what both sides say in the clear."""

    def __init__(self) -> None:
        self._answered = False

    def take(self, to_server: bool, data: bytes, server: object) -> str | None:
        """A note about the next bytes of one side, if they are worth one."""
        is_first_answer = not to_server and not self._answered
        self._answered = self._answered or is_first_answer
        if is_first_answer and not is_tls(data):
            return f"{server} answered TLS with something else: is this a listener without TLS?"
        alert = alert_of(data)
        if alert is None or alert == "close_notify":
            return None
        return f"{'the client' if to_server else server} ended TLS with the alert {alert}"

    def end(self, server: object) -> str | None:
        """A note about a connection that has been closed."""
        return None if self._answered else f"{server} did not answer TLS: is this a listener without TLS?"
