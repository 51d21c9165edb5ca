"""A broker with SASL for tests in virtual time, written from the RFCs and from what Kafka's brokers do.

It checks every login by itself, refuses what comes before one, ends sessions, and takes a SaslHandshake within a second
of the last login for an ordinary request. It has no tests.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from typing import Any

from kwire import protocol
from kwire.engine.common.addresses import Address
from kwire.engine.connections.connection import Connection
from kwire.engine.settings.clients import ProducerSettings
from tests.engine.world import HANG_UP, SILENCE, Answer, Broker

A, B, C = Address("a", 1), Address("b", 1), Address("c", 1)
ALICE, SECRET, TOKEN = "alice", "alice-secret", "to.k.en"
SASL_HANDSHAKE, API_VERSIONS, SASL_AUTHENTICATE = 17, 18, 36
ILLEGAL_STATE, UNSUPPORTED_MECHANISM, FAILED = 34, 33, 58
DIGESTS = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}


def settings(mechanism: str = "PLAIN", addresses: Any = (A,), **more: Any) -> ProducerSettings:
    """Those of a client that logs in as alice."""
    given: dict[str, Any] = {
        "bootstrap_servers": [tuple(address) for address in addresses],
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": mechanism,
    }
    if mechanism not in ("OAUTHBEARER", "GSSAPI"):
        given |= {"sasl_username": ALICE, "sasl_password": SECRET}
    return ProducerSettings(**(given | more))


class RefusedError(Exception):
    """A login that failed, with the broker's words."""


class Plain:
    """The server's side of PLAIN."""

    def __init__(self, broker: SaslBroker) -> None:
        self.users = broker.users
        self.done = False

    def answer(self, token: bytes) -> bytes:
        authzid, user, password = token.decode().split("\0")
        if authzid or self.users.get(user) != password:
            raise RefusedError("Authentication failed: Invalid username or password")
        self.done = True
        return b""


class Scram:
    """The server's side of SCRAM."""

    def __init__(self, broker: SaslBroker, digest: str) -> None:
        self.broker = broker
        self.digest = digest
        self.first: tuple[bytes, bytes] | None = None
        self.done = False

    def answer(self, token: bytes) -> bytes:
        return self.challenge(token) if self.first is None else self.verify(token)

    def challenge(self, token: bytes) -> bytes:
        assert token.startswith(b"n,,")
        fields = token[3:].decode().split(",")
        self.user = fields[0].removeprefix("n=").replace("=2C", ",").replace("=3D", "=")
        self.token_auth = "tokenauth=true" in fields
        nonce = fields[1].removeprefix("r=") + "broker"
        salt = base64.b64encode(self.broker.salt).decode()
        answer = f"r={nonce},s={salt},i={self.broker.iterations}".encode()
        self.first = token[3:], answer
        return answer

    def verify(self, token: bytes) -> bytes:
        assert self.first is not None
        without_proof, proof = token.rsplit(b",p=", 1)
        message = b",".join((*self.first, without_proof))
        users = self.broker.tokens if self.token_auth else self.broker.users
        password = users.get(self.user, "").encode()
        salted = hashlib.pbkdf2_hmac(self.digest, password, self.broker.salt, self.broker.iterations)
        client_key = hmac.digest(salted, b"Client Key", self.digest)
        stored = hashlib.new(self.digest, client_key).digest()
        signature = hmac.digest(stored, message, self.digest)
        if bytes(a ^ b for a, b in zip(signature, base64.b64decode(proof), strict=True)) != client_key:
            raise RefusedError("Authentication failed during authentication due to invalid credentials")
        self.done = True
        server_key = hmac.digest(salted, b"Server Key", self.digest)
        return b"v=" + base64.b64encode(hmac.digest(server_key, message, self.digest))


class Bearer:
    """The server's side of OAUTHBEARER; `good_tokens` are accepted."""

    def __init__(self, broker: SaslBroker) -> None:
        self.broker = broker
        self.done = self.refused = False

    def answer(self, token: bytes) -> bytes:
        if self.refused:
            assert token == b"\x01"
            raise RefusedError('{"status":"invalid_token"}')
        header, bearer, *extensions, last, end = token.split(b"\x01")
        assert (header, last, end) == (b"n,,", b"", b"")
        text = bearer.removeprefix(b"auth=Bearer ").decode()
        self.broker.bearers.append((text, extensions))
        if text not in self.broker.good_tokens:
            self.refused = True
            return json.dumps({"status": "invalid_token"}).encode()
        self.done = True
        return b""


class Door:
    """What the broker knows of one connection."""

    def __init__(self) -> None:
        self.state = "new"
        self.version = 0
        self.server: Any = None
        self.logged_in_at = 0.0
        self.expires_at = float("inf")


