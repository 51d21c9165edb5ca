"""PLAIN, byte by byte."""

from __future__ import annotations

import pytest

from kwire import errors
from kwire.engine.connections.sasl.plain import plain
from tests.engine.connections.sasl.flows import play, say


def test_user_and_password_are_sent_as_they_are() -> None:
    said, _ = play(plain(say, "al\N{COMBINING DIAERESIS}ïce", "ﬁ p,="), [b""])
    assert said == ["\0al\N{COMBINING DIAERESIS}ïce\0ﬁ p,=".encode()]


@pytest.mark.parametrize(("user", "password"), [("a\0b", "x"), ("a", "x\0y")])
def test_a_nul_cannot_be_sent(user: str, password: str) -> None:
    with pytest.raises(errors.AuthError, match="NUL"):
        play(plain(say, user, password), [b""])
