"""An operator's day in the shell, on three nodes of Kafka 4.4.0 and one of 2.8.2: scripts as users of kafka-*.sh write
them; what became of it is looked at by Apache's tools.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kwire import Producer
from tests.brokers import Cluster, find_release
from tests.brokers.maven import resolve_release
from tests.brokers.test_admin_access import wait_for
from tests.testing.peers import java_tools

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(400)]

_AUTHORIZERS = {
    "4.4.0": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "2.8.2": "kafka.security.authorizer.AclAuthorizer",
}
_NODES = {"4.4.0": 3, "2.8.2": 1}
_WITHIN_S = 120


@pytest.fixture(scope="module", params=list(_NODES))
def cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    overrides = {"authorizer.class.name": _AUTHORIZERS[request.param], "super.users": "User:ANONYMOUS"}
    with Cluster(request.param, nodes=_NODES[request.param], overrides=overrides) as made:
        yield made


def script(cluster: Cluster, text: str, *, code: int = 0) -> list[str]:
    """Runs a script of bash, and returns the lines that it printed."""
    kwire = f'kwire() {{ "{sys.executable}" -m kwire "$@"; }}\nset -eu -o pipefail\n'
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(sys.path),
        "KWIRE_BOOTSTRAP_SERVERS": cluster.bootstrap_servers,
    }
    run = subprocess.run(
        ["bash", "-c", kwire + text], capture_output=True, text=True, env=environment, timeout=_WITHIN_S, check=False
    )
    assert run.returncode == code, f"{run.stdout}\n{run.stderr}"
    return run.stdout.splitlines()


def told(cluster: Cluster, folder: Path, tool: str, *arguments: str) -> str:
    return java_tools.run(folder, tool, "--bootstrap-server", cluster.bootstrap_servers, *arguments)


def configs(cluster: Cluster, folder: Path, kind: str, *arguments: str) -> str:
    """What Apache's tool says of configs; that of 3.9.2, since 4.4.0 is here without it."""
    command = ("--bootstrap-server", cluster.bootstrap_servers, "--describe", "--entity-type", kind, *arguments)
    jars = [f"{resolve_release(find_release('3.9.2'))}/*"]
    name = f"configs-{time.monotonic_ns()}"
    with java_tools.JavaTool(folder, name, "kafka.admin.ConfigCommand", *command, jars=jars) as running:
        return running.finish()


def test_topics_records_and_groups(cluster: Cluster, tmp_path: Path) -> None:
    lines = script(
        cluster,
        """
        kwire topics create orders:3 --topic-config retention.ms=86400000
        seq 1 100 | kwire produce orders
        kwire consume orders | sort -n | tail -1
        kwire consume orders --group billing --from earliest -c 100 | wc -l
        kwire lag billing --output csv | cut -d, -f 6 | sort -u
        kwire groups reset billing --to earliest --execute > /dev/null
        kwire lag billing --json | wc -l
        (kwire consume orders || true) | head -1 | wc -l
        """,
    )
    assert [line.strip() for line in lines] == ["100", "100", "0", "lag", "3", "1"]
    described = told(cluster, tmp_path, "TopicCommand", "--describe", "--topic", "orders")
    assert "PartitionCount: 3" in described
    assert "retention.ms=86400000" in described
    groups = told(cluster, tmp_path, "consumer.group.ConsumerGroupCommand", "--describe", "--group", "billing")
    assert sum(int(line.split()[5]) for line in groups.splitlines() if line.startswith("billing")) == 100
    script(cluster, "kwire groups delete billing --yes; kwire topics delete orders --yes")
    wait_for(lambda: "orders" not in told(cluster, tmp_path, "TopicCommand", "--list"))


def test_configs_of_topics_and_brokers(cluster: Cluster, tmp_path: Path) -> None:
    broker = str(cluster.node_ids[0])
    script(
        cluster,
        f"""
        kwire topics create audit
        kwire configs set topics audit cleanup.policy+=compact retention.ms=60000
        kwire configs set brokers {broker} log.cleaner.threads=2
        kwire configs set brokers default message.max.bytes=2000000
        """,
    )
    audit = configs(cluster, tmp_path, "topics", "--entity-name", "audit")
    assert "retention.ms=60000" in audit
    assert "cleanup.policy=delete,compact" in audit
    assert "log.cleaner.threads=2" in configs(cluster, tmp_path, "brokers", "--entity-name", broker)
    assert "message.max.bytes=2000000" in configs(cluster, tmp_path, "brokers", "--entity-default")
    script(
        cluster,
        f"""
        kwire configs unset topics audit retention.ms
        kwire configs unset brokers {broker} log.cleaner.threads
        kwire configs unset brokers default message.max.bytes
        kwire topics delete audit --yes
        """,
    )
    wait_for(lambda: "log.cleaner.threads=2" not in configs(cluster, tmp_path, "brokers", "--entity-name", broker))


