"""Bare tokens of SASL, in a frame without a header: after SaslHandshake v0, and in 0.9.

Nothing in such a frame says what it is. It is taken for a token where it makes no request and begins as those of the
common mechanisms do:

    PLAIN                [authorization id] NUL user NUL password       RFC 4616
    SCRAM, OAUTHBEARER   n, y, p=  then c= r= v= e= with commas between RFC 5801, 5802, 7628
    GSSAPI               0x60 (an application tag), then 0x05 0x04      RFC 2743, 4121
"""

from __future__ import annotations

__all__ = ["looks_like_token"]

_BEGINNINGS = (b"n,", b"y,", b"p=", b"c=", b"r=", b"v=", b"e=", b"\x60", b"\x05\x04")
_PLAIN_PARTS = 3
_FIRST_PRINTABLE = 0x20


def looks_like_token(content: bytes) -> bool:
    """Whether what follows the size of a frame looks like a token, whole or cut off."""
    if content.startswith(_BEGINNINGS):
        return True
    parts = content.split(b"\0")
    is_text = all(byte >= _FIRST_PRINTABLE for part in parts for byte in part)
    return len(parts) == _PLAIN_PARTS and is_text
