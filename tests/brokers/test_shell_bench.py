"""`kwire bench` on a real broker: every mode by processes, and that the run's topic is gone after it."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable

import pytest

from kwire import Admin
from tests.brokers import Cluster
from tests.cli.conftest import Kwire, kwire
from tests.cli.processes import started
from tests.timing import PATIENT

__all__ = ["kwire"]

ClusterOf = Callable[[str], Cluster]


@pytest.mark.parametrize(("mode", "times"), [("produce", "ack"), ("consume", "poll"), ("latency", "end_to_end")])
def test_each_mode(kafka_cluster: ClusterOf, kwire: Kwire, mode: str, times: str) -> None:
    servers = kafka_cluster("4.4.0").bootstrap_servers
    outcome = kwire("bench", mode, "-b", servers, "--duration", "2", "--clients", "2", "--compression", "lz4", "--json")
    assert outcome.code == 0, outcome.err
    found = json.loads(outcome.out)
    assert found["records"] > 0
    assert 0 < found["times_ms"][times]["p50"] <= found["times_ms"][times]["max"]
    with Admin(servers) as admin:
        assert not [name for name in admin.list_topics() if name.startswith("kwire-bench")]


def test_the_lag_of_a_group_that_reads_is_watched(
    kafka_cluster: ClusterOf, new_topic: Callable[[], str], kwire: Kwire
) -> None:
    servers, topic = kafka_cluster("4.4.0").bootstrap_servers, new_topic()
    assert kwire("produce", topic, "-b", servers, stdin=b"x\n" * 10).code == 0
    assert kwire("consume", topic, "--group", topic, "--from", "earliest", "-c", "4", "-b", servers).code == 0
    process = started("lag", topic, "--watch", "0.5", "--json", "-b", servers)
    assert process.stdout is not None
    assert json.loads(process.stdout.readline())["lag"] == 6
    assert kwire("consume", topic, "--group", topic, "-c", "6", "-b", servers).code == 0
    row = next(row for row in map(json.loads, iter(process.stdout.readline, b"")) if row["lag"] == 0)
    assert row["consumed_per_s"] > 0
    assert row["catch_up_s"] == 0
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=PATIENT)
