"""OAUTHBEARER: its tokens byte by byte, where they come from, and how long one will do."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwire import errors
from kwire.engine.connections.sasl.oauthbearer import Tokens, oauthbearer, unsecured_token
from tests.engine.connections.sasl.flows import NOW, play, say


def tokens_of(*returned: Any, extensions: dict[str, str] | None = None) -> Tokens:
    left = list(returned)
    return Tokens(extensions, lambda: left.pop(0))


def said(tokens: Tokens, *answers: bytes, session: float = 0.0, now: float = NOW) -> list[bytes]:
    return play(oauthbearer(say, tokens, session, now), answers or (b"",))[0]


def test_the_token_is_said_as_the_rfc_has_it() -> None:
    assert said(tokens_of(("a.b.c", 60))) == [b"n,,\x01auth=Bearer a.b.c\x01\x01"]


def test_extensions_follow_the_token() -> None:
    tokens = tokens_of(("a.b.c", 60, {"traceId": "12 3"}), extensions={"logicalCluster": "lkc"})
    assert said(tokens) == [b"n,,\x01auth=Bearer a.b.c\x01logicalCluster=lkc\x01traceId=12 3\x01\x01"]


def test_a_refusal_is_answered_and_told() -> None:
    steps: list[bytes] = []
    flow = oauthbearer(say, tokens_of(("a.b.c", 60)), 0.0, NOW)
    with pytest.raises(errors.AuthError, match="invalid_token"):
        steps.extend(play(flow, [b'{"status":"invalid_token"}', b""])[0])


def test_a_token_is_kept_for_other_logins_until_a_fifth_of_its_life_is_left() -> None:
    tokens = tokens_of(("one", 100.0), ("two", 100.0))
    assert b"Bearer one" in said(tokens)[0]
    assert b"Bearer one" in said(tokens, now=NOW + 79)[0]
    assert b"Bearer two" in said(tokens, now=NOW + 81)[0]


def test_a_token_that_would_end_before_the_session_is_not_used_again() -> None:
    tokens = tokens_of(("one", 100.0), ("two", 100.0))
    assert b"Bearer one" in said(tokens)[0]
    assert b"Bearer one" in said(tokens, session=50.0, now=NOW + 40)[0]
    assert b"Bearer two" in said(tokens, session=50.0, now=NOW + 51)[0]


def test_a_token_that_was_refused_is_not_used_again_and_stays_hidden() -> None:
    tokens = tokens_of(("refused-token", 100.0), ("another-token", 100.0))
    with pytest.raises(errors.AuthError):
        said(tokens, b'{"status":"invalid_token"}', b"")
    assert tokens.secrets == ("refused-token",)
    assert b"Bearer another-token" in said(tokens)[0]


class Odd(list[object]):
    """What a callable of a user may return at its worst."""

    def __len__(self) -> int:
        raise ValueError("no length")


class OddError(Exception):
    """An error without words."""

    def __str__(self) -> str:
        raise ValueError("no words")


def test_the_worst_that_a_callable_does_is_an_error_of_the_login() -> None:
    def fail() -> None:
        raise OddError

    for tokens in (tokens_of(Odd()), tokens_of((SECRET, 10**400)), Tokens(None, fail)):
        with pytest.raises(errors.AuthError, match="the token of sasl_oauth_token"):
            said(tokens)


SECRET = "very-secret"


@pytest.mark.parametrize(
    ("returned", "why"),
    [
        (SECRET, "is not (token"),
        ((SECRET,), "is not (token"),
        ((SECRET, 1.0, {}, 4), "is not (token"),
        (None, "is not (token"),
        ((SECRET.encode(), 1.0), "token is not a str"),
        (("", 1.0), "visible ASCII"),
        ((SECRET + "\x01auth=x", 1.0), "visible ASCII"),
        ((SECRET + "ä", 1.0), "visible ASCII"),
        ((SECRET, 0), "lifetime"),
        ((SECRET, -1.0), "lifetime"),
        ((SECRET, float("nan")), "lifetime"),
        ((SECRET, 1_800_000_000.5), "subtract time.time()"),
        ((SECRET, 1_800_000_000_000), "subtract time.time()"),
        ((SECRET, True), "lifetime"),
        ((SECRET, "60"), "lifetime"),
        ((SECRET, 60, [SECRET]), "extensions are not a mapping"),
        ((SECRET, 60, {"auth": SECRET}), "extensions are not names"),
        ((SECRET, 60, {"a b": SECRET}), "extensions are not names"),
        ((SECRET, 60, {"ab": "\x01" + SECRET}), "extensions are not names"),
        ((SECRET, 60, {"ab": 1}), "extensions are not names"),
    ],
)
def test_what_cannot_be_a_token_is_refused_and_not_shown(returned: Any, why: str) -> None:
    with pytest.raises(errors.AuthError) as raised:
        said(tokens_of(returned))
    assert why in raised.value.reason
    assert SECRET not in f"{raised.value!r} {raised.value.args}"


def test_a_coroutine_is_told_to_need_asyncio() -> None:
    async def fetch() -> tuple[str, float]:
        return "a", 1.0

    with pytest.raises(errors.AuthError, match=r"kwire\.aio"):
        said(Tokens(None, fetch))


@pytest.mark.parametrize(
    ("raised", "expected"),
    [
        (OSError("no route"), errors.ConnectError),
        (TimeoutError("slow"), errors.ConnectError),
        (errors.ConnectError("endpoint"), errors.ConnectError),
        (errors.AuthError(reason="invalid_client"), errors.AuthError),
        (errors.ConfigError("bad"), errors.AuthError),
        (ValueError("what"), errors.AuthError),
        (KeyError("x"), errors.AuthError),
    ],
)
def test_what_the_source_raises_says_whether_to_try_again(raised: Exception, expected: type[Exception]) -> None:
    def fail() -> None:
        raise raised

    with pytest.raises(expected):
        said(Tokens(None, fail))


def test_a_client_without_a_source_says_so() -> None:
    with pytest.raises(errors.AuthError, match="no source of tokens"):
        said(Tokens())


def test_an_unsecured_token_has_claims_and_no_signature() -> None:
    text = unsecured_token({"sub": "alice"}, 1000.0, 60.0)
    header, body, signature = text.split(".")
    assert signature == ""

    def decoded(part: str) -> Any:
        return json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))

    assert decoded(header) == {"alg": "none"}
    assert decoded(body) == {"iat": 1000.0, "exp": 1060.0, "sub": "alice"}


def test_an_unsecured_token_is_valid_within_its_first_millisecond() -> None:
    body = unsecured_token({"sub": "alice"}, 1795348544.1159, 60.0).split(".")[1]
    claims = json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
    assert claims["iat"] == 1795348544.115


@given(st.binary(max_size=300), st.binary(max_size=300))
def test_any_answer_but_an_empty_one_is_a_refusal(first: bytes, second: bytes) -> None:
    if not first:
        return
    with pytest.raises(errors.AuthError):
        said(tokens_of(("a", 60)), first, second)
