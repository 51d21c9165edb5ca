"""Delegation tokens and share groups of real Kafka from the shell."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kwire import Admin, ShareConsumer
from tests.brokers import Cluster
from tests.brokers.listeners import USERS
from tests.brokers.plugin import SecureClusterOf
from tests.brokers.test_admin_access import login, wait_for
from tests.cli.conftest import Kwire, kwire

__all__ = ["kwire"]

_MECHANISM = "SCRAM-SHA-256"


@pytest.mark.timeout(300)
@pytest.mark.parametrize("release", ["4.4.0", "2.8.2"])
def test_a_token_is_created_logs_in_is_renewed_and_deleted(
    secure_kafka: SecureClusterOf, kwire: Kwire, tmp_path: Path, release: str
) -> None:
    listener = secure_kafka(release).listeners["SASL_PLAINTEXT"]
    config = tmp_path / "alice.properties"
    config.write_text(
        f"bootstrap.servers={listener.address}\nsecurity.protocol=SASL_PLAINTEXT\n"
        f"sasl.mechanism={_MECHANISM}\nsasl.username=alice\nsasl.password={USERS['alice']}\n"
    )
    config.chmod(0o600)

    def rows(*arguments: str) -> list[dict[str, Any]]:
        outcome = kwire("tokens", *arguments, "--json", "--config", str(config))
        assert outcome.code == 0, outcome.err
        return [json.loads(line) for line in outcome.lines]

    file = tmp_path / "token"
    (token,) = rows("create", "--lifetime", "10m", "--renewer", "User:admin", "--hmac-file", str(file))
    assert (token["owner"], token["renewers"], token["hmac"]) == ("User:alice", ["User:admin"], f"in {file}")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    wait_for(lambda: token["token"] in {row["token"] for row in rows()})
    assert "hmac" not in rows()[0]
    with Admin(**login(listener, token["token"], file.read_text().strip(), sasl_scram_token_auth=True)) as admin:  # type: ignore[arg-type]
        assert admin.list_topics() is not None
    again = kwire("tokens", "create", "--hmac-file", str(file), "--config", str(config))
    assert (again.code, "File exists" in again.err) == (2, True)
    assert rows("renew", token["token"], "--for", "30s") == [{"token": token["token"], "error": None}]
    wait_for(lambda: [row["expires"] for row in rows()] != [token["expires"]])
    missing = kwire("tokens", "delete", "none", token["token"], "--yes", "--config", str(config))
    assert (missing.code, "no token 'none'" in missing.err) == (3, True)
    wait_for(lambda: not rows())


@pytest.mark.timeout(300)
def test_a_share_group_is_seen_moved_and_deleted(
    kafka_cluster: Callable[[str], Cluster], new_topic: Callable[[], str], kwire: Kwire
) -> None:
    servers, topic = kafka_cluster("4.4.0").bootstrap_servers, new_topic()
    group = f"{topic}-shares"

    def rows(*arguments: str) -> list[dict[str, Any]]:
        outcome = kwire("shares", *arguments, "--json", "-b", servers)
        assert outcome.code == 0, outcome.err
        return [json.loads(line) for line in outcome.lines]

    assert kwire("topics", "create", f"{topic}:1", "-b", servers).code == 0
    assert kwire("produce", topic, "-b", servers, stdin=b"a\nb\nc\n").code == 0
    with ShareConsumer(servers, group_id=group) as consumer:
        consumer.subscribe([topic])
        wait_for(lambda: consumer.poll(0.5) is not None and bool(rows("describe", group)[0]["partitions"]))
    wait_for(lambda: {row["group"]: row["state"] for row in rows()}[group] == "Empty")
    assert rows("reset", group, "--to", "2", "--topic", f"{topic}:0", "--execute")[0]["to"] == 2
    assert [(row["start"], row["lag"]) for row in rows("offsets", group)] == [(2, 1)]
    assert rows("forget", group, topic, "--yes") == [{"topic": topic, "error": None}]
    assert rows("delete", group, "--yes") == [{"group": group, "error": None}]
    wait_for(lambda: group not in {row["group"] for row in rows()})
