"""`kwire users` against the embedded broker: passwords are no arguments, and are shown nowhere."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from kwire import Admin
from kwire.errors import AuthError
from kwire.testing import Broker
from tests.cli.conftest import Kwire
from tests.cli.processes import answered, at_terminal, started


def rows(kwire: Kwire, *arguments: str) -> list[list[str]]:
    outcome = kwire("users", *arguments)
    assert outcome.code == 0, outcome.err
    return [line.split() for line in outcome.lines[1:]]


def log_in(broker: Broker, user: str, password: str) -> None:
    with Admin(
        broker.bootstrap_servers,
        security_protocol="SASL_PLAINTEXT",
        sasl_mechanism="SCRAM-SHA-512",
        sasl_username=user,
        sasl_password=password,
    ) as admin:
        admin.list_topics()


def test_a_password_from_standard_input_logs_the_user_in(
    kwire: Kwire, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Broker(users={"root": "of all"}) as broker:
        config = tmp_path / "root"
        config.write_text(
            f"bootstrap.servers={broker.bootstrap_servers}\nsecurity.protocol=SASL_PLAINTEXT\n"
            "sasl.mechanism=SCRAM-SHA-256\nsasl.username=root\nsasl.password=of all\n"
        )
        config.chmod(0o600)
        made = kwire("users", "set", "bob", "--config", str(config), stdin="pass wörd\r\nmore\n".encode())
        assert (made.code, made.out, made.err) == (0, b"", "")
        log_in(broker, "bob", "pass wörd")
        with pytest.raises(AuthError):
            log_in(broker, "bob", "pass")
        listed = kwire("users", "list", "bob", "--config", str(config))
        assert listed.lines[1].split() == ["bob", "SCRAM-SHA-512", "8192"]


def test_a_password_from_a_file_that_others_may_read_is_used_with_a_warning(
    kwire: Kwire, broker: Broker, tmp_path: Path
) -> None:
    file = tmp_path / "secret"
    file.write_text("hunter2\n")
    file.chmod(0o644)
    given = ("users", "set", "bob", "--password-file", str(file))
    detail = ("--mechanism", "scram-sha-256", "--iterations", "4096")
    warned = kwire(*given, *detail)
    assert (warned.code, warned.err) == (
        0, f"kwire: {file} holds a password and is readable by all users: chmod 600 {file}\n",
    )  # fmt: skip
    file.chmod(0o600)
    again = kwire(*given, *detail, "--json")
    assert (json.loads(again.out), again.err) == ({"credential": "bob SCRAM-SHA-256", "error": None}, "")
    assert rows(kwire) == [["bob", "SCRAM-SHA-256", "4096"]]


@pytest.mark.parametrize(("again", "code"), [("hunter2", 0), ("hunter3", 1)])
def test_a_password_is_asked_for_twice_and_not_shown(kwire: Kwire, broker: Broker, again: str, code: int) -> None:
    with at_terminal("users", "set", "bob") as (process, keyboard):
        assert process.stderr is not None
        said = b""
        for question, answer in ((b"New password of bob: ", "hunter2"), (b"Once more: ", again)):
            while not said.endswith(question):
                said += process.stderr.read(1)
            os.write(keyboard, f"{answer}\n".encode())
        output, errors = process.communicate(timeout=60)
    assert process.returncode == code
    assert b"hunter" not in said + output + errors
    assert (b"the passwords differ; nothing was done" in errors) == (code == 1)
    assert len(rows(kwire)) == 1 - code


@pytest.mark.parametrize(
    "given",
    [
        ["bob", "hunter2"],
        ["bob", "--password", "hunter2"],
        ["bob", "--password=hunter2"],
        ["bob", "--passw", "hunter2"],
        ["bob", "--mechanism", "hunter2"],
        ["bob", "-p", "hunter2"],
    ],
)
def test_a_password_among_the_arguments_is_refused_and_not_repeated(broker: Broker, given: list[str]) -> None:
    with started("users", "set", *given) as process:
        output, errors = process.communicate(timeout=60)
    assert process.returncode == 2
    assert b"hunter2" not in output + errors


@pytest.mark.parametrize(
    ("stdin", "said"), [(b"", "is empty"), (b"\nhunter2\n", "is empty"), (b"hunter2\xff\n", "is not UTF-8")]
)
def test_standard_input_without_a_password(kwire: Kwire, broker: Broker, stdin: bytes, said: str) -> None:
    outcome = kwire("users", "set", "bob", stdin=stdin)
    assert (outcome.code, said in outcome.err, "hunter" in outcome.err) == (2, True, False)
    assert kwire("users", "set", "bob", "--password-file", "/nowhere").code == 2
    assert rows(kwire) == []


def test_too_few_iterations_are_wrong_usage_without_the_password(kwire: Kwire, broker: Broker) -> None:
    outcome = kwire("users", "set", "bob", "--iterations", "5", stdin=b"hunter2")
    assert (outcome.code, "iterations=5" in outcome.err, "hunter" in outcome.err) == (2, True, False)


def test_credentials_are_deleted_after_a_question(kwire: Kwire, broker: Broker) -> None:
    both = ("--mechanism", "SCRAM-SHA-256", "--mechanism", "SCRAM-SHA-512")
    for user in ("bob", "eve"):
        assert kwire("users", "set", user, *both, stdin=b"secret").code == 0
    shown = "Delete the credentials 'bob SCRAM-SHA-256' and 'bob SCRAM-SHA-512'? [y/N] "
    assert answered("n", "users", "delete", "bob") == (1, f"{shown}kwire users: nothing was done\n")
    assert answered("y", "users", "delete", "bob") == (0, shown)
    assert kwire("users", "delete", "eve", "--mechanism", "SCRAM-SHA-256", "--yes").code == 0
    assert rows(kwire) == [["eve", "SCRAM-SHA-512", "8192"]]
    partly = kwire("users", "delete", "bob", "eve", "--yes", "--json")
    assert (partly.code, [json.loads(line)["credential"] for line in partly.lines]) == (3, ["eve SCRAM-SHA-512"])
    assert kwire("users", "delete", "bob", "--yes").code == 1
