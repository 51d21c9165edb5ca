"""SCRAM-SHA-256 and SCRAM-SHA-512: both sides prove that they know the password, and neither shows it.

    client   n,,n=<user>,r=<client nonce>[,tokenauth=true]
    broker   r=<client nonce><broker's nonce>,s=<salt>,i=<iterations>
    client   c=biws,r=<both nonces>,p=<proof>
    broker   v=<signature>   or   e=<error>

    SaltedPassword  = PBKDF2(password, salt, iterations)
    proof           = ClientKey XOR HMAC(H(ClientKey), AuthMessage)       ClientKey = HMAC(SaltedPassword, "Client Key")
    signature       = HMAC(HMAC(SaltedPassword, "Server Key"), AuthMessage)
    AuthMessage     = the first three messages, the first one without "n,,", joined by commas

Salt, proof and signature are base64; "," and "=" in the user's name become "=2C" and "=3D"; "biws" is base64 of "n,,":
no channel binding. `tokenauth=true`: user and password are a delegation token's id and HMAC (KIP-48).

Layer 3, no I/O; randomness is passed in as the nonce. Sources: RFC 5802, RFC 7677, KIP-84. The RFCs want SASLprep;
Kafka's tools, brokers and clients take the UTF-8 of user and password as it is, and so nothing is prepared here.
"""

from __future__ import annotations

import hashlib
import hmac
from base64 import b64decode, b64encode
from binascii import Error as Base64Error

from kwire._typing import NamedTuple
from kwire.engine.connections.flows import Apart, Flow
from kwire.engine.connections.sasl.exchange import Say, quoted
from kwire.errors import AuthError

MIN_ITERATIONS = 4096
"""Fewer make a password easy to guess for someone who posed as the broker: RFC 7677 and Kafka's tools allow no less."""

MAX_ITERATIONS = 1_000_000
"""More are not believed: a broker, or someone who poses as one, must not make a client compute without end. Kafka's own
tools allow 16,384; a million takes about half a second."""

MANY_ITERATIONS = 20_000
"""More than so many, some ten milliseconds, are computed apart from the driver."""

_DIGESTS = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
_GS2_HEADER = "n,,"
_KEPT = 8
_FIELDS = 3


class SaltedPasswords:
    """The salted forms of one password, by salt and iterations: what makes the second login cheap."""

    def __init__(self) -> None:
        self._known: dict[tuple[bytes, int], bytes] = {}

    def find(self, salt: bytes, iterations: int) -> bytes | None:
        """The salted password, if it was computed before."""
        return self._known.get((salt, iterations))

    def keep(self, salt: bytes, iterations: int, salted: bytes) -> None:
        """Keeps one; the oldest has to go when there are many."""
        while len(self._known) >= _KEPT:
            del self._known[next(iter(self._known))]
        self._known[salt, iterations] = salted


class Challenge(NamedTuple):
    """The first message of the broker."""

    nonce: str
    salt: bytes
    iterations: int


def scram(
    say: Say,
    mechanism: str,
    username: str,
    password: str,
    *,
    nonce: str,
    passwords: SaltedPasswords,
    token_auth: bool = False,
) -> Flow[None]:
    """Says both tokens, and checks the broker's signature."""
    digest = _DIGESTS[mechanism]
    first_bare = f"n={_escaped(username)},r={nonce}" + (",tokenauth=true" if token_auth else "")
    said = yield from say((_GS2_HEADER + first_bare).encode())
    challenge = _challenge(said, nonce)
    salted = yield from _salted_password(mechanism, password, challenge, passwords)
    without_proof = f"c={b64encode(_GS2_HEADER.encode()).decode()},r={challenge.nonce}"
    message = b",".join((first_bare.encode(), said, without_proof.encode()))
    proof = b64encode(_proof(digest, salted, message)).decode()
    answer = yield from say(f"{without_proof},p={proof}".encode())
    _check_signature(answer, _signature(digest, salted, message))
    passwords.keep(challenge.salt, challenge.iterations, salted)


