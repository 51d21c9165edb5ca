"""`kwire ping`: each step with its time, and what is said where one fails."""

from __future__ import annotations

import datetime
import json
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kwire.testing import Broker, Certificates
from tests.cli.conftest import Kwire
from tests.cli.processes import started
from tests.cli.shell import Outcome
from tests.timing import PATIENT

SCRAM = ("-X", "sasl.mechanism=SCRAM-SHA-512", "-X", "sasl.username=alice")


def rows(outcome: Outcome) -> list[dict[str, Any]]:
    return [json.loads(line) for line in outcome.lines]


def setting(name: str, value: object) -> tuple[str, str]:
    return "-X", f"{name}={value}"


@pytest.fixture
def silent() -> Iterator[str]:
    """The address of a port that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield f"127.0.0.1:{listening.getsockname()[1]}"


@pytest.fixture(scope="module")
def secure() -> Iterator[Broker]:
    with Broker(users={"alice": "hunter2"}, tls=True) as started:
        yield started


def authority(of: Broker, folder: Path) -> tuple[str, str]:
    path = folder / "ca.pem"
    path.write_text(of.ca_pem)
    return setting("ssl.ca.location", path)


def test_the_brokers_of_the_metadata_follow_the_bootstrap_addresses(kwire: Kwire) -> None:
    with Broker(nodes=3) as cluster:
        first, *others = cluster.bootstrap_servers.split(",")
        outcome = kwire("ping", "-b", first, "--json")
    assert (outcome.code, outcome.err) == (0, "")
    found = rows(outcome)
    assert [(row["address"], row["step"]) for row in found] == [
        (address, step) for address in (first, *others) for step in ("tcp", "versions", "metadata")
    ]
    assert {row["address"]: row["broker"] for row in found} == {
        address: number for number, address in enumerate((first, *others), 1)
    }
    assert all(row["ok"] and row["ms"] > 0 and row["fault"] is None for row in found)
    assert found[1]["facts"]["release"] == "4.4"
    assert found[2]["facts"]["brokers"] == [1, 2, 3]


def test_a_name_is_resolved_and_each_of_its_addresses_tried(kwire: Kwire, broker: Broker) -> None:
    port = broker.bootstrap_servers.rpartition(":")[2]
    resolved, *tried = [row for row in rows(kwire("ping", "-b", f"localhost:{port}", "--json")) if not row["broker"]][
        :-2
    ]
    assert resolved["step"] == "resolve"
    assert resolved["facts"]["addresses"] == [row["facts"]["address"] for row in tried]
    assert "127.0.0.1" in resolved["facts"]["addresses"]


def test_tls_and_the_login_have_steps_of_their_own(kwire: Kwire, secure: Broker, tmp_path: Path) -> None:
    given = ("-b", secure.bootstrap_servers, *authority(secure, tmp_path), *setting("security.protocol", "SASL_SSL"))
    outcome = kwire("ping", *given, *SCRAM, *setting("sasl.password", "hunter2"), "--json")
    assert outcome.code == 0, outcome.err
    by_step = {row["step"]: row for row in rows(outcome)}
    assert list(by_step) == ["tcp", "tls", "versions", "login", "metadata"]
    assert by_step["tls"]["facts"]["protocol"] == "TLSv1.3"
    assert by_step["tls"]["facts"]["subject"] == "kwire testing broker"
    assert 300 < by_step["tls"]["facts"]["expires_in_days"] < 366
    assert by_step["login"]["facts"]["mechanism"] == "SCRAM-SHA-512"
    assert "hunter2" not in outcome.out.decode()


def failed(outcome: Outcome, step: str) -> str:
    """What standard error says of the one address, whose last step was this."""
    assert outcome.code == 1
    last = rows(outcome)[-1]
    assert (last["step"], last["ok"]) == (step, False)
    (line,) = outcome.err.splitlines()
    assert last["fault"] in line
    return line


def test_a_wrong_password(kwire: Kwire, secure: Broker, tmp_path: Path) -> None:
    given = ("-b", secure.bootstrap_servers, *authority(secure, tmp_path), *setting("security.protocol", "SASL_SSL"))
    line = failed(kwire("ping", *given, *SCRAM, *setting("sasl.password", "wr0ng"), "--json"), "login")
    assert "invalid credentials" in line
    assert "wr0ng" not in line


def test_a_ca_that_is_not_trusted(kwire: Kwire, secure: Broker) -> None:
    outcome = kwire("ping", "-b", secure.bootstrap_servers, *setting("security.protocol", "SSL"), "--json")
    assert "ssl.ca.location" in failed(outcome, "tls")
    assert rows(outcome)[-1]["facts"]["subject"] == "kwire testing broker"


def test_a_certificate_that_has_expired(kwire: Kwire, tmp_path: Path) -> None:
    certificates = Certificates(valid_for=-datetime.timedelta(days=1))
    with Broker(tls=True, certificates=certificates) as expired:
        given = ("-b", expired.bootstrap_servers, *authority(expired, tmp_path), *setting("security.protocol", "SSL"))
        assert "renew" in failed(kwire("ping", *given, "--json"), "tls")


def test_a_certificate_that_will_soon_expire_is_told(kwire: Kwire, tmp_path: Path) -> None:
    certificates = Certificates(valid_for=datetime.timedelta(days=5, hours=1))
    with Broker(tls=True, certificates=certificates) as short:
        given = ("-b", short.bootstrap_servers, *authority(short, tmp_path), *setting("security.protocol", "SSL"))
        outcome = kwire("ping", *given)
    assert outcome.code == 0
    assert "ends in 5 days" in outcome.err


def test_a_listener_without_tls_asked_with_it_and_the_other_way_round(
    kwire: Kwire, broker: Broker, secure: Broker
) -> None:
    line = failed(kwire("ping", *setting("security.protocol", "SSL"), "--json"), "tls")
    assert "security.protocol=PLAINTEXT" in line
    line = failed(kwire("ping", "-b", secure.bootstrap_servers, "--json"), "versions")
    assert "security.protocol=SSL" in line


def test_a_login_that_is_missing_or_not_expected(kwire: Kwire, broker: Broker) -> None:
    password = setting("sasl.password", "hunter2")
    outcome = kwire("ping", *setting("security.protocol", "SASL_PLAINTEXT"), *SCRAM, *password, "--json")
    assert "leave SASL_ out" in failed(outcome, "login")
    with Broker(users={"alice": "hunter2"}) as guarded:
        assert "SASL_PLAINTEXT" in failed(kwire("ping", "-b", guarded.bootstrap_servers, "--json"), "metadata")


def test_an_advertised_name_that_is_unknown_here(kwire: Kwire) -> None:
    with Broker(host="127.0.0.1", advertised="broker.invalid") as hidden:
        port = hidden.bootstrap_servers.rpartition(":")[2]
        outcome = kwire("ping", "-b", f"127.0.0.1:{port}")
    assert outcome.code == 3
    assert "advertised.listeners" in outcome.err
    assert f"broker 1 at broker.invalid:{port}, resolve:" in outcome.err


def test_a_port_without_a_listener_beside_one_that_answers(kwire: Kwire, broker: Broker) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        closed = f"127.0.0.1:{listening.getsockname()[1]}"
    outcome = kwire("ping", "-b", f"{closed},{broker.bootstrap_servers}")
    assert outcome.code == 3
    assert f"kwire ping: {closed}, tcp: Connection refused; nothing listens there" in outcome.err


@pytest.mark.parametrize("protocol", ["PLAINTEXT", "SSL"])
def test_a_silent_port_ends_by_timeout(kwire: Kwire, silent: str, protocol: str) -> None:
    began = time.monotonic()
    outcome = kwire("ping", "-b", silent, "--timeout", "0.5", *setting("security.protocol", protocol), "--json")
    assert time.monotonic() - began < 5
    assert "accepts connections and does not answer" in failed(
        outcome, "versions" if protocol == "PLAINTEXT" else "tls"
    )
    assert rows(outcome)[-1]["ms"] is None


@pytest.mark.parametrize("release", ["0.8.2.2", "0.9.0.1", "0.10.0.0"])
def test_brokers_that_know_no_api_versions_or_only_the_first(kwire: Kwire, release: str) -> None:
    with Broker(release=release, topics={"orders": 1}) as old:
        outcome = kwire("ping", "-b", old.bootstrap_servers, "--timeout", "2", "--json")
    assert outcome.code == 0, outcome.err
    found = {row["step"]: row["facts"] for row in rows(outcome)}
    assert found["versions"]["release"] == ("0.10.0" if release.startswith("0.10") else "<0.10")


def test_rounds_are_summed_up(kwire: Kwire, broker: Broker) -> None:
    outcome = kwire("ping", "--count", "3", "--interval", "0.01", "--json")
    assert outcome.code == 0
    assert {row["round"] for row in rows(outcome)} == {1, 2, 3}
    assert f"{broker.bootstrap_servers}: 3 rounds without a fault" in outcome.err


def test_ctrl_c_ends_the_rounds_with_the_sum(broker: Broker, silent: str) -> None:
    process = started("ping", "-b", broker.bootstrap_servers, "--interval", "0.05", "--json")
    assert process.stdout is not None
    process.stdout.readline()
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=PATIENT)
    assert process.returncode == 130
    assert b" without a fault" in errors
    process = started("ping", "-b", silent, "--timeout", "60")
    time.sleep(1.0)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=PATIENT)
    assert process.returncode == 130
