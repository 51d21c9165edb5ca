"""Offsets of groups on the embedded broker: who may commit, what is read again, how long it is kept."""

from __future__ import annotations

from typing import Any

import pytest

from kwire.errors import broker as codes
from kwire.testing.groups.offsets import Committed
from tests.testing.groups.requests import commit, fetch_offsets, join
from tests.testing.groups.test_classic_groups import Group
from tests.testing.in_process import InProcess

MINUTE_MS = 60_000


def orders() -> InProcess:
    broker = InProcess()
    broker.cluster.create_topic("orders", 4)
    return broker


def committed(broker: InProcess, offsets: dict[tuple[str, int], int], version: int = 9, **options: Any) -> list[int]:
    response = broker.ask(commit(offsets, **options), version)
    return [partition.error_code for topic in response.topics for partition in topic.partitions]


def fetched(broker: InProcess, partition: int = 0, **options: Any) -> Any:
    return broker.ask(fetch_offsets(9, {"orders": [partition]}, **options), 9).groups[0].topics[0].partitions[0]


@pytest.mark.parametrize("version", range(2, 10))
def test_anyone_may_commit_to_a_group_without_members(version: int) -> None:
    broker = orders()
    assert committed(broker, {("orders", 1): 5}, version, metadata="m") == [0]
    found = fetched(broker, 1)
    assert (found.committed_offset, found.metadata) == (5, "m")
    assert fetched(broker, 2).committed_offset == -1


def test_topics_may_be_named_by_id() -> None:
    broker = orders()
    ids = {"orders": broker.cluster.topics["orders"].topic_id}
    assert broker.ask(commit({("orders", 0): 5}, ids=ids), 10).topics[0].partitions[0].error_code == 0
    group = broker.ask(fetch_offsets(10, {"orders": [0]}, ids=ids), 10).groups[0]
    assert (group.topics[0].topic_id, group.topics[0].partitions[0].committed_offset) == (ids["orders"], 5)
    everything = broker.ask(fetch_offsets(10, None), 10).groups[0]
    assert everything.topics[0].topic_id == ids["orders"]


def test_unknown_topics_and_partitions_are_refused_one_by_one() -> None:
    unknown = codes.UNKNOWN_TOPIC_OR_PARTITION.code
    assert committed(orders(), {("orders", 0): 1, ("orders", 9): 1, ("none", 0): 1}) == [0, unknown, unknown]


def test_metadata_has_a_limit() -> None:
    assert committed(orders(), {("orders", 0): 1}, metadata="x" * 4097) == [codes.OFFSET_METADATA_TOO_LARGE.code]


def test_a_group_with_members_takes_commits_of_members_only() -> None:
    group = Group()
    [member] = group.stable()
    unknown = codes.UNKNOWN_MEMBER_ID.code
    assert committed(group.broker, {("orders", 0): 1}) == [unknown]
    assert committed(group.broker, {("orders", 0): 1}, member="nobody", generation=1) == [unknown]
    assert committed(group.broker, {("orders", 0): 1}, member=member, generation=1) == [0]


def test_a_generation_without_a_group_is_refused() -> None:
    commits = {("orders", 0): 1}
    assert committed(orders(), commits, 8, member="m", generation=3) == [codes.ILLEGAL_GENERATION.code]
    assert committed(orders(), commits, 9, member="m", generation=3) == [codes.GROUP_ID_NOT_FOUND.code]


def test_commits_are_refused_between_join_and_sync() -> None:
    group = Group()
    member = group.ask(join(), 3).member_id
    refused = committed(group.broker, {("orders", 0): 1}, member=member, generation=1)
    assert refused == [codes.REBALANCE_IN_PROGRESS.code]


def test_offsets_of_an_open_transaction_are_unstable() -> None:
    broker = orders()
    offsets = broker.cluster.groups.offsets
    offsets.add_pending(1000, "g", "orders", 0, Committed(9))
    assert fetched(broker).committed_offset == -1
    unstable = broker.ask(fetch_offsets(9, {"orders": [0]}, require_stable=True), 9).groups[0].topics[0].partitions[0]
    assert (unstable.error_code, unstable.committed_offset) == (codes.UNSTABLE_OFFSET_COMMIT.code, -1)
    offsets.complete(1000, committed=True)
    assert fetched(broker).committed_offset == 9
    offsets.add_pending(1000, "g", "orders", 0, Committed(11))
    offsets.complete(1000, committed=False)
    assert fetched(broker).committed_offset == 9


def test_a_deleted_topic_takes_its_offsets_along() -> None:
    broker = orders()
    committed(broker, {("orders", 0): 5})
    broker.cluster.delete_topic(broker.cluster.topics["orders"])
    broker.cluster.create_topic("orders", 4)
    assert fetched(broker).committed_offset == -1


def test_version_0_stores_apart_from_kafka() -> None:
    broker = InProcess("0.9.0.1")
    broker.cluster.create_topic("orders", 4)
    assert committed(broker, {("orders", 0): 5}, 0, metadata="m") == [0]
    zookeeper = broker.ask(fetch_offsets(0, {"orders": [0, 1]}), 0).topics[0].partitions
    assert [(each.committed_offset, each.error_code) for each in zookeeper] == [(5, 0), (-1, 3)]
    assert zookeeper[0].metadata == ""
    kafka = broker.ask(fetch_offsets(1, {"orders": [0]}), 1).topics[0].partitions
    assert [(each.committed_offset, each.error_code) for each in kafka] == [(-1, 0)]


def test_offsets_of_a_group_without_members_are_kept_for_the_retention() -> None:
    broker = orders()
    committed(broker, {("orders", 0): 5})
    start = broker.cluster.clock()
    broker.cluster.clock = lambda: start + 10_080 * MINUTE_MS - 1
    assert fetched(broker).committed_offset == 5
    broker.cluster.clock = lambda: start + 10_080 * MINUTE_MS
    assert fetched(broker).committed_offset == -1


def test_a_commit_may_bring_its_own_retention() -> None:
    broker = orders()
    committed(broker, {("orders", 0): 5}, 4, retention_time_ms=1_000)
    start = broker.cluster.clock()
    broker.cluster.clock = lambda: start + 1_000
    assert fetched(broker).committed_offset == -1
