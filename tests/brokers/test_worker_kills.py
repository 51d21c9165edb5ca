"""Workers of both kinds on real Kafka, killed, frozen and replaced, under each protocol of groups."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import pytest

from tests.brokers import Cluster
from tests.brokers.groups.members import QUICK_GROUPS
from tests.worker.fleet import Fleet
from tests.worker.history import repeated

pytestmark = [pytest.mark.wall_clock, pytest.mark.kafka]

BROKER = {**QUICK_GROUPS, "group.initial.rebalance.delay.ms": "0", "group.consumer.session.timeout.ms": "2000"}
CLASSIC = {"session_timeout_ms": 2000, "heartbeat_interval_ms": 300}
GROUPS: dict[str, dict[str, Any]] = {
    "eager": {**CLASSIC, "partition_assignment_strategy": ["range"]},
    "cooperative": {**CLASSIC, "partition_assignment_strategy": ["cooperative-sticky"]},
    "consumer": {"group_protocol": "consumer"},
}
every_group = pytest.mark.parametrize("group", GROUPS)
both = pytest.mark.parametrize("kind", ["threads", "tasks"])


@every_group
@both
def test_twenty_kills_lose_no_record_and_commit_none_that_was_not_handled(
    kind: str, group: str, tmp_path: Path
) -> None:
    with Cluster("4.4.0", overrides=BROKER) as cluster:
        options = {"order": "key", **GROUPS[group]}
        with Fleet(kind, cluster.bootstrap_servers, tmp_path, options, size=3, records=20_000, seed=20) as fleet:
            for _ in range(20):
                fleet.write(0.05)
                fleet.pause(0.5, 1.5)
                fleet.replace(signal.SIGKILL)
            fleet.finish()
            assert len(fleet.moved) > 5, "the kills came before anything was done"


@every_group
@both
def test_workers_that_are_ended_and_replaced_one_by_one_handle_every_record_once(
    kind: str, group: str, tmp_path: Path
) -> None:
    with Cluster("4.4.0", overrides=BROKER) as cluster:
        options = {"order": "key", **GROUPS[group]}
        with Fleet(kind, cluster.bootstrap_servers, tmp_path, options, size=3, records=10_000, seed=21) as fleet:
            for _ in range(10):
                fleet.write(0.1)
                fleet.pause(0.5, 2.0)
                fleet.replace(signal.SIGTERM)
            assert repeated(fleet.finish()) == 0


@every_group
@both
def test_a_worker_that_stood_still_for_longer_than_its_session_loses_nothing(
    kind: str, group: str, tmp_path: Path
) -> None:
    with Cluster("4.4.0", overrides=BROKER) as cluster:
        options = {"order": "partition", **GROUPS[group]}
        with Fleet(kind, cluster.bootstrap_servers, tmp_path, options, size=3, records=6_000, seed=22) as fleet:
            for _ in range(5):
                fleet.write(0.2)
                fleet.pause(0.2, 0.5)
                fleet.freeze(4.0)
                fleet.check()
            fleet.finish(ordered=False)
