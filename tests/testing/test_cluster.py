"""Several nodes over one state: who leads, what the others say, and what happens when nodes die."""

from __future__ import annotations

from typing import Any

import pytest

from kwire.errors import broker as codes
from kwire.protocol import MetadataRequest
from kwire.testing.settings.properties import BrokerProperties
from kwire.testing.state.partition import Partition
from tests.testing.in_process import PORT, InProcess
from tests.testing.wire import batch, fetch, produce, values


def cluster(topic_partitions: int = 3, **options: Any) -> InProcess:
    made = InProcess(nodes=3, **options)
    made.cluster.create_topic("orders", topic_partitions)
    return made


def partition(broker: InProcess, index: int = 0) -> Partition:
    return broker.cluster.topics["orders"].partitions[index]


def metadata(broker: InProcess, version: int = 12, node: int = 1) -> Any:
    wanted = [MetadataRequest.MetadataRequestTopic(name="orders")]
    return broker.ask(MetadataRequest(topics=wanted), version, node=node)


def test_every_node_tells_of_all_nodes() -> None:
    broker = cluster(racks=["a", "b", None])
    for node in (1, 2, 3):
        told = metadata(broker, node=node)
        assert [(each.node_id, each.port, each.rack) for each in told.brokers] == [
            (1, PORT, "a"), (2, PORT + 1, "b"), (3, PORT + 2, None)]  # fmt: skip
        assert told.controller_id == 1
        rows = told.topics[0].partitions
        assert [row.leader_id for row in rows] == [1, 2, 3]
        assert rows[1].replica_nodes == rows[1].isr_nodes == (2, 3, 1)


def test_a_node_that_does_not_lead_names_the_leader() -> None:
    broker = cluster()
    response = broker.ask(produce(batch(b"a")), 12, node=2)
    row = response.responses[0].partition_responses[0]
    assert row.error_code == codes.NOT_LEADER_OR_FOLLOWER.code
    assert (row.current_leader.leader_id, row.current_leader.leader_epoch) == (1, 0)
    assert [(each.node_id, each.port) for each in response.node_endpoints] == [(1, PORT)]
    assert broker.ask(produce(batch(b"a")), 12, node=1).node_endpoints == ()


def test_a_dead_node_leads_nothing_and_is_not_listed() -> None:
    broker = cluster()
    broker.cluster.kill(1)
    told = metadata(broker, node=2)
    assert [each.node_id for each in told.brokers] == [2, 3]
    assert told.controller_id == 2
    first = told.topics[0].partitions[0]
    assert (first.leader_id, first.leader_epoch, first.isr_nodes, first.offline_replicas) == (2, 1, (2, 3), (1,))
    broker.cluster.revive(1)
    again = metadata(broker, node=2).topics[0].partitions[0]
    assert (again.leader_id, again.leader_epoch, again.isr_nodes, again.offline_replicas) == (2, 1, (1, 2, 3), ())


@pytest.mark.parametrize(("release", "in_sync", "eligible"), [("4.4.0", [], [1]), ("3.9.2", [1], [])])
def test_the_last_in_sync_replica_is_waited_for(release: str, in_sync: list[int], eligible: list[int]) -> None:
    broker = cluster(1, release=release)
    for node in (3, 2, 1):
        broker.cluster.kill(node)
    assert (partition(broker).leader, partition(broker).isr, partition(broker).elr) == (-1, in_sync, eligible)
    broker.cluster.revive(2)
    told = metadata(broker, node=2).topics[0].partitions[0]
    assert (told.error_code, told.leader_id) == (codes.LEADER_NOT_AVAILABLE.code, -1)
    refused = broker.ask(produce(batch(b"a")), 9, node=2).responses[0].partition_responses[0]
    assert refused.error_code == codes.NOT_LEADER_OR_FOLLOWER.code
    broker.cluster.revive(1)
    assert (partition(broker).leader, partition(broker).isr, partition(broker).elr) == (1, [1, 2], [])
    broker.cluster.revive(3)
    assert partition(broker).isr == [1, 2, 3]


