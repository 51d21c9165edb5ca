"""`kwire bench` on a real broker: every mode by processes, and that the run's topic is gone after it."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from kwire import Admin
from tests.brokers import Cluster
from tests.cli.conftest import Kwire, kwire

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
