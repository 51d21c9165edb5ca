"""The client's side of SCRAM as RFC 5802 writes it down, so that no code of kwire checks itself."""

from __future__ import annotations

import base64
import hashlib
import hmac


class ScramClient:
    """One login; `first` and `final` are its two messages, `expected` what the server has to answer then."""

    def __init__(self, hash_name: str, user: str, password: str, nonce: str = "client-nonce") -> None:
        self._hash_name, self._password = hash_name, password
        self._bare = f"n={user},r={nonce}"
        self.first = f"n,,{self._bare}".encode()
        self.expected = b""

    def final(self, server_first: bytes) -> bytes:
        fields = dict(part.split("=", 1) for part in server_first.decode().split(","))
        salted = hashlib.pbkdf2_hmac(
            self._hash_name, self._password.encode(), base64.b64decode(fields["s"]), int(fields["i"])
        )
        unproven = f"c=biws,r={fields['r']}"
        spoken = f"{self._bare},{server_first.decode()},{unproven}".encode()
        client_key = self._mac(salted, b"Client Key")
        signature = self._mac(hashlib.new(self._hash_name, client_key).digest(), spoken)
        proof = bytes(a ^ b for a, b in zip(client_key, signature, strict=True))
        self.expected = b"v=" + base64.b64encode(self._mac(self._mac(salted, b"Server Key"), spoken))
        return f"{unproven},p={base64.b64encode(proof).decode()}".encode()

    def _mac(self, key: bytes, data: bytes) -> bytes:
        return hmac.digest(key, data, self._hash_name)