def test_replicas_below_the_wanted_number_stay_eligible() -> None:
    broker = cluster(1, properties=BrokerProperties(min_insync_replicas=2))
    broker.cluster.kill(3)
    assert partition(broker).elr == []
    broker.cluster.kill(2)
    assert (partition(broker).isr, partition(broker).elr) == ([1], [2])
    broker.cluster.kill(1)
    assert (partition(broker).isr, partition(broker).elr, partition(broker).leader) == ([], [2, 1], -1)
    broker.cluster.revive(2)
    assert (partition(broker).isr, partition(broker).elr, partition(broker).leader) == ([2], [1], 2)
    broker.cluster.revive(3)
    assert (partition(broker).isr, partition(broker).elr) == ([2, 3], [])


def test_topics_with_the_names_of_kafkas_own_are_internal() -> None:
    broker = InProcess()
    for name in ("__consumer_offsets", "orders"):
        broker.cluster.create_topic(name, 1)
    told = broker.ask(MetadataRequest(topics=None), 12).topics
    assert [(topic.name, topic.is_internal) for topic in told] == [("__consumer_offsets", True), ("orders", False)]


def test_version_0_of_metadata_leaves_out_who_is_dead() -> None:
    broker = InProcess("3.9.2", nodes=3)
    broker.cluster.create_topic("orders", 1)
    broker.cluster.kill(3)
    told = metadata(broker, version=0).topics[0].partitions[0]
    assert (told.error_code, told.replica_nodes) == (codes.REPLICA_NOT_AVAILABLE.code, (1, 2))


def test_too_few_replicas_in_sync_refuse_acks_all() -> None:
    broker = cluster(properties=BrokerProperties(min_insync_replicas=2))
    broker.cluster.kill(2)
    assert broker.ask(produce(batch(b"a")), 9).responses[0].partition_responses[0].error_code == 0
    broker.cluster.kill(3)
    refused = broker.ask(produce(batch(b"a")), 9).responses[0].partition_responses[0]
    assert refused.error_code == codes.NOT_ENOUGH_REPLICAS.code
    assert broker.ask(produce(batch(b"b"), acks=1), 9).responses[0].partition_responses[0].error_code == 0


def test_a_waiting_fetch_is_told_that_the_leader_moved() -> None:
    broker = cluster()
    request = fetch(0, max_wait_ms=10_000, topic_id=broker.cluster.topics["orders"].topic_id)
    request.topics[0].partitions[0].current_leader_epoch = 0
    waiting, old = broker.begin(request, 16), broker.begin(fetch(0, max_wait_ms=10_000), 8)
    broker.cluster.move_leader(partition(broker), 3)
    waiting.step()
    row = waiting.response.responses[0].partitions[0]
    assert row.error_code == codes.FENCED_LEADER_EPOCH.code
    assert (row.current_leader.leader_id, row.current_leader.leader_epoch) == (3, 1)
    assert old.wake()
    assert old.response.responses[0].partitions[0].error_code == codes.NOT_LEADER_OR_FOLLOWER.code


def test_an_unclean_election_loses_whole_batches() -> None:
    broker = cluster()
    for values_of_batch in ((b"a", b"b"), (b"c", b"d"), (b"e",)):
        broker.ask(produce(batch(*values_of_batch)), 9)
    broker.cluster.truncate(partition(broker), 3)
    assert (partition(broker).log.end_offset, partition(broker).leader) == (2, 2)
    broker.ask(produce(batch(b"x")), 9, node=2)
    read = broker.ask(fetch(0), 12, node=2).responses[0].partitions[0]
    assert values(read.records) == [b"a", b"b", b"x"]
    assert partition(broker).end_of_epoch(0) == (0, 2)
    assert partition(broker).end_of_epoch(1) == (1, 3)
    assert partition(broker).epochs == [(0, 0), (1, 2)]


@pytest.mark.parametrize("factor", [0, 4])
def test_there_are_as_many_replicas_as_nodes_at_most(factor: int) -> None:
    with pytest.raises(codes.INVALID_REPLICATION_FACTOR):
        cluster().cluster.create_topic("other", 1, replication_factor=factor)