class SaslBroker(Broker):
    """Takes requests of users only. `lifetime` of a session in seconds, 0 for ever."""

    def __init__(self, release: str = "4.4.0", *, mechanisms: tuple[str, ...] = ("PLAIN",), **more: Any) -> None:
        super().__init__(release, **more)
        self.mechanisms = mechanisms
        self.users = {ALICE: SECRET}
        self.tokens = {ALICE: SECRET}
        self.salt, self.iterations = b"salt of alice", 4096
        self.good_tokens = {TOKEN}
        self.bearers: list[tuple[str, list[bytes]]] = []
        self.lifetime = 0.0
        self.logins: list[float] = []
        self.refused: list[float] = []
        self.killed = 0
        self.doors: dict[Connection, Door] = {}
        self.silent_at: Any = None
        self.hangs_up_at: Any = None

    def answer_on(self, connection: Connection, frame: bytes, now: float) -> Answer:
        door = self.doors.setdefault(connection, Door())
        if door.state == "tokens":
            return self.bare_token(door, frame[4:], now)
        key = int.from_bytes(frame[4:6], "big")
        if key == self.silent_at:
            return SILENCE
        if key == self.hangs_up_at:
            return HANG_UP
        again = key == SASL_HANDSHAKE and door.state == "in" and now - door.logged_in_at >= 1
        if key == SASL_HANDSHAKE and (door.state in ("new", "asked") or again):
            return self.shake_hands(door, frame)
        if key == SASL_AUTHENTICATE and door.state == "authenticate":
            return self.authenticate(door, frame, now)
        if key == API_VERSIONS and door.state in ("new", "asked"):
            door.state = "asked"  # at a version that is too new, perhaps
            return self.answer(frame, now)
        if door.state != "in":
            return HANG_UP
        if now >= door.expires_at:
            self.killed += 1
            return HANG_UP
        return self.other(frame, now)

    def other(self, frame: bytes, now: float) -> Answer:
        """A request of someone who is logged in."""
        if int.from_bytes(frame[4:6], "big") != SASL_HANDSHAKE:
            return self.answer(frame, now)
        return self.encoded(protocol.SaslHandshakeResponse(error_code=ILLEGAL_STATE), frame)

    def shake_hands(self, door: Door, frame: bytes) -> Answer:
        request = protocol.decode_request(frame)[1]
        door.version = protocol.decode_request_header(frame[4:]).request_api_version
        if request.mechanism not in self.mechanisms:
            refusal = protocol.SaslHandshakeResponse(error_code=UNSUPPORTED_MECHANISM, mechanisms=self.mechanisms)
            return self.encoded(refusal, frame)
        door.server = self.server(request.mechanism)
        door.state = "authenticate" if door.version else "tokens"
        return self.encoded(protocol.SaslHandshakeResponse(mechanisms=self.mechanisms), frame)

    def server(self, mechanism: str) -> Any:
        if mechanism in DIGESTS:
            return Scram(self, DIGESTS[mechanism])
        return Plain(self) if mechanism == "PLAIN" else Bearer(self)

    def authenticate(self, door: Door, frame: bytes, now: float) -> Answer:
        token = protocol.decode_request(frame)[1].auth_bytes
        try:
            answer = door.server.answer(bytes(token))
        except RefusedError as error:
            self.refused.append(now)
            door.state = "refused"
            return self.encoded(protocol.SaslAuthenticateResponse(error_code=FAILED, error_message=str(error)), frame)
        lifetime = self.log_in(door, now) if door.server.done else 0.0
        return self.encoded(
            protocol.SaslAuthenticateResponse(auth_bytes=answer, session_lifetime_ms=int(lifetime * 1000)), frame
        )

    def bare_token(self, door: Door, token: bytes, now: float) -> Answer:
        if "token" in (self.silent_at, self.hangs_up_at):
            return SILENCE if self.silent_at else HANG_UP
        try:
            answer = door.server.answer(token)
        except RefusedError:
            self.refused.append(now)
            return HANG_UP
        if door.server.done:
            self.log_in(door, now)
        return [len(answer).to_bytes(4, "big") + answer]

    def log_in(self, door: Door, now: float) -> float:
        door.state = "in"
        door.logged_in_at = now
        door.expires_at = now + self.lifetime if self.lifetime else float("inf")
        self.logins.append(now)
        return self.lifetime

    @staticmethod
    def encoded(response: Any, frame: bytes) -> Answer:
        header = protocol.decode_request_header(frame[4:])
        version = header.request_api_version
        return [protocol.encode_response(response, version, correlation_id=header.correlation_id)]
