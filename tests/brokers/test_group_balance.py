"""Members of a classic group on real Kafka, of both kinds of clients: they balance, one is killed, one leaves."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time

import pytest

from kwire import Consumer, aio
from tests.brokers import Cluster
from tests.clients.polling import poll_until

pytestmark = pytest.mark.wall_clock

SESSION_MS = 6000

CHILD = """
import sys
from kwire import Consumer
servers, group, topic = sys.argv[1:]
with Consumer(servers, group_id=group, session_timeout_ms=6000, heartbeat_interval_ms=500) as member:
    member.subscribe([topic])
    while True:
        member.poll(0.5)
        print(len(member.assignment()), flush=True)
"""


@pytest.mark.kafka
@pytest.mark.parametrize("release", ["4.4.0", "0.9.0.1"])
def test_members_balance_when_one_comes_is_killed_or_leaves(release: str) -> None:
    with Cluster(release, overrides={"num.partitions": "6", "group.initial.rebalance.delay.ms": "0"}) as cluster:
        balance(cluster.bootstrap_servers)


def balance(servers: str) -> None:
    topic, group = "made-on-first-use", "balancing"
    with Consumer(servers, group_id=group, heartbeat_interval_ms=500) as stated:
        stated.subscribe([topic])
        poll_until([stated], lambda: len(stated.assignment()) == 6)  # with the default session time-out
    options = {"group_id": group, "session_timeout_ms": SESSION_MS, "heartbeat_interval_ms": 500}
    with Consumer(servers, **options) as one:  # type: ignore[arg-type]
        one.subscribe([topic])
        poll_until([one], lambda: len(one.assignment()) == 6)
        child = subprocess.Popen(
            [sys.executable, "-c", CHILD, servers, group, topic], stdout=subprocess.PIPE, text=True
        )
        try:
            poll_until([one], lambda: len(one.assignment()) == 3)
            assert child.stdout is not None
            while child.stdout.readline().strip() != "3":
                one.poll(0.05)
        finally:
            child.kill()
            child.wait()
        poll_until([one], lambda: len(one.assignment()) == 6)
        asyncio.run(share_with(one, servers, topic, options))
        poll_until([one], lambda: len(one.assignment()) == 6)


async def share_with(one: Consumer, servers: str, topic: str, options: dict[str, object]) -> None:
    deadline = time.monotonic() + 30
    async with aio.Consumer(servers, **options) as other:  # type: ignore[arg-type]
        other.subscribe([topic])
        while not len(one.assignment()) == 3 == len(other.assignment()):
            assert time.monotonic() < deadline
            await other.poll(0.05)
            one.poll(0)
        assert not one.assignment() & other.assignment()
