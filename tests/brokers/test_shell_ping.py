"""`kwire ping` of real brokers: with and without TLS and a login, and what it says of the usual mistakes."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.brokers import Cluster
from tests.brokers.listeners import USERS
from tests.brokers.plugin import SecureClusterOf
from tests.cli.conftest import Kwire, kwire

__all__ = ["kwire"]

ClusterOf = Callable[[str], Cluster]


def rows(kwire: Kwire, *arguments: str) -> dict[str, dict[str, Any]]:
    outcome = kwire("ping", *arguments, "--json", "--timeout", "20")
    return {row["step"]: row for row in map(json.loads, outcome.lines)}


@pytest.mark.parametrize(
    ("name", "line"), [("4.4.0", "4.4"), ("2.8.2", "2.8"), ("1.1.1", "1.1"), ("0.9.0.1", "<0.10"), ("0.8.2.2", "<0.10")]
)
def test_the_steps_to_a_broker(kafka_cluster: ClusterOf, kwire: Kwire, name: str, line: str) -> None:
    found = rows(kwire, "-b", kafka_cluster(name).bootstrap_servers)
    assert all(row["ok"] for row in found.values()), found
    assert found["versions"]["facts"]["release"] == line


LOGIN = ("-X", "sasl.username=alice")
REFUSED = [
    # listener, protocol, mechanism, password, step, words
    ("SASL_SSL", "SASL_SSL", "SCRAM-SHA-512", "", "", ""),
    ("SASL_SSL", "SASL_SSL", "SCRAM-SHA-512", "wr0ng", "login", "SCRAM"),
    ("SASL_SSL", "SASL_PLAINTEXT", "PLAIN", "", "versions", "security.protocol=SSL"),
    ("SASL_SSL", "SSL", None, "", "metadata", "SASL_SSL"),
    ("SSL", "SSL", None, "", "", ""),
    ("SSL", "PLAINTEXT", None, "", "versions", "security.protocol=SSL"),
    ("MTLS", "SSL", None, "", "versions", "certificate"),
    ("SASL_PLAINTEXT", "SSL", None, "", "tls", "security.protocol=PLAINTEXT"),
]


@pytest.mark.parametrize(("listener", "protocol", "mechanism", "password", "step", "words"), REFUSED)
def test_listeners_and_the_mistakes_with_them(
    secure_kafka: SecureClusterOf, kwire: Kwire, listener: str, protocol: str, mechanism: str | None,
    password: str, step: str, words: str,
) -> None:  # fmt: skip
    cluster = secure_kafka("4.4.0")
    given = ["-b", cluster.listeners[listener].address, "-X", f"security.protocol={protocol}"]
    given += ["-X", f"ssl.ca.location={cluster.keys.ca}"] if "SSL" in protocol else []
    given += [*LOGIN, "-X", f"sasl.mechanism={mechanism}"] if mechanism else []
    given += ["-X", f"sasl.password={password or USERS['alice']}"] if mechanism else []
    found = rows(kwire, *given)
    last = list(found.values())[-1]
    assert (last["step"], last["ok"]) == (step or "metadata", not step), found
    if step:
        assert words in f"{last['fault']} {last['advice']}"
