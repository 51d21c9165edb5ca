"""Worker processes killed at random moments: no record is lost, no offset is committed before its record is done."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kwire.testing import Broker
from tests.worker.fleet import Fleet
from tests.worker.history import repeated

pytestmark = pytest.mark.wall_clock

GROUPS: dict[str, dict[str, Any]] = {
    "eager": {"session_timeout_ms": 500, "heartbeat_interval_ms": 100, "partition_assignment_strategy": ["range"]},
    "cooperative": {
        "session_timeout_ms": 500, "heartbeat_interval_ms": 100,
        "partition_assignment_strategy": ["cooperative-sticky"],
    },
    "consumer": {"group_protocol": "consumer"},
}  # fmt: skip


@pytest.fixture
def servers() -> Iterator[str]:
    with Broker(
        group_min_session_timeout_ms=100,
        group_consumer_session_timeout_ms=500,
        group_consumer_heartbeat_interval_ms=100,
    ) as broker:
        yield broker.bootstrap_servers


@pytest.mark.parametrize(
    ("kind", "group", "order"), [("threads", "cooperative", "key"), ("tasks", "consumer", "partition")]
)
def test_no_kill_loses_a_record_or_commits_one_that_was_not_handled(
    kind: str, group: str, order: str, servers: str, tmp_path: Path
) -> None:
    options = {"order": order, **GROUPS[group]}
    with Fleet(kind, servers, tmp_path, options, size=2, records=2400, seed=7) as fleet:
        for _ in range(3):
            fleet.write(0.25)
            fleet.pause(0.3, 0.8)
            fleet.replace(signal.SIGKILL)
        fleet.finish()
        assert len(fleet.moved) > 1, "the kills came before anything was done"


@pytest.mark.parametrize(("kind", "group"), [("tasks", "cooperative"), ("threads", "consumer")])
def test_workers_that_are_ended_and_replaced_one_by_one_handle_every_record_once(
    kind: str, group: str, servers: str, tmp_path: Path
) -> None:
    with Fleet(kind, servers, tmp_path, {"order": "key", **GROUPS[group]}, size=2, records=2000, seed=8) as fleet:
        for _ in range(3):
            fleet.write(0.25)
            fleet.pause(0.3, 0.6)
            fleet.replace(signal.SIGTERM)
        assert repeated(fleet.finish()) == 0
