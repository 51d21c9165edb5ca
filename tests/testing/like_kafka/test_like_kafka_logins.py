"""The same logins, good and bad, at real Kafka and at the embedded broker of the same release: the same answers.

Texts are not compared, only whether there are any; nor what is random in SCRAM.
"""

from __future__ import annotations

import base64
import json
import socket
import struct
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import pytest

from kwire import protocol
from kwire.protocol import ApiVersionsRequest, MetadataRequest, SaslAuthenticateRequest, SaslHandshakeRequest
from kwire.testing import Broker
from tests.brokers import find_release
from tests.brokers.listeners import USERS, mechanisms
from tests.brokers.plugin import SecureClusterOf
from tests.testing.sasl.scram_client import ScramClient

CLOSED = "closed"
WITHIN_S = 10.0
OPEN_AFTER_S = 0.5
SESSION_MS = 3000
PASSWORD = USERS["alice"]
GOOD, WRONG = b"\0alice\0" + PASSWORD.encode(), b"\0alice\0wrong"
ADMIN = b"\0admin\0" + USERS["admin"].encode()
Say = Callable[["Dialogue"], None]


@dataclass
class Dialogue:
    """One connection: what is said goes out, what comes back is noted; `last` is the last token that came."""

    socket: socket.socket
    heard: list[Any] = field(default_factory=list)
    last: bytes = b""

    def ask(self, request: protocol.Request, version: int) -> None:
        self.socket.sendall(protocol.encode_request(request, version, correlation_id=1, client_id="c"))
        frame = self._frame()
        if frame is None:
            self.heard.append(CLOSED)
            return
        response = protocol.decode_response(frame, request.__api_key__, version)[1].to_dict()
        self.last = response.get("auth_bytes") or b""
        self.heard.append(comparable(request.__api_key__, response))

    def say(self, body: bytes) -> None:
        """Sends a frame that is not a request, and notes the frame that comes back."""
        self.socket.sendall(struct.pack(">i", len(body)) + body)
        frame = self._frame()
        self.heard.append(CLOSED if frame is None else is_scram(frame[4:]) or frame[4:])
        self.last = b"" if frame is None else frame[4:]

    def end(self) -> None:
        """Notes whether the connection is still open."""
        self.socket.settimeout(OPEN_AFTER_S)
        try:
            self.heard.append(CLOSED if self.socket.recv(1) == b"" else "more bytes")
        except ConnectionError:
            self.heard.append(CLOSED)
        except TimeoutError:
            self.heard.append("open")

    def _frame(self) -> bytes | None:
        data = b""
        try:
            while len(data) < 4 or len(data) < 4 + struct.unpack_from(">i", data)[0]:
                piece = self.socket.recv(1 << 16)
                if not piece:
                    return None
                data += piece
        except ConnectionError:
            return None
        return data


def is_scram(token: bytes) -> str | None:
    """A word for a token of SCRAM, which is never the same twice."""
    return f"SCRAM {chr(token[0])}=" if token[1:2] == b"=" else None


def comparable(key: int, response: dict[str, Any]) -> Any:
    """What has to be the same."""
    if key == 3:
        return "metadata"
    if key == 18:
        return response["error_code"]
    if key == 17:
        return response["error_code"], sorted({*response["mechanisms"]} - {"GSSAPI"})
    token = response["auth_bytes"] or b""
    lifetime = response.get("session_lifetime_ms", 0)
    lifetime = round(lifetime, -5) or lifetime  # a token's rest is some seconds less than the ten minutes it had
    return response["error_code"], bool(response["error_message"]), is_scram(token) or token, lifetime


def versions(version: int) -> Say:
    return lambda dialogue: dialogue.ask(ApiVersionsRequest(), version)


def handshake(mechanism: str = "PLAIN", version: int = 1) -> Say:
    return lambda dialogue: dialogue.ask(SaslHandshakeRequest(mechanism=mechanism), version)


def authenticate(token: bytes, version: int) -> Say:
    return lambda dialogue: dialogue.ask(SaslAuthenticateRequest(auth_bytes=token), version)


def bare(token: bytes) -> Say:
    return lambda dialogue: dialogue.say(token)


def metadata(dialogue: Dialogue) -> None:
    dialogue.ask(MetadataRequest(topics=None), 1)


def pause(seconds: float) -> Say:
    return lambda dialogue: time.sleep(seconds)


def scram(hash_name: str, password: str, version: int | None, user: str = "alice") -> Say:
    """Both messages of SCRAM, in requests of `version` or bare."""

    def login(dialogue: Dialogue) -> None:
        client = ScramClient(hash_name, user, password)
        for token in (lambda: client.first, lambda: client.final(dialogue.last)):
            if dialogue.heard[-1] != CLOSED and (token() if not dialogue.last else True):
                (bare if version is None else lambda data: authenticate(data, version))(token())(dialogue)

    return login


def jws(claims: dict[str, Any], alg: str = "none", signature: str = "") -> str:
    parts = [json.dumps(part).encode() for part in ({"alg": alg}, claims)]
    return ".".join([*(base64.urlsafe_b64encode(part).decode().rstrip("=") for part in parts), signature])


