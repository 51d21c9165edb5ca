"""The shell on a real broker with TLS and logins, by a properties file as Java's tools take it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.brokers.keys import Keys
from tests.brokers.listeners import USERS
from tests.brokers.plugin import SecureClusterOf
from tests.certificates import PASSWORD
from tests.cli.conftest import Kwire, kwire

__all__ = ["kwire"]

NewTopic = Callable[[], str]


def _lines(keys: Keys, address: str, password: str) -> str:
    return (
        f"bootstrap.servers={address}\nsecurity.protocol=SASL_SSL\nsasl.mechanism=SCRAM-SHA-512\n"
        "sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required \\\n"
        f'    username="alice" \\\n    password="{password}";\n'
        f"ssl.truststore.location={keys.truststore}\nssl.truststore.password={PASSWORD}\n"
    )


@pytest.mark.parametrize("release", ["4.4.0", "0.10.2.2"])
def test_a_file_of_javas_tools(
    secure_kafka: SecureClusterOf, keys: Keys, new_topic: NewTopic, kwire: Kwire, tmp_path: Path, release: str
) -> None:
    address = secure_kafka(release).listeners["SASL_SSL"].address
    path = tmp_path / "client.properties"
    path.touch(mode=0o600)
    path.write_text(_lines(keys, address, USERS["alice"]))
    topic = new_topic()
    given = ("--config", str(path))
    sent = kwire("produce", topic, *given, stdin=b"a\nb\n")
    assert sent.code == 0
    assert sent.err.endswith(f"2 records to {topic}, acknowledged\n")
    assert sorted(kwire("consume", topic, *given).out.split()) == [b"a", b"b"]
    assert topic in kwire("topics", *given).out.decode()
    path.write_text(_lines(keys, address, "wr0ng-pass"))
    refused = kwire("topics", *given)
    assert refused.code == 1
    assert re.search(f"the broker at {address}, .*SCRAM-SHA-512", refused.err.splitlines()[-1])
    assert "wr0ng" not in refused.err