def salted_password(mechanism: str, password: str, salt: bytes, iterations: int) -> bytes:
    """What a broker is given instead of the password, and what both sides make their keys of."""
    return hashlib.pbkdf2_hmac(_DIGESTS[mechanism], password.encode(), salt, iterations)


def _salted_password(mechanism: str, password: str, challenge: Challenge, passwords: SaltedPasswords) -> Flow[bytes]:
    found = passwords.find(challenge.salt, challenge.iterations)
    if found is not None:
        return found

    def compute() -> bytes:  # no partial, whose repr would show the password
        return salted_password(mechanism, password, challenge.salt, challenge.iterations)

    if challenge.iterations <= MANY_ITERATIONS:
        return compute()
    salted, _ = yield Apart(compute, f"computing {challenge.iterations} iterations of SCRAM")
    made: bytes = salted
    return made


def _proof(digest: str, salted: bytes, message: bytes) -> bytes:
    client_key = hmac.digest(salted, b"Client Key", digest)
    stored_key = hashlib.new(digest, client_key).digest()
    signature = hmac.digest(stored_key, message, digest)
    return bytes(key ^ sign for key, sign in zip(client_key, signature, strict=True))


def _signature(digest: str, salted: bytes, message: bytes) -> bytes:
    return hmac.digest(hmac.digest(salted, b"Server Key", digest), message, digest)


def _escaped(username: str) -> str:
    return username.replace("=", "=3D").replace(",", "=2C")


def _challenge(said: bytes, own_nonce: str) -> Challenge:
    """Reads the broker's first message; unknown extensions at its end are skipped."""
    fields = _fields(said)
    if fields[0].startswith("m="):
        raise AuthError(reason="the broker demands a SCRAM extension that kwire does not support")
    if len(fields) < 3 or [field[:2] for field in fields[:3]] != ["r=", "s=", "i="]:
        raise AuthError(reason=f"the broker's first message is not a SCRAM message{_error_in(fields)}")
    nonce, salt, iterations = (field[2:] for field in fields[:3])
    if not nonce.startswith(own_nonce) or len(nonce) == len(own_nonce):
        raise AuthError(reason="the broker's nonce does not continue ours: an old login may have been replayed")
    decoded = _from_base64(salt, "salt")
    if not decoded:
        raise AuthError(reason="the broker's salt is empty")
    return Challenge(nonce, decoded, _iterations(iterations))


def _iterations(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 10):
        raise AuthError(reason="the broker's iteration count is not a valid number")
    count = int(text)
    if count < MIN_ITERATIONS:
        raise AuthError(reason=f"the broker asks for {count} iterations; fewer than {MIN_ITERATIONS} are not safe")
    if count > MAX_ITERATIONS:
        raise AuthError(reason=f"the broker asks for {count} iterations, which is above the limit of {MAX_ITERATIONS}")
    return count


def _check_signature(said: bytes, expected: bytes) -> None:
    fields = _fields(said)
    if not fields[0].startswith("v="):
        raise AuthError(reason=f"the broker's last message has no signature{_error_in(fields)}")
    if not hmac.compare_digest(_from_base64(fields[0][2:], "signature"), expected):
        raise AuthError(reason="the broker's signature is wrong: it does not know the password")


def _error_in(fields: list[str]) -> str:
    return f": {quoted(fields[0][2:])}" if fields[0].startswith("e=") else ""


def _fields(said: bytes) -> list[str]:
    try:
        return said.decode().split(",", _FIELDS)
    except UnicodeDecodeError:
        raise AuthError(reason="the broker's SCRAM message is not UTF-8") from None


def _from_base64(text: str, what: str) -> bytes:
    try:
        return b64decode(text.encode(), validate=True)
    except (Base64Error, ValueError):
        raise AuthError(reason=f"the broker's {what} is not base64") from None
