"""SCRAM (RFC 5802 and 7677), as Kafka's broker does it: without channel binding.

    client first   n,[a=authzid],[m=...,]n=user,r=nonce[,extensions]
    server first   r=nonce and more,s=salt,i=iterations
    client final   c=binding,r=nonce and more[,extensions],p=proof
    server final   v=signature

Salt, binding, proof and signature in base64; "," and "=" in names are =2C and =3D. The value of the channel binding is
covered by the proof and not looked at otherwise; extensions are ignored, but for tokenauth=true: user and password are
then a delegation token's id and HMAC (KIP-48).
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Self

from kwire.testing.sasl.exchange import MalformedError, RefusedError

MIN_ITERATIONS = 4096
_NAME = r"(?:[\x01-\x2b\x2d-\x3c\x3e-\x7f]|=2C|=3D)+"
_VALUE = r"[\x01-\x2b\x2d-\x7f]+"
_NONCE = r"[\x21-\x2b\x2d-\x7e]+"
_EXTENSIONS = rf"(?:,[A-Za-z]+={_VALUE})*"
_BASE64 = r"[A-Za-z0-9+/]*={0,2}"
_FIRST = re.compile(
    rf"n,(?:a=(?P<authorization>{_NAME}))?,(?P<bare>(?:m={_VALUE},)?n=(?P<user>{_NAME}),r=(?P<nonce>{_NONCE})"
    rf"(?P<extensions>{_EXTENSIONS}))"
)
_FINAL = re.compile(rf"(?P<unproven>c={_BASE64},r=(?P<nonce>{_NONCE}){_EXTENSIONS}),p=(?P<proof>{_BASE64})")


def _new_nonce() -> str:
    return secrets.token_urlsafe(18)


@dataclass(frozen=True)
class ScramCredentials:
    """The keys that a server stores instead of a password."""

    salt: bytes
    iterations: int
    stored_key: bytes = field(repr=False)
    server_key: bytes = field(repr=False)

    @classmethod
    def of(cls, password: str, hash_name: str, iterations: int, salt: bytes | None = None) -> Self:
        """Derived from the password, with a new salt unless one is given."""
        salt = secrets.token_bytes(16) if salt is None else salt
        return cls.of_salted(
            hashlib.pbkdf2_hmac(hash_name, password.encode(), salt, iterations), hash_name, iterations, salt
        )

    @classmethod
    def of_salted(cls, salted: bytes, hash_name: str, iterations: int, salt: bytes) -> Self:
        """Derived from what the iterations make of the password, which administrators send."""
        client_key = hmac.digest(salted, b"Client Key", hash_name)
        server_key = hmac.digest(salted, b"Server Key", hash_name)
        return cls(salt, iterations, hashlib.new(hash_name, client_key).digest(), server_key)


TokenLogin = tuple[str, ScramCredentials, float]
"""The user that a delegation token stands for, what proves it, and the time of day in seconds when it expires."""


class ScramExchange:
    """Two tokens; `find` returns the credentials of a user, None for one that is not known, and `find_token` those of a
    delegation token. `new_nonce` is the server's part of the nonce."""

    def __init__(
        self,
        hash_name: str,
        find: Callable[[str], ScramCredentials | None],
        new_nonce: Callable[[], str] = _new_nonce,
        find_token: Callable[[str], TokenLogin | None] = lambda token_id: None,
    ) -> None:
        self._hash_name = hash_name
        self._find = find
        self._new_nonce = new_nonce
        self._find_token = find_token
        self._credentials: ScramCredentials | None = None
        self._user = self._nonce = self._spoken = ""
        self._owner = ""
        self.principal: str | None = None
        self.expires: float | None = None
        self.by_token = False

    def evaluate(self, token: bytes) -> bytes:
        text = token.decode("utf-8", "replace")
        answer = self._first(text) if self._credentials is None else self._final(text, self._credentials)
        return answer.encode("ascii")

    def _first(self, text: str) -> str:
        message = _FIRST.fullmatch(text)
        if message is None:
            raise MalformedError("not a client's first SCRAM message")
        self._user = _unescaped(message["user"])
        credentials = self._credentials_of(self._user, message["extensions"].split(","))
        if credentials is None:
            raise MalformedError(f"there is no user {self._user!r}")
        if message["authorization"] and _unescaped(message["authorization"]) != self._user:
            raise RefusedError("Authentication failed: the authorization id is not the username")
        self._credentials = credentials
        self._nonce = message["nonce"] + self._new_nonce()
        answer = f"r={self._nonce},s={_base64(credentials.salt)},i={credentials.iterations}"
        self._spoken = f"{message['bare']},{answer}"
        return answer

    def _credentials_of(self, user: str, extensions: list[str]) -> ScramCredentials | None:
        self._owner = user
        self.by_token = "tokenauth=true" in extensions
        if not self.by_token:
            return self._find(user)
        found = self._find_token(user)
        if found is None:
            return None
        self._owner, credentials, self.expires = found
        return credentials

    def _final(self, text: str, credentials: ScramCredentials) -> str:
        message = _FINAL.fullmatch(text)
        if message is None:
            raise MalformedError("not a client's final SCRAM message")
        if message["nonce"] != self._nonce:
            raise MalformedError("the nonce of the client's final message is not the one agreed on")
        spoken = f"{self._spoken},{message['unproven']}".encode()
        if not self._proves(_decoded(message["proof"]), spoken, credentials):
            raise MalformedError(f"wrong password of user {self._user!r}")
        self.principal = self._owner
        return f"v={_base64(hmac.digest(credentials.server_key, spoken, self._hash_name))}"

    def _proves(self, proof: bytes, spoken: bytes, credentials: ScramCredentials) -> bool:
        signature = hmac.digest(credentials.stored_key, spoken, self._hash_name)
        if len(proof) != len(signature):
            return False
        client_key = bytes(a ^ b for a, b in zip(proof, signature, strict=True))
        return hmac.compare_digest(hashlib.new(self._hash_name, client_key).digest(), credentials.stored_key)


def _unescaped(name: str) -> str:
    return name.replace("=2C", ",").replace("=3D", "=")


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise MalformedError(f"not base64: {error}") from None
