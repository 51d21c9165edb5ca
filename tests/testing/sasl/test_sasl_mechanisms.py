"""The server's side of each mechanism: the RFCs' examples, what Kafka refuses, and bytes that are no message."""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwire.testing.sasl import Accounts
from kwire.testing.sasl.exchange import Exchange, MalformedError, RefusedError
from kwire.testing.sasl.oauthbearer import OAuthBearerExchange, unsecured_token
from kwire.testing.sasl.plain import PlainExchange
from kwire.testing.sasl.scram import ScramCredentials, ScramExchange
from tests.testing.frames import damage
from tests.testing.sasl.scram_client import ScramClient

NOW = 1_700_000_000.0
USERS = {"alice": "secret", "a,b=c": "s,e=c"}
SALT = base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
CREDENTIALS = {
    name: {user: ScramCredentials.of(password, name, 4096) for user, password in USERS.items()}
    for name in ("sha256", "sha512")
}


def scram(hash_name: str) -> ScramExchange:
    return ScramExchange(hash_name, CREDENTIALS[hash_name].get)


# PLAIN


@pytest.mark.parametrize("token", [b"\0alice\0secret", b"alice\0alice\0secret"])
def test_plain_takes_a_password(token: bytes) -> None:
    exchange = PlainExchange(USERS)
    assert exchange.evaluate(token) == b""
    assert exchange.principal == "alice"


@pytest.mark.parametrize(
    ("token", "said"),
    [
        (b"\0alice\0wrong", "invalid username or password"),
        (b"\0bob\0secret", "invalid username or password"),
        (b"\0\0secret", "no username"),
        (b"\0alice\0", "no password"),
        (b"bob\0alice\0secret", "authorization id"),
    ],
)
def test_plain_refuses_and_says_why(token: bytes, said: str) -> None:
    exchange = PlainExchange(USERS)
    with pytest.raises(RefusedError, match=said):
        exchange.evaluate(token)
    assert exchange.principal is None


@pytest.mark.parametrize("token", [b"", b"alice\0secret", b"\0alice\0sec\0ret", b"\xff"])
def test_plain_needs_three_parts(token: bytes) -> None:
    with pytest.raises(MalformedError):
        PlainExchange(USERS).evaluate(token)


# SCRAM


