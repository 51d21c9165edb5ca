"""A member that is late, on real Kafka: kwire's clients and Apache's in one schedule.

One member reads ten records and works for longer than max.poll.interval.ms, another gets the partition and copies it,
and only then the first one commits its copy. Ten records are committed, and the late transaction is refused.
"""
# ruff: noqa: PT012 - a transaction is a block

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import kwire
from kwire.errors import CommitFailedError, TransactionError
from tests.brokers import Cluster
from tests.testing.peers.java_tools import LateMember

pytestmark = [pytest.mark.needs("transactions"), pytest.mark.timeout(240)]

COUNT = 10
WITHIN_S = 60.0


@pytest.fixture
def topics(kafka: Cluster, new_topic: Callable[[], str]) -> tuple[str, str]:
    """One with COUNT records in its only partition, and an empty one."""
    source, target = new_topic(), new_topic()
    with kwire.Admin(kafka.bootstrap_servers) as admin:
        admin.create_topics({source: 1, target: 1})
    with kwire.Producer(kafka.bootstrap_servers) as producer:
        for number in range(COUNT):
            producer.send(source, b"%d" % number)
    return source, target


def check_copied_once(kafka: Cluster, source: str, target: str) -> None:
    """Each record once and in order, and the group is at the end."""
    found: list[bytes | None] = []
    options: dict[str, Any] = {"auto_offset_reset": "earliest", "isolation_level": "read_committed"}
    with kwire.Consumer(kafka.bootstrap_servers, group_id=f"of-{source}", **options) as reader:
        reader.assign([(target, 0)], at={(target, 0): "earliest"})
        deadline = time.monotonic() + WITHIN_S
        while len(found) < COUNT and time.monotonic() < deadline:
            found += reader.poll(1.0).values()
        found += reader.poll(0.5).values()
        committed = reader.committed([(source, 0)])[kwire.TopicPartition(source, 0)]
    assert found == [b"%d" % number for number in range(COUNT)]
    assert committed is not None
    assert committed.offset == COUNT


def protocols(kafka: Cluster) -> list[str]:
    return ["classic", "consumer"] if kafka.release.number >= (4, 0) else ["classic"]


def read(consumer: kwire.Consumer) -> kwire.ConsumerRecords:
    deadline = time.monotonic() + WITHIN_S
    while not (records := consumer.poll(0.2)):
        assert time.monotonic() < deadline
    return records


@pytest.mark.parametrize("asks", ["late", "early"])
@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_kwire(kafka: Cluster, topics: tuple[str, str], protocol: str, asks: str) -> None:
    """A coordinator from before Kafka 2.5 checks no members, so there only what the consumer knows refuses."""
    if protocol not in protocols(kafka) or (asks == "early" and kafka.release.number < (2, 5)):
        pytest.skip("the release has no such check")
    source, target = topics
    given: dict[str, Any] = {
        "group_id": f"of-{source}",
        "group_protocol": protocol,
        "enable_auto_commit": False,
        "auto_offset_reset": "earliest",
    }
    servers = kafka.bootstrap_servers
    with (
        kwire.Consumer(servers, max_poll_interval_ms=3_000, **given) as slow,
        kwire.Consumer(servers, **given) as quick,
        kwire.Producer(servers, transactional_id=f"{source}-slow") as late,
        kwire.Producer(servers, transactional_id=f"{source}-quick") as timely,
    ):
        slow.subscribe([source])
        records, before = read(slow), slow.group_metadata()
        quick.subscribe([source])
        with pytest.raises(TransactionError) as caught, late.transaction():
            late.send_many(target, records.values(), partition=0)
            again = read(quick)
            with timely.transaction():
                timely.send_many(target, again.values(), partition=0)
                timely.send_offsets_to_transaction(again, quick.group_metadata())
            now = slow.group_metadata()
            assert now.member_id == before.member_id
            assert now.generation_id >= before.generation_id
            late.send_offsets_to_transaction(records, before if asks == "early" else now)
        assert caught.value.abortable
        assert isinstance(caught.value.__cause__, CommitFailedError) == (asks == "late")
    check_copied_once(kafka, source, target)


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_apaches_client(kafka: Cluster, topics: tuple[str, str], protocol: str, tmp_path: Path) -> None:
    if protocol not in protocols(kafka) or kafka.release.number < (2, 5):
        pytest.skip("the release has no such check")
    source, target = topics
    with LateMember(tmp_path, kafka.bootstrap_servers, source, target, f"of-{source}", protocol) as running:
        running.finish()
        before, late = running.events()
    assert late["member"] == before["member"]
    assert late["error"] == "CommitFailedException"
    check_copied_once(kafka, source, target)