def bearer(token: str, before: str = "n,,") -> bytes:
    return f"{before}\x01auth=Bearer {token}\x01\x01".encode()


def plain_dialogues(newest: int) -> Iterator[tuple[str, list[Say]]]:
    """Tokens in SaslAuthenticate requests of every version."""
    for version in range(newest + 1):
        yield f"a password, version {version}", [handshake(), authenticate(GOOD, version), metadata]
        yield f"a wrong password, version {version}", [handshake(), authenticate(WRONG, version)]
    yield "an unknown user", [handshake(), authenticate(b"\0carol\0secret", newest)]
    yield "no user", [handshake(), authenticate(b"\0\0secret", newest)]
    yield "no password", [handshake(), authenticate(b"\0alice\0", newest)]
    yield "another authorization id", [handshake(), authenticate(b"admin" + GOOD, newest)]
    yield "the own authorization id", [handshake(), authenticate(b"alice" + GOOD, newest), metadata]
    yield "two parts", [handshake(), authenticate(b"alice\0secret", newest)]
    yield "an empty token", [handshake(), authenticate(b"", newest)]
    yield "a request within a login", [handshake(), versions(0)]
    yield "a handshake within a login", [handshake(), handshake()]
    yield "a second login", [handshake(), authenticate(GOOD, newest), handshake(), metadata]
    yield "a second token", [handshake(), authenticate(GOOD, newest), authenticate(GOOD, newest), metadata]
    yield "a login without a handshake", [authenticate(GOOD, newest)]


def scram_dialogues(newest: int | None) -> Iterator[tuple[str, list[Say]]]:
    for mechanism, hash_name in (("SCRAM-SHA-256", "sha256"), ("SCRAM-SHA-512", "sha512")):
        begin = handshake(mechanism, 0 if newest is None else 1)
        say = bare if newest is None else lambda token: authenticate(token, newest)
        yield f"{mechanism}", [begin, scram(hash_name, PASSWORD, newest), metadata]
        yield f"{mechanism}, a wrong password", [begin, scram(hash_name, "wrong", newest)]
        yield f"{mechanism}, an unknown user", [begin, say(b"n,,n=carol,r=abc")]
        yield f"{mechanism}, channel binding", [begin, say(b"p=tls-unique,,n=alice,r=abc")]
        yield f"{mechanism}, no channel binding wanted", [begin, say(b"y,,n=alice,r=abc")]
        yield f"{mechanism}, another authorization id", [begin, say(b"n,a=admin,n=alice,r=abc")]
        yield f"{mechanism}, an extension", [begin, say(b"n,,n=alice,r=abc,some=thing")]
        yield f"{mechanism}, nonsense", [begin, say(b"nonsense")]


def bearer_dialogues(newest: int, now: int) -> Iterator[tuple[str, list[Say]]]:
    begin = handshake("OAUTHBEARER")
    good = {"sub": "alice", "iat": now - 5, "exp": now + 600}
    tokens = {
        "a token": jws(good),
        "no time of issue": jws({"sub": "alice", "exp": now + 600}),
        "an expired token": jws({**good, "exp": now - 60}),
        "a token of tomorrow": jws({**good, "iat": now + 300}),
        "no expiration": jws({"sub": "alice"}),
        "an expiration in words": jws({**good, "exp": "soon"}),
        "no subject": jws({"exp": now + 600}),
        "a blank subject": jws({**good, "sub": " "}),
        "an algorithm": jws(good, "HS256"),
        "a signature": jws(good, signature="abc"),
        "one part": "abc",
        "claims that are no object": "eyJhbGciOiJub25lIn0.WzFd.",
    }
    for name, token in tokens.items():
        yield f"bearer, {name}", [begin, authenticate(bearer(token), newest), authenticate(b"\x01", newest)]
    yield "bearer, extensions", [begin, authenticate(bearer(jws(good), "n,,\x01traceId=7"), newest), metadata]
    yield "bearer, another authorization id", [begin, authenticate(bearer(jws(good), "n,a=admin,"), newest)]
    yield "bearer, nonsense", [begin, authenticate(b"nonsense", newest)]


def bare_dialogues(scram_too: bool) -> Iterator[tuple[str, list[Say]]]:
    """SaslHandshake 0 and bare tokens."""
    yield "bare, a password", [handshake(version=0), bare(GOOD), metadata]
    yield "bare, a wrong password", [handshake(version=0), bare(WRONG)]
    yield "bare, two parts", [handshake(version=0), bare(b"alice\0secret")]
    yield "an unknown mechanism", [handshake("CRAM-MD5", 0)]
    yield "ApiVersions and a login", [versions(0), handshake(version=0), bare(GOOD), metadata]
    yield "ApiVersions twice", [versions(0), versions(0)]
    yield "metadata before a login", [metadata]
    yield "ApiVersions and metadata", [versions(0), metadata]
    yield "a short frame", [bare(b"\0\1")]
    yield "HTTP", [bare(b"T / HTTP/1.1\r\n\r\n")]
    if scram_too:
        yield from ((f"bare {name}", steps) for name, steps in scram_dialogues(None))


