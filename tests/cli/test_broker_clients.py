"""`kwire broker` with TLS and logins: the users it takes, and the settings by which clients come in."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from kwire.cli.broker_clients import as_lines, read_users, write_client_files
from kwire.cli.properties import read_properties
from kwire.cli.usage import UsageError
from kwire.testing import Broker
from tests.cli.conftest import Kwire
from tests.cli.test_broker import line_with, running
from tests.timing import PATIENT

HUSH = "hunter2"


def test_users_come_by_argument_and_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "users"
    path.write_text("# ours\nbob:a:b#c\n\nalice: word \n")
    assert read_users(["alice:secret", "carol:x"], str(path)) == {"alice": " word ", "carol": "x", "bob": "a:b#c"}
    assert read_users([], None) == {}


@pytest.mark.parametrize("wrong", [HUSH, f":{HUSH}", "alice:"])
def test_users_that_cannot_be_read_are_not_shown(wrong: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--user: write NAME:PASSWORD") as refused:
        read_users([wrong], None)
    assert HUSH not in str(refused.value)
    path = tmp_path / "users"
    path.write_text(f"alice:secret\n{wrong}\n")
    with pytest.raises(UsageError, match="line 2: write NAME:PASSWORD") as refused:
        read_users([], str(path))
    assert HUSH not in str(refused.value)
    path.write_bytes(b"\xff")
    with pytest.raises(UsageError, match="not UTF-8"):
        read_users([], str(path))
    with pytest.raises(UsageError, match="No such file"):
        read_users([], str(tmp_path / "none"))


def test_the_password_goes_into_a_file_of_its_owner(tmp_path: Path) -> None:
    password = " back\\slash"
    with Broker(users={"alice": password}, tls="mutual") as broker:
        shown, path = write_client_files(broker, "alice", tmp_path)
        assert list(shown) == [
            "bootstrap.servers", "security.protocol", "ssl.ca.location", "ssl.certificate.location",
            "ssl.key.location", "sasl.mechanism", "sasl.username",
        ]  # fmt: skip
        assert password not in as_lines(shown)
        assert read_properties(str(path))["sasl.password"].value == password
        assert {file.name: file.stat().st_mode & 0o777 for file in tmp_path.iterdir()} == dict.fromkeys(
            ["ca.pem", "client.pem", "client.key", "client.properties"], 0o600
        )


@pytest.mark.parametrize(
    "options",
    [
        ["--tls"],
        ["--mutual-tls"],
        ["--user", f"alice:{HUSH}"],
        ["--tls", "--user", f"alice:{HUSH}", "--mechanism", "PLAIN"],
        ["--user", f"alice:{HUSH}", "--mechanism", "OAUTHBEARER", "--max-reauth-ms", "3000"],
    ],
)
def test_clients_come_in_by_the_file(options: list[str], kwire: Kwire, tmp_path: Path) -> None:
    folder = tmp_path / "made" / "files"
    with running(*options, "--client-files", str(folder)) as (process, address):
        assert process.stdout is not None
        assert process.stdout.readline() == f"bootstrap.servers={address}\n"
        config = str(folder / "client.properties")
        assert kwire("topics", "create", "orders", "--config", config).code == 0
        told = line_with("--config", process.stderr)
        process.send_signal(signal.SIGTERM)
        assert process.stderr is not None
        said = process.stdout.read() + told + process.stderr.read()  # communicate() would miss what is read ahead
        assert f"--config {config}" in told
        assert HUSH not in said


def test_the_folder_of_the_clients_files_goes_with_the_broker() -> None:
    with running("--tls") as (process, _):
        authority = line_with("ssl.ca.location", process.stdout).strip().partition("=")[2]
        assert Path(authority).exists()
        process.send_signal(signal.SIGTERM)
        process.wait(PATIENT)
        assert not Path(authority).parent.exists()


def test_a_folder_that_cannot_be_written_to_is_one_line(kwire: Kwire, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = kwire("broker", "--tls", "--client-files", str(tmp_path / "file"))
    assert done.code == 2
    assert f"--client-files {tmp_path / 'file'}: " in done.err
    assert "Traceback" not in done.err
