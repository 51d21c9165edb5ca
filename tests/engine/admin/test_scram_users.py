"""SCRAM credentials of arguments: salted as brokers expect, each with a salt of its own, and never shown."""

from __future__ import annotations

import hashlib
from itertools import count

from kwire import protocol
from kwire.engine.admin.a51_alter_user_scram_credentials import AlterUserScramCredentials
from kwire.engine.admin.access_calls import alter_user_scram_credentials
from kwire.engine.admin.scram_users import Salted, salted_credential
from kwire.engine.common.secret import Secret

WORD = "a-word-of-bob"
NOT_USED: object = None


def requests(given: dict[str, dict[str, object]]) -> list[protocol.AlterUserScramCredentialsRequest]:
    """What is sent for these arguments."""
    numbers = count()
    api = alter_user_scram_credentials(given, lambda: next(numbers) % 256 / 256).api  # type: ignore[arg-type]
    assert isinstance(api, AlterUserScramCredentials)
    keys = api.split(NOT_USED)  # type: ignore[arg-type]
    return [api.request(NOT_USED, asked, 0) for asked in ([[key] for key in keys] if api.asks_one_by_one else [keys])]  # type: ignore[arg-type]


def test_a_password_is_salted_as_the_mechanism_wants() -> None:
    given = {"password": WORD, "iterations": 4096, "salt": b"salt"}
    for mechanism, digest in (("SCRAM-SHA-256", "sha256"), ("SCRAM-SHA-512", "sha512")):
        made = salted_credential(given, "bob", mechanism, lambda: 0.0)
        assert made == (b"salt", hashlib.pbkdf2_hmac(digest, WORD.encode(), b"salt", 4096), 4096)
    assert salted_credential({**given, "password": Secret(WORD)}, "bob", "SCRAM-SHA-512", lambda: 0.0) == made


def test_each_credential_has_a_salt_of_its_own_and_all_users_are_in_one_request() -> None:
    (request,) = requests(
        {user: {"SCRAM-SHA-256": WORD} for user in ("alice", "bob")} | {"eve": {"SCRAM-SHA-256": None}}
    )
    assert [row.name for row in request.upsertions] == ["alice", "bob"]
    assert [row.salt for row in request.upsertions] == [bytes(range(16)), bytes(range(16, 32))]
    assert [(row.name, row.mechanism) for row in request.deletions] == [("eve", 1)]


def test_no_request_names_a_user_twice() -> None:
    first, second = requests({"bob": {"SCRAM-SHA-256": WORD, "SCRAM-SHA-512": None}})
    assert [len(first.upsertions), len(first.deletions)] == [1, 0]
    assert [len(second.upsertions), len(second.deletions)] == [0, 1]


def test_neither_password_nor_salted_password_is_shown() -> None:
    made = salted_credential(WORD, "bob", "SCRAM-SHA-256", lambda: 0.5)
    (request,) = requests({"bob": {"SCRAM-SHA-256": WORD}})
    for shown in (repr(made), str(made), repr(request), f"{Salted(*made)}"):
        assert WORD not in shown
        assert repr(made.salted_password) not in shown