def test_scram_gives_the_answers_of_rfc_7677() -> None:
    credentials = ScramCredentials.of("pencil", "sha256", 4096, SALT)
    exchange = ScramExchange("sha256", {"user": credentials}.get, lambda: "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0")
    first = exchange.evaluate(b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO")
    nonce = b"rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
    assert first == b"r=" + nonce + b",s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
    final = exchange.evaluate(b"c=biws,r=" + nonce + b",p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=")
    assert final == b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="
    assert exchange.principal == "user"


@pytest.mark.parametrize("hash_name", ["sha256", "sha512"])
@pytest.mark.parametrize(("user", "password"), [("alice", "secret"), ("a=2Cb=3Dc", "s,e=c")])
def test_scram_takes_a_password(hash_name: str, user: str, password: str) -> None:
    exchange, client = scram(hash_name), ScramClient(hash_name, user, password)
    final = client.final(exchange.evaluate(client.first))
    assert exchange.principal is None
    assert exchange.evaluate(final) == client.expected
    assert exchange.principal == user.replace("=2C", ",").replace("=3D", "=")


def test_every_login_has_its_own_nonce() -> None:
    assert len({scram("sha256").evaluate(b"n,,n=alice,r=abc") for _ in range(10)}) == 10


def test_scram_refuses_a_wrong_password() -> None:
    exchange, client = scram("sha512"), ScramClient("sha512", "alice", "wrong")
    final = client.final(exchange.evaluate(client.first))
    with pytest.raises(MalformedError, match="wrong password of user 'alice'"):
        exchange.evaluate(final)
    assert exchange.principal is None


@pytest.mark.parametrize(
    "first",
    [
        b"",
        b"n,,n=bob,r=abc",
        b"y,,n=alice,r=abc",
        b"p=tls-unique,,n=alice,r=abc",
        b"n,,n=,r=abc",
        b"n,,n=alice,r=",
        b"n,,n=alice",
        b"n,,n=al=ice,r=abc",
        b"n,,n=alice,r=abc,=1",
        b"n,,n=\xc3\xa4,r=abc",
        b"n,,n=alice,r=abc\n",
    ],
)
def test_scram_refuses_first_messages_that_are_wrong(first: bytes) -> None:
    with pytest.raises(MalformedError):
        scram("sha256").evaluate(first)


@pytest.mark.parametrize("first", [b"n,,n=alice,r=abc,other=true", b"n,,m=1,n=alice,r=a", b"n,a=alice,n=alice,r=a"])
def test_scram_takes_extensions_and_the_own_authorization_id(first: bytes) -> None:
    assert scram("sha256").evaluate(first).startswith(b"r=a")


def test_scram_refuses_to_act_for_others() -> None:
    with pytest.raises(RefusedError, match="authorization id"):
        scram("sha256").evaluate(b"n,a=bob,n=alice,r=abc")


@pytest.mark.parametrize("spoil", [lambda final: final.replace(b"r=", b"r=x"), lambda final: final[:-8], lambda _: b""])
def test_scram_refuses_final_messages_that_are_wrong(spoil: Callable[[bytes], bytes]) -> None:
    exchange, client = scram("sha256"), ScramClient("sha256", "alice", "secret")
    final = client.final(exchange.evaluate(client.first))
    with pytest.raises(MalformedError):
        exchange.evaluate(spoil(final))


# OAUTHBEARER


def bearer(token: str, before: str = "n,,") -> bytes:
    return f"{before}\x01auth=Bearer {token}\x01\x01".encode()


def jws(claims: object, header: object = None, signature: str = "") -> str:
    parts = [json.dumps(part).encode() for part in ({"alg": "none"} if header is None else header, claims)]
    return ".".join([*(base64.urlsafe_b64encode(part).decode().rstrip("=") for part in parts), signature])


def test_oauthbearer_takes_an_unsecured_token() -> None:
    exchange = OAuthBearerExchange(lambda: NOW)
    assert exchange.evaluate(bearer(unsecured_token("alice", NOW, 60))) == b""
    assert (exchange.principal, exchange.expires) == ("alice", NOW + 60)


@pytest.mark.parametrize("before", ["n,a=alice,", "n,,\x01traceId=7\x01other=x y"])
def test_oauthbearer_takes_extensions_and_the_own_authorization_id(before: str) -> None:
    exchange = OAuthBearerExchange(lambda: NOW)
    assert exchange.evaluate(bearer(unsecured_token("alice", NOW, 60), before)) == b""


@pytest.mark.parametrize(
    "token",
    [
        unsecured_token("alice", NOW - 60, 60),
        unsecured_token("alice", NOW + 1, 60),
        unsecured_token(" ", NOW, 60),
        jws({"sub": "alice"}),
        jws({"exp": NOW + 60}),
        jws({"sub": "alice", "exp": "soon"}),
        jws({"sub": "alice", "exp": True}),
        jws({"sub": "alice", "exp": float("nan")}),
        jws({"sub": "alice", "exp": 10**400}),
        jws({"sub": "alice", "exp": NOW + 60}, {"alg": "HS256"}),
        jws({"sub": "alice", "exp": NOW + 60}, {}),
        jws({"sub": "alice", "exp": NOW + 60}, signature="abc"),
        jws([1, 2]),
        "abc",
        "a.b.",
        "..",
    ],
)
def test_oauthbearer_refuses_a_token_and_says_so_once_more(token: str) -> None:
    exchange = OAuthBearerExchange(lambda: NOW)
    assert json.loads(exchange.evaluate(bearer(token))) == {"status": "invalid_token"}
    assert exchange.principal is None
    with pytest.raises(RefusedError, match="invalid_token"):
        exchange.evaluate(b"\x01")


@pytest.mark.parametrize(
    "first", [b"", b"\x01", b"n,,\x01\x01", b"n,,\x01auth=Basic abc\x01\x01", b"n,,auth=Bearer abc\x01\x01"]
)
def test_oauthbearer_refuses_first_messages_that_are_wrong(first: bytes) -> None:
    with pytest.raises(MalformedError):
        OAuthBearerExchange(lambda: NOW).evaluate(first)


def test_oauthbearer_refuses_to_act_for_others() -> None:
    with pytest.raises(RefusedError, match="authorization id"):
        OAuthBearerExchange(lambda: NOW).evaluate(bearer(unsecured_token("alice", NOW, 60), "n,a=bob,"))


# Anything


ALL: list[Callable[[], Exchange]] = [
    lambda: PlainExchange(USERS),
    lambda: scram("sha256"),
    lambda: OAuthBearerExchange(lambda: NOW),
]


@pytest.mark.parametrize("begin", ALL)
@given(tokens=st.lists(st.binary(max_size=60), max_size=3))
def test_arbitrary_tokens_are_refused_and_nothing_else(begin: Callable[[], Exchange], tokens: list[bytes]) -> None:
    exchange = begin()
    try:
        for token in tokens:
            exchange.evaluate(token)
    except (RefusedError, MalformedError):
        pass
    assert exchange.principal is None


@pytest.mark.parametrize("begin", ALL)
def test_damaged_tokens_let_nobody_in_as_another(begin: Callable[[], Exchange]) -> None:
    rng = random.Random(7)
    good = [b"\0alice\0secret", b"n,,n=alice,r=abc", bearer(unsecured_token("alice", NOW, 60))]
    for _ in range(3000):
        token = bytearray(rng.choice(good))
        damage(token, rng)
        exchange = begin()
        try:
            exchange.evaluate(bytes(token))
        except (RefusedError, MalformedError):
            continue
        assert isinstance(exchange, OAuthBearerExchange) or exchange.principal in (None, "alice")


def test_nothing_shows_a_password() -> None:
    accounts = Accounts({"alice": "hunter2"}, ("PLAIN",))
    assert "hunter2" not in repr(accounts)
    assert "key=" not in repr(CREDENTIALS["sha256"]["alice"])