def test_acls_users_and_quotas(cluster: Cluster, tmp_path: Path) -> None:
    script(
        cluster,
        """
        kwire acls create topic orders --principal User:bob --operation read --operation describe
        kwire acls create group ord --prefixed --principal User:eve --operation all --deny --host 10.0.0.1
        kwire quotas set producer_byte_rate=1000000 consumer_byte_rate=2e6 --user bob
        printf 'pass word' | kwire users set bob --mechanism SCRAM-SHA-256
        """,
    )
    acls = told(cluster, tmp_path, "AclCommand", "--list")
    assert "principal=User:bob, host=*, operation=READ, permissionType=ALLOW" in acls
    assert "patternType=PREFIXED" in acls
    assert "principal=User:eve, host=10.0.0.1, operation=ALL, permissionType=DENY" in acls
    bob = ("users", "--entity-name", "bob")
    wait_for(lambda: "producer_byte_rate=1000000" in configs(cluster, tmp_path, *bob))
    assert "SCRAM-SHA-256" in configs(cluster, tmp_path, *bob)
    lines = script(
        cluster,
        """
        kwire acls list topic orders --pattern match --output csv | wc -l
        kwire users --json
        kwire quotas --user bob --output csv | sed 1d | cut -d, -f 4,5 | sort
        kwire acls delete --principal User:bob --yes
        kwire acls delete --principal User:eve --yes
        kwire quotas unset producer_byte_rate consumer_byte_rate --user bob
        kwire users delete bob --yes
        """,
    )
    assert lines[0].strip() == "3"
    assert json.loads(lines[1]) == {"user": "bob", "mechanism": "SCRAM-SHA-256", "iterations": 8192}
    assert lines[2:4] == ["consumer_byte_rate,2000000.0", "producer_byte_rate,1000000.0"]
    wait_for(lambda: "User:" not in told(cluster, tmp_path, "AclCommand", "--list"))
    wait_for(lambda: "SCRAM" not in configs(cluster, tmp_path, *bob))


def test_replicas_leaders_and_the_cluster(cluster: Cluster, tmp_path: Path) -> None:
    ids = cluster.node_ids
    script(cluster, "kwire topics create moved:1")
    target = list(reversed(ids))[:2]
    script(cluster, f"kwire partitions reassign moved:0={','.join(map(str, target))}")
    wait_for(lambda: not script(cluster, "kwire partitions --reassigning --json"))
    script(cluster, "kwire partitions elect moved:0")
    (row,) = (json.loads(line) for line in script(cluster, "kwire topics describe moved --json"))
    assert (row["replicas"], row["leader"], sorted(row["in_sync"])) == (target, target[0], sorted(target))
    described = told(cluster, tmp_path, "TopicCommand", "--describe", "--topic", "moved")
    assert f"Leader: {target[0]}" in " ".join(described.split())
    (whole,) = (json.loads(line) for line in script(cluster, "kwire cluster --json"))
    assert (sorted(whole["brokers"]), whole["leaderless"]) == (sorted(ids), 0)
    assert len(script(cluster, "kwire brokers --json")) == len(ids)
    partly = "kwire topics describe moved none --json"
    assert json.loads(script(cluster, partly, code=3)[0])["topic"] == "moved"
    script(cluster, "kwire topics delete moved --yes")


def test_a_transaction_that_hangs_is_found_and_ended(cluster: Cluster, tmp_path: Path) -> None:
    if cluster.release.number < (3, 0):
        assert "since Kafka 3.0" in script(cluster, "kwire transactions 2>&1 || true")[0]
        return
    script(cluster, "kwire topics create paid:1")
    producer = Producer(cluster.bootstrap_servers, transactional_id="billing")
    with producer:
        producer.init_transactions()
        producer.begin_transaction()
        producer.send("paid", b"open", partition=0).result(30)
        (row,) = (json.loads(line) for line in script(cluster, "kwire transactions --state Ongoing --json"))
        assert row["transactional_id"] == "billing"
        held = told(cluster, tmp_path, "TransactionsCommand", "describe", "--transactional-id", "billing")
        assert "Ongoing" in held
        lines = script(
            cluster,
            """
            kwire producers --open --json | wc -l
            kwire consume paid -X isolation.level=read_committed | wc -l
            kwire transactions abort paid:0 --yes 2>&1 || true
            kwire transactions terminate billing --yes
            kwire producers list paid:0 --open --json | wc -l
            """,
        )
        assert [lines[0].strip(), lines[1].strip(), lines[-1].strip()] == ["1", "0", "0"]
        assert "'kwire transactions terminate billing' ends it" in lines[2]
    after = told(cluster, tmp_path, "TransactionsCommand", "describe", "--transactional-id", "billing")
    assert "Ongoing" not in after
    script(cluster, "kwire topics delete paid --yes")
