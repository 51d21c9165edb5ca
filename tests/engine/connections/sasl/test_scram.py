"""SCRAM: the vectors of the RFCs, and what a broker may not do."""

from __future__ import annotations

import base64
import hashlib
import hmac
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwire import errors
from kwire.engine.connections.flows import Apart, Flow
from kwire.engine.connections.sasl.scram import MANY_ITERATIONS, MAX_ITERATIONS, MIN_ITERATIONS, SaltedPasswords, scram
from tests.engine.connections.sasl.flows import play, say

NONCE = "rOprNGfwEbeRWgbNEkqO"
# RFC 7677, section 3
FIRST = f"n,,n=user,r={NONCE}".encode()
CHALLENGE = f"r={NONCE}%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096".encode()
FINAL = f"c=biws,r={NONCE}%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=".encode()
SIGNATURE = b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="


def flow(mechanism: str = "SCRAM-SHA-256", **more: Any) -> Flow[None]:
    given: dict[str, Any] = {"nonce": NONCE, "passwords": SaltedPasswords()} | more
    return scram(say, mechanism, "user", "pencil", **given)


def test_the_example_of_the_rfc() -> None:
    said, ran = play(flow(), [CHALLENGE, SIGNATURE])
    assert said == [FIRST, FINAL]
    assert ran == []


@pytest.mark.parametrize(("mechanism", "digest"), [("SCRAM-SHA-256", "sha256"), ("SCRAM-SHA-512", "sha512")])
def test_proof_and_signature_are_those_of_the_formulas(mechanism: str, digest: str) -> None:
    challenge = f"r={NONCE}x,s={base64.b64encode(b'salt').decode()},i=5000".encode()
    message = FIRST[3:] + b"," + challenge + b",c=biws,r=" + NONCE.encode() + b"x"
    salted = hashlib.pbkdf2_hmac(digest, b"pencil", b"salt", 5000)
    key = hmac.new(salted, b"Client Key", digest).digest()
    signature = hmac.new(hashlib.new(digest, key).digest(), message, digest).digest()
    proof = base64.b64encode(bytes(a ^ b for a, b in zip(key, signature, strict=True)))
    server = hmac.new(hmac.new(salted, b"Server Key", digest).digest(), message, digest).digest()
    said, _ = play(flow(mechanism), [challenge, b"v=" + base64.b64encode(server)])
    assert said[1].endswith(b",p=" + proof)


def refusal(*answers: bytes, **more: Any) -> str:
    with pytest.raises(errors.AuthError) as raised:
        play(flow(**more), answers)
    assert "pencil" not in repr(raised.value)
    return raised.value.reason


def challenge(nonce: str = NONCE + "x", salt: str = "c2FsdA==", iterations: object = 4096, more: str = "") -> bytes:
    return f"r={nonce},s={salt},i={iterations}{more}".encode()


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (challenge(iterations=MIN_ITERATIONS - 1), "4095 iterations; fewer than 4096"),
        (challenge(iterations=MAX_ITERATIONS + 1), "above the limit of 1000000"),
        (challenge(iterations=2**31), "above the limit"),
        (challenge(iterations="9" * 5000), "not a valid number"),
        (challenge(iterations="-5000"), "not a valid number"),
        (challenge(iterations="4_096"), "not a valid number"),
        (challenge(iterations="٤٠٩٦"), "not a valid number"),
        (challenge(iterations=""), "not a valid number"),
        (challenge(nonce=NONCE), "does not continue ours"),
        (challenge(nonce="x" + NONCE), "does not continue ours"),
        (challenge(nonce=""), "does not continue ours"),
        (challenge(salt=""), "salt is empty"),
        (challenge(salt="c2FsdA"), "salt is not base64"),
        (challenge(salt="c2Fs dA=="), "salt is not base64"),
        (b"m=ext," + challenge(), "extension"),
        (b"e=unknown-user", "unknown-user"),
        (b"s=c2FsdA==,r=x,i=4096", "not a SCRAM message"),
        (b"", "not a SCRAM message"),
        (b"\xff\xfe", "not UTF-8"),
    ],
)
def test_a_first_message_that_cannot_be_meant_is_refused(answer: bytes, reason: str) -> None:
    assert reason in refusal(answer)


def test_an_extension_after_the_iterations_is_skipped() -> None:
    assert "signature is wrong" in refusal(challenge(more=",x=y"), SIGNATURE)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (b"v=" + base64.b64encode(b"x" * 32), "signature is wrong"),
        (SIGNATURE[:-7], "signature is not base64"),
        (SIGNATURE[:-8] + b"=", "signature"),
        (b"v=", "signature is wrong"),
        (b"v=!", "not base64"),
        (b"e=invalid-proof", "no signature: invalid-proof"),
        (b"e=a\x00b\n" + b"c" * 400, "a\N{REPLACEMENT CHARACTER}b"),
        (b"", "no signature"),
    ],
)
def test_a_last_message_without_the_right_signature_is_refused(answer: bytes, reason: str) -> None:
    assert reason in refusal(CHALLENGE, answer)


def test_many_iterations_are_computed_apart_and_once() -> None:
    passwords = SaltedPasswords()
    few, many = challenge(iterations=MANY_ITERATIONS), challenge(iterations=MANY_ITERATIONS + 1)

    def ran(answer: bytes) -> list[str]:
        steps: list[str] = []
        with pytest.raises(errors.AuthError):
            steps.extend(play(flow(passwords=passwords), [answer, SIGNATURE])[1])
        return steps

    assert ran(few) == ran(many) == []
    assert passwords.find(b"salt", MANY_ITERATIONS) is None  # of logins that failed nothing is kept
    play(flow(passwords=passwords), [CHALLENGE, SIGNATURE])
    assert passwords.find(base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ=="), 4096) is not None


def test_no_step_shows_the_password_or_what_is_made_of_it() -> None:
    exchange = flow()
    first = next(exchange)
    apart = exchange.send(challenge(iterations=MANY_ITERATIONS + 1))
    assert isinstance(apart, Apart)
    salted = apart.function()
    final = exchange.send((salted, 0.0))
    shown = f"{first!r} {apart!r} {final!r} {exchange!r}"
    assert "pencil" not in shown
    assert repr(salted) not in shown
    assert ",p=" not in shown


def test_only_the_last_salted_passwords_are_kept() -> None:
    passwords = SaltedPasswords()
    for number in range(20):
        passwords.keep(b"%d" % number, 4096, b"x")
    assert passwords.find(b"0", 4096) is None
    assert passwords.find(b"19", 4096) == b"x"
    assert len(passwords._known) == 8


@given(st.lists(st.binary(max_size=300), min_size=2, max_size=2))
def test_any_answer_ends_in_an_auth_error(answers: list[bytes]) -> None:
    with pytest.raises(errors.AuthError):
        play(flow(), answers)


@given(
    st.lists(st.sampled_from(["r=", NONCE, "x", ",", "s=", "c2FsdA==", "i=", "4096", "1", "m=", "e=", "=", "\x00"])),
    st.text(max_size=20),
)
def test_anything_like_scram_ends_in_an_auth_error(parts: list[str], last: str) -> None:
    with pytest.raises(errors.AuthError):
        play(flow(), ["".join(parts).encode(), last.encode("utf-8", "surrogatepass")])
