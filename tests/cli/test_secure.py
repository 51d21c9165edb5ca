"""The commands on brokers with TLS and logins, and what they say when one side refuses the other."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from kwire import records
from kwire.cli.connecting import VARIABLE
from kwire.testing import Broker
from tests.cli.conftest import Kwire


@pytest.fixture(scope="module")
def secure() -> Iterator[Broker]:
    """A broker with TLS and two users."""
    with Broker(topics={"orders": 1}, users={"alice": "hunter2", "bob": "builder"}, tls=True) as started:
        yield started


@pytest.fixture
def config(secure: Broker, tmp_path: Path) -> Path:
    """A file that logs alice in by SCRAM-SHA-512."""
    authority = tmp_path / "ca.pem"
    authority.write_text(secure.ca_pem)
    path = tmp_path / "client.properties"
    path.touch(mode=0o600)
    path.write_text(
        f"bootstrap.servers={secure.bootstrap_servers}\nsecurity.protocol=SASL_SSL\nssl.ca.location={authority}\n"
        "sasl.mechanism=SCRAM-SHA-512\nsasl.username=alice\nsasl.password=hunter2\n"
    )
    return path


def test_every_command_logs_in(kwire: Kwire, secure: Broker, config: Path) -> None:
    given = ("--config", str(config))
    assert kwire("topics", "create", "new:2", *given).code == 0
    sent = kwire("produce", "new", "--partition", "0", *given, stdin=b"a\nb\n")
    assert sent.err == "2 records to new, acknowledged\n"
    assert kwire("consume", "new", *given).out == b"a\nb\n"
    assert b"new" in kwire("topics", *given).out
    with Broker(generation="0.7") as old:
        old.append("clicks", records.encode([b"click"], generation="0.7"))
        to = f"{secure.bootstrap_servers}/copied"
        done = kwire("copy", "--from", f"kafka-0.7://{old.bootstrap_servers}/clicks", "--to", to, *given, "--quiet")
    assert (done.code, done.err) == (0, "1 record to copied\n")
    assert kwire("topics", "delete", "new", "copied", "--yes", *given).code == 0


JAAS = 'sasl.jaas.config=org.apache.kafka.common.security.{} required \\\n  username="bob" \\\n  password="builder";\n'


@pytest.mark.parametrize(
    ("mechanism", "module"),
    [
        ("PLAIN", "plain.PlainLoginModule"),
        ("SCRAM-SHA-256", "scram.ScramLoginModule"),
        ("SCRAM-SHA-512", "scram.ScramLoginModule"),
    ],
)
def test_a_file_of_javas(kwire: Kwire, secure: Broker, tmp_path: Path, mechanism: str, module: str) -> None:
    store = tmp_path / "trust.pem"
    store.write_text(secure.ca_pem)
    path = tmp_path / "client.properties"
    path.touch(mode=0o600)
    path.write_text(
        f"security.protocol=SASL_SSL\nsasl.mechanism={mechanism}\n{JAAS.format(module)}"
        f"ssl.truststore.location={store}\nssl.truststore.type=PEM\n"
    )
    outcome = kwire("topics", "--config", str(path), "-b", secure.bootstrap_servers)
    assert (outcome.code, outcome.err) == (0, "")
    as_alice = ("-X", "sasl.username=alice", "-X", "sasl.password=hunter2")
    path.write_text(path.read_text().replace("builder", "of long ago"))
    outcome = kwire("topics", "--config", str(path), "-b", secure.bootstrap_servers, *as_alice)
    assert (outcome.code, outcome.err) == (0, "")


@pytest.mark.parametrize("command", [["topics"], ["produce", "orders"], ["consume", "orders"]])
@pytest.mark.parametrize(
    ("change", "step"),
    [
        (["-X", "sasl.password=wr0ngpassw0rd"], r"SaslAuthenticate \(SCRAM-SHA-512\): .*invalid credentials"),
        (["-X", "sasl.mechanism=OAUTHBEARER"], "sasl.mechanism='OAUTHBEARER'"),
        (["-X", "ssl.ca.location="], "TLS handshake: .*not trusted here .*: see ssl.ca.location"),
    ],
)
def test_a_refusal_is_one_line_at_once(
    kwire: Kwire, secure: Broker, config: Path, command: list[str], change: list[str], step: str
) -> None:
    """Long before the time to wait is over, which would be said."""
    outcome = kwire(*command, "--config", str(config), *change, stdin=b"a\n")
    assert "in time" not in outcome.err
    assert outcome.code in (1, 2)
    if outcome.code == 1:
        (line,) = outcome.err.splitlines()
        assert re.search(f"{re.escape(secure.bootstrap_servers)}, {step}", line)
    assert re.search(step, outcome.err)
    assert "hunter2" not in outcome.err
    assert "wr0ng" not in outcome.err


def test_a_client_without_tls_or_login(
    kwire: Kwire, secure: Broker, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, secure.bootstrap_servers)
    assert "TLS" in kwire("topics", "--timeout", "3").err
    authority = f"ssl.ca.location={config.parent / 'ca.pem'}"
    outcome = kwire("topics", "-X", "security.protocol=SSL", "-X", authority, "--timeout", "60")
    assert outcome.code == 1
    assert "a listener behaves that requires a login (SASL)" in outcome.err
