"""A member whose JoinGroup Apache Kafka holds, because another one does not poll: it commits meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from uuid import uuid4

import pytest

from kwire import Admin
from tests.brokers import Cluster
from tests.clients.held_rebalance import PARTITIONS, closes_while_it_is_held, commits_while_it_is_held

pytestmark = pytest.mark.wall_clock


@pytest.mark.kafka
@pytest.mark.timeout(180)
@pytest.mark.parametrize("check", [commits_while_it_is_held, closes_while_it_is_held])
def test_a_commit_is_stored_while_a_rebalance_is_held(
    check: Callable[[str, str, str], None], groups_cluster: Callable[[str], Cluster]
) -> None:
    servers, topic = groups_cluster("4.4.0").bootstrap_servers, f"held-{uuid4().hex}"
    with Admin(servers) as admin:
        admin.create_topics({topic: PARTITIONS})
    check(servers, topic, f"g-{topic}")