def session_dialogues(newest: int) -> Iterator[tuple[str, list[Say]]]:
    """At a listener where sessions end after three seconds."""
    login = [handshake(), authenticate(GOOD, newest)]
    yield "re-authentication", [*login, *login, metadata]
    yield "two re-authentications at once", [*login, *login, handshake(), metadata]
    yield "two re-authentications", [*login, *login, pause(1.1), *login, metadata]
    yield "re-authentication as another", [*login, handshake(), authenticate(ADMIN, newest)]
    yield "re-authentication by another mechanism", [
        *login, handshake("SCRAM-SHA-256"), authenticate(b"n,,n=alice,r=abc", newest),
    ]  # fmt: skip
    yield "re-authentication by an unknown mechanism", [*login, handshake("CRAM-MD5")]
    yield "re-authentication with a wrong password", [*login, handshake(), authenticate(WRONG, newest)]
    yield "a request within a re-authentication", [*login, handshake(), versions(0)]
    yield "ApiVersions and re-authentication", [*login, versions(0), *login, metadata]
    yield "a request after the end", [*login, pause(3.1), metadata]
    yield "re-authentication after the end", [*login, pause(3.1), *login, metadata]
    yield "bare, re-authentication", [handshake(version=0), bare(GOOD), handshake(version=0), bare(GOOD), metadata]
    yield "bare, a request after the end", [handshake(version=0), bare(GOOD), pause(3.1), metadata]


def hear(address: str, steps: list[Say]) -> list[Any]:
    host, _, port = address.rpartition(":")
    with socket.create_connection((host, int(port)), WITHIN_S) as connection:
        dialogue = Dialogue(connection)
        for step in steps:
            if CLOSED in dialogue.heard:
                break
            step(dialogue)
        else:
            dialogue.end()
    return dialogue.heard


def differences(dialogues: Iterable[tuple[str, list[Say]]], theirs: str, ours: str) -> list[str]:
    """The dialogues that go another way, held several at a time: most of them are pauses."""

    def hold(dialogue: tuple[str, list[Say]]) -> str | None:
        name, steps = dialogue
        expected, heard = hear(theirs, steps), hear(ours, steps)
        return None if expected == heard else f"{name}:\n  Kafka {expected}\n  kwire {heard}"

    with ThreadPoolExecutor(8) as pool:
        return [difference for difference in pool.map(hold, dialogues) if difference is not None]


RELEASES = [
    pytest.param(name, marks=[] if name in ("4.4.0", "0.10.2.2") else [pytest.mark.kafka_all])
    for name in (
        "4.4.0",
        "4.0.2",
        "3.9.2",
        "3.0.2",
        "2.8.2",
        "2.4.1",
        "2.1.1",
        "1.1.1",
        "0.11.0.3",
        "0.10.2.2",
        "0.10.0.1",
    )
]


@pytest.mark.kafka
@pytest.mark.parametrize("release", RELEASES)
def test_logins_are_answered_as_by_kafka(secure_kafka: SecureClusterOf, release: str) -> None:
    listeners = secure_kafka(release).listeners
    known = mechanisms(find_release(release), kerberos=False)
    newest = protocol.versions_of(release).get(36, (0, -1))[1]
    dialogues = list(bare_dialogues("SCRAM-SHA-512" in known))
    if newest >= 0:
        dialogues += [*plain_dialogues(newest), *scram_dialogues(newest)]
    if "OAUTHBEARER" in known:
        dialogues += bearer_dialogues(newest, int(time.time()))
    offered = [name for name in listeners.mechanisms if name != "GSSAPI"]
    with Broker(release=release, users=USERS, mechanisms=offered) as broker:
        different = differences(dialogues, listeners["SASL_PLAINTEXT"].address, broker.bootstrap_servers)
    if "REAUTH" in listeners:
        with Broker(release=release, users=USERS, mechanisms=offered, max_reauth_ms=SESSION_MS) as broker:
            different += differences(session_dialogues(newest), listeners["REAUTH"].address, broker.bootstrap_servers)
    assert not different, f"{len(different)} dialogues differ\n" + "\n".join(different)


def all_bytes(address: str, data: bytes) -> bytes:
    """What comes back until the broker closes the connection."""
    host, _, port = address.rpartition(":")
    with socket.create_connection((host, int(port)), WITHIN_S) as connection:
        connection.sendall(data)
        return connection.makefile("rb").read()


@pytest.mark.kafka
@pytest.mark.parametrize("release", ["4.4.0", pytest.param("1.1.1", marks=pytest.mark.kafka_all)])
def test_a_client_without_tls_gets_kafkas_alert(secure_kafka: SecureClusterOf, release: str) -> None:
    theirs = secure_kafka(release).listeners["SSL"].address
    with Broker(release=release, tls=True) as broker:
        for data in (
            protocol.encode_request(MetadataRequest(topics=None), 1, correlation_id=1),
            b"GET / HTTP/1.1\r\n\r\n",
        ):
            assert all_bytes(broker.bootstrap_servers, data) == all_bytes(theirs, data)
