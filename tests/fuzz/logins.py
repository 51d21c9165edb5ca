"""Logins: what a broker says in SASL, what a client says to the embedded broker, the first bytes of TLS.

sasl-answers    tokens and error codes of a broker, to each mechanism of a client
sasl-tokens     tokens of a client, to each mechanism of the embedded broker
tls-beginnings  bytes in place of a handshake, and what is said about them
"""

from __future__ import annotations

import contextlib
import ssl
from base64 import b64encode
from collections.abc import Iterator
from functools import cache
from typing import Any

from kwire import errors
from kwire.cli.capture.tls_records import alert_of, is_tls, what_tls
from kwire.drivers.plaintext_probe import PlaintextProbe
from kwire.drivers.tls import TlsClient, TlsStream
from kwire.drivers.tls_errors import not_tls
from kwire.engine.common.addresses import Address
from kwire.engine.connections.flows import Apart
from kwire.engine.connections.sasl.oauthbearer import Tokens, oauthbearer
from kwire.engine.connections.sasl.plain import plain
from kwire.engine.connections.sasl.scram import SaltedPasswords, scram
from kwire.schema.describing.sasl_tokens import looks_like_token
from kwire.testing.sasl import Accounts
from kwire.testing.sasl.exchange import MalformedError, RefusedError
from tests.engine.connections.sasl.flows import say
from tests.fuzz.drawing import Drawing
from tests.fuzz.targets import target

NONCE = "rOprNGfwEbeRWgbNEkqO"
_WORDS = (b"r=" + NONCE.encode(), b",s=W22ZaJ0SNY7soEsUEjb6gQ==", b",i=4096", b"v=", b"e=", b"m=", b"n,,", b"n=user",
          b"c=biws", b"p=", b"\x01auth=Bearer ", b"\x01\x01")  # fmt: skip


def _answer_seeds() -> Iterator[bytes]:
    challenge = f"r={NONCE}x,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096".encode()
    for mechanism in range(4):
        yield bytes([mechanism, len(challenge)]) + challenge + bytes([20]) + b"v=" + b64encode(bytes(12))
        yield bytes([mechanism, 0, 0])
        yield bytes([mechanism, 13]) + b'{"status":"x"' + bytes([0])


@target(seeds=_answer_seeds, words=_WORDS, traced="engine/connections/sasl", max_len=200, share=0.5)
def sasl_answers(data: bytes) -> None:
    """what a broker answers to PLAIN, SCRAM and OAUTHBEARER"""
    drawing = Drawing(data)
    number = drawing.byte() % 4
    if number == 0:
        flow: Any = plain(say, "user", "password")
    elif number == 1:
        flow = oauthbearer(say, Tokens(source=lambda: ("token", 60.0)), 0.0, 1.0)
    else:
        mechanism = ("SCRAM-SHA-256", "SCRAM-SHA-512")[number - 2]
        flow = scram(say, mechanism, "user", "pencil", nonce=NONCE, passwords=SaltedPasswords())
    said: Any = None
    try:
        while True:
            step = flow.send(said)
            if isinstance(step, Apart):
                return  # the many iterations that it asks for are computed apart
            said = drawing.blob()
    except StopIteration:
        assert number < 2, "a broker that cannot sign was believed"
    except (errors.AuthError, errors.ConnectError) as error:
        _assert_no_secret(repr(error))


def _assert_no_secret(text: str) -> None:
    assert "pencil" not in text
    assert "password\0" not in text


def _token_seeds() -> Iterator[bytes]:
    for mechanism in range(4):
        yield bytes([mechanism, 10]) + b"\0user\0secret"[:10]
        yield bytes([mechanism, 29]) + b"n,,n=user,r=" + b"rOprNGfwEbeRWgbNEk"[:17]
        yield bytes([mechanism, 25]) + b"n,,\x01auth=Bearer e30.e30.\x01\x01"
        yield bytes([mechanism, 7]) + b"n,,n=us" + bytes([30]) + b"c=biws,r=rOprNGfwEbeRWgbNEk,p=A"


@target(seeds=_token_seeds, words=_WORDS, traced="testing/sasl", max_len=200, share=0.5)
def sasl_tokens(data: bytes) -> None:
    """what a client says to the mechanisms of the embedded broker"""
    drawing = Drawing(data)
    mechanism = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")[drawing.byte() % 4]
    exchange: Any = Accounts({"user": "secret"}, (mechanism,), clock=lambda: 1000.0).begin(mechanism)
    for _ in range(3):
        try:
            exchange.evaluate(drawing.blob())
        except (MalformedError, RefusedError):
            return


def _tls_seeds() -> Iterator[bytes]:
    yield b"\x16\x03\x01\x00\x2f\x01\0\0\x2b\x03\x03" + bytes(32) + b"\0\0\x02\x13\x01\x01\0\0\0"
    yield b"\x15\x03\x01\0\x02\x02\x28"
    yield b"\0\0\0\x0a\x6b\x77\x69\x72\0\0\0\0\0\0"
    yield b"HTTP/1.1 400 Bad Request\r\n\r\n"


@target(seeds=_tls_seeds, traced="drivers", max_len=200, share=0.5)
def tls_beginnings(data: bytes) -> None:
    """bytes where TLS begins, on either side"""
    if is_tls(data):
        what_tls(data)
    alert_of(data)
    looks_like_token(data)
    address = Address("host", 1)
    str(not_tls(address, data))
    probe = PlaintextProbe(address, set())
    with contextlib.suppress(errors.AuthError, OSError):
        for at in range(0, len(data), 3):
            probe.feed(data[at : at + 3])
    _handshake(data)


def _handshake(data: bytes) -> None:
    stream = TlsStream(_client(), Address("host", 1))
    try:
        stream.handshake()
        for at in range(0, len(data), 50):
            stream.feed(data[at : at + 50])
            stream.handshake()
        stream.read_into(memoryview(bytearray(100)))
    except (errors.AuthError, OSError):
        pass


@cache
def _client() -> TlsClient:
    return TlsClient(ssl.create_default_context())
